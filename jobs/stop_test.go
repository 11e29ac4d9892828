package jobs_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// A stop finishes what is under way and begins nothing; whoever comes next
// does the rest.
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newGate("worker.halted")
		r := rigWith(t, m, func(s *setup) { s.Gate = g })
		release := make(chan struct{})
		recv := newHandler(t, func(_ http.ResponseWriter, rec received) {
			if rec.Path == "/slow" {
				<-release
			}
		})
		r.source.say(leg())
		account := r.account(t)
		s := r.subscribe(t, account, recv.URL+"/slow")
		recv.expect(t, "subscription.created")

		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			r.stop()
		}()
		wait(t, g.held, "the stop to begin")
		late := r.subscribe(t, account, recv.URL+"/late")
		close(release)
		g.open()
		wait(t, stopped, "the worker to stop")
		if log := fmt.Sprint(r.log(t, s.ID)); log != "[subscription.created 1 succeeded]" {
			t.Errorf("of what was under way the log says %s", log)
		}
		if n := one[int](t, r, `SELECT attempts FROM events WHERE subscription_id = $1`, late.ID); n != 0 || len(recv.got) > 0 {
			t.Errorf("it made %d attempts after the stop", n)
		}
		r.other(t, func(*setup) {})
		if got := recv.expect(t, "subscription.created")[0]; got.Path != "/late" || got.attempt() != "1" {
			t.Errorf("the next worker sends attempt %s to %s", got.attempt(), got.Path)
		}
	})
}

// Workers that come and go in the middle of a storm deliver each event once,
// in order, without an interruption.
func TestStopsInAStorm(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const subs, changes = 10, 20
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		account := r.account(t)
		for i := range subs {
			r.subscribe(t, account, fmt.Sprintf("%s/%d", recv.URL, i))
		}
		for i := range changes {
			r.change(t, fmt.Sprint("C", i))
		}
		for got := 0; got < subs*(changes+1); {
			w := r.other(t, func(*setup) {})
			for range min(30, subs*(changes+1)-got) { // it is at work
				recv.next(t)
				got++
			}
			w.stop()
			for ; len(recv.got) > 0; got++ {
				<-recv.got
			}
		}
		if n := one[int](t, r, `SELECT count(*) FROM deliveries WHERE status = 'succeeded' AND attempt = 1`); n != subs*(changes+1) {
			t.Errorf("%d of %d events were delivered at once", n, subs*(changes+1))
		}
		if n := one[int](t, r, `SELECT count(*) FROM deliveries`); n != subs*(changes+1) {
			t.Errorf("%d attempts", n)
		}
	})
}

// What happens to a subscription while an attempt is under way is the last word.
func TestDeleteAndPauseUnderWay(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Hour)
		release := make(chan struct{})
		recv := newHandler(t, func(w http.ResponseWriter, rec received) {
			if !strings.HasPrefix(rec.Path, "/fence") {
				<-release
				w.WriteHeader(503)
			}
		})
		r.source.say(leg())
		account := r.account(t)
		deleted := r.subscribe(t, account, recv.URL+"/deleted")
		paused := r.subscribe(t, account, recv.URL+"/paused")
		recv.expect(t, "subscription.created", "subscription.created")
		r.change(t, "C1") // waits for both
		if err := m.DB.DeleteSubscription(t.Context(), account, deleted.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := m.DB.PauseSubscription(t.Context(), account, paused.ID); err != nil {
			t.Fatal(err)
		}
		close(release)
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		r.subscribe(t, account, recv.URL+"/fence")
		if got := recv.next(t); got.Path != "/fence" {
			t.Errorf("%s was sent %s", got.Path, got.what())
		}
		if n := one[int](t, r, `SELECT count(*) FROM events WHERE status = 'missed' AND subscription_id = $1`, paused.ID); n != 2 {
			t.Errorf("%d events are missed", n)
		}
		if log := r.log(t, paused.ID); len(log) != 1 || !log[0].Next.Std().IsZero() {
			t.Errorf("the log says %+v", log)
		}
		if _, err := m.DB.Subscription(t.Context(), account, deleted.ID); flight.CodeOf(err) != flight.CodeSubscriptionMissing {
			t.Error(err)
		}
	})
}
