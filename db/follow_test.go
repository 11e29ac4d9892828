package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func wantCode(t *testing.T, err error, code flight.Code) {
	t.Helper()
	if flight.CodeOf(err) != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// attemptsAfter reads the attempts after a place, three at a time, as "seq event
// attempt status".
func (r *rig) attemptsAfter(id string, after int64) (out []string) {
	r.Helper()
	for {
		got, err := r.d.AttemptsAfter(r.Context(), id, after, 3)
		if err != nil {
			r.Fatal(err)
		}
		for _, a := range got {
			out = append(out, fmt.Sprint(a.Seq, " ", a.EventType, " ", a.Attempt, " ", a.Status))
			after = a.Seq
		}
		if len(got) < 3 {
			return out
		}
	}
}

func TestLogsAfter(t *testing.T) {
	each(t, func(r *rig) {
		s := r.found(r.say(leg()).IDs[0])
		for _, g := range []string{"A", "B", "C"} {
			r.say(leg(gate(g)))
		}
		r.record(result(r.only(time.Minute), flight.DeliveryRetrying))
		r.deliver()
		var events []string
		for after := int64(0); ; {
			got, err := r.d.EventsAfter(r.Context(), s.ID, after, 3)
			if err != nil {
				r.Fatal(err)
			}
			for _, e := range got {
				events = append(events, fmt.Sprint(e.Seq, " ", e.Type, " ", len(e.Changes)))
				after = e.Seq
			}
			if len(got) == 0 {
				break
			}
		}
		r.same("events", events, []string{"1 subscription.created 0", "2 flight.updated 1", "3 flight.updated 1", "4 flight.updated 1"})
		got := r.attemptsAfter(s.ID, 0)
		if len(got) != 5 || got[0] != "1 subscription.created 1 retrying" {
			r.Errorf("%q", got)
		}
		r.same("from the middle", r.attemptsAfter(s.ID, 3), got[3:])
		end, err := r.d.LogPlaces(r.Context(), s.ID)
		if err != nil || end != (db.LogPlaces{Event: 4, Attempt: 5}) {
			r.Errorf("%+v %v", end, err)
		}
		if err := r.d.DeleteSubscription(r.Context(), r.account, s.ID); err != nil {
			r.Fatal(err)
		}
		_, err = r.d.EventsAfter(r.Context(), s.ID, 0, 3)
		wantCode(r.T, err, flight.CodeSubscriptionMissing)
		_, err = r.d.AttemptsAfter(r.Context(), s.ID, 0, 3)
		wantCode(r.T, err, flight.CodeSubscriptionMissing)
		_, err = r.d.LogPlaces(r.Context(), s.ID)
		wantCode(r.T, err, flight.CodeSubscriptionMissing)
	})
}

// A process that is held right before it commits an attempt keeps every later
// one of that subscription waiting, so a reader who goes on by the place never
// passes it over. By the ids, which are older the earlier they were made, it
// would.
func TestLateAttemptIsNotPassedOver(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Name == "sqlite" {
			t.Skip("SQLite's writers are alone: there is no late commit")
		}
		r := newRig(t, m.DB)
		s := r.found(r.say(leg()).IDs[0])
		r.say(leg(gate("A")))
		reached, release := make(chan struct{}), make(chan struct{})
		config := m.Config
		config.BeforeCommit = func(op string) {
			if op == "record results" {
				reached <- struct{}{}
				<-release
			}
		}
		slow, err := db.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = slow.Close() }()
		first := r.only(time.Minute)
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := slow.RecordResults(t.Context(), []db.Result{result(first, flight.DeliveryRetrying)}); err != nil {
				t.Error(err)
			}
		})
		<-reached
		if got := r.attemptsAfter(s.ID, 0); len(got) != 0 {
			t.Fatalf("what is not committed is read: %q", got)
		}
		other := r.found(r.standing().IDs[0]) // of another subscription, which waits for nobody
		r.record(result(r.only(time.Minute), flight.DeliverySucceeded))
		if got := r.attemptsAfter(other.ID, 0); len(got) != 1 {
			t.Errorf("the other subscription has %q", got)
		}
		quick := make(chan struct{})
		done.Go(func() {
			defer close(quick)
			second := first
			second.EventID = "evt_unknown"
			if _, err := r.d.RecordResults(t.Context(), []db.Result{result(second, flight.DeliverySucceeded)}); err != nil {
				t.Error(err)
			}
		})
		select {
		case <-quick:
			t.Error("a later result of the subscription did not wait for the earlier one")
		case <-time.After(200 * time.Millisecond):
		}
		release <- struct{}{}
		done.Wait()
		r.same("the log", r.attemptsAfter(s.ID, 0), []string{"1 subscription.created 1 retrying"})
	})
}

// Several processes record groups of attempts of the same subscriptions while
// readers follow them: each reader gets every attempt once, in the order of the
// places, without holes.
func TestAttemptsAreFollowedWithoutLoss(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m.DB)
		processes := []*db.DB{m.DB, m.DB}
		if m.Name == "postgres" {
			for i := range processes {
				d, err := db.Open(t.Context(), m.Config)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = d.Close() }()
				processes[i] = d
			}
		}
		const subs, rounds = 4, 12
		var ids []string
		id := r.say(leg()).IDs[0]
		for range subs {
			ids = append(ids, r.found(id).ID)
		}
		for i := range rounds {
			r.say(leg(gate(fmt.Sprint("G", i))))
		}
		var workers, readers sync.WaitGroup
		stop := make(chan struct{})
		seen := make([][]int64, subs)
		for i, sub := range ids {
			readers.Go(func() {
				for last := false; ; {
					select {
					case <-stop:
						last = true // one more look after everything is committed
					default:
					}
					place := int64(0)
					if n := len(seen[i]); n > 0 {
						place = seen[i][n-1]
					}
					got, err := m.DB.AttemptsAfter(t.Context(), sub, place, 5)
					if err != nil {
						t.Error(err)
						return
					}
					for _, a := range got {
						seen[i] = append(seen[i], a.Seq)
					}
					if last && len(got) == 0 {
						return
					}
				}
			})
		}
		for _, d := range processes {
			workers.Go(func() {
				for idle := 0; idle < 5; {
					got, err := dbtest.ClaimEvents(t.Context(), d, 3, time.Minute)
					if err != nil {
						t.Error(err)
						return
					}
					if len(got) == 0 {
						idle++
						continue
					}
					idle = 0
					var results []db.Result
					for _, a := range got {
						results = append(results, result(a, flight.DeliverySucceeded))
					}
					if _, err := d.RecordResults(t.Context(), results); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		workers.Wait()
		r.deliver()
		close(stop)
		readers.Wait()
		var want []int64
		for n := range rounds + 1 {
			want = append(want, int64(n+1))
		}
		for i := range seen {
			if !slices.Equal(seen[i], want) {
				t.Errorf("reader %d saw the places %v, want %v", i, seen[i], want)
			}
		}
		r.sound()
	})
}
