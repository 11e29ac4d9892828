package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Every page of every filter is the part of the whole list that it should be,
// from whichever end it is found.
func TestPagesArePartsOfTheList(t *testing.T) {
	each(t, func(r *rig) {
		other := flight.Key{Carrier: "BA", Number: "1", Date: "2026-11-22"}
		ids := [2]string{r.say(leg()).IDs[0], r.accept(r.answer(other, legOf(other, "LHR", "JFK", "9"))).IDs[0]}
		for n := range 23 {
			s := r.found(ids[min(n%3, 1)])
			if n%4 == 0 {
				r.pause(s.ID)
			}
		}
		for _, f := range []db.SubscriptionFilter{
			{}, {Status: flight.SubscriptionActive}, {Status: flight.SubscriptionPaused}, {Status: flight.SubscriptionCompleted},
			{Carrier: "BA"}, {FlightNumber: "100"}, {Date: "2026-11-22"}, {Carrier: "AA", FlightNumber: "1"},
			{Carrier: "AA", FlightNumber: "100", Date: key.Date, Status: flight.SubscriptionPaused},
		} {
			r.pages(f)
		}
	})
}

// pages compares each page of a filter with the list that plain SQL gives.
func (r *rig) pages(f db.SubscriptionFilter) {
	r.Helper()
	want := r.strings(`SELECT id FROM subscriptions WHERE account_id = $1 AND status LIKE $2 AND carrier LIKE $3 AND number LIKE $4 AND date LIKE $5
		ORDER BY created_at DESC, id DESC`, r.account, any1(string(f.Status)), any1(f.Carrier), any1(f.FlightNumber), any1(f.Date))
	for _, f.Limit = range []int{1, 7, 50} {
		for f.Offset = range len(want) + 2 {
			page, total, err := r.d.Subscriptions(r.Context(), r.account, f)
			if err != nil {
				r.Fatal(err)
			}
			got := make([]string, len(page))
			for i, s := range page {
				got[i] = s.ID
			}
			from := min(f.Offset, len(want))
			if part := want[from:min(from+f.Limit, len(want))]; total != len(want) || !slices.Equal(got, part) {
				r.Fatalf("%+v: %d of %d\n got %q\nwant %q", f, len(got), total, got, part)
			}
		}
	}
}

func any1(s string) string {
	if s == "" {
		return "%"
	}
	return s
}

// The ledger is folded again and again while creates, deletes and changes of
// status add to it, and counts right all the time.
func TestLedgerIsFoldedUnderWay(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		stop := make(chan struct{})
		var folding, all sync.WaitGroup
		for range 2 {
			folding.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if err := r.d.Fold(r.Context(), r.account); err != nil {
							r.Error(err)
							return
						}
					}
				}
			})
		}
		for n := range 4 {
			all.Go(func() {
				for range 15 {
					s := r.found(id)
					if n%2 == 0 {
						r.pause(s.ID)
					}
					if n == 3 {
						if err := r.d.DeleteSubscription(r.Context(), r.account, s.ID); err != nil {
							r.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		close(stop)
		folding.Wait()
		r.sound()
		for range 2 { // what two folds at once had left to each other
			if err := r.d.Fold(r.Context(), r.account); err != nil {
				r.Fatal(err)
			}
		}
		r.same("ledger", r.strings(`SELECT status || ' ' || n FROM subscription_counts ORDER BY status`), []string{"active 15", "paused 30"})
	})
}

// One that cannot be made does not keep those from being made that came in
// with it, and each has its own answer.
func TestCreatesTogetherFailAlone(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		var all sync.WaitGroup
		for n := range 40 {
			all.Go(func() {
				sub := db.NewSubscription{
					Account: r.account, Key: key, FlightID: id, WebhookURL: fmt.Sprint("https://example.com/", n), Secret: "0123456789abcdef",
					Events: flight.AllChanges, DelayThreshold: 1 + n, Now: r.now, Headers: map[string]string{"X-N": fmt.Sprint(n)},
				}
				switch n % 4 {
				case 1:
					sub.FlightID = "flt_gone"
				case 2:
					sub.Account = "acc_gone" // breaks the whole transaction
				}
				got, err := r.d.CreateSubscription(r.Context(), sub)
				if made := n%4 == 0 || n%4 == 3; made != (err == nil) || n%4 == 1 && flight.CodeOf(err) != flight.CodeConflict {
					r.Errorf("%d: %v", n, err)
					return
				}
				if err != nil {
					return
				}
				read := r.sub(got.ID)
				if a, b := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", *read); a != b || got.DelayThresholdMinutes != 1+n {
					r.Errorf("made %s\nread %s", a, b)
				}
			})
		}
		all.Wait()
		if n := r.count(`SELECT count(*) FROM subscriptions`); n != 20 {
			r.Errorf("%d were made", n)
		}
		r.sound()
	})
}
