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

const days = flight.Time(24 * 60 * 60_000)

// The history of a flight is kept until so many days have passed since its date
// ended on the clocks that are last.
func TestHistoryEnd(t *testing.T) {
	for _, c := range []struct {
		now  string
		days int
		want string
	}{
		{"2026-12-22T11:59:59Z", 30, "2026-11-21"},
		{"2026-12-22T12:00:00Z", 30, "2026-11-22"},
		{"2026-11-23T12:00:00Z", 1, "2026-11-22"},
		{"2036-11-20T12:00:00Z", 3650, "2026-11-23"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := db.HistoryEnd(flight.TimeOf(now), c.days); got != c.want {
			t.Errorf("%s, %d days: %s, want %s", c.now, c.days, got, c.want)
		}
	}
}

func numbered(n int) flight.Key {
	return flight.Key{Carrier: "AA", Number: fmt.Sprint(n), Date: key.Date}
}

// versions makes n versions of the one leg of a flight and returns its row.
func (r *rig) versions(k flight.Key, n int) (id string) {
	r.Helper()
	for i := range n {
		id = r.accept(r.answer(k, legOf(k, "JFK", "LHR", k.Number, gate(fmt.Sprintf("G%d", i))))).IDs[0]
	}
	return id
}

// kept lists the versions of a leg that are there.
func (r *rig) kept(flightID string) string {
	r.Helper()
	return strings.Join(r.strings(`SELECT CAST(version AS TEXT) FROM updates WHERE flight_id = $1 ORDER BY updates.version`, flightID), " ")
}

// trim makes a pass over the old legs at a world time. No batch of it touches
// more than 500 rows.
func (r *rig) trim(d *db.DB, now flight.Time) (updates, legs int) {
	r.Helper()
	var from db.TrimPlace
	for {
		before := r.count(`SELECT (SELECT count(*) FROM updates) + (SELECT count(*) FROM flights)`)
		got, err := d.TrimHistory(r.Context(), now, 30, 30, from)
		if err != nil {
			r.Fatal(err)
		}
		gone := before - r.count(`SELECT (SELECT count(*) FROM updates) + (SELECT count(*) FROM flights)`)
		if gone > 500 || gone < got.Updates+got.Legs {
			r.Fatalf("a batch deleted %d rows and says %+v", gone, got)
		}
		updates, legs, from = updates+got.Updates, legs+got.Legs, got.Next
		if got.Done {
			return updates, legs
		}
	}
}

func (r *rig) wantKept(what, flightID, want string) {
	r.Helper()
	if got := r.kept(flightID); got != want {
		r.Errorf("%s keeps the versions %q, want %q", what, got, want)
	}
}

// subscribed is a subscription to a leg.
func (r *rig) subscribed(k flight.Key, flightID string) *flight.Subscription {
	r.Helper()
	return r.found(flightID, func(n *db.NewSubscription) { n.Key = k })
}

func TestTrimHistory(t *testing.T) {
	each(t, func(r *rig) {
		ended := func(k flight.Key) db.Answer {
			return r.answer(k, legOf(k, "JFK", "LHR", k.Number, arrived))
		}
		looked := r.versions(numbered(1), 40)

		completed := r.versions(numbered(2), 3)
		done := r.subscribed(numbered(2), completed)
		r.accept(ended(numbered(2)))

		pausedLeg := r.versions(numbered(3), 3)
		pausedSub := r.subscribed(numbered(3), pausedLeg)
		r.versions(numbered(3), 15) // it is told of 4 to 18; the first gates come again
		r.deliver()
		r.pause(pausedSub.ID)
		r.versions(numbered(3), 2)

		watched := r.versions(numbered(4), 3)
		if err := r.d.Watch(r.Context(), "p", []string{watched}, r.d.Now().Add(time.Hour), r.now); err != nil {
			r.Fatal(err)
		}
		later := flight.Key{Carrier: "AA", Number: "5", Date: "2026-11-22"}
		young := r.versions(later, 3)

		waiting := r.versions(numbered(6), 3)
		waits := r.subscribed(numbered(6), waiting)
		r.versions(numbered(6), 2)
		r.accept(ended(numbered(6)))
		var last []db.Result // 6 waits for its retries; the rest is delivered
		for left := r.claim(100, time.Hour); len(left) > 0; left = r.claim(100, time.Hour) {
			var results []db.Result
			for _, a := range left {
				res := result(a, flight.DeliverySucceeded)
				if a.SubscriptionID == waits.ID {
					res = result(a, flight.DeliveryRetrying)
					res.RetryAfter = time.Hour
				}
				results = append(results, res)
			}
			r.record(results...)
			last = results
		}
		if len(last) == 0 {
			r.Fatal("nothing was delivered")
		}
		r.sound()

		now := flight.TimeOf(time.Date(2026, 12, 22, 12, 0, 0, 0, time.UTC))
		if u, l := r.trim(r.d, now-minute); u != 0 || l != 0 {
			r.Errorf("a minute early %d updates and %d legs go", u, l)
		}
		if _, l := r.trim(r.d, now); l != 1 {
			r.Errorf("%d legs go, want the one that nobody has a subscription of", l)
		}
		if n := r.count(`SELECT count(*) FROM flights WHERE id = $1`, looked); n != 0 {
			r.Error("a leg that was only looked up is kept")
		}
		r.wantKept("a completed subscription, what its events carry and what that is packed with", completed, "1 3 4")
		r.wantKept("a paused one, what it was told and what stands", pausedLeg, "1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 20")
		r.wantKept("what is watched", watched, "1 2 3")
		r.wantKept("a flight of the next day", young, "1 2 3")
		r.wantKept("what waits to be delivered", waiting, "1 3 4 5 6")

		// What waits goes out as it would have.
		r.d.Forget()
		r.makeDue()
		var phases []string
		for _, a := range r.deliver() {
			h := r.hook(a)
			phases = append(phases, h.Type+" "+h.Flight.Departure.Gate)
		}
		r.same("delivered late", phases, []string{"subscription.created G2", "flight.updated G0", "flight.updated G1", "flight.updated B1", "subscription.completed B1"})
		r.trim(r.d, now)
		r.wantKept("while the events are there", waiting, "1 3 4 5 6")
		r.sound("the versions have holes")

		// A paused subscription is told the net changes since the version that it was told.
		r.resume(pausedSub.ID)
		r.accept(r.answer(numbered(3), legOf(numbered(3), "JFK", "LHR", "3", gate("Z9"))))
		r.same("after the resume", r.told(pausedSub.ID), []string{"flight.updated: Departure gate changed from G14 to Z9"})

		// With its events goes what they carried.
		r.trimEvents(r.d, r.d.Now().Add(time.Second))
		r.trim(r.d, now)
		r.wantKept("a completed subscription, what stands and what that is packed with", completed, "1 4")
		r.wantKept("once its events are gone", waiting, "1 6")
		r.sound(trimmedRules...)

		// With its last subscription a leg goes as a whole.
		if u, l := r.trim(r.d, now); u+l != 0 {
			r.Errorf("once more, %d updates and %d legs go", u, l)
		}
		for _, id := range []string{done.ID, waits.ID} {
			if err := r.d.DeleteSubscription(r.Context(), r.account, id); err != nil {
				r.Fatal(err)
			}
		}
		if _, l := r.trim(r.d, now); l != 2 {
			r.Errorf("%d legs go with their last subscriptions, want 2", l)
		}
	})
}

// makeDue lets time pass for the events that wait.
func (r *rig) makeDue() {
	r.Helper()
	if _, err := r.d.Poke(r.Context(), `UPDATE events SET next_attempt_at = $1 WHERE next_attempt_at IS NOT NULL`, db.At(r.d.Now().Add(-time.Second))); err != nil {
		r.Fatal(err)
	}
}

// A leg that was trimmed goes on: what comes next stands on nothing that is
// gone, and is told as changes of what stands.
func TestTrimmedLegGoesOn(t *testing.T) {
	each(t, func(r *rig) {
		id := r.versions(key, 20)
		sub := r.found(id)
		r.say(leg(arrived))
		r.deliver()
		now := r.now + 40*days
		r.trimEvents(r.d, r.d.Now().Add(time.Second))
		r.trim(r.d, now)
		r.wantKept("the leg", id, "17 21") // 21 is packed with 17
		if n := r.count(`SELECT count(*) FROM flights WHERE trimmed = version`); n != 1 {
			r.Error("the leg is searched again")
		}
		r.now = now
		r.say(leg(arrived, baggage("7")))
		r.d.Forget()
		log, total, err := r.d.History(r.Context(), id, 0, 10)
		if err != nil || total != 3 || log[0].Said.Arrival.Baggage != "7" || len(log[0].Changes) != 1 {
			r.Fatalf("%+v %d %v", log, total, err)
		}
		r.trim(r.d, now+2*days)
		r.wantKept("the leg", id, "17 22")
		if _, err := r.d.TestSubscription(r.Context(), r.account, sub.ID); err != nil {
			r.Fatal(err)
		}
		r.d.Forget()
		if sent := r.deliver(); len(sent) != 1 || r.hook(sent[0]).Flight.Arrival.Baggage != "7" {
			r.Errorf("the test event carries %v", sent)
		}
		// The base of the sixteen before has gone, though this process has it in mind.
		r.d.Forget()
		if _, err := r.d.Poke(r.Context(), `UPDATE updates SET base = 0, packed = (SELECT packed FROM updates WHERE version = 17), changes = '[]', packed_changes = NULL WHERE version = 22`); err != nil {
			r.Fatal(err)
		}
		if _, err := r.d.Poke(r.Context(), `DELETE FROM updates WHERE version = 17`); err != nil {
			r.Fatal(err)
		}
		r.say(leg(arrived, baggage("8")))
		r.d.Forget()
		if log, _, err = r.d.History(r.Context(), id, 0, 1); err != nil || log[0].Said.Arrival.Baggage != "8" {
			r.Errorf("%+v %v", log, err)
		}
	})
}

// Two processes trim hundreds of legs, one of them with thousands of versions,
// while subscriptions are made and paused ones resumed. Nothing fails, and
// nothing that is needed goes.
func TestTrimTogether(t *testing.T) {
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
		var ids, subs []string
		const few = 20
		for i := range few {
			ids = append(ids, r.versions(numbered(1000+i), 3))
			subs = append(subs, r.subscribed(numbered(1000+i), ids[i]).ID)
			r.pause(subs[i])
		}
		r.grow(400, 1100)
		now := r.now + 40*days
		var all sync.WaitGroup
		for _, d := range handles {
			all.Go(func() {
				var from db.TrimPlace
				for {
					got, err := d.TrimHistory(t.Context(), now, 30, 30, from)
					if err != nil {
						t.Error(err)
						return
					}
					if from = got.Next; got.Done {
						return
					}
				}
			})
		}
		all.Go(func() {
			for _, id := range subs {
				if _, err := handles[1].ResumeSubscription(t.Context(), r.account, id, now); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		if u, l := r.trim(m.DB, now); u+l > 0 && m.Name == "sqlite" {
			t.Errorf("%d updates and %d legs are left over", u, l)
		}
		if n := r.count(`SELECT count(*) FROM flights`); n != few {
			t.Errorf("%d legs are kept, want %d", n, few)
		}
		r.now = now
		m.DB.Forget()
		for i, id := range ids {
			if got := r.kept(id); !strings.HasSuffix(got, "3") {
				t.Errorf("%s keeps %q", id, got)
			}
			k := numbered(1000 + i)
			r.accept(r.answer(k, legOf(k, "JFK", "LHR", k.Number, gate("Z9"))))
			told := r.told(subs[i])
			if len(told) != 2 || !strings.HasSuffix(told[0], "Departure gate changed from G2 to Z9") || told[1] != "subscription.completed" {
				t.Fatalf("%s is told %q", subs[i], told)
			}
		}
	})
}

// grow makes legs that nobody watches, with one version each, and one of them
// with many.
func (r *rig) grow(legs, versions int) {
	r.Helper()
	id := r.versions(numbered(9), 1)
	poke := func(query string, args ...any) {
		r.Helper()
		if _, err := r.d.Poke(r.Context(), query, args...); err != nil {
			r.Fatal(err)
		}
	}
	const series = `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $2) `
	poke(series+`INSERT INTO updates (flight_id, version, snapshot, base, packed, changes, packed_changes, source, created_at)
		SELECT flight_id, i, snapshot, 0, packed, changes, packed_changes, source, created_at FROM updates, n WHERE flight_id = $1`, id, versions)
	poke(`UPDATE flights SET version = $2 WHERE id = $1`, id, versions)
	poke(series+`INSERT INTO flights (id, leg, flight_key, carrier, number, date, resolved, origin, destination, provider, provider_flight_id,
			version, asked_at, fetched_at, catch_up, poll_reason, poll_token, poll_failures, created_at)
		SELECT 'f' || i, 'f' || i, 'f' || i, carrier, number, date, resolved, origin, destination, provider, 'f' || i,
			1, asked_at, fetched_at, catch_up, poll_reason, poll_token, poll_failures, created_at FROM flights, n WHERE id = $1`, id, legs)
	poke(`INSERT INTO updates (flight_id, version, snapshot, base, packed, changes, packed_changes, source, created_at)
		SELECT f.id, 1, u.snapshot, 0, u.packed, u.changes, u.packed_changes, u.source, u.created_at FROM updates u, flights f
		WHERE u.flight_id = $1 AND u.version = 1 AND f.flight_key = f.id`, id)
}

// No batch touches more rows than it may, however many there are.
func TestTrimIsBounded(t *testing.T) {
	each(t, func(r *rig) {
		r.grow(400, 1100)
		updates, legs := r.trim(r.d, r.now+40*days)
		if updates != 1099 || legs != 400 {
			r.Errorf("%d updates and %d legs were deleted", updates, legs)
		}
		if n := r.count(`SELECT (SELECT count(*) FROM updates) + (SELECT count(*) FROM flights)`); n != 0 {
			r.Errorf("%d rows are left", n)
		}
	})
}

// Rows of viewers whose process is gone are dropped, so many at a time.
func TestDropViewers(t *testing.T) {
	each(t, func(r *rig) {
		id := r.versions(key, 1)
		now := r.d.Now()
		for i, until := range []time.Duration{-time.Hour, -time.Minute, -time.Second, time.Minute} {
			if err := r.d.Watch(r.Context(), fmt.Sprint("process ", i), []string{id}, now.Add(until), r.now); err != nil {
				r.Fatal(err)
			}
		}
		for _, want := range []int{2, 1, 0} {
			if n, err := r.d.DropViewers(r.Context(), now, 2); n != want || err != nil {
				r.Errorf("%d dropped, %v, want %d", n, err, want)
			}
		}
		if left := r.strings(`SELECT process FROM viewers`); !slices.Equal(left, []string{"process 3"}) {
			r.Errorf("left: %q", left)
		}
	})
}
