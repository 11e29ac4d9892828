package db_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// event returns the id of the event at a place of a subscription's sequence.
func (r *rig) event(id string, seq int) string {
	r.Helper()
	return r.strings(`SELECT id FROM events WHERE subscription_id = $1 AND seq = $2`, id, seq)[0]
}

func (r *rig) redeliver(id string, seq int) *flight.SentEvent {
	r.Helper()
	e, err := r.d.RedeliverEvent(r.Context(), r.account, id, r.event(id, seq))
	if err != nil {
		r.Fatal(err)
	}
	return e
}

func (r *rig) replay(id string, from flight.Replay) flight.Replayed {
	r.Helper()
	got, err := r.d.ReplayEvents(r.Context(), r.account, id, from, flight.MaxReplay)
	if err != nil {
		r.Fatal(err)
	}
	r.sound()
	return got
}

// order delivers everything that waits and returns the places in the sequence.
func (r *rig) order() []string {
	r.Helper()
	var out []string
	for _, a := range r.deliver() {
		out = append(out, fmt.Sprint(r.seq(a)))
	}
	return out
}

func TestRedeliver(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		first := r.only(time.Minute)
		r.record(result(first, flight.DeliveryFailed))
		r.say(leg(gate("B9"))) // its snapshot is another one by now
		r.deliver()
		got := r.redeliver(s.ID, 1)
		if got.ID != first.EventID || got.Status != flight.EventPending || got.Attempts != 1 || got.Type != flight.EventCreated {
			r.Errorf("%+v", got)
		}
		r.sound()
		again := r.only(time.Minute)
		if again.EventID != first.EventID || again.Number != 2 || again.Counted != 1 || !bytes.Equal(again.Body, first.Body) {
			r.Errorf("%+v\n%s\nwas\n%s", again, again.Body, first.Body)
		}
		if got := r.redeliver(s.ID, 1); got.Attempts != 2 || got.Status != flight.EventPending { // it is under way
			r.Errorf("%+v", got)
		}
		r.nothingDue()
		r.record(result(again, flight.DeliverySucceeded))
		if got := r.redeliver(s.ID, 1); got.Status != flight.EventPending || got.DeliveredAt.Known() {
			r.Errorf("%+v", got)
		}
		r.record(result(r.only(time.Minute), flight.DeliverySucceeded))
		// Every delivery counts, as in the log.
		if got := r.sub(s.ID); got.DeliveredCount != 3 || got.FailedCount != 1 {
			r.Errorf("delivered %d, failed %d", got.DeliveredCount, got.FailedCount)
		}
		r.same("log", r.strings(`SELECT attempt || ' ' || status FROM deliveries WHERE event_id = $1 ORDER BY attempt`, first.EventID),
			[]string{"1 failed", "2 succeeded", "3 succeeded"})
		r.sound()
	})
}

// A redelivery has all its retries, however many attempts there were; those
// that a dying process cut off do not count, as ever.
func TestRedeliverRetries(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		number := 0
		for round := range 2 {
			for counted := 1; counted <= flight.MaxAttempts; counted++ {
				r.makeDue()
				if counted == 3 { // dies
					r.only(time.Microsecond)
					number++
				}
				a := r.only(time.Minute)
				if number++; a.Number != number || a.Counted != counted {
					r.Fatalf("round %d: attempt %d counts %d, want %d and %d", round, a.Number, a.Counted, number, counted)
				}
				status := flight.DeliveryRetrying
				if counted == flight.MaxAttempts {
					status = flight.DeliveryFailed
				}
				r.record(result(a, status))
			}
			r.redeliver(s.ID, 1)
			r.sound()
		}
	})
}

// What is redelivered waits for its first attempt in the order of the sequence,
// before what comes later and behind what is under way.
func TestRedeliverInOrder(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		r.deliver()
		for i := range 3 {
			r.say(leg(gate(fmt.Sprint("D", i)))) // 4, 5, 6
		}
		r.redeliver(s.ID, 2) // 4 is due, and stands back
		r.sound()
		r.same("before what is due", r.order(), []string{"2", "4", "5", "6"})

		for i := range 2 {
			r.say(leg(gate(fmt.Sprint("E", i)))) // 7, 8
		}
		underWay := r.only(time.Minute)
		r.redeliver(s.ID, 3)
		r.redeliver(s.ID, 1)
		r.sound()
		r.nothingDue()
		r.record(result(underWay, flight.DeliveryRetrying)) // and due at once
		next := r.claim(10, time.Minute)
		if len(next) != 2 || r.seq(next[0])+r.seq(next[1]) != 7+1 {
			r.Fatalf("%d are due", len(next))
		}
		r.record(result(next[0], flight.DeliverySucceeded), result(next[1], flight.DeliverySucceeded))
		r.same("after what was under way", r.order(), []string{"3", "8"})
		r.sound()
	})
}

// A process dies over the head while an earlier event is sent again: that one
// goes first, and the head after it.
func TestRedeliverBeforeWhatWasCutOff(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		r.record(result(r.only(time.Minute), flight.DeliverySucceeded))
		if dead := r.only(time.Nanosecond); r.seq(dead) != 2 {
			r.Fatalf("%d is the head", r.seq(dead))
		}
		r.redeliver(s.ID, 1)
		again := r.only(time.Minute)
		if r.seq(again) != 1 || again.Number != 2 {
			r.Errorf("attempt %d of %d", again.Number, r.seq(again))
		}
		r.nothingDue()
		r.sound()
		r.record(result(again, flight.DeliverySucceeded))
		if head := r.only(time.Minute); r.seq(head) != 2 || head.Number != 2 || head.Counted != 1 {
			r.Errorf("attempt %d, counted %d, of %d", head.Number, head.Counted, r.seq(head))
		}
		r.sound()
	})
}

func TestReplayMissed(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		r.deliver()
		r.fails(1)
		for i := range 4 {
			r.say(leg(gate(fmt.Sprint("D", i)))) // 4 to 7
		}
		r.pause(s.ID)
		r.resume(s.ID)
		first := r.event(s.ID, 5)
		body := r.strings(`SELECT envelope FROM events WHERE id = $1`, first)[0]

		if got := r.replay(s.ID, flight.Replay{After: r.event(s.ID, 6)}); got != (flight.Replayed{Count: 1}) {
			r.Errorf("after an event: %+v", got)
		}
		r.same("after an event", r.order(), []string{"7"})
		since := r.strings(`SELECT id FROM events WHERE subscription_id = $1 AND seq >= 5`, s.ID) // 5 and later are of now, the others of yesterday
		if _, err := r.d.Poke(r.Context(), `UPDATE events SET created_at = $1 WHERE seq < 5`, db.At(r.d.Now().Add(-24*time.Hour))); err != nil || len(since) != 3 {
			r.Fatal(err, since)
		}
		if got := r.replay(s.ID, flight.Replay{Since: flight.TimeOf(r.d.Now().Add(-time.Hour))}); got.Count != 2 {
			r.Errorf("since an hour ago: %+v", got)
		}
		sent := r.deliver()
		if len(sent) != 2 || sent[0].EventID != first || !bytes.HasPrefix(sent[0].Body, []byte(body[:len(body)-1])) {
			r.Errorf("sent %v, want first %s", sent, body)
		}
		if got := r.replay(s.ID, flight.Replay{Since: 1}); got.Count != 1 {
			r.Errorf("what was missed: %+v", got)
		}
		r.same("what was missed", r.order(), []string{"4"})
		if got := r.replay(s.ID, flight.Replay{Since: 1}); got != (flight.Replayed{}) {
			r.Errorf("nothing is missed any more: %+v", got)
		}
		if got := r.replay(s.ID, flight.Replay{Since: 1, IncludeFailed: true}); got.Count != 1 {
			r.Errorf("what failed: %+v", got)
		}
		r.same("what failed", r.order(), []string{"3"})
		r.same("log", r.log(s.ID)[2:], []string{
			"3 flight.updated delivered", "4 flight.updated delivered", "5 flight.updated delivered", "6 flight.updated delivered", "7 flight.updated delivered",
		})
	})
}

// A replay takes so many at most and says whether there are more; twelve
// hundred are several transactions, and all of them go out in order.
func TestReplayIsBounded(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		r.deliver()
		const all = 1200
		if _, err := r.d.Poke(r.Context(), `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO events (id, subscription_id, seq, type, flight_key, flight_id, version, envelope, status, attempts, interruptions, lease_token, created_at)
			SELECT 'evt_' || i, subscription_id, i, 'flight.updated', flight_key, flight_id, version, envelope, 'missed', 0, 0, '', created_at FROM events, n WHERE seq = 1`, all+1); err != nil {
			r.Fatal(err)
		}
		if _, err := r.d.Poke(r.Context(), `UPDATE subscription_state SET seq = $1`, all+1); err != nil {
			r.Fatal(err)
		}
		for _, want := range []flight.Replayed{{Count: 1100, More: true}, {Count: 100}, {}} {
			got, err := r.d.ReplayEvents(r.Context(), r.account, s.ID, flight.Replay{Since: 1}, 1100)
			if err != nil || got != want {
				r.Errorf("%+v, %v, want %+v", got, err, want)
			}
			r.sound()
		}
		for i := 2; i <= 20; i++ {
			a := r.only(time.Minute)
			if r.seq(a) != i {
				r.Fatalf("%d goes out, want %d", r.seq(a), i)
			}
			r.record(result(a, flight.DeliverySucceeded))
		}
		r.pause(s.ID) // what is left is missed once more
		if got := r.count(`SELECT count(*) FROM events WHERE status = 'missed'`); got != all-19 {
			r.Errorf("%d are missed", got)
		}
		r.sound()
	})
}

func TestReplayByState(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		r.deliver()
		tested := r.test(s.ID)
		r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		refused := func(status flight.Status) {
			r.Helper()
			_, one := r.d.RedeliverEvent(r.Context(), r.account, s.ID, r.event(s.ID, 2))
			_, all := r.d.ReplayEvents(r.Context(), r.account, s.ID, flight.Replay{Since: 1}, 10)
			for _, err := range []error{one, all} {
				if e, ok := err.(*flight.Error); !ok || e.Code != flight.CodeInvalidState || e.Status != status {
					r.Errorf("%s: %v", status, err)
				}
			}
			if got, err := r.d.RedeliverEvent(r.Context(), r.account, s.ID, tested); err != nil || got.Status != flight.EventPending {
				r.Errorf("a test while %s: %+v %v", status, got, err)
			}
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
			r.sound()
		}
		r.pause(s.ID)
		refused(flight.SubscriptionPaused)
		r.resume(s.ID)
		r.say(leg(gate("C2"))) // the poll after the resume
		r.deliver()
		r.fails(20)
		suspended := len(r.log(s.ID))
		r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		refused(flight.SubscriptionSuspended)
		if got := r.redeliver(s.ID, suspended); got.Type != flight.EventSuspended || got.Status != flight.EventPending {
			r.Errorf("%+v", got)
		}
		r.deliver()
		r.resume(s.ID)
		r.say(leg(arrived))
		r.deliver()
		r.same("what failed, of one that is completed", []string{fmt.Sprint(r.replay(s.ID, flight.Replay{Since: 1, IncludeFailed: true}).Count), string(r.sub(s.ID).Status)}, []string{"21", "completed"})
		if n := len(r.deliver()); n != 21 {
			r.Errorf("%d go out", n)
		}
		if err := r.d.DeleteSubscription(r.Context(), r.account, s.ID); err != nil {
			r.Fatal(err)
		}
		_, err := r.d.RedeliverEvent(r.Context(), r.account, s.ID, tested)
		if flight.CodeOf(err) != flight.CodeSubscriptionMissing {
			r.Errorf("once it is deleted: %v", err)
		}
	})
}

// Failed redeliveries suspend as any, and what still waits is missed again.
func TestReplayFails(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(25)
		r.pause(s.ID)
		r.resume(s.ID)
		if got := r.replay(s.ID, flight.Replay{Since: 1}); got.Count != 25 {
			r.Fatalf("%+v", got)
		}
		for range 20 {
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		}
		if got := r.sub(s.ID); got.Status != flight.SubscriptionSuspended {
			r.Errorf("%+v", got)
		}
		r.same("the rest", r.log(s.ID)[19:], []string{
			"20 flight.updated failed", "21 flight.updated missed", "22 flight.updated missed", "23 flight.updated missed", "24 flight.updated missed",
			"25 flight.updated missed", "26 subscription.suspended pending",
		})
		r.sound()
	})
}

// Whatever becomes of a redelivery, a resume reckons from what was told.
func TestResumeAfterRedelivery(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3) // created, C1, C2
		r.deliver()
		r.redeliver(s.ID, 2)
		r.redeliver(s.ID, 3)
		r.pause(s.ID)
		r.same("events", r.log(s.ID), []string{"1 subscription.created delivered", "2 flight.updated missed", "3 flight.updated missed"})
		r.resume(s.ID)
		r.say(leg(gate("C9")))
		r.same("told", r.told(s.ID), []string{"flight.updated: Departure gate changed from C2 to C9"})
	})
}

// Events of others are not there, and one whose snapshot has been deleted
// cannot be sent as it was.
func TestRedeliverNothing(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		r.pause(s.ID)
		r.resume(s.ID)
		other := r.found(r.standing().IDs[0])
		for name, c := range map[string]struct {
			account, sub, event string
			code                flight.Code
		}{
			"another account":    {"acc_other", s.ID, r.event(s.ID, 1), flight.CodeSubscriptionMissing},
			"no subscription":    {r.account, "sub_none", r.event(s.ID, 1), flight.CodeSubscriptionMissing},
			"another's event":    {r.account, other.ID, r.event(s.ID, 1), flight.CodeEventMissing},
			"no event":           {r.account, s.ID, "evt_none", flight.CodeEventMissing},
			"a strange event id": {r.account, s.ID, "'--", flight.CodeEventMissing},
		} {
			_, one := r.d.RedeliverEvent(r.Context(), c.account, c.sub, c.event)
			_, all := r.d.ReplayEvents(r.Context(), c.account, c.sub, flight.Replay{After: c.event}, 10)
			if flight.CodeOf(one) != c.code || flight.CodeOf(all) != c.code {
				r.Errorf("%s: %v, %v", name, one, all)
			}
		}
		r.same("nothing happened", r.log(s.ID), []string{"1 subscription.created missed", "2 flight.updated missed", "3 flight.updated missed"})

		if _, err := r.d.Poke(r.Context(), `DELETE FROM updates WHERE version = 2`); err != nil {
			r.Fatal(err)
		}
		if _, err := r.d.RedeliverEvent(r.Context(), r.account, s.ID, r.event(s.ID, 2)); flight.CodeOf(err) != flight.CodeEventGone {
			r.Errorf("its snapshot is gone: %v", err)
		}
		if got, err := r.d.ReplayEvents(r.Context(), r.account, s.ID, flight.Replay{Since: 1}, 10); err != nil || got.Count != 2 {
			r.Errorf("%+v, %v", got, err)
		}
		r.same("the others go out", r.order(), []string{"1", "1", "3"}) // and that of the other one
	})
}
