package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// fails lets n events of one subscription fail, one after the other.
func (r *rig) fails(n int) {
	r.Helper()
	for i := range n {
		r.say(leg(gate(fmt.Sprint("F", i, " ", r.now))))
		r.record(result(r.only(time.Minute), flight.DeliveryFailed))
	}
}

func TestLogHoldsTheAttempt(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		a := r.only(time.Minute)
		at := r.d.Now().Add(-time.Second)
		// What a receiver says may be anything.
		odd := "nul \x00, half \xff, <&> \u2028 \"\\"
		out := r.record(db.Result{
			Attempt: a, Status: flight.DeliveryRetrying, RetryAfter: time.Minute, StatusCode: 503, Error: "status 503 " + odd,
			Latency: 1234 * time.Millisecond, AttemptedAt: at, ResponseBody: odd,
		})
		var rows []struct {
			ID       string  `db:"id"`
			Event    string  `db:"event_id"`
			Attempt  int     `db:"attempt"`
			Status   string  `db:"status"`
			Code     int     `db:"status_code"`
			Error    string  `db:"error"`
			Latency  int     `db:"latency_ms"`
			At       db.Time `db:"attempted_at"`
			Next     db.Time `db:"next_attempt_at"`
			Response string  `db:"response_body"`
		}
		err := r.d.Peek(r.Context(), &rows, `SELECT id, event_id, attempt, status, status_code, error, latency_ms, attempted_at, next_attempt_at, response_body
			FROM deliveries WHERE subscription_id = $1`, s.ID)
		if err != nil || len(rows) != 1 {
			r.Fatal(rows, err)
		}
		got, clean := rows[0], "nul \uFFFD, half \uFFFD, <&> \u2028 \"\\"
		if got.ID[:4] != "dlv_" || got.Event != a.EventID || got.Attempt != 1 || got.Status != "retrying" || got.Code != 503 || got.Latency != 1234 ||
			!got.At.Std().Equal(at) || !got.Next.Std().Equal(out.Retries[0]) || got.Response != clean || got.Error != "status 503 "+clean {
			r.Errorf("%+v, want %+v", got, out)
		}
		r.sound()
	})
}

func TestCounters(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		a := r.only(time.Minute)
		r.record(result(a, flight.DeliveryRetrying))
		if got := r.sub(s.ID); got.DeliveredCount != 0 || got.FailedCount != 0 || got.LastDeliveryAt.Known() {
			r.Errorf("after a retry %+v", got)
		}
		before := flight.TimeOf(r.d.Now())
		r.record(result(r.only(time.Minute), flight.DeliverySucceeded))
		got := r.sub(s.ID)
		if got.DeliveredCount != 1 || got.FailedCount != 0 || got.LastDeliveryAt < before || got.LastDeliveryAt > flight.TimeOf(r.d.Now()) {
			r.Errorf("after a success %+v", got)
		}
		if n := r.count(`SELECT count(*) FROM events WHERE status = 'delivered' AND delivered_at IS NOT NULL AND attempts = 2`); n != 1 {
			r.Error("the event does not say when it was delivered")
		}
		r.fails(2)
		if again := r.sub(s.ID); again.DeliveredCount != 1 || again.FailedCount != 2 || again.LastDeliveryAt != got.LastDeliveryAt {
			r.Errorf("after two failures %+v", again)
		}
		r.sound()
	})
}

// An attempt whose claim ran out and the one that took its place are recorded
// together, as when a process was stopped over its claim and goes on: the first
// is the log's already, and its result counts for nothing.
func TestStaleResultBesideItsSuccessor(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		stale := r.only(time.Microsecond)
		var next db.Attempt
		for next.EventID == "" { // until the claim has run out
			if got := r.claim(1, time.Minute); len(got) == 1 {
				next = got[0]
			}
		}
		if next.EventID != stale.EventID || next.Number != 2 {
			r.Fatalf("%+v after %+v", next, stale)
		}
		late := result(stale, flight.DeliveryRetrying)
		late.RetryAfter = time.Hour
		if out := r.record(late, result(next, flight.DeliverySucceeded)); len(out.Retries) > 0 {
			r.Errorf("a retry is scheduled of what was delivered: %+v", out)
		}
		log := r.strings(`SELECT attempt || ' ' || status FROM deliveries WHERE subscription_id = $1 ORDER BY attempt, status`, s.ID)
		r.same("the log", log, []string{"1 interrupted", "2 succeeded"})
		if got := r.sub(s.ID); got.DeliveredCount != 1 {
			r.Errorf("%+v", got)
		}
		r.sound()
	})
}

func TestFailuresSuspend(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		other := r.found(r.standing().IDs[0])
		r.deliver()
		if err := r.d.DeleteSubscription(r.Context(), r.account, other.ID); err != nil {
			r.Fatal(err)
		}
		r.fails(19)
		r.say(leg(gate("ok")))
		r.deliver() // a success in between: the count begins anew
		r.fails(19)
		if got := r.sub(s.ID).Status; got != flight.SubscriptionActive {
			r.Fatalf("19 in a row make it %s", got)
		}
		for i := range 3 { // three more wait when the last one fails
			r.say(leg(gate(fmt.Sprint("G", i))))
		}
		a := r.only(time.Minute)
		out := r.record(result(a, flight.DeliveryFailed))
		if len(out.Turns) == 0 {
			r.Error("nobody is woken for the event that says so")
		}
		got := r.sub(s.ID)
		if got.Status != flight.SubscriptionSuspended || got.StatusReason != "20 deliveries in a row failed." || got.FailedCount != 39 {
			r.Errorf("%+v", got)
		}
		log := r.log(s.ID)
		r.same("the last events", log[len(log)-4:], []string{
			"41 flight.updated failed", "42 flight.updated missed", "43 flight.updated missed", "44 subscription.suspended pending",
		})
		r.sound()

		// That event is sent with its retries, and more failures change nothing.
		last := r.only(time.Minute)
		if last.EventType != flight.EventSuspended || r.hook(last).Flight == nil {
			r.Errorf("%s", last.Body)
		}
		r.record(result(last, flight.DeliveryRetrying))
		last = r.only(time.Minute)
		if last.EventType != flight.EventSuspended || last.Number != 2 {
			r.Errorf("%+v", last)
		}
		r.record(result(last, flight.DeliveryFailed))
		log = r.log(s.ID)
		r.same("the last event", log[len(log)-1:], []string{"44 subscription.suspended failed"})

		// It goes on being recorded while another keeps the flight polled.
		r.found(r.standing().IDs[0])
		r.say(leg(gate("H1")))
		log = r.log(s.ID)
		r.same("recorded", log[len(log)-1:], []string{"45 flight.updated missed"})
		r.sound()

		// Resumed, it has all its failures before it again.
		r.resume(s.ID)
		r.say(leg(gate("H1")))
		told := r.told(s.ID)
		r.same("net changes", told, []string{"flight.updated: Departure gate changed from ok to H1"})
		r.sound()
	})
}

// A subscription is suspended while an attempt is under way.
func TestSuspendedInFlight(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		r.record(result(r.only(time.Minute), flight.DeliveryRetrying)) // event 1 is due again at once
		r.fails2(18)
		r.say(leg(gate("x")))
		r.say(leg(gate("y")))
		r.say(leg(gate("z")))
		got := r.claim(100, time.Minute) // the retry of event 1, and the head
		if len(got) != 2 {
			r.Fatalf("%d attempts", len(got))
		}
		retry, head := got[0], got[1]
		if retry.Number == 1 {
			retry, head = head, retry
		}
		r.record(result(head, flight.DeliveryFailed))
		next := r.only(time.Minute)
		r.record(result(retry, flight.DeliveryFailed)) // the twentieth, with next under way
		if s := r.sub(s.ID); s.Status != flight.SubscriptionSuspended {
			r.Fatalf("%+v", s)
		}
		r.sound()
		r.nothingDue() // the event that says so waits behind the one under way
		if out := r.record(result(next, flight.DeliveryRetrying)); len(out.Turns) == 0 || len(out.Retries) != 0 {
			r.Errorf("%+v", out)
		}
		if a := r.only(time.Minute); a.EventType != flight.EventSuspended {
			r.Errorf("%+v", a)
		}
		if n := r.count(`SELECT count(*) FROM events WHERE id = $1 AND status = 'missed'`, next.EventID); n != 1 {
			r.Error("what was under way is retried")
		}
		r.sound()
	})
}

// fails2 is fails while a retry is due, which it leaves claimable.
func (r *rig) fails2(n int) {
	r.Helper()
	for i := range n {
		r.say(leg(gate(fmt.Sprint("F", i, " ", r.now))))
		for _, a := range r.claim(100, time.Minute) {
			status := flight.DeliveryFailed
			if a.Number > 1 || a.EventType == flight.EventCreated {
				status = flight.DeliveryRetrying
			}
			r.record(result(a, status))
		}
	}
}

// A process dies over the last attempt before the suspension: the event that
// tells of it still goes out.
func TestSuspendedBehindADeadAttempt(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		r.record(result(r.only(time.Minute), flight.DeliveryRetrying))
		r.fails2(19)
		r.say(leg(gate("x")))
		got := r.claim(100, time.Second)
		retry, head := got[0], got[1]
		if retry.Number == 1 {
			retry, head = head, retry
		}
		r.record(result(retry, flight.DeliveryFailed))
		if s := r.sub(s.ID); s.Status != flight.SubscriptionSuspended {
			r.Fatalf("%+v", s)
		}
		if _, err := r.d.Poke(r.Context(), `UPDATE events SET next_attempt_at = $1 WHERE id = $2`, db.At(r.d.Now()), head.EventID); err != nil {
			r.Fatal(err)
		}
		if a := r.only(time.Minute); a.EventType != flight.EventSuspended {
			r.Errorf("%+v", a)
		}
		r.sound()
	})
}

// Failures count towards a suspension in every state but these.
func TestFailuresThatDoNotCount(t *testing.T) {
	each(t, func(r *rig) {
		paused := r.waiting(1)
		completed := r.found(r.standing().IDs[0])
		r.deliver()
		r.say(leg(gate("x")))
		attempts := r.claim(100, time.Minute)
		r.pause(paused.ID)
		r.say(leg(arrived))
		for _, a := range attempts {
			r.record(result(a, flight.DeliveryFailed))
		}
		for _, id := range []string{paused.ID, completed.ID} {
			if s := r.sub(id); s.FailedCount != 1 {
				r.Errorf("%+v", s)
			}
			if n := r.count(`SELECT failure_streak FROM subscription_state WHERE subscription_id = $1`, id); n != 0 {
				r.Errorf("%s has a streak of %d", id, n)
			}
		}
		r.sound()
	})
}
