package flight_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
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

// BenchmarkPlanDuePolls plans the legs of a recorded day as their polls fall
// due: Diff against what stands, WatchEnded, and the next poll.
func BenchmarkPlanDuePolls(b *testing.B) {
	type due struct {
		standing, next *flight.Snapshot
		now            flight.Time
	}
	var polls []due
	for _, f := range recordedDay(b, replay.ShippedDate, 10, assumption{}) {
		r, now := random(0), f.from
		for standing := f.at(now); ; {
			if _, ended := flight.WatchEnded(standing, now); ended {
				break
			}
			now = under(flight.Schedule{})(standing, now, r.Float64())
			polls = append(polls, due{standing, f.at(now), now})
			standing = polls[len(polls)-1].next
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(polls), func(i, j int) { polls[i], polls[j] = polls[j], polls[i] })
	planned, changes := 0, 0
	b.ReportAllocs()
	began := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		p := &polls[i%len(polls)]
		changes += len(flight.Diff(p.standing, p.next))
		if _, ended := flight.WatchEnded(p.next, p.now); ended {
			continue
		}
		if (flight.Schedule{Jitter: 0.5}).Next(p.next, p.now).At > p.now {
			planned++
		}
	}
	if planned == 0 || changes == 0 {
		b.Fatalf("%d planned, %d changes", planned, changes)
	}
	b.ReportMetric(float64(b.N)/(cpuTime(b)-began).Seconds(), "legs/cpu-s")
}

// cpuTime returns what the process has used so far, which a busy machine
// changes less than the time that passes.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
