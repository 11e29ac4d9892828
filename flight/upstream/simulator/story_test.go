package simulator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones must not depend on the machine

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

const minute = flight.Time(60_000)

// legsAt asks the world and fails the test when it does not know the flight.
func legsAt(t testing.TB, w *simulator.Source, key flight.Key, now flight.Time) flight.Legs {
	t.Helper()
	legs, err := w.Legs(context.Background(), key, now)
	if err != nil {
		t.Fatalf("%s at %s: %v", key, now, err)
	}
	return legs
}

// life returns the span in which a leg changes, with some room at both ends.
func life(s *flight.Snapshot) (from, to flight.Time) {
	return s.Departure.Times.ScheduledGate.UTC - 76*60*minute, s.Arrival.Times.ScheduledGate.UTC + 6*60*minute
}

// story tells every change of a leg, looked at every step, as subscribers hear it.
func story(t testing.TB, w *simulator.Source, key flight.Key, leg int, from, to, step flight.Time) string {
	var b strings.Builder
	prev := legsAt(t, w, key, from)[leg]
	fmt.Fprintf(&b, "%s %s, %s, %s\n", prev.LegKey(), prev.Carrier.Name, prev.Equipment.Name, prev.ProviderFlightID)
	fmt.Fprintf(&b, "%s %s terminal %s\n", prev.Departure.Airport.IATA, prev.Departure.Times.ScheduledGate.Local, prev.Departure.Terminal)
	fmt.Fprintf(&b, "%s %s terminal %s\n", prev.Arrival.Airport.IATA, prev.Arrival.Times.ScheduledGate.Local, prev.Arrival.Terminal)
	for _, c := range prev.Codeshares {
		fmt.Fprintf(&b, "sold as %s%s by %s\n", c.Carrier, c.FlightNumber, c.Name)
	}
	for now := from + step; now <= to; now += step {
		next := legsAt(t, w, key, now)[leg]
		if changes := flight.Diff(prev, next); len(changes) > 0 {
			fmt.Fprintf(&b, "\n%s\n", now)
			for _, c := range changes {
				fmt.Fprintf(&b, "  %-27s %s\n", c.Type, c.Message)
			}
		}
		prev = next
	}
	b.WriteString("\ntimeline\n")
	for _, e := range prev.Timeline {
		fmt.Fprintf(&b, "  %s %s (%s): %s\n", e.OccurredAt, e.Title, e.Source, strings.Join(e.Events, "; "))
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *upstreamtest.Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and read the difference. Got:\n%s", name, got)
	}
}

// TestStories keeps the whole life of one flight of each kind as subscribers
// hear it. A change of these files is a change of everybody's world.
func TestStories(t *testing.T) {
	w := simulator.New(simulator.Config{FlagBase: "http://127.0.0.1:8080"})
	for name, key := range map[string]flight.Key{
		"ordinary":   {Carrier: "AA", Number: "285"},
		"delayed":    {Carrier: "LH", Number: "163"},
		"cancelled":  {Carrier: "AA", Number: simulator.NumberCancelled},
		"reinstated": {Carrier: "AA", Number: simulator.NumberReinstated},
		"diverted":   {Carrier: "BA", Number: simulator.NumberDiverted},
	} {
		t.Run(name, func(t *testing.T) {
			key.Date = "2026-03-08"
			from, to := life(legsAt(t, w, key, 1)[0])
			golden(t, name+".txt", story(t, w, key, 0, from, to, minute))
		})
	}
	t.Run("two legs", func(t *testing.T) {
		key := flight.Key{Carrier: "WN", Number: simulator.NumberTwoLegs, Date: "2026-07-01"}
		legs := legsAt(t, w, key, 1)
		from, _ := life(legs[0])
		_, to := life(legs[1])
		golden(t, "two-legs.txt", story(t, w, key, 0, from, to, minute)+"\n"+story(t, w, key, 1, from, to, minute))
	})
	t.Run("minute", func(t *testing.T) {
		key := simulator.MinuteFlight("FI", flight.TimeOf(time.Date(2026, 5, 4, 15, 29, 3, 0, time.UTC)))
		if key.Number != "7930" {
			t.Fatalf("the flight of 15:30 is %s", key)
		}
		dep := legsAt(t, w, key, 1)[0].Departure.Times.ScheduledGate.UTC
		golden(t, "minute.txt", story(t, w, key, 0, dep-minute, dep+2*minute, 1000))
	})
}
