package replay_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones must not depend on the machine

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

const minute = flight.Time(60_000)

func shippedDay(t testing.TB) *replay.Source {
	t.Helper()
	s, err := replay.New(replay.Config{FlagBase: "https://flights.example"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leg asks the day and fails the test when it does not know the flight.
func leg(t testing.TB, s *replay.Source, key flight.Key, now flight.Time) *flight.Snapshot {
	t.Helper()
	legs, err := s.Legs(context.Background(), key, now)
	if err != nil {
		t.Fatalf("%s at %s: %v", key, now, err)
	}
	if len(legs) != 1 {
		t.Fatalf("%s has %d legs", key, len(legs))
	}
	return legs[0]
}

func utc(t testing.TB, text string) flight.Time {
	t.Helper()
	if text == "" {
		return 0
	}
	v, err := time.Parse("2006-01-02T15:04Z", text)
	if err != nil {
		t.Fatal(err)
	}
	return flight.TimeOf(v)
}

// known is what the tests below look at, written as day and time in UTC.
type known struct {
	at                             string
	phase                          flight.Phase
	depEst, depAct, arrEst, arrAct string
	elsewhere                      string // the airport it is diverted to and its best time there
	timeline                       int
}

// TestRows follows hand-picked rows of the shipped day; the expected times were
// worked out by hand from the rows that stand above them.
func TestRows(t *testing.T) {
	day := shippedDay(t)
	for _, tt := range []struct {
		name, carrier, number string
		known                 []known
	}{
		// B6,486,JFK,ROC: 02:45 left 04:17 (92 late); 04:03 arrived 05:55
		{"the estimate creeps", "B6", "486", []known{
			{at: "01T00:00", phase: "scheduled"},
			{at: "11T01:44", phase: "scheduled"},
			{at: "11T01:45", phase: "scheduled", depEst: "11T03:15", timeline: 1},
			{at: "11T03:14", phase: "scheduled", depEst: "11T03:15", timeline: 1},
			{at: "11T03:15", phase: "scheduled", depEst: "11T03:30", timeline: 2},
			{at: "11T04:16", phase: "scheduled", depEst: "11T04:30", timeline: 6},
			{at: "11T04:17", phase: "en_route", depEst: "11T04:30", depAct: "11T04:17", arrEst: "11T05:35", timeline: 7},
			{at: "11T05:54", phase: "en_route", depEst: "11T04:30", depAct: "11T04:17", arrEst: "11T05:35", timeline: 7},
			{at: "11T05:55", phase: "arrived", depEst: "11T04:30", depAct: "11T04:17", arrEst: "11T05:35", arrAct: "11T05:55", timeline: 8},
		}},
		// AA,1895,EWR,MIA: 10:15 left 10:04 (11 early); 13:10 arrived 13:10
		{"early", "AA", "1895", []known{
			{at: "10T09:14", phase: "scheduled"},
			{at: "10T09:15", phase: "scheduled", depEst: "10T10:04", timeline: 1},
			{at: "10T10:03", phase: "scheduled", depEst: "10T10:04", timeline: 1},
			{at: "10T10:04", phase: "en_route", depEst: "10T10:04", depAct: "10T10:04", arrEst: "10T12:59", timeline: 2},
			{at: "10T13:10", phase: "arrived", depEst: "10T10:04", depAct: "10T10:04", arrEst: "10T12:59", arrAct: "10T13:10", timeline: 3},
		}},
		// EV,5545,EWR,DTW: 15:00 left 15:30 (30 late); 16:53 arrived 17:12
		{"just as late as is foreseen", "EV", "5545", []known{
			{at: "10T15:29", phase: "scheduled", depEst: "10T15:30", timeline: 1},
			{at: "10T15:30", phase: "en_route", depEst: "10T15:30", depAct: "10T15:30", arrEst: "10T17:23", timeline: 2},
		}},
		// DL,347,JFK,SJU: 01:15 left 01:46 (31 late); 05:31 arrived 06:36
		{"a minute later than is foreseen", "DL", "347", []known{
			{at: "11T01:44", phase: "scheduled", depEst: "11T01:45", timeline: 1},
			{at: "11T01:45", phase: "scheduled", depEst: "11T02:00", timeline: 2},
			{at: "11T01:46", phase: "en_route", depEst: "11T02:00", depAct: "11T01:46", arrEst: "11T06:02", timeline: 3},
		}},
		// EV,3841,EWR,CVG: 21:20 cancelled
		{"cancelled", "EV", "3841", []known{
			{at: "10T20:19", phase: "scheduled"},
			{at: "10T20:20", phase: "cancelled", timeline: 1},
			{at: "12T00:00", phase: "cancelled", timeline: 1},
		}},
		// MQ,3493,LGA,CLE: 17:25 left 17:19 (6 early); 19:05 did not arrive there
		{"diverted", "MQ", "3493", []known{
			{at: "10T18:28", phase: "en_route", depEst: "10T17:19", depAct: "10T17:19", arrEst: "10T18:59", timeline: 2},
			{at: "10T18:29", phase: "redirected", depEst: "10T17:19", depAct: "10T17:19", elsewhere: "DTW 10T19:05", timeline: 3},
			{at: "10T19:04", phase: "redirected", depEst: "10T17:19", depAct: "10T17:19", elsewhere: "DTW 10T19:05", timeline: 3},
			{at: "10T19:05", phase: "diverted", depEst: "10T17:19", depAct: "10T17:19", elsewhere: "DTW 10T19:05", timeline: 4},
		}},
		// VX,411,JFK,LAX: 17:00 left 03:34 (634 late); 22:55 did not arrive there
		{"left after its scheduled arrival and diverted", "VX", "411", []known{
			{at: "11T03:33", phase: "scheduled", depEst: "11T03:45", timeline: 42},
			{at: "11T03:34", phase: "en_route", depEst: "11T03:45", depAct: "11T03:34", arrEst: "11T09:29", timeline: 43},
			{at: "11T07:29", phase: "en_route", depEst: "11T03:45", depAct: "11T03:34", arrEst: "11T09:29", timeline: 43},
			{at: "11T07:30", phase: "redirected", depEst: "11T03:45", depAct: "11T03:34", elsewhere: "ONT 11T09:29", timeline: 44},
			{at: "11T09:29", phase: "diverted", depEst: "11T03:45", depAct: "11T03:34", elsewhere: "ONT 11T09:29", timeline: 45},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, want := range tt.known {
				s := leg(t, day, flight.Key{Carrier: tt.carrier, Number: tt.number, Date: "2013-07-10"}, utc(t, "2013-07-"+want.at+"Z"))
				got := known{
					at: want.at, phase: s.Status.Phase,
					depEst: brief(s.Departure.Times.EstimatedGate), depAct: brief(s.Departure.Times.ActualGate),
					arrEst: brief(s.Arrival.Times.EstimatedGate), arrAct: brief(s.Arrival.Times.ActualGate),
					timeline: len(s.Timeline),
				}
				if s.Diverted != nil {
					got.elsewhere = s.Diverted.Airport.IATA + " " + s.Diverted.BestTimeUTC.Std().Format("02T15:04")
				}
				if got != want {
					t.Errorf("\n got %+v\nwant %+v", got, want)
				}
			}
		})
	}
}

func brief(ft *flight.FlightTime) string {
	if ft == nil {
		return ""
	}
	return ft.UTC.Std().Format("02T15:04")
}

// TestWholeSnapshot looks at every field of one leg, which lands after
// midnight.
func TestWholeSnapshot(t *testing.T) {
	s := leg(t, shippedDay(t), flight.Key{Carrier: "B6", Number: "486", Date: "2013-07-10"}, utc(t, "2013-07-11T06:00Z"))
	got := string(s.Encode())
	path := filepath.Join("testdata", "B6486.json")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.TrimSpace(string(want)) {
		t.Errorf("got %s\nwant what stands in %s", got, path)
	}
}

// row is a row of the file as this test reads it, without the package.
type row struct {
	key                                flight.Key
	status                             string
	schedDep, actDep, schedArr, actArr flight.Time
}

func rows(t testing.TB, date string) []row {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(replay.Day(date))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := func(name string) int { return slices.Index(records[0], name) }
	var out []row
	for _, r := range records[1:] {
		out = append(out, row{
			key:      flight.Key{Carrier: r[col("carrier")], Number: r[col("flight")], Date: r[col("service_date")]},
			status:   r[col("status")],
			schedDep: utc(t, r[col("sched_dep_utc")]), actDep: utc(t, r[col("act_dep_utc")]),
			schedArr: utc(t, r[col("sched_arr_utc")]), actArr: utc(t, r[col("act_arr_utc")]),
		})
	}
	return out
}

// TestEveryMinute walks every row through every minute (with the race detector
// every seventh, for time's sake) from two hours before its schedule to its end: what is actual has happened, and no sooner than in
// the file; a departure that is awaited is estimated ahead.
func TestEveryMinute(t *testing.T) {
	t.Parallel()
	day := shippedDay(t)
	for _, r := range rows(t, replay.ShippedDate) {
		end := max(r.schedArr, r.actArr, r.schedArr+r.actDep-r.schedDep) + minute
		for now := r.schedDep - 120*minute; now <= end; now += everyMinute {
			s := leg(t, day, r.key, now)
			dep, arr := &s.Departure.Times, &s.Arrival.Times
			if dep.ScheduledGate.At() != r.schedDep || arr.ScheduledGate.At() != r.schedArr {
				t.Fatalf("%s at %s: schedule %s to %s", r.key, now, dep.ScheduledGate.At(), arr.ScheduledGate.At())
			}
			if got, want := dep.ActualGate.At(), happened(r.actDep, now); got != want {
				t.Fatalf("%s at %s: left %s, the file says %s", r.key, now, got, want)
			}
			if got, want := arr.ActualGate.At(), happened(r.actArr, now); got != want {
				t.Fatalf("%s at %s: arrived %s, the file says %s", r.key, now, got, want)
			}
			awaited := r.actDep != 0 && now >= r.schedDep-60*minute && now < r.actDep
			if est := dep.EstimatedGate.At(); awaited && est <= now {
				t.Fatalf("%s at %s: the departure is estimated at %s", r.key, now, est)
			}
			for i, e := range s.Timeline {
				if e.OccurredAt > now || i > 0 && e.OccurredAt > s.Timeline[i-1].OccurredAt {
					t.Fatalf("%s at %s: timeline entry %d is out of place", r.key, now, i)
				}
			}
		}
	}
}

func happened(at, now flight.Time) flight.Time {
	if at > now {
		return 0
	}
	return at
}

// TestWholeDay counts how the days began and ended.
func TestWholeDay(t *testing.T) {
	for _, want := range []wholeDay{
		{replay.ShippedDate, 846, 121, 37, "2013-07-10T08:00Z", "2013-07-11T13:07Z"},
		{replay.BlizzardDate, 455, 472, 3, "2013-02-08T09:00Z", "2013-02-09T06:22Z"},
	} {
		t.Run(want.date, func(t *testing.T) { want.check(t) })
	}
}

// wholeDay is how a day ends, and between which times it changes.
type wholeDay struct {
	date                         string
	arrived, cancelled, diverted int
	from, to                     string
}

func (w wholeDay) check(t *testing.T) {
	day, err := replay.New(replay.Config{CSV: bytes.NewReader(replay.Day(w.date))})
	if err != nil {
		t.Fatal(err)
	}
	from, to := day.Span()
	phases := map[flight.Phase]int{}
	for i, r := range rows(t, w.date) {
		if key := day.Flights()[i]; key != r.key {
			t.Fatalf("flight %d is %s, in the file %s", i, key, r.key)
		}
		if s := leg(t, day, r.key, from-1); s.Status.Phase != flight.PhaseScheduled || len(s.Timeline) > 0 {
			t.Errorf("before the day %s is %s", s.LegKey(), s.Status.Phase)
		}
		s := leg(t, day, r.key, to)
		phases[s.Status.Phase]++
		want := map[string]flight.Phase{"landed": "arrived", "cancelled": "cancelled", "no_arrival_at_dest": "diverted"}[r.status]
		if s.Status.Phase != want {
			t.Errorf("%s ends as %s, not %s", s.LegKey(), s.Status.Phase, want)
		}
		if s.Carrier.Name == s.CarrierCode || s.Carrier.IATA != s.CarrierCode || s.Departure.Airport.Country.Code != "US" {
			t.Errorf("%s: %+v from %+v", s.LegKey(), s.Carrier, s.Departure.Airport)
		}
		if d := s.Diverted; d != nil && (d.Airport.Is(s.Departure.Airport.IATA) || d.Airport.Is(s.Arrival.Airport.IATA) || d.Airport.Name == "") {
			t.Errorf("%s is diverted to %+v", s.LegKey(), d.Airport)
		}
	}
	if phases["arrived"] != w.arrived || phases["cancelled"] != w.cancelled || phases["diverted"] != w.diverted {
		t.Errorf("%d flights ended as %v", len(day.Flights()), phases)
	}
	if from != utc(t, w.from) || to != utc(t, w.to) {
		t.Errorf("the day goes from %s to %s", from, to)
	}
}

func TestNoSuchDay(t *testing.T) {
	for _, date := range []string{"", "2013-07-11", "../NOTICE"} {
		if file := replay.Day(date); file != nil {
			t.Errorf("%q is a day of %d bytes", date, len(file))
		}
	}
}

func TestNotFound(t *testing.T) {
	day := shippedDay(t)
	for _, key := range []flight.Key{
		{Carrier: "B6", Number: "486", Date: "2013-07-11"},
		{Carrier: "B6", Number: "9999", Date: "2013-07-10"},
		{Carrier: "ZZ", Number: "486", Date: "2013-07-10"},
	} {
		if legs, err := day.Legs(context.Background(), key, 1); flight.CodeOf(err) != flight.CodeFlightNotFound {
			t.Errorf("%s: %v, %v", key, legs, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := day.Legs(ctx, day.Flights()[0], 1); flight.CodeOf(err) != flight.CodeUpstreamTimeout {
		t.Errorf("a cancelled request: %v", err)
	}
}

func TestCarrierByICAO(t *testing.T) {
	s := leg(t, shippedDay(t), flight.Key{Carrier: "JBU", Number: "486", Date: "2013-07-10"}, 1)
	if s.LegKey() != "B6486:2013-07-10@JFK-ROC" {
		t.Errorf("JBU486 is %s", s.LegKey())
	}
}

func TestSourceName(t *testing.T) {
	if day := shippedDay(t); day.Name() != "replay" || day.Floor() != 0 {
		t.Errorf("%s, %s", day.Name(), day.Floor())
	}
}

func BenchmarkLegs(b *testing.B) {
	day := shippedDay(b)
	for name, key := range map[string]flight.Key{
		"arrived":   {Carrier: "B6", Number: "486", Date: "2013-07-10"},
		"cancelled": {Carrier: "EV", Number: "3841", Date: "2013-07-10"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				leg(b, day, key, 1<<42)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for range b.N {
		shippedDay(b)
	}
}
