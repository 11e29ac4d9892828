package simulator_test

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

var carriers = rapid.OneOf(
	rapid.SampledFrom([]string{"AA", "LH", "B6", "QF", "FI", "6E", "AAL", "DLH", "RV*", "ZZ", "0A", "XXX"}),
	rapid.StringMatching(`[A-Z0-9]{2}`),
)

var dates = rapid.Custom(func(t *rapid.T) string {
	day := rapid.IntRange(0, 365*100).Draw(t, "day")
	return time.Date(2000, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
})

// keys are keys of every kind of flight that there is.
var keys = rapid.Custom(func(t *rapid.T) flight.Key {
	number := rapid.OneOf(
		rapid.StringMatching(`[1-9][0-9]{0,3}[A-Z]?|0`),
		rapid.SampledFrom([]string{simulator.NumberTwoLegs, simulator.NumberCancelled, simulator.NumberReinstated, simulator.NumberDiverted}),
		rapid.Map(rapid.IntRange(simulator.FirstMinuteNumber, simulator.LastMinuteNumber), strconv.Itoa),
	).Filter(func(n string) bool { return n != simulator.NumberNotFound }).Draw(t, "number")
	return flight.Key{Carrier: carriers.Draw(t, "carrier"), Number: number, Date: dates.Draw(t, "date")}
})

var ranks = map[flight.Phase]int{
	flight.PhaseScheduled: 0, flight.PhaseBoarding: 1, flight.PhaseDeparted: 2, flight.PhaseEnRoute: 3,
	flight.PhaseLanded: 4, flight.PhaseArrived: 5, flight.PhaseRedirected: 6, flight.PhaseDiverted: 7, flight.PhaseCancelled: 8,
}

// TestTellsOnlyWhatIsKnown walks through the lives of random flights: what is
// actual has happened, what is estimated is ahead, and no phase comes back.
func TestTellsOnlyWhatIsKnown(t *testing.T) {
	w := simulator.New(simulator.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		key := keys.Draw(rt, "key")
		first := legsAt(t, w, key, 1)
		for leg, s := range first {
			from, to := life(s)
			step := flight.Time(rapid.IntRange(15, 60).Draw(rt, "step")) * minute
			rank := 0
			for now := from; now < to; now += step {
				next := legsAt(t, w, key, now)[leg]
				checkKnown(rt, next, now)
				if key.Number != simulator.NumberReinstated && ranks[next.Status.Phase] < rank {
					rt.Fatalf("%s at %s: back to %s", key, now, next.Status.Phase)
				}
				rank = ranks[next.Status.Phase]
				if next.Key() != s.Key() || next.ProviderFlightID != s.ProviderFlightID {
					rt.Fatalf("%s at %s is another leg: %s", key, now, next.LegKey())
				}
			}
		}
	})
}

func checkKnown(t rapid.TB, s *flight.Snapshot, now flight.Time) {
	ends := []*flight.Endpoint{&s.Departure, &s.Arrival}
	if s.Diverted != nil {
		ends = append(ends, s.Diverted)
	}
	for _, e := range ends {
		if e.Times.ActualGate.At() > now || e.Times.ActualRunway.At() > now {
			t.Fatalf("%s knows at %s what is to come: %+v", s.LegKey(), now, e.Times)
		}
		if at := e.Times.ScheduledGate; at != nil && (at.Local == "" || at.Timezone == "") {
			t.Fatalf("%s has no local times at %s", s.LegKey(), e.Airport.IATA)
		}
	}
	if est := s.Departure.Times.EstimatedGate.At(); est.Known() && !s.Departed() && !s.Status.Cancelled && est < now {
		t.Fatalf("%s waits at %s for a departure estimated at %s", s.LegKey(), now, est)
	}
	if est := s.Arrival.Times.EstimatedGate.At(); est.Known() && s.Status.Phase.InAir() && est < now {
		t.Fatalf("%s is in the air at %s, estimated in at %s", s.LegKey(), now, est)
	}
	for i, e := range s.Timeline {
		if e.OccurredAt > now || i > 0 && e.OccurredAt > s.Timeline[i-1].OccurredAt || len(e.Events) == 0 {
			t.Fatalf("%s at %s: timeline entry %d is out of place: %+v", s.LegKey(), now, i, e)
		}
	}
}

// TestSameWorld asks two worlds of one seed for one flight, out of order.
func TestSameWorld(t *testing.T) {
	a, b := simulator.New(simulator.Config{Seed: 7}), simulator.New(simulator.Config{Seed: 7})
	rapid.Check(t, func(rt *rapid.T) {
		key := keys.Draw(rt, "key")
		from, to := life(legsAt(t, a, key, 1)[0])
		now := flight.Time(rapid.Int64Range(int64(from), int64(to)).Draw(rt, "now"))
		x := legsAt(t, a, key, now)
		legsAt(t, b, key, to)
		y := legsAt(t, b, key, now)
		for i := range x {
			if !bytes.Equal(x[i].Encode(), y[i].Encode()) {
				rt.Fatalf("%s at %s differs:\n%s\n%s", key, now, x[i].Encode(), y[i].Encode())
			}
		}
	})
}

func TestSeedsAreWorlds(t *testing.T) {
	a, b := simulator.New(simulator.Config{Seed: 1}), simulator.New(simulator.Config{Seed: 2})
	same := 0
	for n := range 50 {
		key := flight.Key{Carrier: "ZZ", Number: strconv.Itoa(n + 1), Date: "2026-05-05"}
		if legsAt(t, a, key, 1)[0].LegKey() == legsAt(t, b, key, 1)[0].LegKey() {
			same++
		}
	}
	if same > 5 {
		t.Errorf("%d of 50 routes are the same in two worlds", same)
	}
}

// TestPlausible looks at random flights when they are over.
func TestPlausible(t *testing.T) {
	w := simulator.New(simulator.Config{FlagBase: "https://flights.example"})
	rapid.Check(t, func(rt *rapid.T) {
		key := keys.Draw(rt, "key")
		_, to := life(legsAt(t, w, key, 1)[0])
		for i, s := range legsAt(t, w, key, to+24*60*minute) {
			if got := s.Departure.Times.ScheduledGate.Local[:10]; got != key.Date {
				rt.Fatalf("%s leg %d leaves on %s", key, i, got)
			}
			if s.Departure.Airport.IATA == s.Arrival.Airport.IATA || s.Carrier.Name == "" || s.Carrier.IATA != s.CarrierCode {
				rt.Fatalf("%s: %+v from %s to %s", key, s.Carrier, s.Departure.Airport.IATA, s.Arrival.Airport.IATA)
			}
			if d := *s.Duration.ScheduledMinutes; d < 1 || d > 13*60 {
				rt.Fatalf("%s takes %d minutes", s.LegKey(), d)
			}
			if s.Equipment.TailNumber == "" || s.Equipment.Name == "" || s.Departure.Gate == "" || s.Departure.Terminal == "" {
				rt.Fatalf("%s: equipment %+v, departure %+v", s.LegKey(), s.Equipment, s.Departure)
			}
			for _, c := range s.Codeshares {
				if c.Carrier == s.CarrierCode || c.Name == "" {
					rt.Fatalf("%s is sold as %+v", s.LegKey(), c)
				}
			}
			if d := s.Departure.DelayMinutes; d == nil || *d < -6 || *d > 240 {
				rt.Fatalf("%s: delay %v", s.LegKey(), d)
			}
			checkEnd(rt, key, s)
		}
	})
}

func checkEnd(t *rapid.T, key flight.Key, s *flight.Snapshot) {
	want := flight.PhaseArrived
	switch key.Number {
	case simulator.NumberCancelled:
		want = flight.PhaseCancelled
	case simulator.NumberDiverted:
		want = flight.PhaseDiverted
		if d := s.Diverted; d == nil || d.Airport.Is(s.Arrival.Airport.IATA) || d.Airport.Is(s.Departure.Airport.IATA) || d.Times.ActualGate == nil {
			t.Fatalf("%s landed at %+v", s.LegKey(), s.Diverted)
		}
		if s.Arrival.Times.ActualGate != nil || s.Arrival.Times.ActualRunway != nil || s.Arrival.Times.EstimatedGate != nil {
			t.Fatalf("%s is still expected at %+v", s.LegKey(), s.Arrival.Times)
		}
	default:
		if s.Arrival.Baggage == "" || s.Diverted != nil || s.Status.Cancelled {
			t.Fatalf("%s ended as %+v, belt %q", s.LegKey(), s.Status, s.Arrival.Baggage)
		}
	}
	if s.Status.Phase != want {
		t.Fatalf("%s ended as %s, not %s", s.LegKey(), s.Status.Phase, want)
	}
}

func TestNotFound(t *testing.T) {
	w := simulator.New(simulator.Config{})
	for _, key := range []flight.Key{
		{Carrier: "AA", Number: simulator.NumberNotFound, Date: "2026-05-05"},
		{Carrier: "AA", Number: "1", Date: "2026-13-05"},
	} {
		if legs, err := w.Legs(context.Background(), key, 1); flight.CodeOf(err) != flight.CodeFlightNotFound {
			t.Errorf("%s: %v, %v", key, legs, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Legs(ctx, flight.Key{Carrier: "AA", Number: "1", Date: "2026-05-05"}, 1); flight.CodeOf(err) != flight.CodeUpstreamTimeout {
		t.Errorf("a cancelled request: %v", err)
	}
}

// TestTwoLegs: one aircraft flies both legs, the second from where the first
// ends and after it has arrived; each lists both.
func TestTwoLegs(t *testing.T) {
	w := simulator.New(simulator.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		key := flight.Key{Carrier: carriers.Draw(rt, "carrier"), Number: simulator.NumberTwoLegs, Date: dates.Draw(rt, "date")}
		_, to := life(legsAt(t, w, key, 1)[0])
		legs := legsAt(t, w, key, to+24*60*minute)
		if len(legs) != 2 {
			rt.Fatalf("%s has %d legs", key, len(legs))
		}
		a, b := legs[0], legs[1]
		if a.Arrival.Airport.IATA != b.Departure.Airport.IATA || a.Departure.Airport.IATA == b.Arrival.Airport.IATA {
			rt.Fatalf("%s flies %s and %s", key, a.LegKey(), b.LegKey())
		}
		if a.Equipment != b.Equipment {
			rt.Fatalf("%s changes from %+v to %+v", key, a.Equipment, b.Equipment)
		}
		if gap := b.Departure.Times.ActualGate.UTC - a.Arrival.Times.ActualGate.UTC; gap < 20*minute {
			rt.Fatalf("%s has %d minutes on the ground", key, gap/minute)
		}
		for i, s := range legs {
			if len(s.Alternates) != 2 || !s.Alternates[i].Selected || s.Alternates[1-i].Selected || s.Alternates[i].ProviderFlightID != s.ProviderFlightID {
				rt.Fatalf("%s leg %d lists %+v", key, i, s.Alternates)
			}
		}
	})
}

func TestCarrierCodes(t *testing.T) {
	w := simulator.New(simulator.Config{})
	key := flight.Key{Carrier: "AAL", Number: "100", Date: "2026-05-05"}
	icao := legsAt(t, w, key, 1)[0]
	key.Carrier = "AA"
	iata := legsAt(t, w, key, 1)[0]
	if icao.FlightKey != "AA100:2026-05-05" || !flight.SameContent(icao, iata) {
		t.Errorf("AAL100 is %s, AA100 is %s", icao.LegKey(), iata.LegKey())
	}
	key.Carrier = "ZZ"
	if s := legsAt(t, w, key, 1)[0]; s.CarrierCode != "ZZ" || s.Carrier.Name != "ZZ Airlines" {
		t.Errorf("an unknown carrier is %+v", s.Carrier)
	}
}

// TestPairs: an odd number leaves the base, the even one after it comes back.
func TestPairs(t *testing.T) {
	w := simulator.New(simulator.Config{})
	for n := 1; n < 200; n += 2 {
		out := legsAt(t, w, flight.Key{Carrier: "LH", Number: strconv.Itoa(n), Date: "2026-05-05"}, 1)[0]
		home := legsAt(t, w, flight.Key{Carrier: "LH", Number: strconv.Itoa(n + 1), Date: "2026-05-05"}, 1)[0]
		if !slices.Contains([]string{"FRA", "MUC"}, out.Departure.Airport.IATA) ||
			out.Departure.Airport.IATA != home.Arrival.Airport.IATA || out.Arrival.Airport.IATA != home.Departure.Airport.IATA {
			t.Errorf("%s does not go with %s", out.LegKey(), home.LegKey())
		}
	}
}

// TestDaysDiffer: the schedule stays, the day's facts do not.
func TestDaysDiffer(t *testing.T) {
	w := simulator.New(simulator.Config{})
	tails, usual := map[string]bool{}, ""
	for day := range 10 {
		date := time.Date(2026, 5, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		s := legsAt(t, w, flight.Key{Carrier: "LH", Number: "163", Date: date}, flight.TimeOf(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))[0]
		tails[s.Equipment.TailNumber] = true
		schedule := s.Departure.Times.ScheduledGate.Local[10:] + " for " + s.Arrival.Airport.IATA
		if usual != "" && schedule != usual {
			t.Errorf("on %s it leaves at %s, else at %s", date, schedule, usual)
		}
		usual = schedule
	}
	if len(tails) < 5 {
		t.Errorf("ten days have the tails %v", tails)
	}
}

func TestMinuteFlight(t *testing.T) {
	for at, want := range map[string]string{
		"2026-05-04T00:00:00Z":     "FI7000:2026-05-04",
		"2026-05-04T00:00:00.001Z": "FI7001:2026-05-04",
		"2026-05-04T23:58:59Z":     "FI8439:2026-05-04",
		"2026-05-04T23:59:30Z":     "FI7000:2026-05-05",
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		key := simulator.MinuteFlight("FI", flight.TimeOf(now))
		if key.String() != want {
			t.Errorf("at %s: %s, want %s", at, key, want)
		}
		dep := legsAt(t, simulator.New(simulator.Config{}), key, 1)[0].Departure.Times.ScheduledGate.UTC
		if wait := dep - flight.TimeOf(now); wait < 0 || wait >= minute {
			t.Errorf("at %s it leaves at %s", at, dep)
		}
	}
}

// TestMinuteLife: polled once a second, as in a demo, it goes through these
// changes in this order, all within its minute.
func TestMinuteLife(t *testing.T) {
	w := simulator.New(simulator.Config{})
	key := flight.Key{Carrier: "ZZ", Number: "7500", Date: "2026-05-04"}
	want := []flight.ChangeType{
		flight.ChangeDepartureGate, flight.ChangeTail, flight.ChangeStatus, flight.ChangeDepartureGate,
		flight.ChangeDelayIncreased, flight.ChangeDelayDecreased, flight.ChangeDeparted, flight.ChangeArrivalBaggage,
		flight.ChangeArrivalEstimated, flight.ChangeArrived,
	}
	prev := legsAt(t, w, key, 1)[0]
	dep := prev.Departure.Times.ScheduledGate.UTC
	for now := dep - 30_000; now < dep+minute; now += 1000 {
		next := legsAt(t, w, key, now)[0]
		checkKnown(t, next, now)
		for _, c := range flight.Diff(prev, next) {
			if len(want) > 0 && c.Type == want[0] {
				want = want[1:]
			}
		}
		prev = next
	}
	if len(want) > 0 {
		t.Errorf("it never came to %v", want)
	}
	if after := legsAt(t, w, key, dep+600*minute)[0]; len(flight.Diff(prev, after)) > 0 {
		t.Errorf("after its minute: %v", flight.Diff(prev, after))
	}
}

func TestSourceName(t *testing.T) {
	w := simulator.New(simulator.Config{})
	if w.Name() != "simulator" || w.Floor() != 0 {
		t.Errorf("%s, %s", w.Name(), w.Floor())
	}
}

func BenchmarkLegs(b *testing.B) {
	w := simulator.New(simulator.Config{})
	for name, now := range map[string]flight.Time{"ahead": 1, "arrived": 1 << 43} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				legsAt(b, w, flight.Key{Carrier: "LH", Number: strconv.Itoa(1 + i%5000), Date: "2026-05-04"}, now)
			}
		})
	}
}
