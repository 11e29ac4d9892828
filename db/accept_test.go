package db_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func (r *rig) standing() db.Standing {
	r.Helper()
	st, err := r.d.Standing(r.Context(), key)
	if err != nil {
		r.Fatal(err)
	}
	return st
}

// updates returns the updates of a leg after version 0.
func (r *rig) updates(flightID string) []db.Update {
	r.Helper()
	u, err := r.d.UpdatesAfter(r.Context(), flightID, 0, 100)
	if err != nil {
		r.Fatal(err)
	}
	return u
}

func TestAcceptFirstSight(t *testing.T) {
	each(t, func(r *rig) {
		if st := r.standing(); len(st.Legs) != 0 || st.FetchedAt().Known() {
			r.Errorf("a flight that was never seen stands: %+v", st)
		}
		got := r.say(leg())
		if len(got.IDs) != 1 || len(got.Changed) != 1 || got.Changed[0] != got.IDs[0] || got.Versions[0] != 1 || len(got.Due) > 0 {
			r.Fatalf("%+v", got)
		}
		if got.FetchedAt() != r.now || got.Legs[0].Departure.Gate != "B1" {
			r.Errorf("stands %+v", got.Legs[0])
		}
		if u := r.updates(got.IDs[0]); len(u) != 0 {
			r.Errorf("first sight is an update: %+v", u)
		}
		u, err := r.d.LatestUpdate(r.Context(), got.IDs[0])
		if err != nil || u.Version != 1 || len(u.Changes) != 0 || u.PreviousFetchedAt.Known() || u.CreatedAt.IsZero() {
			r.Errorf("latest %+v, %v", u, err)
		}
		if at := r.planned(got.IDs[0]); at.Known() {
			r.Errorf("a flight that nobody watches is polled at %s", at)
		}
		if _, err := r.d.LatestUpdate(r.Context(), "flt_none"); flight.CodeOf(err) != flight.CodeNotFound {
			r.Errorf("latest of nothing: %v", err)
		}
		r.sound()
	})
}

func TestAcceptUnchanged(t *testing.T) {
	each(t, func(r *rig) {
		first := r.say(leg())
		id := first.IDs[0]
		s := r.found(id)
		r.told(s.ID)
		between := r.answer(key, leg(gate("B2"))) // overtaken by the next
		again := r.say(leg())
		if len(again.Changed) != 0 || len(again.Due) > 0 || again.Versions[0] != 1 || again.FetchedAt() != r.now {
			r.Errorf("the same again: %+v fetched %s, want %s", again, again.FetchedAt(), r.now)
		}
		if st := r.standing(); st.FetchedAt() != r.now || st.Versions[0] != 1 {
			r.Errorf("stands fetched %s, want %s", st.FetchedAt(), r.now)
		}
		if u, err := r.d.LatestUpdate(r.Context(), id); err != nil || u.Snapshot.FetchedAt != r.now {
			r.Errorf("latest %+v, %v", u.Snapshot, err)
		}
		if got := r.accept(between); len(got.Changed) != 0 || got.Legs[0].Departure.Gate != "B1" {
			r.Errorf("an answer from before the last one counts: %+v", got)
		}
		if n := r.count(`SELECT count(*) FROM updates`); n != 1 {
			r.Errorf("%d versions are stored", n)
		}
		r.same("events", r.told(s.ID), nil)
		r.sound()
	})
}

func TestAcceptChanged(t *testing.T) {
	each(t, func(r *rig) {
		first := r.say(leg())
		id := first.IDs[0]
		a, b := r.found(id), r.found(id)
		r.deliver()
		r.say(leg())
		before := r.now
		got := r.say(leg(gate("B2")))
		if len(got.Changed) != 1 || len(got.Due) == 0 || got.Versions[0] != 2 || got.Legs[0].Departure.Gate != "B2" {
			r.Fatalf("%+v", got)
		}
		u := r.updates(id)
		if len(u) != 1 || u[0].Version != 2 || len(u[0].Changes) != 1 || u[0].Changes[0].Type != flight.ChangeDepartureGate ||
			u[0].PreviousFetchedAt != before || u[0].Snapshot.FetchedAt != r.now {
			r.Errorf("update %+v, want previously fetched at %s", u, before)
		}
		for _, s := range []*flight.Subscription{a, b} {
			r.same("events", r.log(s.ID), []string{"1 subscription.created delivered", "2 flight.updated pending"})
			if at := r.sub(s.ID).LastChangeAt; at != r.now {
				r.Errorf("last change at %s, want %s", at, r.now)
			}
		}
		// What changes without being watched is a version, and no event.
		got = r.say(leg(gate("B2"), func(s *flight.Snapshot) { s.OperatedBy = "Other" }))
		if len(got.Changed) != 1 || got.Versions[0] != 3 || len(got.Due) > 0 {
			r.Errorf("an unwatched change: %+v", got)
		}
		if u := r.updates(id); len(u) != 1 {
			r.Errorf("an unwatched change is an update: %+v", u)
		}
		r.sound()
	})
}

func TestAcceptOutOfOrder(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.deliver()
		older := r.answer(key, leg(gate("B2")))
		newer := r.answer(key, leg(gate("B3")))
		equal := newer
		equal.Legs = r.answer(key, leg(gate("B4"))).Legs
		ended := older
		ended.Legs = r.answer(key, leg(arrived)).Legs
		r.accept(newer)
		stood := r.standing()
		for name, a := range map[string]db.Answer{"older": older, "equal": equal, "older and ended": ended} {
			got := r.accept(a)
			if len(got.Changed) != 0 || len(got.Due) > 0 || got.Versions[0] != 2 || got.Legs[0].Departure.Gate != "B3" || got.FetchedAt() != stood.FetchedAt() {
				r.Errorf("%s: %+v", name, got)
			}
		}
		r.same("events", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to B3"})
		if st := r.sub(s.ID).Status; st != flight.SubscriptionActive {
			r.Errorf("an older answer made it %s", st)
		}
		r.sound()
	})
}

// Two processes that see a flight for the first time at the same moment make
// one row of it, and one of them has the last word.
func TestAcceptAtTheSameTime(t *testing.T) {
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
		for round := range 20 {
			k := key
			k.Number = string(rune('1'+round/10)) + string(rune('0'+round%10))
			var answers [4]db.Answer
			for i := range answers {
				legs := []*flight.Snapshot{legOf(k, "JFK", "LHR", "1", gate("B1")), legOf(k, "LHR", "CDG", "2")}
				if i%2 == 0 {
					legs[0], legs[1] = legs[1], legs[0]
				}
				answers[i] = r.answer(k, legs...)
			}
			start := make(chan struct{})
			var all sync.WaitGroup
			for i, a := range answers {
				all.Go(func() {
					<-start
					if _, err := handles[i%2].Accept(t.Context(), a); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			all.Wait()
			st, err := m.DB.Standing(t.Context(), k)
			if err != nil || len(st.IDs) != 2 || st.FetchedAt() != answers[3].Now {
				t.Errorf("%d legs stand, fetched %s, want %s, %v", len(st.IDs), st.FetchedAt(), answers[3].Now, err)
			}
		}
		if n := r.count(`SELECT count(*) FROM flights`); n != 40 {
			t.Errorf("%d rows for 40 legs", n)
		}
		r.sound()
	})
}

func second(with ...func(*flight.Snapshot)) *flight.Snapshot {
	return legOf(key, "LHR", "CDG", "2", with...)
}

func TestSeveralLegs(t *testing.T) {
	each(t, func(r *rig) {
		got := r.say(second(), leg())
		if len(got.IDs) != 2 || len(got.Changed) != 2 || got.Legs[0].Departure.Airport.IATA != "LHR" || got.IDOf(got.Legs[1]) != got.IDs[1] {
			r.Fatalf("%+v", got)
		}
		onFirst, onSecond := r.found(got.IDs[1]), r.found(got.IDs[0])
		r.deliver()
		// The default leg comes first, also when it is another than before.
		r.say(leg(), second())
		st := r.standing()
		if len(st.Legs) != 2 || st.Legs[0].Departure.Airport.IATA != "JFK" || st.IDs[0] != got.IDs[1] {
			r.Errorf("stands %+v", st.IDs)
		}
		r.say(leg(gate("B2")), second())
		r.same("first", r.log(onFirst.ID), []string{"1 subscription.created delivered", "2 flight.updated pending"})
		r.same("second", r.log(onSecond.ID), []string{"1 subscription.created delivered"})
		r.deliver()

		// A leg that is not listed any more stands no longer, and is polled on.
		r.say(leg(gate("B2")))
		if st := r.standing(); len(st.Legs) != 1 || st.IDs[0] != got.IDs[1] {
			r.Errorf("after one leg vanished: %+v", st.IDs)
		}
		if at := r.planned(got.IDs[0]); at != r.now+5*minute {
			r.Errorf("the leg that vanished is polled at %s", at)
		}
		back := r.say(leg(gate("B2")), second(baggage("7")))
		if len(back.IDs) != 2 || back.IDs[1] != got.IDs[0] {
			r.Errorf("it came back as %+v", back.IDs)
		}
		r.same("second", r.told(onSecond.ID), []string{"flight.updated: Baggage belt assigned: 7"})
		r.sound()
	})
}

func TestVanishedLegEndsByItsDate(t *testing.T) {
	each(t, func(r *rig) {
		got := r.say(leg(), second())
		s := r.found(got.IDs[1])
		r.deliver()
		r.now += 72 * 60 * minute
		r.say(leg())
		r.same("events", r.told(s.ID), []string{"subscription.completed"})
		if s := r.sub(s.ID); s.Status != flight.SubscriptionCompleted || s.StatusReason != flight.EndedDate {
			r.Errorf("%+v", s)
		}
		if at := r.planned(got.IDs[1]); at.Known() {
			r.Errorf("still polled at %s", at)
		}
		r.sound()
	})
}

func TestRouteChange(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.deliver()
		got := r.say(legOf(key, "JFK", "LGW", "1"))
		if len(got.IDs) != 1 || got.IDs[0] != id || got.Versions[0] != 2 {
			r.Fatalf("the leg of the same provider id is %+v", got.Standing)
		}
		sent := r.deliver()
		if len(sent) != 1 {
			r.Fatalf("%d events", len(sent))
		}
		h := r.hook(sent[0])
		if h.SubscriptionID != s.ID || len(h.Changes) != 1 || h.Changes[0].Type != flight.ChangeRoute || h.FlightKey != "AA100:2026-11-21@JFK-LGW" {
			r.Errorf("%s", sent[0].Body)
		}
		// Another source's ids mean nothing here: that is another leg.
		a := r.answer(key, legOf(key, "EWR", "LHR", "1"))
		a.Source = "other"
		if got := r.accept(a); got.IDs[0] == id {
			r.Error("an id of another source found the leg")
		}
		r.sound()
	})
}

// A leg that changes its route may leave the old one to a new leg.
func TestRouteIsTakenOver(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		moved := legOf(key, "JFK", "LGW", "1")
		for _, legs := range [][]*flight.Snapshot{
			{moved, legOf(key, "JFK", "LHR", "3")},
			{legOf(key, "JFK", "LHR", "1"), moved},
			{legOf(key, "JFK", "LHR", "3"), moved},
			{leg(), leg(gate("B9"))}, // one route twice
		} {
			got := r.say(legs...)
			for i, s := range got.Legs {
				if on := s.LegKey() == leg().LegKey(); on != (got.IDs[i] == id) {
					r.Errorf("%s is row %s", s.LegKey(), got.IDs[i])
				}
			}
			r.sound()
		}
		if st := r.standing(); len(st.Legs) != 1 || st.Legs[0].Departure.Gate != "B1" {
			r.Errorf("of one route twice stands %+v", st.Legs)
		}
	})
}

// A transaction that is cut off at its end leaves nothing, in the caches
// neither.
func TestAcceptAllOrNothing(t *testing.T) {
	configs := map[string]db.Config{"sqlite": {Dir: t.TempDir()}}
	if os.Getenv("TEST_DATABASE_URL") != "" {
		configs["postgres"] = db.Config{URL: dbtest.PostgresURL(t)}
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			atCommit := func(string) {}
			c.Keys, c.BeforeCommit = []string{dbtest.SecretKey}, func(op string) { atCommit(op) }
			d, err := db.Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			if _, err := d.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, d)
			id := r.say(leg()).IDs[0]
			s := r.found(id)
			r.deliver()

			var ops []string
			atCommit = func(op string) { ops = append(ops, op); panic("cut off") }
			if _, err := d.Accept(t.Context(), r.answer(key, leg(gate("B2")))); err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("a transaction that was cut off: %v", err)
			}
			if len(ops) != 1 || ops[0] != "accept" {
				t.Errorf("commits %v", ops)
			}
			atCommit = func(string) {}
			if st := r.standing(); st.Versions[0] != 1 || st.Legs[0].Departure.Gate != "B1" {
				t.Errorf("stands %+v", st)
			}
			r.say(leg(gate("B3")))
			r.same("events", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to B3"})
			if st := r.standing(); st.Versions[0] != 2 || st.Legs[0].Departure.Gate != "B3" {
				t.Errorf("version %d is %+v", st.Versions[0], st.Legs[0])
			}
			r.sound()
		})
	}
}
