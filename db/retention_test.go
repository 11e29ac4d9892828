package db_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// trimEvents makes a pass over both logs and returns how many rows went. No
// batch of it deletes more than 200.
func (r *rig) trimEvents(d *db.DB, before time.Time) (events, attempts int) {
	r.Helper()
	pass := func(table string, batch func(from string) (db.TrimmedLog, error)) (rows int) {
		from := ""
		for {
			there := r.count(`SELECT count(*) FROM ` + table)
			got, err := batch(from)
			if err != nil {
				r.Fatal(err)
			}
			if gone := there - r.count(`SELECT count(*) FROM `+table); gone != got.Rows || gone > 200 {
				r.Fatalf("a batch deleted %d rows of %s and says %+v", gone, table, got)
			}
			from, rows = got.Next, rows+got.Rows
			if got.Done {
				return rows
			}
		}
	}
	attempts = pass("deliveries", func(from string) (db.TrimmedLog, error) { return d.TrimDeliveries(r.Context(), before, from) })
	events = pass("events", func(from string) (db.TrimmedLog, error) { return d.TrimEvents(r.Context(), before, from) })
	return events, attempts
}

// later is when everything that has been recorded is old.
func (r *rig) later() time.Time { return r.d.Now().Add(time.Second) }

// What was recorded before a moment goes, and nothing that was recorded since.
func TestTrimEventsByAge(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		r.deliver()
		// Ids are in order of time: their first twelve digits are its milliseconds.
		const at = 0x0123_4567_89ab
		for _, table := range []string{"events", "deliveries"} {
			if _, err := r.d.Poke(r.Context(), `UPDATE `+table+` SET id = substr(id, 1, 4) || '0123456789ab' || substr(id, 17)`); err != nil {
				r.Fatal(err)
			}
		}
		r.say(leg(gate("E1")))
		r.deliver()
		if e, a := r.trimEvents(r.d, time.UnixMilli(at)); e+a > 0 {
			r.Errorf("a millisecond early %d events and %d attempts go", e, a)
		}
		if e, a := r.trimEvents(r.d, time.UnixMilli(at+1)); e != 3 || a != 3 {
			r.Errorf("%d events and %d attempts go, want 3 and 3", e, a)
		}
		r.same("log", r.log(s.ID), []string{"4 flight.updated delivered"})
		if got := r.sub(s.ID); got.DeliveredCount != 4 || !got.LastDeliveryAt.Known() {
			r.Errorf("%+v", got)
		}
		r.sound(trimmedRules...)
		// It goes on where it was.
		r.say(leg(gate("E2")))
		r.deliver()
		r.same("log", r.log(s.ID), []string{"4 flight.updated delivered", "5 flight.updated delivered"})
	})
}

// What waits, is retried or is under way stays, however old, and goes out.
func TestTrimEventsLeavesWhatWaits(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(4)
		res := result(r.only(time.Minute), flight.DeliveryRetrying)
		res.RetryAfter = time.Hour
		r.record(res)
		underWay := r.only(time.Minute)
		if e, a := r.trimEvents(r.d, r.later()); e != 0 || a != 1 {
			r.Errorf("%d events and %d attempts go, want none and 1", e, a)
		}
		r.record(result(underWay, flight.DeliverySucceeded))
		r.makeDue()
		if n := len(r.deliver()); n != 3 {
			r.Errorf("%d go out, want 3", n)
		}
		r.same("log", r.log(s.ID), []string{
			"1 subscription.created delivered", "2 flight.updated delivered", "3 flight.updated delivered", "4 flight.updated delivered",
		})
		r.sound(trimmedRules...)
	})
}

// Whatever has gone, a resume tells the net changes since the version that was
// told last.
func TestResumeAfterTrim(t *testing.T) {
	for name, c := range map[string]struct {
		before func(r *rig, s *flight.Subscription) // of events created, C1, C2
		left   []string                             // of the log
		from   string                               // the gate that was told
	}{
		"all delivered": {func(r *rig, _ *flight.Subscription) { r.deliver() },
			[]string{"3 flight.updated delivered"}, "C2"},
		"the last not taken": {func(r *rig, _ *flight.Subscription) {
			r.record(result(r.only(time.Minute), flight.DeliverySucceeded))
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		}, []string{"1 subscription.created delivered"}, "B1"},
		"nothing delivered": {func(*rig, *flight.Subscription) {},
			[]string{"1 subscription.created missed"}, "B1"},
		"delivered, and sent again in vain": {func(r *rig, s *flight.Subscription) {
			r.deliver()
			r.redeliver(s.ID, 3)
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		}, nil, "C2"},
		"a test after it": {func(r *rig, s *flight.Subscription) {
			r.deliver()
			r.test(s.ID)
			r.deliver()
		}, []string{"3 flight.updated delivered"}, "C2"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(r *rig) {
				s := r.waiting(3)
				c.before(r, s)
				r.pause(s.ID)
				r.trimEvents(r.d, r.later())
				r.same("left", r.log(s.ID), c.left)
				r.trim(r.d, r.now+40*days)
				r.resume(s.ID)
				r.say(leg(gate("Z9")))
				r.same("told", r.told(s.ID), []string{"flight.updated: Departure gate changed from " + c.from + " to Z9"})
				r.trimEvents(r.d, r.later())
				r.same("the one that tells of Z9 stays", r.log(s.ID), []string{fmt.Sprint(r.count(`SELECT seq FROM subscription_state`), " flight.updated delivered")})
				r.say(leg(arrived))
				r.deliver()
				r.trimEvents(r.d, r.later())
				r.same("completed, nothing stays", r.log(s.ID), nil)
				r.sound(trimmedRules...)
			})
		})
	}
}

// Of events that are deleted nothing can be asked for.
func TestTrimmedEventsAreNotThere(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		r.deliver()
		first := r.event(s.ID, 1)
		r.trimEvents(r.d, r.later())
		_, one := r.d.RedeliverEvent(r.Context(), r.account, s.ID, first)
		_, all := r.d.ReplayEvents(r.Context(), r.account, s.ID, flight.Replay{After: first}, 10)
		if flight.CodeOf(one) != flight.CodeEventMissing || flight.CodeOf(all) != flight.CodeEventMissing {
			r.Errorf("%v, %v", one, all)
		}
	})
}

// fill makes n delivered events of a subscription that has one, each with an
// attempt, as old as years.
func (r *rig) fill(n int) {
	r.Helper()
	const series = `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
	for _, statement := range []string{
		series + `INSERT INTO events (id, subscription_id, seq, type, flight_key, flight_id, version, envelope, status, attempts, interruptions, lease_token, created_at, delivered_at)
			SELECT 'evt_0000' || (10000000 + i), subscription_id, i, 'flight.updated', flight_key, flight_id, version, envelope, 'delivered', 1, 0, '', created_at, created_at FROM events, n WHERE seq = 1`,
		series + `INSERT INTO deliveries (id, subscription_id, event_id, event_type, attempt, status, status_code, error, latency_ms, attempted_at, response_body)
			SELECT 'dlv_0000' || (10000000 + i), subscription_id, event_id, event_type, 1, 'succeeded', 200, '', 1, attempted_at, '' FROM deliveries, n WHERE status = 'succeeded'`,
		`UPDATE subscription_state SET seq = $1`,
	} {
		if _, err := r.d.Poke(r.Context(), statement, n+1); err != nil {
			r.Fatal(err)
		}
	}
}

// Thousands go in batches of 200.
func TestTrimEventsIsBounded(t *testing.T) {
	each(t, func(r *rig) {
		r.waiting(1)
		r.deliver()
		r.fill(1700)
		// 1,702 events, of which the last that was delivered stays.
		if e, a := r.trimEvents(r.d, r.later()); e != 1700 || a != 1701 {
			r.Errorf("%d events and %d attempts go", e, a)
		}
		r.sound(trimmedRules...)
	})
}

// Two processes trim while others deliver, replay and resume. Nothing fails,
// nothing that waits goes, and nobody waits for ever.
func TestTrimEventsTogether(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		handles := []*db.DB{m.DB, m.DB}
		if m.Name == "postgres" {
			second, err := db.Open(t.Context(), m.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = second.Close() }()
			handles[1] = second
		}
		r := newRig(t, m.DB)
		s := r.waiting(1)
		r.deliver()
		r.fill(3000)
		var subs []string
		for range 5 {
			subs = append(subs, r.found(r.standing().IDs[0]).ID)
		}
		var trimming, others sync.WaitGroup
		done := make(chan struct{})
		for _, d := range handles {
			trimming.Go(func() {
				for from, passes := "", 0; passes < 3; {
					got, err := d.TrimEvents(t.Context(), r.later(), from)
					if err != nil {
						t.Error(err)
						return
					}
					if from = got.Next; got.Done {
						from, passes = "", passes+1
					}
					if _, err := d.TrimDeliveries(t.Context(), r.later(), ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if i%3 == 0 {
					r.say(leg(gate(fmt.Sprint("T", i))))
				}
				id := subs[i%len(subs)]
				if i%7 == 0 {
					_, pause := handles[1].PauseSubscription(t.Context(), r.account, id)
					_, resume := handles[1].ResumeSubscription(t.Context(), r.account, id, r.now)
					if pause != nil || resume != nil {
						t.Error(pause, resume)
					}
				}
				if _, err := handles[1].ReplayEvents(t.Context(), r.account, id, flight.Replay{Since: 1, IncludeFailed: true}, 20); err != nil {
					t.Error(err)
				}
				var results []db.Result
				for _, a := range r.claim(4, time.Minute) {
					results = append(results, result(a, []flight.DeliveryStatus{flight.DeliverySucceeded, flight.DeliveryFailed}[i%2]))
				}
				r.record(results...)
			}
		})
		trimming.Wait()
		close(done)
		others.Wait()
		r.sound(trimmedRules...)
		r.deliver()
		if left := r.strings(`SELECT id FROM events WHERE status = 'pending'`); len(left) > 0 {
			t.Errorf("%d wait for ever: %v", len(left), left)
		}
		if n := r.count(`SELECT count(*) FROM events WHERE id < 'evt_0001' AND subscription_id = $1`, s.ID); n > 1 {
			t.Errorf("%d old events are left", n)
		}
		r.sound(trimmedRules...)
	})
}

// Idempotency keys go when their 24 hours are over, so many at a time.
func TestTrimIdempotencyKeys(t *testing.T) {
	each(t, func(r *rig) {
		r.say(leg())
		for i := range 5 {
			if _, err := r.create(db.Idempotency{APIKey: "k1", Key: fmt.Sprint(i), Request: "r"}); err != nil {
				r.Fatal(err)
			}
		}
		if _, err := r.d.Poke(r.Context(), `UPDATE idempotency_keys SET created_at = $1 WHERE idempotency_key < '3'`, db.At(r.d.Now().Add(-24*time.Hour))); err != nil {
			r.Fatal(err)
		}
		for _, want := range []int{2, 1, 0} {
			if n, err := r.d.TrimIdempotencyKeys(r.Context(), 2); n != want || err != nil {
				r.Errorf("%d went, %v, want %d", n, err, want)
			}
		}
		if left := r.strings(`SELECT idempotency_key FROM idempotency_keys ORDER BY idempotency_key`); !slices.Equal(left, []string{"3", "4"}) {
			r.Errorf("left: %s", strings.Join(left, " "))
		}
	})
}

// A transaction that trims, held right before its commit, holds up nobody who
// records, claims, settles, pauses, resumes or subscribes; and one that
// redelivers holds up no trimming.
func TestTrimEventsHoldsUpNobody(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Name == "sqlite" {
			t.Skip("SQLite's writers are alone: a batch is short instead, see docs/performance.md")
		}
		r := newRig(t, m.DB)
		s := r.waiting(3)
		other := r.found(r.standing().IDs[0])
		r.deliver()
		op, reached, release := "trim events", make(chan struct{}), make(chan struct{})
		config := dbtest.Patient(m.Config)
		config.BeforeCommit = func(at string) {
			if at == op {
				reached <- struct{}{}
				<-release
			}
		}
		second, err := db.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = second.Close() }()
		held := func(hold, meanwhile func() error) {
			t.Helper()
			ended := make(chan error)
			go func() { ended <- hold() }()
			<-reached
			if err := meanwhile(); err != nil {
				t.Errorf("while %q is held: %v", op, err)
			}
			release <- struct{}{}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		trim := func(d *db.DB) func() error {
			return func() error { _, err := d.TrimEvents(t.Context(), r.later(), ""); return err }
		}
		held(trim(second), func() error {
			r.say(leg(gate("H1")))
			if n := len(r.deliver()); n != 2 {
				t.Errorf("%d events go out, want 2", n)
			}
			r.pause(s.ID)
			r.resume(s.ID)
			r.redeliver(s.ID, 4)
			r.found(r.standing().IDs[0])
			return trim(m.DB)()
		})
		op = "redeliver event"
		r.deliver()
		held(func() error {
			_, err := second.RedeliverEvent(t.Context(), r.account, other.ID, r.event(other.ID, 2))
			return err
		}, trim(m.DB))
		r.same("what is redelivered stays", r.log(other.ID), []string{"2 flight.updated pending"})
		r.deliver()
		r.sound(trimmedRules...)
	})
}
