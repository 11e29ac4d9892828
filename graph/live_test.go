package graph

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/flight"
)

func (g *rig) follow(ctx context.Context, after *string) <-chan *FlightUpdate {
	g.t.Helper()
	c, err := g.r.Subscription().FlightChanged(ctx, aa100, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

func next(t *testing.T, c <-chan *FlightUpdate) *FlightUpdate {
	t.Helper()
	select {
	case u, ok := <-c:
		if !ok {
			t.Fatal("the stream ended")
		}
		return u
	case <-time.After(15 * time.Second):
		t.Fatal("no message came")
	}
	return nil
}

// move changes the gate and lets a poll see it.
func (g *rig) move(gate string) {
	g.source.say(atGate(gate))
	g.poll()
}

func wantGate(t *testing.T, u *FlightUpdate, gate string) {
	t.Helper()
	if u.Flight.Departure.Gate != gate || len(u.Changes) != 1 || u.Changes[0].To != gate || !u.PreviousFetchedAt.Known() || u.Cursor == "" {
		t.Errorf("want the change to gate %s, got gate %s, %+v", gate, u.Flight.Departure.Gate, u.Changes)
	}
}

func TestFlightChanged(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		ctx, stop := context.WithCancel(g.ctx)
		c := g.follow(ctx, nil)
		first := next(t, c)
		if first.Flight.Departure.Gate != "B1" || first.Changes == nil || len(first.Changes) != 0 || first.PreviousFetchedAt.Known() {
			t.Errorf("%+v", first)
		}
		g.move("C1")
		u := next(t, c)
		wantGate(t, u, "C1")
		g.poll() // nothing changed, nothing comes
		g.move("C2")
		wantGate(t, next(t, c), "C2")
		stop()
		for range c { // it ends
		}

		g.move("C3")
		// From the first message on: everything since, each once.
		c = g.follow(g.ctx, &first.Cursor)
		for _, gate := range []string{"C1", "C2", "C3"} {
			wantGate(t, next(t, c), gate)
		}
		c = g.follow(g.ctx, &u.Cursor)
		wantGate(t, next(t, c), "C2")
		last := next(t, c)
		wantGate(t, last, "C3")
		// From the last one: nothing was missed, so the present state.
		c = g.follow(g.ctx, &last.Cursor)
		if u := next(t, c); u.Cursor != last.Cursor || len(u.Changes) != 0 || u.Flight.Departure.Gate != "C3" {
			t.Errorf("%+v", u)
		}
		g.move("C4")
		wantGate(t, next(t, c), "C4")
	})
}

func TestFlightChangedErrors(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.r.Subscription()
	_, err := s.FlightChanged(t.Context(), aa100, nil)
	wantCode(t, err, flight.CodeMissingAPIKey)
	_, err = s.FlightChanged(g.ctx, LegInput{Carrier: "AA", FlightNumber: "999", Date: today}, nil)
	wantCode(t, err, flight.CodeFlightNotFound)
	_, err = s.FlightChanged(g.ctx, LegInput{Carrier: "!"}, nil)
	wantFields(t, err, "carrier", "flightNumber", "date")
	in := aa100
	in.Origin = "SFO"
	_, err = s.FlightChanged(g.ctx, in, nil)
	wantCode(t, err, flight.CodeLegNotFound)
	own := g.r.live.legs
	present := next(t, g.follow(g.ctx, nil)).Cursor
	at, _ := parseCursor(present)
	for _, bad := range []string{"", "x", "!!!", cursor{"flt_other", 1}.String(), cursor{at.id, at.place + 1}.String(), cursor{at.id, -1}.String(), "LjE"} {
		_, err := s.FlightChanged(g.ctx, aa100, &bad)
		wantFields(t, err, "after")
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	for _, leg := range own.open {
		if leg.readers != 1 {
			t.Errorf("%d viewers are counted", leg.readers)
		}
	}
}

// TestSlowReader: one who does not read holds nobody up, falls behind what is
// kept in memory, and still gets everything, once and in order.
func TestSlowReader(t *testing.T) {
	g := sqliteRig(t, nil)
	slow, quick := g.follow(g.ctx, nil), g.follow(g.ctx, nil)
	next(t, quick)
	n := readAtOnce + tailLength + 5
	for i := range n {
		g.move(fmt.Sprint("G", i))
		wantGate(t, next(t, quick), fmt.Sprint("G", i))
	}
	next(t, slow)
	for i := range n {
		wantGate(t, next(t, slow), fmt.Sprint("G", i))
	}
	g.move("last")
	wantGate(t, next(t, slow), "last")
}

// TestWatchedLegIsPolled: a leg that nobody subscribed to is due for a poll
// while it is watched.
func TestWatchedLegIsPolled(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.flight(aa100, false)
		due := func() int {
			claims, err := g.db.ClaimPolls(t.Context(), g.r.lookups.now()+1, 10, time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			return len(claims)
		}
		if n := due(); n != 0 {
			t.Fatalf("%d legs are due before anyone watches", n)
		}
		g.follow(g.ctx, nil)
		if n := due(); n != 1 {
			t.Errorf("%d legs are due", n)
		}
	})
}

// TestLiveEnds: with the last viewer nothing of a leg is left.
func TestLiveEnds(t *testing.T) {
	g := sqliteRig(t, nil)
	g.flight(aa100, false)
	before := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(g.ctx)
	var all []<-chan *FlightUpdate
	for range 20 {
		all = append(all, g.follow(ctx, nil))
	}
	next(t, all[0])
	if n := len(g.r.live.legs.ids()); n != 1 {
		t.Errorf("%d tails for one leg", n)
	}
	g.move("C1")
	wantGate(t, next(t, all[0]), "C1")
	stop() // the others never read
	for _, c := range all {
		for range c {
		}
	}
	if len(g.r.live.legs.ids()) != 0 {
		t.Error("a tail is left")
	}
	goleak.VerifyNone(t, before)
}
