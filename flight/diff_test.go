package flight_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

type diffCase struct {
	name       string
	prev, next *flight.Snapshot
	want       []string // the changes as they are sent
}

// TestDiffWords goes through the watched fields that are words: assigned,
// changed, withdrawn.
func TestDiffWords(t *testing.T) {
	fields := []struct {
		change, path, noun string
		set                func(*flight.Snapshot, string)
		mandatory          bool // never unknown
	}{
		{"departure.gate.changed", "departure.gate", "Departure gate", func(s *flight.Snapshot, v string) { s.Departure.Gate = v }, false},
		{"departure.terminal.changed", "departure.terminal", "Departure terminal", func(s *flight.Snapshot, v string) { s.Departure.Terminal = v }, false},
		{"arrival.gate.changed", "arrival.gate", "Arrival gate", func(s *flight.Snapshot, v string) { s.Arrival.Gate = v }, false},
		{"arrival.terminal.changed", "arrival.terminal", "Arrival terminal", func(s *flight.Snapshot, v string) { s.Arrival.Terminal = v }, false},
		{"arrival.baggage.changed", "arrival.baggage", "Baggage belt", func(s *flight.Snapshot, v string) { s.Arrival.Baggage = v }, false},
		{"aircraft.changed", "equipment.iata", "Aircraft type", func(s *flight.Snapshot, v string) { s.Equipment.IATA = v }, false},
		{"aircraft.tail.changed", "equipment.tailNumber", "Tail number", func(s *flight.Snapshot, v string) { s.Equipment.TailNumber = v }, false},
		{"route.changed", "departure.airport.iata", "Origin", func(s *flight.Snapshot, v string) { s.Departure.Airport.IATA = v }, true},
		{"route.changed", "arrival.airport.iata", "Destination", func(s *flight.Snapshot, v string) { s.Arrival.Airport.IATA = v }, true},
	}
	for _, f := range fields {
		set := func(v string) *flight.Snapshot { return base(func(s *flight.Snapshot) { f.set(s, v) }) }
		head := `{"type":"` + f.change + `","path":"` + f.path + `",`
		cases := []diffCase{
			{f.path + " changed", set("B10"), set("B12"), []string{head + `"from":"B10","to":"B12","message":"` + f.noun + ` changed from B10 to B12"}`}},
			{f.path + " the same", set("B10"), set("B10"), nil},
		}
		if !f.mandatory {
			cases = append(cases,
				diffCase{f.path + " assigned", set(""), set("B10"), []string{head + `"from":null,"to":"B10","message":"` + f.noun + ` assigned: B10"}`}},
				diffCase{f.path + " withdrawn", set("B10"), set(""), []string{head + `"from":"B10","to":null,"message":"` + f.noun + ` B10 withdrawn"}`}})
		}
		runDiff(t, cases)
	}
}

// TestDiffTimes goes through the six kinds of time.
func TestDiffTimes(t *testing.T) {
	// Where nothing else is said, the departure is at 18:10 EDT, the arrival
	// at 06:20 GMT.
	out, in := on(utc("2026-03-10 22:10"), newYork), on(utc("2026-03-11 06:20"), london)
	kinds := []struct {
		change, path, noun, clock string
		set                       func(*flight.Snapshot) (gate, runway **flight.FlightTime)
		at                        *flight.FlightTime
	}{
		{"departure.scheduled.changed", "departure.times.scheduled", "Scheduled departure", "18:10 EDT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Departure.Times.ScheduledGate, &s.Departure.Times.ScheduledRunway
		}, out},
		{"departure.estimated.changed", "departure.times.estimated", "Estimated departure", "18:10 EDT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Departure.Times.EstimatedGate, &s.Departure.Times.EstimatedRunway
		}, out},
		{"departure.actual.changed", "departure.times.actual", "Actual departure", "18:10 EDT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Departure.Times.ActualGate, &s.Departure.Times.ActualRunway
		}, out},
		{"arrival.scheduled.changed", "arrival.times.scheduled", "Scheduled arrival", "06:20 GMT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Arrival.Times.ScheduledGate, &s.Arrival.Times.ScheduledRunway
		}, in},
		{"arrival.estimated.changed", "arrival.times.estimated", "Estimated arrival", "06:20 GMT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Arrival.Times.EstimatedGate, &s.Arrival.Times.EstimatedRunway
		}, in},
		{"arrival.actual.changed", "arrival.times.actual", "Actual arrival", "06:20 GMT", func(s *flight.Snapshot) (_, _ **flight.FlightTime) {
			return &s.Arrival.Times.ActualGate, &s.Arrival.Times.ActualRunway
		}, in},
	}
	for _, k := range kinds {
		zone := newYork
		if k.at == in {
			zone = london
		}
		// A flight in the air, with no other time than this one.
		set := func(gate, runway *flight.FlightTime) *flight.Snapshot {
			return base(status(flight.StatusActive, flight.PhaseEnRoute), func(s *flight.Snapshot) {
				s.Departure.Times, s.Arrival.Times = flight.EndpointTimes{}, flight.EndpointTimes{}
				g, r := k.set(s)
				*g, *r = gate, runway
			})
		}
		later := on(plus(k.at.UTC, 65*time.Minute), zone)
		seconds := on(plus(k.at.UTC, 59*time.Second), zone)
		moved := k.noun + " changed from " + k.clock + " to " + later.Local[11:16] + " " + later.Timezone + " (1 h 5 min later)"
		back := k.noun + " changed from " + later.Local[11:16] + " " + later.Timezone + " to " + k.clock + " (1 h 5 min earlier)"
		a, b := `"`+k.at.UTC.String()+`"`, `"`+later.UTC.String()+`"`
		change := func(where, from, to, message, delta string) []string {
			if where == "Runway" {
				message = strings.NewReplacer("departure", "take-off", "arrival", "landing").Replace(message)
			}
			if delta != "" {
				delta = `,"deltaMinutes":` + delta
			}
			return []string{`{"type":"` + k.change + `","path":"` + k.path + where + `","from":` + from + `,"to":` + to + `,"message":"` + message + `"` + delta + `}`}
		}
		runDiff(t, []diffCase{
			{k.path + " set", set(nil, nil), set(k.at, nil), change("Gate", "null", a, k.noun+" set to "+k.clock, "")},
			{k.path + " later", set(k.at, nil), set(later, nil), change("Gate", a, b, moved, "65")},
			{k.path + " earlier", set(later, nil), set(k.at, nil), change("Gate", b, a, back, "-65")},
			{k.path + " withdrawn", set(k.at, nil), set(nil, nil), change("Gate", a, "null", k.noun+" "+k.clock+" withdrawn", "")},
			{k.path + " seconds apart", set(k.at, nil), set(seconds, nil), nil},
			{k.path + " runway alone", set(nil, k.at), set(nil, later), change("Runway", a, b, moved, "65")},
			{k.path + " runway beside the gate", set(k.at, k.at), set(k.at, later), nil},
			{k.path + " gate after runway", set(nil, k.at), set(k.at, k.at), change("Gate", "null", a, k.noun+" set to "+k.clock, "")},
			{k.path + " runway takes the gate's place", set(k.at, later), set(nil, later), append(
				change("Gate", a, "null", k.noun+" "+k.clock+" withdrawn", ""),
				change("Runway", "null", b, k.noun+" set to "+later.Local[11:16]+" "+later.Timezone, "")...)},
			{k.path + " both withdrawn is told once", set(k.at, later), set(nil, nil), change("Gate", a, "null", k.noun+" "+k.clock+" withdrawn", "")},
		})
	}
}

// TestDiffTurns goes through the turning points of a leg's life.
func TestDiffTurns(t *testing.T) {
	scheduled, active := status(flight.StatusScheduled, flight.PhaseScheduled), status(flight.StatusActive, flight.PhaseEnRoute)
	arrived, cancelled := status(flight.StatusLanded, flight.PhaseArrived), status(flight.StatusCancelled, flight.PhaseCancelled)
	redirected, diverted := status(flight.StatusRedirected, flight.PhaseRedirected), status(flight.StatusDiverted, flight.PhaseDiverted)
	notOperational := status(flight.StatusNotOperational, flight.PhaseUnknown)
	unknown := status(flight.StatusUnknown, flight.PhaseUnknown)
	outAt := func(minutes int) func(*flight.Snapshot) {
		return func(s *flight.Snapshot) {
			s.Departure.Times.ActualGate = on(plus(scheduledOut, time.Duration(minutes)*time.Minute), newYork)
		}
	}
	offAt := func(s *flight.Snapshot) {
		s.Departure.Times.ActualRunway = on(plus(scheduledOut, 20*time.Minute), newYork)
	}
	inAt := func(s *flight.Snapshot) { s.Arrival.Times.ActualGate = on(plus(scheduledIn, -12*time.Minute), london) }
	statusChange := func(path, from, to, message string) string {
		return `{"type":"status.changed","path":"` + path + `","from":"` + from + `","to":"` + to + `","message":"` + message + `"}`
	}
	turn := func(change, from, to, message string) string {
		return `{"type":"flight.` + change + `","path":"status.phase","from":"` + from + `","to":"` + to + `","message":"` + message + `"}`
	}
	toward := func(from, to, message string) string {
		return `{"type":"flight.diverted","path":"diverted.airport.iata","from":` + from + `,"to":` + to + `,"message":"` + message + `"}`
	}
	runDiff(t, []diffCase{
		{"boarding", base(scheduled), base(status(flight.StatusScheduled, flight.PhaseBoarding)), []string{
			statusChange("status.phase", "scheduled", "boarding", "Status changed from Scheduled to Boarding")}},
		{"out of the gate, status still scheduled", base(scheduled), base(scheduled, outAt(7)), []string{
			turn("departed", "scheduled", "scheduled", "Departed JFK at 18:07 EDT, 7 min late"),
			`{"type":"departure.actual.changed","path":"departure.times.actualGate","from":null,"to":"2026-03-10T22:07:00.000Z","message":"Actual departure set to 18:07 EDT"}`,
			`{"type":"delay.increased","path":"departure.delayMinutes","from":0,"to":7,"message":"Departure is now 7 min late (was on time)","deltaMinutes":7}`}},
		{"off the runway, gate unknown", base(scheduled), base(scheduled, offAt), []string{
			turn("departed", "scheduled", "scheduled", "Departed JFK at 18:20 EDT"),
			`{"type":"departure.actual.changed","path":"departure.times.actualRunway","from":null,"to":"2026-03-10T22:20:00.000Z","message":"Actual take-off set to 18:20 EDT"}`}},
		{"in the air, no time known", base(scheduled), base(active), []string{
			statusChange("status.phase", "scheduled", "en_route", "Status changed from Scheduled to En route"),
			turn("departed", "scheduled", "en_route", "Departed JFK")}},
		{"status follows the gate: departed once", base(scheduled, outAt(0)), base(active, outAt(0)), []string{
			statusChange("status.phase", "scheduled", "en_route", "Status changed from Scheduled to En route")}},
		{"scheduled to arrived in one look", base(scheduled), base(arrived), []string{
			statusChange("status.phase", "scheduled", "arrived", "Status changed from Scheduled to Arrived"),
			turn("departed", "scheduled", "arrived", "Departed JFK"),
			turn("arrived", "scheduled", "arrived", "Arrived at LHR")}},
		{"landed is not arrived", base(active), base(status(flight.StatusLanded, flight.PhaseLanded)), []string{
			statusChange("status.phase", "en_route", "landed", "Status changed from En route to Landed")}},
		{"at the gate", base(status(flight.StatusLanded, flight.PhaseLanded)), base(arrived, inAt), []string{
			statusChange("status.phase", "landed", "arrived", "Status changed from Landed to Arrived"),
			turn("arrived", "landed", "arrived", "Arrived at LHR at 05:58 GMT, 12 min early"),
			`{"type":"arrival.actual.changed","path":"arrival.times.actualGate","from":null,"to":"2026-03-11T05:58:00.000Z","message":"Actual arrival set to 05:58 GMT"}`,
			`{"type":"delay.decreased","path":"arrival.delayMinutes","from":0,"to":-12,"message":"Arrival is now 12 min early (was on time)","deltaMinutes":-12}`}},
		{"cancelled", base(scheduled), base(cancelled), []string{
			statusChange("status.phase", "scheduled", "cancelled", "Status changed from Scheduled to Cancelled"),
			turn("cancelled", "scheduled", "cancelled", "Flight cancelled")}},
		{"reinstated", base(cancelled), base(scheduled), []string{
			statusChange("status.phase", "cancelled", "scheduled", "Status changed from Cancelled to Scheduled"),
			turn("reinstated", "cancelled", "scheduled", "Flight reinstated after it was cancelled")}},
		{"no longer operated is not reinstated", base(cancelled), base(notOperational), []string{
			statusChange("status.code", "C", "NO", "Status changed from Cancelled to Not operational")}},
		{"lost and not operated: the code tells them apart", base(unknown), base(notOperational), []string{
			statusChange("status.code", "U", "NO", "Status changed from Unknown to Not operational")}},
		{"code alone", base(status(flight.StatusScheduled, flight.PhaseDeparted)), base(status(flight.StatusActive, flight.PhaseDeparted)), []string{
			statusChange("status.code", "S", "A", "Status is now Departed (departed)")}},
		{"phase lost, code kept", base(active), base(status(flight.StatusActive, flight.PhaseUnknown)), []string{
			statusChange("status.phase", "en_route", "unknown", "Status is now En route (unknown)")}},
		{"redirected", base(active), base(redirected, divertedTo("SNN")), []string{
			statusChange("status.phase", "en_route", "redirected", "Status changed from En route to Redirected"),
			toward("null", `"SNN"`, "Being diverted to SNN instead of LHR")}},
		{"redirected and diverted to one airport: told once", base(redirected, divertedTo("SNN")), base(diverted, divertedTo("SNN")), []string{
			statusChange("status.phase", "redirected", "diverted", "Status changed from Redirected to Diverted")}},
		{"diverted to another airport: told again", base(redirected, divertedTo("SNN")), base(diverted, divertedTo("DUB")), []string{
			statusChange("status.phase", "redirected", "diverted", "Status changed from Redirected to Diverted"),
			toward(`"SNN"`, `"DUB"`, "Diverted to DUB instead of LHR")}},
		{"redirected nobody knows where, then known", base(redirected), base(redirected, divertedTo("SNN")), []string{
			toward("null", `"SNN"`, "Being diverted to SNN instead of LHR")}},
		{"redirected nobody knows where", base(active), base(redirected), []string{
			statusChange("status.phase", "en_route", "redirected", "Status changed from En route to Redirected"),
			toward("null", "null", "Being diverted: it will not land at LHR")}},
		{"diverted nobody knows where", base(active), base(diverted), []string{
			statusChange("status.phase", "en_route", "diverted", "Status changed from En route to Diverted"),
			toward("null", "null", "Diverted: it did not land at LHR")}},
		{"back on its way", base(redirected, divertedTo("SNN")), base(active, divertedTo("SNN")), []string{
			statusChange("status.phase", "redirected", "en_route", "Status changed from Redirected to En route")}},
		{"a diversion airport without a diversion", base(active), base(active, divertedTo("SNN")), nil},
	})
}

func TestDiffCodeshares(t *testing.T) {
	british := flight.CodeshareRef{Carrier: "BA", Name: "British Airways", FlightNumber: "1511"}
	iberia := flight.CodeshareRef{Carrier: "IB", Name: "Iberia", FlightNumber: "4218"}
	finnair := flight.CodeshareRef{Carrier: "AY", Name: "Finnair", FlightNumber: "4012"}
	sold := func(as ...flight.CodeshareRef) *flight.Snapshot {
		return base(func(s *flight.Snapshot) { s.Codeshares = as })
	}
	ba := `{"carrier":"BA","name":"British Airways","flightNumber":"1511"}`
	ib := `{"carrier":"IB","name":"Iberia","flightNumber":"4218"}`
	ay := `{"carrier":"AY","name":"Finnair","flightNumber":"4012"}`
	change := func(from, to, message string) []string {
		return []string{`{"type":"codeshares.changed","path":"codeshares","from":[` + from + `],"to":[` + to + `],"message":"Codeshares changed: ` + message + `"}`}
	}
	renamed := british
	renamed.Name = "BA"
	runDiff(t, []diffCase{
		{"added", sold(), sold(iberia, british), change("", ba+","+ib, "added BA1511, IB4218")},
		{"removed", sold(british, iberia), sold(iberia), change(ba+","+ib, ib, "removed BA1511")},
		{"one for another", sold(british), sold(finnair), change(ba, ay, "added AY4012; removed BA1511")},
		{"in another order", sold(british, iberia), sold(iberia, british), nil},
		{"named twice", sold(british), sold(british, british), nil},
		{"the airline is called otherwise", sold(british), sold(renamed), nil},
		{"carrier and number split otherwise", sold(flight.CodeshareRef{Carrier: "U2", FlightNumber: "15"}), sold(flight.CodeshareRef{Carrier: "U21", FlightNumber: "5"}),
			change(`{"carrier":"U2","name":"","flightNumber":"15"}`, `{"carrier":"U21","name":"","flightNumber":"5"}`, "added U215; removed U215")},
	})
}

// TestDiffDelay covers the delay entries beside the times that they come from.
func TestDiffDelay(t *testing.T) {
	runDiff(t, []diffCase{
		{"first estimates, on time", base(), base(late(0, 0)), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":null,"to":"2026-03-10T22:00:00.000Z","message":"Estimated departure set to 18:00 EDT"}`,
			`{"type":"arrival.estimated.changed","path":"arrival.times.estimatedGate","from":null,"to":"2026-03-11T06:10:00.000Z","message":"Estimated arrival set to 06:10 GMT"}`}},
		{"both ends later", base(late(10, 0)), base(late(75, 60)), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":"2026-03-10T22:10:00.000Z","to":"2026-03-10T23:15:00.000Z","message":"Estimated departure changed from 18:10 EDT to 19:15 EDT (1 h 5 min later)","deltaMinutes":65}`,
			`{"type":"arrival.estimated.changed","path":"arrival.times.estimatedGate","from":"2026-03-11T06:10:00.000Z","to":"2026-03-11T07:10:00.000Z","message":"Estimated arrival changed from 06:10 GMT to 07:10 GMT (1 h later)","deltaMinutes":60}`,
			`{"type":"delay.increased","path":"departure.delayMinutes","from":10,"to":75,"message":"Departure is now 1 h 15 min late (was 10 min late)","deltaMinutes":65}`,
			`{"type":"delay.increased","path":"arrival.delayMinutes","from":0,"to":60,"message":"Arrival is now 1 h late (was on time)","deltaMinutes":60}`}},
		{"back on time", base(late(10, -5)), base(late(0, -5)), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":"2026-03-10T22:10:00.000Z","to":"2026-03-10T22:00:00.000Z","message":"Estimated departure changed from 18:10 EDT to 18:00 EDT (10 min earlier)","deltaMinutes":-10}`,
			`{"type":"delay.decreased","path":"departure.delayMinutes","from":10,"to":0,"message":"Departure is now on time (was 10 min late)","deltaMinutes":-10}`}},
		{"over midnight, with the dates", base(late(10, 0)), base(late(6*60+30, 0)), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":"2026-03-10T22:10:00.000Z","to":"2026-03-11T04:30:00.000Z","message":"Estimated departure changed from 18:10 EDT on 2026-03-10 to 00:30 EDT on 2026-03-11 (6 h 20 min later)","deltaMinutes":380}`,
			`{"type":"delay.increased","path":"departure.delayMinutes","from":10,"to":390,"message":"Departure is now 6 h 30 min late (was 10 min late)","deltaMinutes":380}`}},
		{"an estimate withdrawn ends no delay", base(late(10, 0)), base(late(10, 0), func(s *flight.Snapshot) { s.Departure.Times.EstimatedGate = nil }), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":"2026-03-10T22:10:00.000Z","to":null,"message":"Estimated departure 18:10 EDT withdrawn"}`}},
		{"a time without clocks is told in UTC", base(), base(func(s *flight.Snapshot) {
			s.Departure.Times.EstimatedGate = &flight.FlightTime{UTC: scheduledOut}
		}), []string{
			`{"type":"departure.estimated.changed","path":"departure.times.estimatedGate","from":null,"to":"2026-03-10T22:00:00.000Z","message":"Estimated departure set to 22:00 UTC"}`}},
		{"the delay rests on the runway pair: its schedule counts beside the gate's", base(runwayPair(0)), base(runwayPair(5)), []string{
			`{"type":"departure.scheduled.changed","path":"departure.times.scheduledRunway","from":"2026-03-10T22:15:00.000Z","to":"2026-03-10T22:20:00.000Z","message":"Scheduled take-off changed from 18:15 EDT to 18:20 EDT (5 min later)","deltaMinutes":5}`,
			`{"type":"delay.decreased","path":"departure.delayMinutes","from":10,"to":5,"message":"Departure is now 5 min late (was 10 min late)","deltaMinutes":-5}`}},
		{"and so it does when it goes, and the delay with it", base(runwayPair(0)), base(runwayPair(0), func(s *flight.Snapshot) { s.Departure.Times.ScheduledRunway = nil }), []string{
			`{"type":"departure.scheduled.changed","path":"departure.times.scheduledRunway","from":"2026-03-10T22:15:00.000Z","to":null,"message":"Scheduled take-off 18:15 EDT withdrawn"}`}},
	})
}

// runwayPair is an edit: wheels-off estimated at 18:25, scheduled at 18:15 and
// so many minutes, beside a scheduled gate time.
func runwayPair(minutes int) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) {
		s.Departure.Times.ScheduledRunway = on(plus(scheduledOut, time.Duration(15+minutes)*time.Minute), newYork)
		s.Departure.Times.EstimatedRunway = on(plus(scheduledOut, 25*time.Minute), newYork)
	}
}

// TestDiffOrder has everything change at once.
func TestDiffOrder(t *testing.T) {
	prev := base(late(20, 0), func(s *flight.Snapshot) {
		s.Status.Code, s.Status.Phase = flight.StatusCancelled, flight.PhaseCancelled
	})
	next := base(late(10, 20), func(s *flight.Snapshot) {
		s.Status.Code, s.Status.Phase = flight.StatusRedirected, flight.PhaseRedirected
		divertedTo("SNN")(s)
		s.Departure.Gate, s.Departure.Terminal = "B1", "8"
		s.Arrival.Gate, s.Arrival.Terminal, s.Arrival.Baggage = "C1", "3", "9"
		for _, ft := range []**flight.FlightTime{&s.Departure.Times.ScheduledGate, &s.Departure.Times.ActualGate} {
			*ft = on(plus(scheduledOut, time.Minute), newYork)
		}
		for _, ft := range []**flight.FlightTime{&s.Arrival.Times.ScheduledGate, &s.Arrival.Times.ActualGate} {
			*ft = on(plus(scheduledIn, time.Minute), london)
		}
		s.Equipment.IATA, s.Equipment.TailNumber = "77W", "N1"
		s.Departure.Airport.IATA, s.Arrival.Airport.IATA = "EWR", "LGW"
		s.Codeshares = []flight.CodeshareRef{{Carrier: "BA", FlightNumber: "1"}}
	})
	want := []flight.ChangeType{
		"status.changed", "flight.departed", "flight.diverted", "flight.reinstated",
		"departure.gate.changed", "departure.terminal.changed", "arrival.gate.changed", "arrival.terminal.changed", "arrival.baggage.changed",
		"departure.scheduled.changed", "departure.estimated.changed", "departure.actual.changed",
		"arrival.scheduled.changed", "arrival.estimated.changed", "arrival.actual.changed",
		"delay.decreased", "aircraft.changed", "aircraft.tail.changed", "route.changed", "route.changed", "codeshares.changed",
	}
	var got []flight.ChangeType
	for _, c := range flight.Diff(prev, next) {
		got = append(got, c.Type)
	}
	if g, w := encoded(t, got), encoded(t, want); g != w {
		t.Errorf("order:\n got %s\nwant %s", g, w)
	}
}

func runDiff(t *testing.T, cases []diffCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changes := flight.Diff(c.prev, c.next)
			for i := range max(len(changes), len(c.want)) {
				var got, want string
				if i < len(changes) {
					got = encoded(t, changes[i])
				}
				if i < len(c.want) {
					want = c.want[i]
				}
				if got != want {
					t.Errorf("change %d:\n got %s\nwant %s", i, got, want)
				}
			}
			if same := c.prev.Fingerprint == c.next.Fingerprint; same != (len(changes) == 0) {
				t.Errorf("%d changes, fingerprints equal: %v", len(changes), same)
			}
		})
	}
}
