package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

// named is a script under another name.
type named struct {
	*script
	name string
}

func (n named) Name() string { return n.name }

// pairOf is a rig whose first upstream is its source, and the second one.
func pairOf(t *testing.T, m dbtest.Mode, change func(*setup)) (r *rig, second *script) {
	second = newScript()
	r = rigWith(t, m, func(s *setup) {
		s.Providers[0].Source = named{s.Providers[0].Source.(*script), "first"}
		s.Providers = append(s.Providers, jobs.Provider{Source: named{second, "second"}})
		change(s)
	})
	return r, second
}

// others is leg as the second upstream says it.
func others(gate string) flight.Snapshot {
	l := atGate(gate)
	l.ProviderFlightID = "other-1"
	return l
}

// While the first upstream is down the second is asked, which by itself is no
// news; the leg stays with it until it fails, too. An id of either selects the
// leg.
func TestFailover(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r, second := pairOf(t, m, func(s *setup) { s.Stopped = true })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		second.say(others("B01"))
		sub := r.subscribeTo(t, r.account(t), recv.URL, key)
		ask := func(source, gate string) {
			t.Helper()
			st, err := r.intake.Ask(t.Context(), key, false)
			if err != nil {
				t.Fatal(err)
			}
			if s := st.Legs[0]; len(st.Legs) != 1 || s.Source != source || s.Departure.Gate != gate {
				t.Fatalf("%d legs, by %s, gate %s; want %s, %s", len(st.Legs), s.Source, s.Departure.Gate, source, gate)
			}
		}
		ask("first", "B1")
		if n := second.count(key); n != 0 {
			t.Errorf("the second was asked %d times", n)
		}
		down := flight.Errorf(flight.CodeUpstreamUnavailable, "down")
		r.source.fail(down)
		ask("second", "B1") // "B01" is the same gate
		r.source.say(leg())
		ask("second", "B1")
		second.say(others("C7"))
		ask("second", "C7")
		for _, id := range []string{"1", "other-1"} {
			st, err := m.DB.Standing(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Legs.Select(flight.Selector{FlightID: id}); err != nil {
				t.Errorf("flightId %s: %v", id, err)
			}
		}
		second.fail(down)
		r.source.say(atGate("C7"))
		ask("first", "C7")
		if n := one[int](t, r, `SELECT count(*) FROM flights`); n != 1 {
			t.Errorf("%d legs", n)
		}
		log, _, err := m.DB.SentEvents(t.Context(), sub.ID, 10)
		if err != nil || len(log) != 2 || len(log[0].Changes) != 1 || log[0].Changes[0].Message != "Departure gate changed from B1 to C7" {
			t.Errorf("told %+v, %v", log, err)
		}
		// Both down: what stands stays, and the error is that of the one who has the leg.
		r.source.fail(down)
		if _, err := r.intake.Ask(t.Context(), key, false); flight.CodeOf(err) != flight.CodeUpstreamUnavailable {
			t.Error(err)
		}
	})
}

// What the first upstream says stands, also that there is no such flight; and
// what only the second does not know is not taken for that.
func TestNoSuchFlightIsAnAnswer(t *testing.T) {
	m := dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
	r, second := pairOf(t, m, func(s *setup) { s.Stopped = true })
	r.source.say()
	second.say(others("B1"))
	if _, err := r.intake.Ask(t.Context(), key, false); flight.CodeOf(err) != flight.CodeFlightNotFound || second.count(key) != 0 {
		t.Errorf("%v after %d calls to the second", err, second.count(key))
	}
	r.source.say(leg())
	if _, err := r.intake.Ask(t.Context(), key, false); err != nil {
		t.Fatal(err)
	}
	second.say()
	r.source.fail(flight.Errorf(flight.CodeUpstreamTimeout, "slow"))
	if _, err := r.intake.Ask(t.Context(), key, false); flight.CodeOf(err) != flight.CodeUpstreamTimeout {
		t.Errorf("a known flight: %v", err)
	}
	unknown := key
	unknown.Number = "999"
	if _, err := r.intake.Ask(t.Context(), unknown, false); flight.CodeOf(err) != flight.CodeFlightNotFound {
		t.Errorf("an unknown one: %v", err)
	}
}

// An upstream that hangs gets its part of the time, and the next one the rest.
func TestHangingUpstreamLeavesTime(t *testing.T) {
	m := dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
	r, second := pairOf(t, m, func(s *setup) { s.Stopped = true })
	r.source.on(func(ctx context.Context, _ int) { <-ctx.Done() })
	second.say(others("B1"))
	began := time.Now()
	st, err := r.intake.Ask(t.Context(), key, false)
	if took := time.Since(began); err != nil || st.Legs[0].Source != "second" || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// An upstream that has failed often in a row is left alone for a moment.
func TestBreaker(t *testing.T) {
	m := dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
	r, second := pairOf(t, m, func(s *setup) { s.Stopped = true })
	down := flight.Errorf(flight.CodeUpstreamUnavailable, "down")
	r.source.fail(down)
	second.fail(down)
	for range 30 {
		if _, err := r.intake.Ask(t.Context(), key, false); flight.CodeOf(err) != flight.CodeUpstreamUnavailable {
			t.Fatal(err)
		}
	}
	if n := r.source.count(key); n != 8 {
		t.Errorf("the first was called %d times", n)
	}
	if n := second.count(key); n != 8 {
		t.Errorf("the second was called %d times", n)
	}
}

// A look-up that fails at once is made again, where nobody else can be asked.
func TestLookupsTryAgain(t *testing.T) {
	m := dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
	r := rigWith(t, m, func(s *setup) { s.Stopped = true })
	r.source.say(leg())
	r.source.fail(flight.Errorf(flight.CodeUpstreamUnavailable, "down"))
	r.source.on(func(_ context.Context, call int) {
		if call == 2 {
			r.source.fail(nil) // from the next call on
		}
	})
	if _, err := r.intake.Ask(t.Context(), key, false); err != nil || r.source.count(key) != 3 {
		t.Errorf("%v after %d calls", err, r.source.count(key))
	}
	r.source.fail(&flight.Error{Code: flight.CodeUpstreamUnavailable, RetryAfter: time.Minute})
	if _, err := r.intake.Ask(t.Context(), key, false); err == nil || r.source.count(key) != 4 {
		t.Errorf("told to wait: %v after %d calls", err, r.source.count(key))
	}
}
