package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// fleet are the numbers of flights of AA from JFK to LHR.
func fleet(numbers ...string) (legs []LegInput) {
	for _, n := range numbers {
		legs = append(legs, LegInput{Carrier: "AA", FlightNumber: n, Date: today})
	}
	return legs
}

// sayGates has the upstream say of each number that it leaves from that gate.
func (g *rig) sayGates(gates map[string]string) {
	var legs []flight.Snapshot
	for number, gate := range gates {
		s := leg(number, "JFK", "LHR")
		s.Departure.Gate = gate
		legs = append(legs, s)
	}
	g.source.say(legs...)
}

// moveOf changes the gate of a flight and lets a poll see it.
func (g *rig) moveOf(number, gate string) {
	g.t.Helper()
	s := leg(number, "JFK", "LHR")
	s.Departure.Gate = gate
	g.source.say(s)
	if _, err := g.intake.Ask(g.t.Context(), flight.Key{Carrier: "AA", Number: number, Date: today}, true); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) followAll(ctx context.Context, legs []LegInput, after *string) <-chan *FlightUpdate {
	g.t.Helper()
	c, err := g.r.Subscription().FlightsChanged(ctx, legs, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

// wantOf holds a message against "number gate", with a * for a present state.
func wantOf(t *testing.T, u *FlightUpdate, want string) {
	t.Helper()
	got := u.Flight.FlightNumber + " " + u.Flight.Departure.Gate
	if len(u.Changes) == 0 {
		got += "*"
	}
	if got != want || u.Cursor == "" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFlightsChanged(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newRig(t, m, nil)
		there := g.elsewhere(m)
		g.sayGates(map[string]string{"1": "A", "2": "A", "3": "A"})
		ctx, leave := context.WithCancel(g.ctx)
		c := g.followAll(ctx, append(fleet("2", "1"), LegInput{Carrier: "aal", FlightNumber: "002", Date: today}), nil) // one of them twice
		wantOf(t, take(t, c), "2 A*")
		half := take(t, c)
		wantOf(t, half, "1 A*")
		g.moveOf("1", "B")
		wantOf(t, take(t, c), "1 B")
		g.moveOf("2", "B")
		u := take(t, c)
		wantOf(t, u, "2 B")
		g.moveOf("1", "C")
		g.moveOf("1", "D")
		leave()
		wantEndOrMore(c)

		g.moveOf("2", "C")
		g.sayGates(map[string]string{"1": "D", "2": "C", "3": "A"})
		there.source.say(leg("3", "JFK", "LHR"))
		// To another process: what came since of each leg, each once and in order. A leg
		// that the cursor does not know begins with its present state.
		c = there.followAll(g.ctx, fleet("1", "2", "3"), &u.Cursor)
		var got []string
		var last *FlightUpdate
		for range 4 {
			last = take(t, c)
			text := last.Flight.FlightNumber + " " + last.Flight.Departure.Gate
			if len(last.Changes) == 0 {
				text += "*"
			}
			got = append(got, text)
		}
		if want := []string{"3 B1*", "1 C", "1 D", "2 C"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		// From the last one nothing is missed: the present states.
		c = there.followAll(g.ctx, fleet("1", "2"), &last.Cursor)
		wantOf(t, take(t, c), "1 D*")
		u = take(t, c)
		wantOf(t, u, "2 C*")
		// A cursor of more legs is one of fewer, too.
		c = there.followAll(g.ctx, fleet("2"), &u.Cursor)
		wantOf(t, take(t, c), "2 C*")
		g.moveOf("1", "E") // nobody asked for it there
		g.moveOf("2", "D")
		wantOf(t, take(t, c), "2 D")
	})
}

func TestFlightsChangedErrors(t *testing.T) {
	g := sqliteRig(t, nil)
	g.sayGates(map[string]string{"1": "A", "2": "A"})
	s := g.r.Subscription()
	open := func(ctx context.Context, legs []LegInput, after *string) error {
		_, err := s.FlightsChanged(ctx, legs, after)
		return err
	}
	wantCode(t, open(t.Context(), fleet("1"), nil), flight.CodeMissingAPIKey)
	wantFields(t, open(g.ctx, nil, nil), "legs")
	var many []string
	for i := range maxLegs + 1 {
		many = append(many, fmt.Sprint(i+1))
	}
	wantFields(t, open(g.ctx, fleet(many...), nil), "legs")
	wantFields(t, open(g.ctx, append(fleet("1"), LegInput{Carrier: "!"}), nil), "legs[1].carrier", "legs[1].flightNumber", "legs[1].date")
	e := wantCode(t, open(g.ctx, fleet("1", "999"), nil), flight.CodeFlightNotFound)
	if !strings.HasPrefix(e.Message, "legs[1]: ") {
		t.Error(e.Message)
	}
	wrong := fleet("1", "2")
	wrong[1].Origin = "SFO"
	if e := wantCode(t, open(g.ctx, wrong, nil), flight.CodeLegNotFound); len(e.Legs) != 1 {
		t.Errorf("%+v", e)
	}
	present := take(t, g.followAll(g.ctx, fleet("1"), nil)).Cursor
	at, ok := parseVector(present)
	if !ok || len(at) != 1 {
		t.Fatal(present)
	}
	ahead := vector{}
	for id, version := range at {
		ahead[id] = version + 1
	}
	for _, bad := range []string{"", "x", "!!!", ahead.String(), cursor{"flt_1", 1}.String(), present + "AA"} {
		wantFields(t, open(g.ctx, fleet("1"), &bad), "after")
	}
	if n := len(g.r.live.legs.ids()); n != 1 {
		t.Errorf("%d legs are followed by one stream of one", n)
	}
}

// Each leg counts against the account's; what cannot be opened counts nothing.
func TestFlightsChangedLimit(t *testing.T) {
	few := &fewLegs{legs: map[string]int{}}
	g := sqliteRig(t, func(c *ResolverConfig) { c.Live = few })
	g.sayGates(map[string]string{"1": "A", "2": "A"})
	_, err := g.r.Subscription().FlightsChanged(g.ctx, fleet("1", "2"), nil)
	wantCode(t, err, flight.CodeLiveLegLimit)
	if len(few.legs) != 0 || len(g.r.live.legs.ids()) != 0 {
		t.Errorf("%v is counted, %v is followed", few.legs, g.r.live.legs.ids())
	}
	ctx, leave := context.WithCancel(g.ctx)
	c := g.followAll(ctx, fleet("1", "1"), nil)
	take(t, c)
	if len(few.legs) != 1 {
		t.Errorf("%v is counted", few.legs)
	}
	leave()
	wantEndOrMore(c)
	if len(few.legs) != 0 {
		t.Errorf("%v is counted", few.legs)
	}
}

// One who does not read falls behind what is kept, and gets everything of every
// leg, once and in order; nothing is left of it.
func TestFlightsChangedSlowReader(t *testing.T) {
	g := sqliteRig(t, nil)
	g.sayGates(map[string]string{"1": "A", "2": "A"})
	g.flight(fleet("1")[0], false)
	g.flight(fleet("2")[0], false)
	before := goleak.IgnoreCurrent()
	ctx, leave := context.WithCancel(g.ctx)
	c := g.followAll(ctx, fleet("1", "2"), nil)
	const many = readAtOnce + tailLength + 5
	for i := range many {
		g.moveOf("1", fmt.Sprint("G", i))
		if i < 3 {
			g.moveOf("2", fmt.Sprint("H", i))
		}
	}
	take(t, c)
	take(t, c)
	seen := map[string][]string{}
	for range many + 3 {
		u := take(t, c)
		seen[u.Flight.FlightNumber] = append(seen[u.Flight.FlightNumber], u.Flight.Departure.Gate)
	}
	for i, gate := range seen["1"] {
		if gate != fmt.Sprint("G", i) {
			t.Fatalf("%v", seen["1"])
		}
	}
	if len(seen["1"]) != many || !slices.Equal(seen["2"], []string{"H0", "H1", "H2"}) {
		t.Errorf("%d of one, %v of the other", len(seen["1"]), seen["2"])
	}
	leave()
	wantEndOrMore(c)
	goleak.VerifyNone(t, before)
}

func TestVector(t *testing.T) {
	const a, b = "flt_00112233445566778899aabbccddeeff", "flt_ffeeddccbbaa99887766554433221100"
	for _, v := range []vector{{}, {a: 0}, {a: 1, b: 1 << 40}} {
		got, ok := parseVector(v.String())
		if !ok || fmt.Sprint(got) != fmt.Sprint(v) {
			t.Errorf("%v became %v", v, got)
		}
	}
	if v := (vector{}); v.String() == "" {
		t.Error("the cursor of nothing is empty, as if there were none")
	}
}

func FuzzVector(f *testing.F) {
	f.Add(vector{"flt_00112233445566778899aabbccddeeff": 7}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := parseVector(s)
		if !ok {
			return
		}
		if again, ok := parseVector(v.String()); !ok || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Errorf("%q became %v and then %v", s, v, again)
		}
	})
}
