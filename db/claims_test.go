package db_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// waiting is a subscription of a leg with n events, none of them sent.
func (r *rig) waiting(n int) *flight.Subscription {
	r.Helper()
	s := r.found(r.say(leg()).IDs[0])
	for i := 1; i < n; i++ {
		r.say(leg(gate(fmt.Sprint("C", i))))
	}
	return s
}

// only returns the one attempt that can be claimed now.
func (r *rig) only(lease time.Duration) db.Attempt {
	r.Helper()
	got := r.claim(100, lease)
	if len(got) != 1 {
		r.Fatalf("%d attempts are due, want 1", len(got))
	}
	return got[0]
}

func (r *rig) nothingDue() {
	r.Helper()
	if got := r.claim(100, time.Minute); len(got) != 0 {
		r.Fatalf("%d attempts are due, want none", len(got))
	}
}

func (r *rig) seq(a db.Attempt) int {
	r.Helper()
	return r.count(`SELECT seq FROM events WHERE id = $1`, a.EventID)
}

// Whatever comes of a first attempt, it is then the next one's turn, and not
// before.
func TestTurns(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(5)
		for i, status := range []flight.DeliveryStatus{
			flight.DeliverySucceeded, flight.DeliveryRetrying, flight.DeliveryFailed, flight.DeliverySucceeded,
		} {
			a := r.only(time.Minute)
			if r.seq(a) != i+1 || a.Number != 1 || a.Counted != 1 || a.SubscriptionID != s.ID {
				r.Fatalf("turn %d is event %d: %+v", i+1, r.seq(a), a)
			}
			r.nothingDue()
			res := result(a, status)
			if status == flight.DeliveryRetrying {
				res.RetryAfter = time.Hour
			}
			before := r.d.Now()
			out := r.record(res)
			if len(out.Turns) != 1 || (status == flight.DeliveryRetrying) != (len(out.Retries) == 1) {
				r.Errorf("after %s: %+v", status, out)
			}
			if len(out.Retries) == 1 && (out.Retries[0].Before(before.Add(time.Hour)) || out.Retries[0].After(r.d.Now().Add(time.Hour))) {
				r.Errorf("the retry is due at %s", out.Retries[0])
			}
			r.sound()
		}
		if out := r.record(result(r.only(time.Minute), flight.DeliverySucceeded)); len(out.Turns) > 0 {
			r.Errorf("after the last: %+v", out)
		}
		r.nothingDue()
		r.same("log", r.log(s.ID), []string{
			"1 subscription.created delivered", "2 flight.updated pending", "3 flight.updated failed",
			"4 flight.updated delivered", "5 flight.updated delivered",
		})
		// A new event goes out at once: the retry does not block it.
		r.say(leg(gate("D1")))
		if a := r.only(time.Minute); r.seq(a) != 6 {
			r.Errorf("event %d goes out", r.seq(a))
		}
		r.sound()
	})
}

func TestAttemptHoldsWhatIsSent(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		r.found(id, func(n *db.NewSubscription) {
			n.WebhookURL, n.Secret = "https://example.com/a?b=c", "whsec_secretsecret"
			n.Headers = map[string]string{"x-a": "1", "Authorization": `Bearer "ü"`}
		})
		a := r.only(time.Minute)
		if a.URL != "https://example.com/a?b=c" || a.Secret != "whsec_secretsecret" || len(a.Headers) != 2 || a.Headers["Authorization"] != `Bearer "ü"` {
			r.Errorf("%+v", a)
		}
	})
}

func TestClaimLimitAndOrder(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		var order []string
		for range 5 {
			order = append(order, r.found(id).ID)
		}
		var got []string
		for _, limit := range []int{2, 2, 2} {
			claimed := r.claim(limit, time.Minute)
			if len(claimed) > limit {
				r.Errorf("%d claimed with a limit of %d", len(claimed), limit)
			}
			for _, a := range claimed {
				got = append(got, a.SubscriptionID)
			}
		}
		r.same("claimed", got, order)
		r.nothingDue()
	})
}

// Two processes that claim at the same time never get one event twice.
func TestClaimsAtTheSameTime(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m.DB)
		handles := []*db.DB{m.DB, m.DB}
		if m.Name == "postgres" {
			second, err := db.Open(t.Context(), m.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = second.Close() }()
			handles[1] = second
		}
		id := r.say(leg()).IDs[0]
		const subs = 60
		for range subs {
			r.found(id)
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		got := make(map[string]int)
		start := make(chan struct{})
		for i := range 6 {
			all.Go(func() {
				<-start
				for n := 0; n < 30; n++ {
					claimed, err := dbtest.ClaimEvents(t.Context(), handles[i%2], 3, time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, a := range claimed {
						got[a.EventID]++
					}
					mu.Unlock()
				}
			})
		}
		close(start)
		all.Wait()
		for event, n := range got {
			if n != 1 {
				t.Errorf("%s was claimed %d times", event, n)
			}
		}
		if len(got) != subs {
			t.Errorf("%d of %d events were claimed", len(got), subs)
		}
		r.sound()
	})
}

// An attempt that a process left behind is logged and made anew by another,
// and what the first one says afterwards counts for nothing.
func TestExpiredClaim(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		first := r.only(time.Nanosecond)
		second := r.only(time.Nanosecond)
		third := r.only(time.Minute)
		for i, a := range []db.Attempt{first, second, third} {
			if a.EventID != first.EventID || a.Number != i+1 || a.Counted != 1 || string(a.Body) != string(first.Body) {
				r.Errorf("claim %d is attempt %d, counted %d, of %s", i+1, a.Number, a.Counted, a.EventID)
			}
		}
		r.nothingDue()
		log := func() []string {
			return r.strings(`SELECT attempt || ' ' || status || ' ' || event_type || ' ' || CASE WHEN next_attempt_at IS NULL THEN 'last' ELSE 'goes on' END
				FROM deliveries WHERE event_id = $1 ORDER BY attempt`, first.EventID)
		}
		cutOff := []string{"1 interrupted subscription.created goes on", "2 interrupted subscription.created goes on"}
		r.same("log", log(), cutOff)
		for _, status := range []flight.DeliveryStatus{flight.DeliverySucceeded, flight.DeliveryFailed, flight.DeliveryRetrying} {
			if out := r.record(result(first, status), result(second, status)); len(out.Turns) > 0 || len(out.Retries) > 0 {
				r.Errorf("a late result: %+v", out)
			}
		}
		r.same("log after late results", log(), cutOff)
		if got := r.sub(s.ID); got.DeliveredCount != 0 || got.FailedCount != 0 || got.LastDeliveryAt.Known() {
			r.Errorf("%+v", got)
		}
		r.same("events", r.log(s.ID), []string{"1 subscription.created pending"})

		// Counted goes on where the log does.
		r.record(result(third, flight.DeliveryRetrying))
		fourth := r.only(time.Nanosecond)
		if fourth.Number != 4 || fourth.Counted != 2 {
			r.Errorf("attempt %d, counted %d", fourth.Number, fourth.Counted)
		}
		fifth := r.only(time.Minute)
		if fifth.Number != 5 || fifth.Counted != 2 {
			r.Errorf("attempt %d, counted %d", fifth.Number, fifth.Counted)
		}
		r.record(result(fifth, flight.DeliverySucceeded))
		r.same("log in the end", log(), append(cutOff, "3 retrying subscription.created goes on",
			"4 interrupted subscription.created goes on", "5 succeeded subscription.created last"))
		// A result that comes twice counts once.
		r.record(result(fifth, flight.DeliverySucceeded))
		if got := r.sub(s.ID); got.DeliveredCount != 1 {
			r.Errorf("delivered %d times", got.DeliveredCount)
		}
		r.sound()
	})
}

// A process dies over an attempt, and its subscription is paused before anyone
// takes it up again: it is missed, and the line behind it does not stop.
func TestExpiredClaimOfAPausedSubscription(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		dead := r.only(time.Nanosecond)
		r.pause(s.ID)
		r.nothingDue()
		r.same("events", r.log(s.ID), []string{"1 subscription.created missed", "2 flight.updated missed"})
		r.same("log", r.strings(`SELECT status FROM deliveries WHERE event_id = $1 AND next_attempt_at IS NULL`, dead.EventID), []string{"interrupted"})
		r.sound()
		r.resume(s.ID)
		r.say(leg(gate("D1")))
		r.same("resumed", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to D1"})
		r.sound()

		// Resumed in time, it is simply made anew.
		r.say(leg(gate("D2")))
		dead = r.only(time.Nanosecond)
		r.pause(s.ID)
		r.resume(s.ID)
		if a := r.only(time.Minute); a.EventID != dead.EventID || a.Number != 2 {
			r.Errorf("%+v", a)
		}
		r.sound()
	})
}

func TestResultsOfADeletedSubscription(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		other := r.found(r.standing().IDs[0])
		got := r.claim(100, time.Minute)
		if len(got) != 2 {
			r.Fatalf("%d attempts", len(got))
		}
		if err := r.d.DeleteSubscription(r.Context(), r.account, s.ID); err != nil {
			r.Fatal(err)
		}
		r.record(result(got[0], flight.DeliverySucceeded), result(got[1], flight.DeliverySucceeded))
		if n := r.count(`SELECT count(*) FROM deliveries`); n != 1 {
			r.Errorf("%d attempts are logged, want that of the other subscription", n)
		}
		if got := r.sub(other.ID); got.DeliveredCount != 1 {
			r.Errorf("%+v", got)
		}
		if out := r.record(); len(out.Turns) > 0 || len(out.Retries) > 0 {
			r.Errorf("no results: %+v", out)
		}
		r.sound()
	})
}
