package db_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// create makes a subscription with an idempotency key, or says why not.
func (r *rig) create(k db.Idempotency, with ...func(*db.NewSubscription)) (*flight.Subscription, error) {
	n := db.NewSubscription{
		Account: r.account, Key: key, WebhookURL: "https://example.com/hook", Secret: "0123456789abcdef",
		Events: flight.AllChanges, DelayThreshold: 5, Idempotency: k, Now: r.now,
	}
	for _, f := range with {
		f(&n)
	}
	return r.d.CreateSubscription(r.Context(), n)
}

var once = db.Idempotency{APIKey: "k1", Key: "once", Request: "a"}

// together runs n at once and returns how they ended.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

// However many creates come at once with one key, they make one subscription,
// which is counted once and told of once.
func TestIdempotentCreatesAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		leg := r.say(leg()).IDs[0]
		ids := make([]string, 64)
		for _, err := range together(len(ids), func(i int) error {
			s, err := r.create(once, func(n *db.NewSubscription) {
				n.FlightID, n.Secret = leg, fmt.Sprintf("secret number %04d", i)
			})
			if err == nil {
				ids[i] = s.ID + s.Secret
			}
			return err
		}) {
			if err != nil {
				r.Error(err)
			}
		}
		for _, id := range ids {
			if id != ids[0] {
				r.Fatalf("two answers: %q and %q", ids[0], id)
			}
		}
		for _, table := range []string{"subscriptions", "events", "watched_flights", "idempotency_keys"} {
			if n := r.count(`SELECT count(*) FROM ` + table); n != 1 {
				r.Errorf("%d rows of %s", n, table)
			}
		}
		r.sound()
	})
}

func TestReplay(t *testing.T) {
	each(t, func(r *rig) {
		if s, err := r.d.Replay(r.Context(), r.account, once); s != nil || err != nil {
			r.Fatal(s, err)
		}
		first, err := r.create(once)
		if err != nil {
			r.Fatal(err)
		}
		r.pause(first.ID)
		check := func(what string, k db.Idempotency, code flight.Code, id string) {
			r.Helper()
			for name, f := range map[string]func() (*flight.Subscription, error){
				"replay": func() (*flight.Subscription, error) { return r.d.Replay(r.Context(), r.account, k) },
				"create": func() (*flight.Subscription, error) { return r.create(k) },
			} {
				s, err := f()
				if flight.CodeOf(err) != code || code == "" && (s == nil || s.ID != id || s.Status != flight.SubscriptionPaused || s.Secret != "0123456789abcdef") {
					r.Errorf("%s, %s: %+v, %v", what, name, s, err)
				}
			}
		}
		other, alien := once, once
		other.Request, alien.APIKey = "b", "k2"
		check("the same", once, "", first.ID)
		check("another request", other, flight.CodeIdempotencyReused, "")
		if s, err := r.d.Replay(r.Context(), r.account, alien); s != nil || err != nil {
			r.Errorf("another API key: %+v, %v", s, err)
		}
		if s, err := r.create(alien); err != nil || s.ID == first.ID {
			r.Errorf("another API key: %+v, %v", s, err)
		}
		if n := r.count(`SELECT count(*) FROM idempotency_keys WHERE request LIKE '%b%' AND request NOT LIKE 'v1:%'`); n != 0 {
			r.Error("a digest is not sealed")
		}
		if err := r.d.DeleteSubscription(r.Context(), r.account, first.ID); err != nil {
			r.Fatal(err)
		}
		check("deleted", once, flight.CodeSubscriptionMissing, "")

		// After 24 hours the key is free, and not a moment before.
		age := func(d time.Duration) {
			r.Helper()
			if _, err := r.d.Poke(r.Context(), `UPDATE idempotency_keys SET created_at = $1`, db.At(r.d.Now().Add(-d))); err != nil {
				r.Fatal(err)
			}
		}
		age(flight.IdempotencyWindow - time.Minute)
		check("a minute before the end", once, flight.CodeSubscriptionMissing, "")
		age(flight.IdempotencyWindow)
		if s, err := r.d.Replay(r.Context(), r.account, other); s != nil || err != nil {
			r.Errorf("over: %+v, %v", s, err)
		}
		again, err := r.create(other)
		if err != nil || again.ID == first.ID {
			r.Fatal(again, err)
		}
		if n := r.count(`SELECT count(*) FROM idempotency_keys`); n != 1 {
			r.Errorf("%d rows, though all but one have run out", n)
		}
		r.sound()
	})
}

// A create that fails takes no key.
func TestFailedCreateLeavesTheKey(t *testing.T) {
	each(t, func(r *rig) {
		if _, err := r.create(once, func(n *db.NewSubscription) { n.FlightID = "flt_gone" }); flight.CodeOf(err) != flight.CodeConflict {
			r.Fatal(err)
		}
		if n := r.count(`SELECT (SELECT count(*) FROM idempotency_keys) + (SELECT count(*) FROM watched_flights)`); n != 0 {
			r.Error("it left something")
		}
		if _, err := r.create(db.Idempotency{APIKey: "k1", Key: "once", Request: "b"}); err != nil {
			r.Error(err)
		}
	})
}

var three = db.WatchCap{Limit: 3, Capped: true}

// Of 64 creates at once exactly three pass, on the flights of whomever.
func TestWatchedFlightsAtOnce(t *testing.T) {
	each(t, func(r *rig) {
		leg := r.say(leg()).IDs[0]
		refused := 0
		for _, err := range together(64, func(i int) error {
			_, err := r.create(db.Idempotency{}, func(n *db.NewSubscription) {
				n.Cap = three
				if i%2 == 0 {
					n.FlightID = leg
				}
			})
			return err
		}) {
			if flight.CodeOf(err) == flight.CodeWatchedFlightLimit {
				refused++
			} else if err != nil {
				r.Error(err)
			}
		}
		if n := r.count(`SELECT count(*) FROM subscriptions`); n != 3 || refused != 61 {
			r.Errorf("%d were made and %d refused", n, refused)
		}
		r.sound()
	})
}

func TestWatchedFlights(t *testing.T) {
	each(t, func(r *rig) {
		capped := func(n *db.NewSubscription) { n.Cap = three }
		used := func(want int) {
			r.Helper()
			if n, err := r.d.WatchedFlights(r.Context(), r.account, r.d.Now()); n != want || err != nil {
				r.Errorf("%d are used, want %d: %v", n, want, err)
			}
		}
		refused := func(want int) {
			r.Helper()
			_, err := r.create(db.Idempotency{}, capped)
			e, _ := err.(*flight.Error)
			now := r.d.Now()
			end := flight.TimeOf(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, 1, 0))
			if e == nil || e.Code != flight.CodeWatchedFlightLimit || *e.Watched != (flight.WatchedLimit{Limit: 3, Used: want, ResetsAt: end}) || !strings.Contains(e.Message, "3 watched flights") {
				r.Errorf("%+v", err)
			}
		}
		var last *flight.Subscription
		for range 3 { // replayed, each counts once
			k := db.Idempotency{APIKey: "k1", Key: "once"}
			for range 2 {
				s, err := r.create(k, capped)
				if err != nil {
					r.Fatal(err)
				}
				last = s
			}
			if _, err := r.d.Poke(r.Context(), `DELETE FROM idempotency_keys`); err != nil {
				r.Fatal(err)
			}
		}
		used(3)
		refused(3)
		if err := r.d.DeleteSubscription(r.Context(), r.account, last.ID); err != nil {
			r.Fatal(err)
		}
		refused(3) // a deleted one still counts
		if _, err := r.create(db.Idempotency{}); err != nil {
			r.Errorf("without a cap: %v", err)
		}
		refused(4)

		k, err := r.d.CreateKey(r.Context(), db.Operator, "rival", "free", "k2", strings.Repeat("0", 64))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.create(db.Idempotency{}, capped, func(n *db.NewSubscription) { n.Account = k.Account }); err != nil {
			r.Errorf("another account: %v", err)
		}
		if _, err := r.d.Poke(r.Context(), `UPDATE watched_flights SET month = '2001-02'`); err != nil {
			r.Fatal(err)
		}
		if _, err := r.create(db.Idempotency{}, capped); err != nil {
			r.Errorf("another month: %v", err)
		}
		used(1)
		if n, err := r.d.WatchedFlights(r.Context(), r.account, time.Date(2001, 2, 28, 23, 0, 0, 0, time.FixedZone("", -7200))); n != 0 || err != nil {
			r.Errorf("the month of another zone: %d, %v", n, err) // it is March in UTC
		}
	})
}
