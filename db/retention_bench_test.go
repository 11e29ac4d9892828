package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// TestBenchRetention delivers changes of one flight to 200 subscriptions, on a
// database with 200,000 old events and as many attempts, first with nothing else
// to do and then while those are deleted as the workers do it.
func TestBenchRetention(t *testing.T) {
	benchOnly(t)
	const old, rounds = 200_000, 40
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m.DB)
		id := r.say(leg()).IDs[0]
		for range 200 {
			r.found(id)
		}
		r.deliver()
		r.fillAll(old)
		if _, err := m.DB.ExecContext(t.Context(), `ANALYZE`); err != nil {
			t.Fatal(err)
		}
		round := 0
		change := func() (took []time.Duration) { // of each transaction
			timed := func(f func()) {
				began := time.Now()
				f()
				took = append(took, time.Since(began))
			}
			round++
			timed(func() { r.say(legAt(round)) })
			for {
				var results []db.Result
				timed(func() {
					for _, a := range r.claim(100, time.Minute) {
						results = append(results, result(a, flight.DeliverySucceeded))
					}
				})
				if len(results) == 0 {
					return took
				}
				timed(func() { r.record(results...) })
			}
		}
		quiet := many(rounds, change)
		stop, stopped := make(chan struct{}), make(chan []time.Duration)
		rows := 0
		began := time.Now()
		go func() { stopped <- r.trimPaced(stop, &rows) }()
		busy := many(rounds, change)
		close(stop)
		batches := <-stopped
		if rows == 0 {
			t.Fatal("nothing was deleted meanwhile")
		}
		t.Logf("%s: a transaction of deliveries, median / 99th percentile: %s; while old rows are deleted: %s", m.Name, quantiles(quiet), quantiles(busy))
		t.Logf("%s: a batch: %s; %d rows in %d batches, %.0f a second with the pauses", m.Name, quantiles(batches), rows, len(batches),
			float64(rows)/time.Since(began).Seconds())
	})
}

// trimPaced deletes old rows until it is stopped, with the pauses of the
// workers, and returns what each batch took.
func (r *rig) trimPaced(stop chan struct{}, rows *int) (took []time.Duration) {
	before := time.UnixMilli(1)
	events, attempts := "", ""
	for {
		for _, batch := range []func() (db.TrimmedLog, error){
			func() (got db.TrimmedLog, err error) {
				got, err = r.d.TrimEvents(r.Context(), before, events)
				events = got.Next
				return got, err
			},
			func() (got db.TrimmedLog, err error) {
				got, err = r.d.TrimDeliveries(r.Context(), before, attempts)
				attempts = got.Next
				return got, err
			},
		} {
			began := time.Now()
			got, err := batch()
			if err != nil {
				r.Error(err)
				return took
			}
			d := time.Since(began)
			took, *rows = append(took, d), *rows+got.Rows
			select {
			case <-stop:
				return took
			case <-time.After(max(50*time.Millisecond, d)):
			}
		}
	}
}

// fillAll makes n old delivered events with an attempt each, spread over all
// subscriptions.
func (r *rig) fillAll(n int) {
	r.Helper()
	subs := r.count(`SELECT count(*) FROM subscriptions`)
	const series = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
	for _, statement := range []string{
		`UPDATE events SET seq = seq + 1000000`, `UPDATE subscription_state SET seq = seq + 1000000`,
		series + `INSERT INTO events (id, subscription_id, seq, type, flight_key, flight_id, version, envelope, status, attempts, interruptions, lease_token, created_at, delivered_at)
			SELECT 'evt_000000000000' || (100000 + i) || substr(id, 17), subscription_id, i, 'flight.updated', flight_key, flight_id, version, envelope, 'delivered', 1, 0, '', created_at, created_at FROM events, n`,
		series + `INSERT INTO deliveries (id, subscription_id, event_id, event_type, attempt, status, status_code, error, latency_ms, attempted_at, response_body)
			SELECT 'dlv_000000000000' || (100000 + i) || substr(id, 17), subscription_id, event_id, event_type, 1, 'succeeded', 200, '', 1, attempted_at, '' FROM deliveries, n`,
	} {
		var args []any
		if statement[:4] == "WITH" {
			args = append(args, n/subs)
		}
		if _, err := r.d.Poke(r.Context(), statement, args...); err != nil {
			r.Fatal(err)
		}
	}
}

// legAt is leg as it is at the nth change.
func legAt(n int) *flight.Snapshot { return leg(gate(fmt.Sprint("N", n))) }

func many(n int, f func() []time.Duration) (all []time.Duration) {
	for range n {
		all = append(all, f()...)
	}
	return all
}

func quantiles(all []time.Duration) string {
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%v / %v (of %d)", at(0.5), at(0.99), len(all))
}
