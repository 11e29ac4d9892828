package jobs_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// benchSource is an upstream that knows every flight of the benchmark. Its
// answers are of some 4 KB; gate says at which gate they are.
type benchSource struct {
	mu   sync.Mutex
	gate string
	said map[flight.Key]time.Time // when a flight's present gate was first told
}

func (s *benchSource) Name() string         { return "bench" }
func (s *benchSource) Floor() time.Duration { return 0 }

func (s *benchSource) Legs(_ context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	l := benchLeg(key)
	s.mu.Lock()
	l.Departure.Gate = s.gate
	s.said[key] = time.Now()
	s.mu.Unlock()
	return upstream.Finish(key, flight.Legs{&l}, now)
}

// move sends every flight to another gate.
func (s *benchSource) move(gate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
}

func benchLeg(key flight.Key) flight.Snapshot {
	l := leg()
	l.CarrierCode, l.FlightNumber, l.Date = key.Carrier, key.Number, key.Date
	for i := range 19 {
		l.Timeline = append(l.Timeline, flight.TimelineEntry{
			OccurredAt: flight.TimeOf(began.Add(-time.Duration(i) * time.Minute)), Title: "Estimated time changed", Source: "Airline",
			Events: []string{fmt.Sprintf("Estimated departure 20:%02d EST", i)},
		})
	}
	return l
}

// bench is what a part of TestBenchDeliver works with.
type bench struct {
	*rig
	source  *benchSource
	recv    *benchReceiver
	meter   meter
	account string
	bare    float64 // deliveries a second of the bare loop

	claims, records atomic.Int64 // statements that claimed, groups that were recorded
}

func (b *bench) count(step string) {
	switch step {
	case "deliver.claimed":
		b.claims.Add(1)
	case "deliver.recorded":
		b.records.Add(1)
	}
}

func newBench(t *testing.T, m dbtest.Mode, change func(*setup)) *bench {
	b := &bench{source: &benchSource{said: make(map[flight.Key]time.Time), gate: "B1"}, recv: startBenchReceiver(t), meter: newMeter(t, m)}
	bareLoop(t, b.recv, 3200)
	var cpu time.Duration
	b.bare, cpu = bareLoop(t, b.recv, 32000)
	fmt.Printf("%s: bare loop: %.0f/s, CPU %v each\n", m.Name, b.bare, cpu.Round(time.Microsecond))
	b.rig = rigWith(t, m, func(s *setup) {
		s.Providers[0].Source = b.source
		s.Step = b.count
		change(s)
	})
	b.account = b.rig.account(t)
	return b
}

func benchKey(i int) flight.Key {
	return flight.Key{Carrier: "AA", Number: fmt.Sprint(i + 1), Date: key.Date}
}

// subscribeAll makes n subscriptions, the ith of the flight and with the URL
// that of says, and waits until those that answer have had their first event.
func (b *bench) subscribeAll(t *testing.T, n int, of func(i int) (flight.Key, string)) {
	t.Helper()
	next := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range next {
				b.subscribeOne(t, of, i)
			}
		})
	}
	answering := 0
	for i := range n {
		if _, url := of(i); !strings.Contains(url, "/hang/") {
			answering++
		}
		next <- i
	}
	close(next)
	all.Wait()
	if err := b.client.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.recv.receipts(t, answering)
}

func (b *bench) subscribeOne(t *testing.T, of func(i int) (flight.Key, string), i int) {
	key, url := of(i)
	st, err := b.DB.Standing(t.Context(), key)
	if err == nil && len(st.IDs) == 0 {
		st, err = b.intake.Ask(t.Context(), key, true)
	}
	if err == nil {
		_, err = b.DB.CreateSubscription(t.Context(), db.NewSubscription{
			Account: b.account, Key: key, FlightID: st.IDs[0], WebhookURL: url, Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MDE=",
			Events: flight.AllChanges, DelayThreshold: 5, Now: b.intake.World(),
		})
	}
	if err != nil {
		t.Error(err)
	}
}

// run measures n deliveries that begin sets off, times over, and prints the median.
func (b *bench) run(t *testing.T, what string, n, times int, begin func(i int)) {
	t.Helper()
	type figures struct {
		rate  float64
		cpu   spent
		begun time.Duration
	}
	var all []figures
	b.claims.Store(0)
	b.records.Store(0)
	for i := range times {
		used, start := b.meter.now(), time.Now()
		begin(i)
		if t.Failed() {
			t.FailNow()
		}
		begun := time.Since(start)
		got := b.recv.receipts(t, n)
		took := last(got).Sub(start)
		b.until(t, "all is recorded", func() bool { return b.settled(t) })
		all = append(all, figures{float64(n) / took.Seconds(), b.meter.now().sub(used), begun})
	}
	slices.SortFunc(all, func(a, b figures) int { return int(a.cpu.all() - b.cpu.all()) })
	cpu := all[len(all)/2].cpu
	slices.SortFunc(all, func(a, b figures) int { return int(a.rate - b.rate) })
	rate := all[len(all)/2].rate
	slices.SortFunc(all, func(a, b figures) int { return int(a.begun - b.begun) })
	begun := all[len(all)/2].begun.Round(time.Millisecond)
	each := func(d time.Duration) time.Duration { return (d / time.Duration(n)).Round(time.Microsecond) }
	fmt.Printf("%s: %s: %.0f/s, %.2f of the bare loop; CPU %v each (ours %v, PostgreSQL %v, Redis %v); median of %d, begun in %v; %d in a claim, %d recorded at a time\n",
		b.Name, what, rate, rate/b.bare, each(cpu.all()), each(cpu.Own), each(cpu.Postgres), each(cpu.Redis), times, begun,
		int64(n*times)/max(1, b.claims.Load()), int64(n*times)/max(1, b.records.Load()))
}

// percentiles prints how long deliveries took.
func (b *bench) percentiles(what string, took []time.Duration) {
	slices.Sort(took)
	at := func(p int) time.Duration { return took[len(took)*p/100].Round(10 * time.Microsecond) }
	fmt.Printf("%s: %s: median %v, 99th percentile %v (%d)\n", b.Name, what, at(50), at(99), len(took))
}

// TestBenchDeliver prints the figures of `make bench-deliver`.
func TestBenchDeliver(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("a benchmark: set FLIGHTWIRE_BENCH=1")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the command does
	for _, part := range []struct {
		name string
		run  func(*testing.T, dbtest.Mode)
	}{
		{"one flight", benchOneFlight}, {"many flights", benchManyFlights}, {"steady", benchSteady},
		{"hanging", benchHanging}, {"backlog", benchBacklog},
	} {
		t.Run(part.name, func(t *testing.T) { dbtest.EachMode(t, part.run) })
	}
}

const benchSubscriptions = 5000

func (b *bench) ask(t *testing.T, key flight.Key) {
	t.Helper()
	if _, err := b.intake.Ask(t.Context(), key, true); err != nil {
		t.Error(err)
	}
}

func benchOneFlight(t *testing.T, m dbtest.Mode) {
	b := newBench(t, m, func(*setup) {})
	b.subscribeAll(t, benchSubscriptions, func(i int) (flight.Key, string) {
		return benchKey(0), b.recv.url("127.0.0.1", "hook", i)
	})
	b.run(t, "5,000 subscriptions of one flight", benchSubscriptions, 5, func(i int) {
		b.source.move(fmt.Sprint("C", i))
		b.ask(t, benchKey(0))
	})
}

func benchManyFlights(t *testing.T, m dbtest.Mode) {
	b := newBench(t, m, func(*setup) {})
	b.subscribeAll(t, benchSubscriptions, func(i int) (flight.Key, string) {
		return benchKey(i), b.recv.url("127.0.0.1", "hook", i)
	})
	b.run(t, "5,000 flights with a subscription each, with the polls", benchSubscriptions, 5, func(i int) {
		b.source.move(fmt.Sprint("C", i))
		if _, err := b.sql.ExecContext(t.Context(), `UPDATE flights SET next_poll_at = $1`, db.At(b.DB.Now())); err != nil {
			t.Fatal(err)
		}
	})
}

// benchSteady has a hundred changes a second seen, each of another flight.
func benchSteady(t *testing.T, m dbtest.Mode) {
	const flights, seconds = 500, 20
	b := newBench(t, m, rarelyPolled)
	b.subscribeAll(t, flights, func(i int) (flight.Key, string) {
		return benchKey(i), b.recv.url("127.0.0.1", "hook", i)
	})
	b.percentiles("100 changes a second, from seen to received", b.steady(t, flights, seconds))
}

// steady lets a hundred changes a second be seen and returns how long each took
// to the receiver.
func (b *bench) steady(t *testing.T, flights, seconds int) (took []time.Duration) {
	t.Helper()
	b.until(t, "the watches' first polls are over", func() bool {
		return one[int](t, b.rig, `SELECT count(*) FROM flights WHERE next_poll_at < $1`, db.At(b.DB.Now().Add(10*time.Minute))) == 0
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	seen := make([][]time.Time, flights)
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range seconds * 100 {
		<-tick.C
		i := n % flights
		all.Go(func() {
			b.source.move(fmt.Sprint("D", n))
			b.ask(t, benchKey(i))
			b.source.mu.Lock()
			at := b.source.said[benchKey(i)]
			b.source.mu.Unlock()
			mu.Lock()
			seen[i] = append(seen[i], at)
			mu.Unlock()
		})
	}
	all.Wait()
	got := make([]int, flights)
	for _, r := range b.recv.receipts(t, seconds*100) {
		took = append(took, time.Unix(0, r.At).Sub(seen[r.Path][got[r.Path]]))
		got[r.Path]++
	}
	return took
}

// rarelyPolled leaves it to the benchmark when changes are seen.
func rarelyPolled(s *setup) { s.PollEvery = time.Hour }
