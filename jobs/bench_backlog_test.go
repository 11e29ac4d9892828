package jobs_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// benchHanging compares how long healthy receivers wait without hanging ones
// and with three in ten that hang, most of them on the same host.
func benchHanging(t *testing.T, m dbtest.Mode) {
	const flights, hanging, seconds = 500, 214, 15
	b := newBench(t, m, rarelyPolled)
	b.subscribeAll(t, flights, func(i int) (flight.Key, string) {
		return benchKey(i), b.recv.url("127.0.0.1", "hook", i)
	})
	b.percentiles("100 changes a second, no receiver hangs", b.steady(t, flights, seconds))
	b.subscribeAll(t, hanging, func(i int) (flight.Key, string) {
		host := "127.0.0.1"
		if i%3 == 0 {
			host = "127.0.0.2"
		}
		return benchKey(i), b.recv.url(host, "hang", i)
	})
	b.percentiles("100 changes a second, three receivers in ten hang", b.steady(t, flights, seconds))
}

// benchBacklog has a million events wait for their retry.
func benchBacklog(t *testing.T, m dbtest.Mode) {
	if m.Config.URL == "" {
		t.Skip("for PostgreSQL")
	}
	const million = 1_000_000
	b := newBench(t, m, func(*setup) {})
	b.subscribeAll(t, 1000, func(i int) (flight.Key, string) {
		return benchKey(i), b.recv.url("127.0.0.1", "hook", i)
	})
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc >> 10
	}
	before := heap()
	for _, statement := range []string{
		`INSERT INTO events (id, subscription_id, seq, type, flight_key, flight_id, version, envelope, status,
				attempts, interruptions, next_attempt_at, lane, lease_token, created_at)
			SELECT 'evt_' || g, s.id, 1000000 + g, 'flight.updated', '', s.flight_id, 1, '{}', 'pending',
				1, 0, now() + interval '10 minutes' + g * interval '1 millisecond', 1, '', now()
			FROM generate_series(1, 1000000) g JOIN (SELECT id, flight_id, row_number() OVER (ORDER BY id) AS n FROM subscriptions) s ON s.n = 1 + g % 1000`,
		`ANALYZE events`,
	} {
		if _, err := b.sql.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var took []time.Duration
	for range 200 {
		for _, lane := range []db.Lane{db.Prompt, db.Slow} {
			start := time.Now()
			if due, _, err := m.DB.DueEvents(t.Context(), lane, db.DuePlace{}, 512); err != nil || len(due) > 0 {
				t.Fatal(len(due), err)
			}
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	fmt.Printf("%s: %d events wait for their retry: a look of the sweep takes %v at the median, %v at most; the heap went from %d to %d KiB\n",
		b.Name, million, took[len(took)/2], took[len(took)-1], before, heap())
}
