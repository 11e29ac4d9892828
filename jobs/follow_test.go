package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// registry is an upstream that knows legs by their ids, too.
type registry struct {
	*script
	byID atomic.Pointer[flight.Snapshot] // what it says of the id "1"; nil: nothing
	down atomic.Bool                     // it does not answer questions by id
	ids  chan string                     // asked for
}

func (r *registry) Leg(_ context.Context, key flight.Key, id string, now flight.Time) (*flight.Snapshot, error) {
	select {
	case r.ids <- id:
	default:
	}
	s := r.byID.Load()
	switch {
	case r.down.Load():
		return nil, flight.Errorf(flight.CodeUpstreamUnavailable, "down")
	case s == nil:
		return nil, flight.NotFound(key)
	}
	c := *s
	legs, err := upstream.Finish(key, flight.Legs{&c}, now)
	return legs[0], err
}

// A leg whose flight number changes is asked for by its id, and its subscribers
// hear of it still.
func TestLegIsFollowedByItsID(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var reg *registry
		r := rigWith(t, m, func(s *setup) {
			reg = &registry{script: s.Providers[0].Source.(*script), ids: make(chan string, 1)}
			s.Providers[0].Source, s.PollEvery = reg, time.Second
		})
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		wait(t, r.source.asked, "a poll")
		if len(reg.ids) > 0 {
			t.Error("a leg that is listed was asked for by its id")
		}

		renumbered := atGate("C1")
		renumbered.Codeshares = []flight.CodeshareRef{{Carrier: "AA", Name: "American", FlightNumber: "9100"}}
		reg.byID.Store(&renumbered)
		r.source.say() // no flight of the old number
		got := recv.expect(t, "C1")[0]
		if got.Event.Flight.FlightKey != key.String() || got.Event.Flight.FlightNumber != key.Number {
			t.Errorf("the flight is now %s", got.Event.Flight.FlightKey)
		}
		if len(got.Event.Changes) != 2 || got.Event.Changes[1].Type != flight.ChangeCodeshares {
			t.Errorf("changes %+v", got.Event.Changes)
		}
		if id := wait(t, reg.ids, "a question by id"); id != "1" {
			t.Errorf("asked for %q", id)
		}

		// What the provider cannot say leaves what stands, and counts as a failure.
		reg.down.Store(true)
		r.until(t, "polls fail", func() bool { return one[int](t, r, `SELECT poll_failures FROM flights`) > 0 })
		reg.down.Store(false)
		reg.byID.Store(nil) // it has forgotten it
		r.until(t, "polls go on", func() bool { return one[int](t, r, `SELECT poll_failures FROM flights`) == 0 })
		r.source.say(atGate("C2")) // the old number is back
		if got := recv.expect(t, "C2")[0]; len(got.Event.Changes) != 2 {
			t.Errorf("changes %+v", got.Event.Changes)
		}
		if n := one[int](t, r, `SELECT count(*) FROM flights`); n != 1 {
			t.Errorf("%d legs", n)
		}
	})
}

// Of several legs, those that are still listed are polled as ever, and each of
// the others is asked for.
func TestOneOfTwoLegsIsFollowed(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var reg *registry
		r := rigWith(t, m, func(s *setup) {
			reg = &registry{script: s.Providers[0].Source.(*script), ids: make(chan string, 1)}
			s.Providers[0].Source, s.PollEvery = reg, time.Second
		})
		recv := newReceiver(t, func(int) int { return 204 })
		onward := r.subscribeToBoth(t, recv.URL)
		recv.expect(t, "subscription.created", "subscription.created")
		gone := atGate("C1")
		reg.byID.Store(&gone)
		onward.Departure.Gate = "D7"
		r.source.say(onward)
		seen := map[string]bool{}
		for len(seen) < 2 {
			got := recv.next(t)
			seen[got.Event.Flight.Departure.Airport.IATA+" "+got.what()] = true
			if n := len(got.Event.Changes); n != 1 {
				t.Errorf("%d changes: %s", n, got.Body)
			}
		}
		if !seen["JFK C1"] || !seen["LHR D7"] {
			t.Errorf("told of %v", seen)
		}
	})
}
