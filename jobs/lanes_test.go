package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// Three receivers in ten hang from the first event on, on the host of the
// others. The others hear of every change in order, while not one attempt at
// the hanging ones is over.
func TestHangingReceiversTakeNoPlaces(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) {
			s.SendTimeout = 5 * time.Minute // longer than the test
			s.Limits.Prompt, s.Limits.Slow, s.Limits.Host = 12, 4, 16
		})
		release := make(chan struct{})
		recv := newHandler(t, func(w http.ResponseWriter, rec received) {
			if strings.HasPrefix(rec.Path, "/hang") {
				<-release
			}
			w.WriteHeader(204)
		})
		defer close(release)
		r.source.say(leg())
		account := r.account(t)
		const healthy, hanging = 28, 12
		for i := range healthy + hanging {
			path := fmt.Sprintf("/well/%d", i)
			if i < hanging {
				path = fmt.Sprintf("/hang/%d", i) // first, and as many as there are places
			}
			r.subscribe(t, account, recv.URL+path)
		}
		gates := []string{"subscription.created", "C1", "C2", "C3"}
		for _, gate := range gates[1:] {
			r.change(t, gate)
		}
		told := map[string]int{}
		for got := 0; got < healthy*len(gates); {
			rec := recv.next(t)
			if strings.HasPrefix(rec.Path, "/hang") {
				continue
			}
			got++
			if want := gates[told[rec.Path]]; rec.what() != want {
				t.Fatalf("%s got %s, not %s", rec.Path, rec.what(), want)
			}
			told[rec.Path]++
		}
		if n := one[int](t, r, `SELECT count(*) FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id WHERE s.webhook_url LIKE '%/hang/%'`); n > 0 {
			t.Errorf("%d of the hanging attempts are over already: this test shows nothing", n)
		}
	})
}

// Pause, resume, suspension and delete race with deliveries. Whatever wins,
// nothing is sent whose claim came after a delete was answered, the counters
// are those of the log, and the line goes on.
func TestStatesRaceWithDeliveries(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.RetryBase = time.Millisecond })
		var refuse atomic.Bool
		recv := newHandler(t, func(w http.ResponseWriter, _ received) {
			if refuse.Load() {
				w.WriteHeader(410)
			}
		})
		r.source.say(leg())
		account := r.account(t)
		var subs []string
		for i := range 6 {
			subs = append(subs, r.subscribe(t, account, fmt.Sprintf("%s/%d", recv.URL, i)).ID)
		}
		var all sync.WaitGroup
		stop := make(chan struct{})
		for _, id := range subs[1:] {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					for _, do := range []func() error{
						func() error { _, err := m.DB.PauseSubscription(context.Background(), account, id); return err },
						func() error {
							_, err := m.DB.ResumeSubscription(context.Background(), account, id, r.intake.World())
							return err
						},
					} {
						if err := do(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		for i := range 60 {
			refuse.Store(i%30 < 25) // long enough for a suspension
			r.change(t, fmt.Sprint("C", i))
		}
		refuse.Store(false)
		close(stop)
		all.Wait()
		gone := subs[0]
		if err := m.DB.DeleteSubscription(t.Context(), account, gone); err != nil {
			t.Fatal(err)
		}
		claimed := time.Now() // nothing of it can be claimed from here on
		r.change(t, "D1")
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		for len(recv.got) > 0 {
			rec := <-recv.got
			if rec.Path == "/0" && rec.At.After(claimed.Add(time.Second)) {
				t.Errorf("%s was sent after the delete", rec.what())
			}
		}
		if n := one[int](t, r, `SELECT (SELECT count(*) FROM events WHERE subscription_id = $1) + (SELECT count(*) FROM deliveries WHERE subscription_id = $1)`, gone); n > 0 {
			t.Errorf("%d rows outlive their subscription", n)
		}
		for _, id := range subs[1:] {
			s, err := m.DB.Subscription(t.Context(), account, id)
			if err != nil {
				t.Fatal(err)
			}
			for status, count := range map[flight.DeliveryStatus]int{flight.DeliverySucceeded: s.DeliveredCount, flight.DeliveryFailed: s.FailedCount} {
				if n := one[int](t, r, `SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = $2`, id, status); n != count {
					t.Errorf("%d %s are counted, the log has %d", count, status, n)
				}
			}
			if n := one[int](t, r, `SELECT count(*) FROM (SELECT event_id FROM deliveries WHERE subscription_id = $1 GROUP BY event_id, attempt HAVING count(*) > 1) AS twice`, id); n > 0 {
				t.Errorf("%d attempts were made twice", n)
			}
		}
	})
}

// A full process hands a wake-up on: another has places.
func TestFullProcessPassesWakeUpsOn(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Config.URL == "" {
			t.Skip("SQLite has one process")
		}
		release := make(chan struct{})
		defer close(release)
		small := func(s *setup) { s.Limits.Prompt, s.Limits.Slow, s.Limits.Host = 1, 1, 4 }
		full := rigWith(t, m, small)
		recv := newHandler(t, func(_ http.ResponseWriter, rec received) {
			if rec.Path == "/hang" {
				<-release
			}
		})
		full.source.say(leg())
		account := full.account(t)
		full.subscribe(t, account, recv.URL+"/hang")
		recv.next(t)
		full.other(t, small)
		began := time.Now()
		full.subscribe(t, account, recv.URL+"/well")
		recv.next(t)
		t.Logf("took %v", time.Since(began))
	})
}
