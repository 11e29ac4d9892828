package flight_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

func TestDelayAndBestTime(t *testing.T) {
	at := func(minutes int) *flight.FlightTime {
		return on(plus(scheduledOut, time.Duration(minutes)*time.Minute), newYork)
	}
	type times = flight.EndpointTimes
	for _, c := range []struct {
		name  string
		t     times
		best  int // minutes after schedule; -999 unknown
		delay string
	}{
		{"nothing", times{}, -999, "null"},
		{"schedule alone", times{ScheduledGate: at(0)}, 0, "null"},
		{"estimate alone", times{EstimatedGate: at(9)}, 9, "null"},
		{"estimated", times{ScheduledGate: at(0), EstimatedGate: at(9)}, 9, "9"},
		{"actual over estimated", times{ScheduledGate: at(0), EstimatedGate: at(9), ActualGate: at(12)}, 12, "12"},
		{"early", times{ScheduledGate: at(0), ActualGate: at(-7)}, -7, "-7"},
		{"actual runway over estimated gate", times{ScheduledGate: at(0), EstimatedGate: at(9), ActualRunway: at(20)}, 20, "9"},
		{"runway pair alone", times{ScheduledRunway: at(15), EstimatedRunway: at(20)}, 20, "5"},
		{"runway pair beside half a gate pair", times{ScheduledGate: at(0), ScheduledRunway: at(15), ActualRunway: at(20)}, 20, "5"},
		{"the bases are never mixed", times{ScheduledGate: at(0), ActualRunway: at(20)}, 20, "null"},
		{"nor the other way", times{ScheduledRunway: at(0), ActualGate: at(20)}, 20, "null"},
		{"a time without a moment is none", times{ScheduledGate: at(0), EstimatedGate: at(9), ActualGate: &flight.FlightTime{Local: "x"}}, 9, "9"},
	} {
		s := base(func(s *flight.Snapshot) { s.Departure.Times = c.t })
		best := flight.Time(0)
		if c.best != -999 {
			best = at(c.best).UTC
		}
		if s.Departure.BestTimeUTC != best || encoded(t, s.Departure.DelayMinutes) != c.delay {
			t.Errorf("%s: best %v, delay %s; want %v, %s", c.name, s.Departure.BestTimeUTC, encoded(t, s.Departure.DelayMinutes), best, c.delay)
		}
		if s.Departure.Times.ActualGate != nil && !s.Departure.Times.ActualGate.UTC.Known() {
			t.Errorf("%s: a time without a moment is kept", c.name)
		}
	}
}

func TestStatusFollowsFromTheFacts(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *flight.Snapshot
		want string
	}{
		{"scheduled", base(), `{"code":"S","label":"Scheduled","color":"green","phase":"scheduled","delayed":false,"cancelled":false,"diverted":false}`},
		{"boarding", base(status("S", "boarding")), `{"code":"S","label":"Boarding","color":"green","phase":"boarding","delayed":false,"cancelled":false,"diverted":false}`},
		{"14 minutes are no delay", base(late(14, 14)), `{"code":"S","label":"Scheduled","color":"green","phase":"scheduled","delayed":false,"cancelled":false,"diverted":false,"departureGateDelayMinutes":14,"arrivalGateDelayMinutes":14}`},
		{"15 minutes at either end are", base(status("A", "en_route"), late(0, 15)), `{"code":"A","label":"En route","color":"yellow","phase":"en_route","delayed":true,"cancelled":false,"diverted":false,"departureGateDelayMinutes":0,"arrivalGateDelayMinutes":15}`},
		{"departed", base(status("A", "departed")), `{"code":"A","label":"Departed","color":"green","phase":"departed","delayed":false,"cancelled":false,"diverted":false}`},
		{"landed", base(status("L", "landed")), `{"code":"L","label":"Landed","color":"green","phase":"landed","delayed":false,"cancelled":false,"diverted":false}`},
		{"arrived early", base(status("L", "arrived"), late(0, -20)), `{"code":"L","label":"Arrived","color":"green","phase":"arrived","delayed":false,"cancelled":false,"diverted":false,"departureGateDelayMinutes":0,"arrivalGateDelayMinutes":-20}`},
		{"cancelled is not delayed", base(status("C", "cancelled"), late(60, 60)), `{"code":"C","label":"Cancelled","color":"red","phase":"cancelled","delayed":false,"cancelled":true,"diverted":false,"departureGateDelayMinutes":60,"arrivalGateDelayMinutes":60}`},
		{"diverted has no arrival delay", base(status("D", "diverted"), late(5, 60)), `{"code":"D","label":"Diverted","color":"red","phase":"diverted","delayed":false,"cancelled":false,"diverted":true,"departureGateDelayMinutes":5}`},
		{"nor has redirected", base(status("R", "redirected"), late(20, 60)), `{"code":"R","label":"Redirected","color":"orange","phase":"redirected","delayed":true,"cancelled":false,"diverted":true,"departureGateDelayMinutes":20}`},
		{"unknown", base(status("U", "unknown")), `{"code":"U","label":"Unknown","color":"gray","phase":"unknown","delayed":false,"cancelled":false,"diverted":false}`},
		{"not operational", base(status("NO", "unknown")), `{"code":"NO","label":"Not operational","color":"gray","phase":"unknown","delayed":false,"cancelled":false,"diverted":false}`},
		{"a code that nobody knows has a label", base(status("XX", "unknown")), `{"code":"XX","label":"Unknown","color":"gray","phase":"unknown","delayed":false,"cancelled":false,"diverted":false}`},
	} {
		if got := encoded(t, c.s.Status); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	number := func(n int) *int { return &n }
	actual := func(s *flight.Snapshot) {
		s.Departure.Times.ActualGate = on(plus(scheduledOut, 12*time.Minute), newYork)
		s.Arrival.Times.ActualGate = on(plus(scheduledIn, 2*time.Minute), london)
	}
	for _, c := range []struct {
		name string
		s    *flight.Snapshot
		want string
	}{
		{"scheduled", base(), `{"scheduledMinutes":490}`},
		{"estimated", base(late(10, 5)), `{"scheduledMinutes":490,"estimatedMinutes":485}`},
		{"actual", base(late(10, 5), actual), `{"scheduledMinutes":490,"estimatedMinutes":483,"actualMinutes":480}`},
		{"the source's word stands", base(actual, func(s *flight.Snapshot) { s.Duration.ActualMinutes = number(479) }), `{"scheduledMinutes":490,"actualMinutes":479}`},
		{"diverted: to where it landed", base(actual, status("D", "diverted"), divertedTo("SNN"), func(s *flight.Snapshot) {
			s.Arrival.Times.ActualGate = nil
			s.Diverted.Times.ActualGate = on(plus(scheduledIn, -40*time.Minute), london)
		}), `{"scheduledMinutes":490,"actualMinutes":438}`},
		{"arrival before departure is nonsense", base(func(s *flight.Snapshot) { s.Arrival.Times.ScheduledGate = on(plus(scheduledOut, -time.Hour), london) }), `{}`},
	} {
		if got := encoded(t, c.s.Duration); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestCompleteLeavesTheOriginal: a copy that is edited and completed changes
// nothing in the snapshot that it was made from.
func TestCompleteLeavesTheOriginal(t *testing.T) {
	s := full()
	before := string(with(s).Encode())
	c := *s
	c.Status.Code, c.Status.Phase, c.Departure.Gate = flight.StatusDiverted, flight.PhaseDiverted, "Z9"
	c.Complete()
	if got := string(with(s).Encode()); got != before {
		t.Errorf("the original is now %s", got)
	}
	if c.Diverted == s.Diverted {
		t.Error("both write to one diversion")
	}
	if string(c.Encode()) == before || c.Departure.Gate != "Z9" {
		t.Error("the copy is encoded as the original was")
	}
}
