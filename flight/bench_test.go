package flight_test

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// polledTwice is a full snapshot (4 codeshares, 20 entries of history) and the
// same as the next poll brings it.
func polledTwice() (prev, next *flight.Snapshot) {
	prev = full()
	return prev, with(prev, func(s *flight.Snapshot) { s.FetchedAt += 60_000 })
}

// TestDiffUnchangedDoesNotAllocate: nearly every poll finds nothing new.
func TestDiffUnchangedDoesNotAllocate(t *testing.T) {
	prev, next := polledTwice()
	if n := testing.AllocsPerRun(100, func() {
		if flight.Diff(prev, next) != nil {
			t.Fatal("changes")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDiffUnchanged(b *testing.B) {
	prev, next := polledTwice()
	b.ReportAllocs()
	for b.Loop() {
		if flight.Diff(prev, next) != nil {
			b.Fatal("changes")
		}
	}
}

func BenchmarkTell(b *testing.B) {
	prev := full()
	next := with(prev, func(s *flight.Snapshot) { s.Departure.Gate = "B13" })
	changes, knows := flight.Diff(prev, next), flight.ToldBy(prev)
	b.ReportAllocs()
	for b.Loop() {
		if sent, _ := flight.Tell(changes, next, flight.AllChanges, 5, knows); len(sent) != 1 {
			b.Fatal(sent)
		}
	}
}

func BenchmarkScheduleNext(b *testing.B) {
	s, now := full(), scheduledOut
	b.ReportAllocs()
	for b.Loop() {
		if p := even.Next(s, now); p.At <= now {
			b.Fatal(p)
		}
	}
}
