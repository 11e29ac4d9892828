package flight_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/flight"
)

// retold is what a second upstream says of s: without seconds, in its own
// words, and without what it never knows.
func retold(s *flight.Snapshot, edits ...func(*flight.Snapshot)) *flight.Snapshot {
	round := func(t **flight.FlightTime) {
		if *t != nil {
			c := **t
			c.UTC = flight.TimeOf(c.UTC.Std().Truncate(time.Minute))
			*t = &c
		}
	}
	return with(s, append([]func(*flight.Snapshot){func(s *flight.Snapshot) {
		s.ProviderFlightID = "other-" + s.ProviderFlightID
		for _, e := range []*flight.EndpointTimes{&s.Departure.Times, &s.Arrival.Times} {
			for _, t := range []**flight.FlightTime{&e.ScheduledGate, &e.EstimatedGate, &e.ActualGate, &e.ActualRunway} {
				round(t)
			}
			e.ScheduledRunway, e.EstimatedRunway = nil, nil
		}
		s.Arrival.Baggage, s.Codeshares = "", nil
		if s.Departure.Gate != "" {
			s.Departure.Gate = "Gate " + s.Departure.Gate
		}
		s.Equipment.TailNumber = ""
		if s.Equipment.IATA != "" {
			s.Equipment.IATA = "B77W"
		}
	}}, edits...)...)
}

// A difference that is in the upstreams and not in the flight makes no change;
// everything else does, in either direction.
func TestReconcile(t *testing.T) {
	seconds := func(s *flight.Snapshot) {
		s.Departure.Times.EstimatedGate = on(plus(scheduledOut, 10*time.Minute+40*time.Second), newYork)
		s.Equipment.IATA, s.Equipment.TailNumber = "77W", "N720AN"
		s.Codeshares = []flight.CodeshareRef{{Carrier: "BA", FlightNumber: "1511"}}
	}
	inAir := func(s *flight.Snapshot) {
		status(flight.StatusActive, flight.PhaseEnRoute)(s)
		s.Departure.Times.ActualGate = on(plus(scheduledOut, 10*time.Minute), newYork)
		s.Departure.Times.ActualRunway = on(plus(scheduledOut, 25*time.Minute), newYork)
	}
	diverted := func(s *flight.Snapshot) {
		inAir(s)
		divertedTo("SNN")(s)
		status(flight.StatusRedirected, flight.PhaseRedirected)(s)
	}
	cancelled := status(flight.StatusCancelled, flight.PhaseCancelled)
	none := func(*flight.Snapshot) {}
	for name, c := range map[string]struct {
		before, now func(*flight.Snapshot) // of the flight
		edit        func(*flight.Snapshot) // of what the other says
		want        []string
	}{
		"the same": {none, none, none, nil},
		"an estimate of its own": {none, none, func(s *flight.Snapshot) {
			s.Departure.Times.EstimatedGate = on(plus(scheduledOut, 14*time.Minute), newYork)
		}, nil},
		"another estimate": {none, none, func(s *flight.Snapshot) {
			s.Departure.Times.EstimatedGate = on(plus(scheduledOut, 16*time.Minute), newYork)
		}, []string{"departure.estimated.changed", "delay.increased"}},
		"another gate":                {none, none, func(s *flight.Snapshot) { s.Departure.Gate = "C3" }, []string{"departure.gate.changed"}},
		"a gate that it knows better": {func(s *flight.Snapshot) { s.Departure.Gate = "" }, none, func(s *flight.Snapshot) { s.Departure.Gate = "C3" }, []string{"departure.gate.changed"}},
		"another schedule":            {none, none, func(s *flight.Snapshot) { s.Departure.Times.ScheduledGate = on(plus(scheduledOut, time.Hour), newYork) }, []string{"departure.scheduled.changed", "delay.decreased"}},
		"a phase behind": {inAir, inAir, func(s *flight.Snapshot) {
			status(flight.StatusActive, flight.PhaseDeparted)(s)
			s.Departure.Times.ActualRunway = nil
		}, nil},
		"it has not heard of the departure": {inAir, inAir, func(s *flight.Snapshot) {
			status(flight.StatusScheduled, flight.PhaseScheduled)(s)
			s.Departure.Times.ActualGate, s.Departure.Times.ActualRunway = nil, nil
		}, nil},
		"it knows nothing":                     {inAir, inAir, status(flight.StatusUnknown, flight.PhaseUnknown), nil},
		"departed meanwhile":                   {none, inAir, none, []string{"status.changed", "flight.departed", "departure.actual.changed"}},
		"cancelled meanwhile":                  {none, cancelled, none, []string{"status.changed", "flight.cancelled"}},
		"it has not heard of the cancellation": {cancelled, none, none, nil},
		"diverted meanwhile":                   {inAir, diverted, none, []string{"status.changed", "flight.diverted"}},
		"it has not heard of the diversion":    {diverted, inAir, func(s *flight.Snapshot) { s.Diverted = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := informed(seconds, c.before), informed(seconds, c.now)
			other := retold(after, c.edit)
			now := utc("2026-03-10 20:00")
			counts, held := flight.Reconcile(before, nil, other, "a", "b", now)
			var got []string
			for _, ch := range flight.Diff(before, counts) {
				got = append(got, string(ch.Type))
			}
			if !slices.Equal(slices.Compact(got), c.want) {
				t.Errorf("told of %v, want %v", got, c.want)
			}
			// It says the same again, and again.
			for range 3 {
				again, still := flight.Reconcile(counts, held, with(other), "b", "b", now)
				if changes := flight.Diff(counts, again); changes != nil || len(still) != len(held) {
					t.Fatalf("the same once more tells %+v; held %v, then %v", changes, held, still)
				}
				counts, held = again, still
			}
			// What it says next, counts.
			counts, held = flight.Reconcile(counts, held, with(other, func(s *flight.Snapshot) { s.Arrival.Gate = "99" }), "b", "b", now)
			if counts.Arrival.Gate != "99" {
				t.Errorf("its own news is held: gate %s, %v", counts.Arrival.Gate, held)
			}
		})
	}
}

// Whoever is asked when: if both know the same of the flight, each in its way,
// subscribers are told exactly what the first alone would have told, but what
// the second does not know until the first is back.
func TestSwitchesTellNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := utc("2026-03-10 20:00")
		truth := informed(func(s *flight.Snapshot) {
			s.Equipment.IATA, s.Equipment.TailNumber = "77W", "N720AN"
			s.Codeshares = []flight.CodeshareRef{{Carrier: "BA", FlightNumber: "1511"}}
		})
		counts, from := truth, "a"
		var held []flight.Held
		for range rapid.IntRange(1, 20).Draw(t, "answers") {
			now = plus(now, time.Minute)
			to := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "asked")
			said := with(truth)
			if to == "b" {
				said = retold(truth)
			}
			counts, held = flight.Reconcile(counts, held, said, from, to, now)
			from = to
			if changes := flight.Diff(truth, counts); changes != nil {
				t.Fatalf("a switch to %s tells %+v", to, changes)
			}
		}
	})
}
