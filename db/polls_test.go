package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

func (r *rig) claimPolls(limit int, lease time.Duration) []db.PollClaim {
	r.Helper()
	got, err := r.d.ClaimPolls(r.Context(), r.now, limit, lease)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// onlyPoll returns the one poll that is due.
func (r *rig) onlyPoll(lease time.Duration) db.PollClaim {
	r.Helper()
	got := r.claimPolls(10, lease)
	if len(got) != 1 {
		r.Fatalf("%d polls are due, want 1", len(got))
	}
	return got[0]
}

func (r *rig) noPoll() {
	r.Helper()
	if got := r.claimPolls(10, time.Minute); len(got) != 0 {
		r.Errorf("%d polls are due, want none", len(got))
	}
}

// polled is say under a claim.
func (r *rig) polled(c db.PollClaim, legs ...*flight.Snapshot) db.Accepted {
	r.Helper()
	a := r.answer(c.Key, legs...)
	a.Poll = &c
	return r.accept(a)
}

func (r *rig) confirm(c db.PollClaim) bool {
	r.Helper()
	ok, err := r.d.ConfirmPoll(r.Context(), c, time.Minute)
	if err != nil {
		r.Fatal(err)
	}
	return ok
}

func TestClaimPolls(t *testing.T) {
	each(t, func(r *rig) {
		var ids []string
		for _, number := range []string{"1", "2", "3", "4"} {
			k := flight.Key{Carrier: "AA", Number: number, Date: key.Date}
			id := r.accept(r.answer(k, legOf(k, "JFK", "LHR", ""))).IDs[0]
			r.found(id) // due at once, a minute after the one before
			ids = append(ids, id)
		}
		r.now -= minute // the fourth is due in a minute
		first := r.claimPolls(2, time.Minute)
		if len(first) != 2 || first[0].FlightID != ids[0] || first[1].FlightID != ids[1] || first[0].Key.Number != "1" || first[0].Token == "" {
			r.Errorf("first %+v", first)
		}
		if second := r.claimPolls(10, time.Minute); len(second) != 1 || second[0].FlightID != ids[2] || second[0].Token == first[0].Token {
			r.Errorf("second %+v", second)
		}
		r.noPoll()
		r.now += minute
		if last := r.onlyPoll(time.Minute); last.FlightID != ids[3] {
			r.Errorf("last %+v", last)
		}
	})
}

func TestPollPlansTheNext(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		c := r.onlyPoll(time.Minute)
		if !r.confirm(c) {
			r.Fatal("the claim is lost")
		}
		r.polled(c, leg())
		if at := r.planned(id); at != r.now+5*minute {
			r.Errorf("next at %s", at)
		}
		if at := r.sub(s.ID).LastPolledAt; at != r.now {
			r.Errorf("last polled at %s, want %s", at, r.now)
		}
		if r.confirm(c) {
			r.Error("a claim that has ended is confirmed")
		}
		r.noPoll()
		r.now += 5 * minute
		r.onlyPoll(time.Minute)
		r.sound()
	})
}

// A claim that ran out goes to another; what the first one then brings is
// taken in, but leaves the other's claim and plan alone.
func TestExpiredPoll(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.deliver()
		due := r.planned(id)
		slow := r.onlyPoll(time.Nanosecond)
		quick := r.onlyPoll(time.Minute)
		if r.confirm(slow) || !r.confirm(quick) {
			r.Error("the claim is the slow one's")
		}
		r.polled(slow, leg(gate("B2")))
		if at := r.planned(id); at != due {
			r.Errorf("the slow one planned %s", at)
		}
		r.noPoll()
		if !r.confirm(quick) {
			r.Error("the slow one took the claim away")
		}
		if woken, err := r.d.FailPoll(r.Context(), slow, r.now, fiveMinutes, 0); err != nil || len(woken) > 0 || r.planned(id) != due {
			r.Errorf("the slow one's failure counts: %v %v", woken, err)
		}
		r.polled(quick, leg(gate("B2")))
		if at := r.planned(id); at != r.now+5*minute {
			r.Errorf("next at %s", at)
		}
		r.same("events", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to B2"})
		r.sound()
	})
}

// A claim whose answer is older than what stands still plans the next poll.
func TestOvertakenPoll(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		r.found(id)
		c := r.onlyPoll(time.Minute)
		a := r.answer(key, leg(gate("B2")))
		a.Poll = &c
		r.say(leg(gate("B3"))) // a look-up
		r.accept(a)
		if at := r.planned(id); at != a.Now+5*minute {
			r.Errorf("next at %s", at)
		}
		if r.confirm(c) {
			r.Error("the claim has not ended")
		}
		r.sound()
	})
}

func TestFailPoll(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.deliver()
		adaptive := flight.Schedule{Jitter: 0.5}
		fail := func(retryAfter time.Duration) bool {
			r.Helper()
			c := r.onlyPoll(time.Minute)
			due, err := r.d.FailPoll(r.Context(), c, r.now, adaptive, retryAfter)
			if err != nil {
				r.Fatal(err)
			}
			return len(due) > 0
		}
		for _, want := range []flight.Time{1, 2, 4} {
			if fail(0) || r.planned(id) != r.now+want*minute {
				r.Errorf("next at %s, want in %d min", r.planned(id), want)
			}
			r.now = r.planned(id)
		}
		if fail(time.Hour) || r.planned(id) != r.now+60*minute {
			r.Errorf("next at %s, want in an hour", r.planned(id))
		}
		if st := r.standing(); st.Legs[0].Departure.Gate != "B1" {
			r.Error("an error changed what stands")
		}
		// A success begins anew, and an error does not keep a watch from ending.
		r.now = r.planned(id)
		r.polled(r.onlyPoll(time.Minute), leg())
		r.now = r.planned(id)
		fail(0)
		if at := r.planned(id); at != r.now+minute {
			r.Errorf("next at %s, want in a minute", at)
		}
		r.now += 72 * 60 * minute
		if !fail(0) {
			r.Error("nobody is woken for the completion")
		}
		r.same("events", r.told(s.ID), []string{"subscription.completed"})
		if at := r.planned(id); at.Known() {
			r.Errorf("still polled at %s", at)
		}
		r.sound()
	})
}

func TestFailedSearchEnds(t *testing.T) {
	each(t, func(r *rig) {
		s := r.pending()
		r.deliver()
		r.now += 49 * 60 * minute
		if woken, err := r.d.FailPoll(r.Context(), r.onlyPoll(time.Minute), r.now, fiveMinutes, 0); err != nil || len(woken) == 0 {
			r.Errorf("events wait: %v, %v", woken, err)
		}
		if got := r.sub(s.ID); got.Status != flight.SubscriptionCompleted || got.StatusReason != flight.EndedUnseen {
			r.Errorf("%+v", got)
		}
		r.noPoll()
		r.sound()
	})
}

// Paused while a poll is under way and resumed after it: the leg is due at
// once, and nobody has to wait for a lease.
func TestResumeAfterPollForNobody(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		c := r.onlyPoll(time.Hour)
		r.pause(s.ID)
		r.polled(c, leg())
		if at := r.planned(id); at.Known() {
			r.Errorf("polled for nobody at %s", at)
		}
		r.resume(s.ID)
		r.onlyPoll(time.Minute)
	})
}

// Whoever goes on watching waits for nobody who has a flight's row, and nobody
// waits for them.
func TestViewersDoNotLockFlights(t *testing.T) {
	each(t, func(r *rig) {
		if r.d.Kind() != "postgres" {
			r.Skip("SQLite's writers are alone")
		}
		ids := r.say(leg(), second()).IDs
		watch := func(ctx context.Context) error {
			return r.d.Watch(ctx, "p1", ids, r.d.Now().Add(time.Hour), r.now)
		}
		if err := watch(r.Context()); err != nil {
			r.Fatal(err)
		}
		soon, stop := context.WithTimeout(r.Context(), 10*time.Second)
		defer stop()
		if err := r.d.Locked(r.Context(), ids[0], func() error { return watch(soon) }); err != nil {
			r.Error(err)
		}
	})
}

func TestViewers(t *testing.T) {
	each(t, func(r *rig) {
		got := r.say(leg(), second())
		watch := func(process string, until time.Time, ids ...string) {
			r.Helper()
			if err := r.d.Watch(r.Context(), process, ids, until, r.now); err != nil {
				r.Fatal(err)
			}
		}
		watch("p1", r.d.Now().Add(time.Hour))
		watch("p1", r.d.Now().Add(time.Hour), "flt_none")
		r.noPoll()
		watch("p1", r.d.Now().Add(time.Hour), got.IDs[0], got.IDs[0], "flt_none", got.IDs[1])
		watch("p2", r.d.Now().Add(time.Hour), got.IDs[0])
		if polls := r.claimPolls(10, time.Nanosecond); len(polls) != 2 {
			r.Errorf("%d polls", len(polls))
		}
		r.say(leg(), second())
		for _, id := range got.IDs {
			if at := r.planned(id); at != r.now+5*minute {
				r.Errorf("next at %s", at)
			}
		}
		// A heartbeat leaves the plan as it is.
		watch("p2", r.d.Now().Add(time.Hour), got.IDs[0])
		if at := r.planned(got.IDs[0]); at != r.now+5*minute {
			r.Errorf("next at %s", at)
		}
		// When all have gone the next answer takes the plan away.
		watch("p1", r.d.Now().Add(-time.Second), got.IDs...)
		r.say(leg(), second())
		if !r.planned(got.IDs[0]).Known() || r.planned(got.IDs[1]).Known() {
			r.Errorf("planned at %s and %s", r.planned(got.IDs[0]), r.planned(got.IDs[1]))
		}
		watch("p2", r.d.Now().Add(-time.Second), got.IDs[0])
		r.say(leg(), second())
		if at := r.planned(got.IDs[0]); at.Known() {
			r.Errorf("polled for nobody at %s", at)
		}
		// So does whoever would have polled it.
		watch("p1", r.d.Now().Add(time.Hour), got.IDs...)
		watch("p1", r.d.Now().Add(-time.Second), got.IDs[0])
		if c := r.onlyPoll(time.Nanosecond); c.FlightID != got.IDs[1] || r.planned(got.IDs[0]).Known() {
			r.Errorf("%+v is polled", c)
		}
		watch("p1", r.d.Now().Add(time.Hour), got.IDs[1])
		watch("p2", r.d.Now().Add(time.Hour), got.IDs[1])
		if n := r.count(`SELECT count(*) FROM viewers`); n != 2 {
			r.Errorf("%d viewers, want 2: those who have gone are forgotten", n)
		}
		// A viewer keeps a leg polled that its last subscription leaves.
		s := r.found(got.IDs[1])
		r.pause(s.ID)
		if !r.planned(got.IDs[1]).Known() {
			r.Error("the viewers' leg is not polled")
		}
		r.sound()
	})
}

// What stands is marked as stale from the first poll that fails to the first
// answer, whoever asked for it, also when nobody watches any more.
func TestStale(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		stale := func(want bool) {
			r.Helper()
			u, err := r.d.LatestUpdate(r.Context(), id)
			if err != nil {
				r.Fatal(err)
			}
			if st := r.standing(); u.Snapshot.Stale != want || st.Legs[0].Stale != want {
				r.Errorf("stale: %v and %v, want %v", u.Snapshot.Stale, st.Legs[0].Stale, want)
			}
		}
		fail := func() {
			r.Helper()
			r.now += 60 * minute
			if _, err := r.d.FailPoll(r.Context(), r.onlyPoll(time.Minute), r.now, fiveMinutes, 0); err != nil {
				r.Fatal(err)
			}
		}
		stale(false)
		fail()
		stale(true)
		fail()
		r.say(leg()) // a look-up
		stale(false)
		fail()
		r.pause(s.ID)
		stale(true)
		r.say(leg(gate("C1")))
		stale(false)
		r.sound()
	})
}
