package simulator_test

import (
	"strconv"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestConformance(t *testing.T) {
	s := simulator.New(simulator.Config{FlagBase: "https://flights.example"})
	on := func(number string) flight.Key { return flight.Key{Carrier: "AA", Number: number, Date: "2026-11-21"} }
	when := func(key flight.Key, phases ...flight.Phase) upstreamtest.Case {
		c := upstreamtest.Case{Key: key}
		for _, phase := range phases {
			c.Looks = append(c.Looks, upstreamtest.Look{Source: s, Now: firstIn(t, s, key, phase)})
		}
		return c
	}
	ordinary, back := on("100"), on(simulator.NumberReinstated)
	reinstated := when(back, flight.PhaseCancelled)
	reinstated.Looks = append(reinstated.Looks, upstreamtest.Look{Source: s, Now: reinstated.Looks[0].Now + 3*3600_000})
	upstreamtest.Run(t, map[upstreamtest.Situation]upstreamtest.Case{
		upstreamtest.FarAhead:   {Key: ordinary, Looks: []upstreamtest.Look{{Source: s, Now: upstreamtest.At(t, "2026-11-10 12:00")}}},
		upstreamtest.Boarding:   when(ordinary, flight.PhaseBoarding),
		upstreamtest.Taxiing:    when(ordinary, flight.PhaseDeparted),
		upstreamtest.Airborne:   when(ordinary, flight.PhaseEnRoute),
		upstreamtest.Landed:     when(ordinary, flight.PhaseLanded),
		upstreamtest.Arrived:    when(ordinary, flight.PhaseArrived),
		upstreamtest.Early:      when(early(t, s), flight.PhaseArrived),
		upstreamtest.Cancelled:  when(on(simulator.NumberCancelled), flight.PhaseCancelled),
		upstreamtest.Reinstated: reinstated,
		upstreamtest.Diverted:   when(on(simulator.NumberDiverted), flight.PhaseRedirected, flight.PhaseDiverted),
		upstreamtest.TwoLegs:    {Key: on(simulator.NumberTwoLegs), Looks: []upstreamtest.Look{{Source: s, Now: upstreamtest.At(t, "2026-11-20 12:00")}}},
		upstreamtest.Codeshare:  when(codeshare(t, s), flight.PhaseScheduled).But("in this world every number is a flight of its own carrier"),
	})
	upstreamtest.FailWithin(t, s, ordinary, on(simulator.NumberNotFound), upstreamtest.At(t, "2026-11-21 12:00"))
}

// firstIn returns the first minute in which a flight is in a phase.
func firstIn(t *testing.T, s *simulator.Source, key flight.Key, phase flight.Phase) flight.Time {
	t.Helper()
	from := upstreamtest.At(t, key.Date+" 00:00") - 14*3600_000
	for now := from; now < from+72*3600_000; now += 60_000 {
		legs, err := s.Legs(t.Context(), key, now)
		if err != nil {
			t.Fatal(err)
		}
		if legs[0].Status.Phase == phase {
			return now
		}
	}
	t.Fatalf("%s is never %s", key, phase)
	return 0
}

// early returns a flight that arrives before its time.
func early(t *testing.T, s *simulator.Source) flight.Key {
	t.Helper()
	for number := 100; number < 400; number++ {
		key := flight.Key{Carrier: "AA", Number: strconv.Itoa(number), Date: "2026-11-21"}
		legs, err := s.Legs(t.Context(), key, upstreamtest.At(t, "2026-11-24 00:00"))
		if err != nil {
			t.Fatal(err)
		}
		if d := legs[0].Arrival.DelayMinutes; d != nil && *d < 0 {
			return key
		}
	}
	t.Fatal("no flight is ever early")
	return flight.Key{}
}

// codeshare returns a number that another carrier's flight is sold under.
func codeshare(t *testing.T, s *simulator.Source) flight.Key {
	t.Helper()
	for number := 100; number < 400; number++ {
		key := flight.Key{Carrier: "AA", Number: strconv.Itoa(number), Date: "2026-11-21"}
		legs, err := s.Legs(t.Context(), key, upstreamtest.At(t, "2026-11-20 00:00"))
		if err != nil {
			t.Fatal(err)
		}
		if shares := legs[0].Codeshares; len(shares) > 0 {
			return flight.Key{Carrier: shares[0].Carrier, Number: shares[0].FlightNumber, Date: key.Date}
		}
	}
	t.Fatal("no flight is sold by another carrier")
	return flight.Key{}
}
