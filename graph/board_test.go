package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// boardRig is a rig whose account may subscribe to any number of flights.
func boardRig(t *testing.T, m dbtest.Mode) *rig {
	g := newRig(t, m, nil)
	g.ctx = unlimited(g.ctx)
	return g
}

func unlimited(ctx context.Context) context.Context {
	who, _ := access.From(ctx)
	who.Plan = "unlimited"
	return access.With(ctx, who)
}

// subscribeTo has an account subscribe to a flight, which leaves as its leg says.
func (g *rig) subscribeTo(ctx context.Context, s flight.Snapshot) *flight.Subscription {
	g.t.Helper()
	g.source.say(s)
	in := newInput()
	in.FlightNumber = s.FlightNumber
	sub, err := g.r.Mutation().CreateSubscription(ctx, in, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return sub
}

// leaving is a leg that leaves so many minutes after the tests began.
func leaving(number string, minutes int) flight.Snapshot {
	s := leg(number, "JFK", "LHR")
	s.Departure.Times.ScheduledGate = &flight.FlightTime{UTC: flight.TimeOf(began.Add(time.Duration(minutes) * time.Minute).Truncate(time.Minute))}
	return s
}

func (g *rig) see(s flight.Snapshot) {
	g.t.Helper()
	g.source.say(s)
	if _, err := g.intake.Ask(g.t.Context(), flight.Key{Carrier: "AA", Number: s.FlightNumber, Date: today}, true); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) rival() context.Context {
	return unlimited(access.With(g.t.Context(), access.Identity{Account: g.account("rival")}))
}

func numbersOf(c *FlightBoardConnection) (out []string) {
	for _, e := range c.Edges {
		out = append(out, e.Node.FlightNumber)
	}
	return out
}

func TestFlightBoard(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := boardRig(t, m)
		rival := g.rival()
		g.subscribeTo(g.ctx, leaving("1", 60))
		g.subscribeTo(g.ctx, leaving("2", 30))
		third := g.subscribeTo(g.ctx, leaving("3", 90))
		g.subscribeTo(rival, leaving("4", 45))
		g.subscribeTo(g.ctx, leaving("5", -100))
		g.subscribeTo(g.ctx, leaving("6", 26*60))
		board := func(ctx context.Context, airport string, d BoardDirection, from, to *flight.Time, first int, after *string) *FlightBoardConnection {
			t.Helper()
			c, err := g.r.Query().FlightBoard(ctx, airport, d, from, to, first, after)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		all := board(g.ctx, "jfk", BoardDepartures, nil, nil, 50, nil)
		if got := numbersOf(all); !slices.Equal(got, []string{"5", "2", "1", "3"}) || all.TotalCount != 4 || all.PageInfo.HasNextPage || all.PageInfo.HasPreviousPage {
			t.Errorf("%v %+v", got, all)
		}
		if e := all.Edges[1]; e.Time != e.Node.Departure.BestTimeUTC || !strings.HasPrefix(e.Leg, "leg_") {
			t.Errorf("%+v", e)
		}
		if got := numbersOf(board(rival, "JFK", BoardDepartures, nil, nil, 50, nil)); !slices.Equal(got, []string{"4"}) {
			t.Errorf("the other account sees %v", got)
		}
		if got := numbersOf(board(g.ctx, "KJFK", BoardArrivals, nil, nil, 50, nil)); got != nil {
			t.Errorf("arrivals at the origin: %v", got)
		}
		if got := numbersOf(board(g.ctx, "EGLL", BoardArrivals, nil, nil, 50, nil)); len(got) != 5 {
			t.Errorf("arrivals: %v", got)
		}
		now, soon := flight.TimeOf(began), flight.TimeOf(began.Add(time.Hour))
		if got := numbersOf(board(g.ctx, "JFK", BoardDepartures, &now, &soon, 50, nil)); !slices.Equal(got, []string{"2", "1"}) {
			t.Errorf("within the hour: %v", got)
		}
		// Page by page it is the same, also while one moves that has been seen.
		var pages []string
		var after *string
		for n := 0; ; n++ {
			page := board(g.ctx, "JFK", BoardDepartures, nil, nil, 1, after)
			pages = append(pages, numbersOf(page)...)
			if page.TotalCount != 4 || page.PageInfo.HasPreviousPage != (n > 0) || *page.PageInfo.StartCursor != *page.PageInfo.EndCursor {
				t.Errorf("%+v", page)
			}
			if !page.PageInfo.HasNextPage {
				break
			}
			after = page.PageInfo.EndCursor
			if n == 0 {
				g.see(leaving("5", -110))
			}
		}
		if !slices.Equal(pages, []string{"5", "2", "1", "3"}) {
			t.Errorf("page by page: %v", pages)
		}
		if _, err := g.r.Mutation().PauseSubscription(g.ctx, third.ID); err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(board(g.ctx, "JFK", BoardDepartures, nil, nil, 50, nil)); !slices.Equal(got, []string{"5", "2", "1", "3"}) {
			t.Errorf("with one paused: %v", got)
		}
		if _, err := g.r.Mutation().DeleteSubscription(g.ctx, third.ID); err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(board(g.ctx, "JFK", BoardDepartures, nil, nil, 50, nil)); !slices.Equal(got, []string{"5", "2", "1"}) {
			t.Errorf("with one deleted: %v", got)
		}
	})
}

func TestFlightBoardErrors(t *testing.T) {
	g := sqliteRig(t, nil)
	q := g.r.Query()
	ask := func(ctx context.Context, airport string, d BoardDirection, from, to *flight.Time, first int, after *string) error {
		_, err := q.FlightBoard(ctx, airport, d, from, to, first, after)
		return err
	}
	wantCode(t, ask(t.Context(), "JFK", BoardDepartures, nil, nil, 50, nil), flight.CodeMissingAPIKey)
	bad := "!"
	wantFields(t, ask(g.ctx, "J", "sideways", nil, nil, 0, &bad), "airport", "direction", "first", "after")
	wantFields(t, ask(g.ctx, "", BoardArrivals, nil, nil, 101, nil), "airport", "first")
	late := flight.TimeOf(began.Add(7*24*time.Hour + time.Minute))
	now := flight.TimeOf(began)
	wantFields(t, ask(g.ctx, "JFK", BoardDepartures, &now, &late, 1, nil), "to")
	wantFields(t, ask(g.ctx, "JFK", BoardDepartures, &now, &now, 1, nil), "to")
	for _, bad := range []string{"", cursor{"flt_1", 1}.String(), cursor{"board flt_1\x00", 1}.String(), cursor{"board flt_1", 1 << 50}.String()} {
		wantFields(t, ask(g.ctx, "JFK", BoardDepartures, nil, nil, 1, &bad), "after")
	}
	s := g.serve(nil)
	r := post(t, s.URL, `{ flightBoard(airport: "JFK", direction: DEPARTURES, from: "yesterday") { totalCount } }`, nil)
	if r.code() != "INVALID_REQUEST" {
		t.Error(r.body)
	}
	r = post(t, s.URL, `{ flightBoard(airport: "JFK", direction: DEPARTURES, from: "2026-11-21T09:30:00+01:00") { edges { leg time node { flightKey } cursor } pageInfo { endCursor } totalCount } }`, nil)
	if len(r.Errors) != 0 || !strings.Contains(r.body, `"totalCount":0`) {
		t.Error(r.body)
	}
}

func (g *rig) board(ctx context.Context, after *string) <-chan *BoardUpdate {
	g.t.Helper()
	c, err := g.r.Subscription().Board(ctx, "JFK", BoardDepartures, 2, 12, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

// wantBoard holds a message against "added 1", or "changed 1 C1", or the leg's
// id that was removed.
func wantBoard(t *testing.T, m *BoardUpdate, want string) {
	t.Helper()
	got := string(m.Change)
	switch {
	case m.Change == BoardRemoved:
		got += " " + m.Leg
		if m.Flight != nil {
			t.Error("how a leg stands that is gone is told")
		}
	case m.Flight == nil:
		t.Fatalf("%+v", m)
	default:
		got += " " + m.Flight.FlightNumber
	}
	for _, c := range m.Changes {
		got += fmt.Sprint(" ", c.To)
	}
	if got != want || m.Cursor == "" || m.Leg == "" {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBoardLive(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := boardRig(t, m)
		there := g.elsewhere(m)
		rival := g.rival()
		first := g.subscribeTo(g.ctx, leaving("1", 60))
		g.subscribeTo(g.ctx, leaving("2", 30))
		theirs := g.subscribeTo(rival, leaving("4", 45))
		ctx, leave := context.WithCancel(g.ctx)
		c := g.board(ctx, nil)
		wantBoard(t, take(t, c), "added 2")
		one := take(t, c)
		wantBoard(t, one, "added 1")
		gate := func(s flight.Snapshot, gate string) flight.Snapshot { s.Departure.Gate = gate; return s }
		g.see(gate(leaving("1", 60), "C1"))
		wantBoard(t, take(t, c), "changed 1 C1")
		g.see(gate(leaving("4", 45), "C4")) // it is nobody's business here
		g.subscribeTo(g.ctx, leaving("3", 90))
		wantBoard(t, take(t, c), "added 3")
		if _, err := g.r.Mutation().DeleteSubscription(g.ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		gone := take(t, c)
		wantBoard(t, gone, "removed "+one.Leg)
		leave()
		wantEndOrMore(c)

		// While nobody looks: one comes back, one changes, one leaves, and one that only
		// the other account has changes again.
		g.subscribeTo(g.ctx, gate(leaving("1", 60), "C1"))
		g.see(gate(leaving("2", 30), "C2"))
		g.see(leaving("3", 24*60))
		g.see(gate(leaving("4", 45), "C5"))
		c = there.board(g.ctx, &gone.Cursor)
		got := map[string]int{}
		var last *BoardUpdate
		for range 3 {
			last = take(t, c)
			number := ""
			if last.Flight != nil {
				number = last.Flight.FlightNumber
			}
			got[string(last.Change)+" "+number]++
		}
		if fmt.Sprint(got) != "map[added 1:1 changed 2:1 removed :1]" {
			t.Errorf("since the cursor: %v", got)
		}
		// Nothing was missed: nothing is told again.
		again := there.board(g.ctx, &last.Cursor)
		g.see(gate(leaving("1", 60), "C6"))
		for _, c := range []<-chan *BoardUpdate{c, again} {
			wantBoard(t, take(t, c), "changed 1 C6")
		}
		// Of the other account's only the other account hears.
		c = g.board(rival, nil)
		mine := take(t, c)
		wantBoard(t, mine, "added 4")
		if _, err := g.r.Mutation().DeleteSubscription(rival, theirs.ID); err != nil {
			t.Fatal(err)
		}
		empty := take(t, c)
		wantBoard(t, empty, "removed "+mine.Leg)
		c = g.board(rival, &empty.Cursor) // that of an empty board
		g.subscribeTo(rival, leaving("7", 45))
		wantBoard(t, take(t, c), "added 7")
		// A cursor that was made up tells nothing of what it names.
		for _, made := range []string{"leg_" + strings.TrimPrefix(one.Leg, "leg_"), "leg_00000000000000000000000000000000"} {
			at := vector{legPrefix + strings.TrimPrefix(made, "leg_"): 1}.String()
			wantBoard(t, take(t, g.board(rival, &at)), "removed "+made)
		}
	})
}

func TestBoardLiveErrors(t *testing.T) {
	few := &fewLegs{legs: map[string]int{}}
	g := sqliteRig(t, func(c *ResolverConfig) { c.Live = few })
	s := g.r.Subscription()
	_, err := s.Board(t.Context(), "JFK", BoardDepartures, 2, 12, nil)
	wantCode(t, err, flight.CodeMissingAPIKey)
	_, err = s.Board(g.ctx, "JFK!", "", 25, 0, nil)
	wantFields(t, err, "airport", "direction", "hoursBack", "hoursAhead")
	bad := "x"
	_, err = s.Board(g.ctx, "JFK", BoardDepartures, 2, 12, &bad)
	wantFields(t, err, "after")

	// Each leg counts. When there come to be more than may be, the stream ends; opened
	// again it says why.
	g.subscribeTo(g.ctx, leaving("1", 60))
	c := g.board(g.ctx, nil)
	wantBoard(t, take(t, c), "added 1")
	if len(few.legs) != 1 {
		t.Errorf("%v are counted", few.legs)
	}
	g.subscribeTo(g.ctx, leaving("2", 60))
	wantEnd(t, c)
	_, err = s.Board(g.ctx, "JFK", BoardDepartures, 2, 12, nil)
	wantCode(t, err, flight.CodeLiveLegLimit)
	if len(few.legs) != 0 || len(g.r.live.legs.ids()) != 0 || len(g.r.live.boards.open) != 0 {
		t.Errorf("%v are counted, %v followed", few.legs, g.r.live.legs.ids())
	}
}

// A board with more legs than may be is refused, with what to do about it.
func TestBoardLiveIsBounded(t *testing.T) {
	g := boardRig(t, dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)})
	for i := range maxBoardLegs + 1 {
		g.subscribeTo(g.ctx, leaving(fmt.Sprint(i+1), 60))
	}
	_, err := g.r.Subscription().Board(g.ctx, "JFK", BoardDepartures, 2, 12, nil)
	wantFields(t, err, "hoursAhead")
	if len(g.r.live.boards.open) != 0 {
		t.Error("a board that was refused is read on")
	}
	page, err := g.r.Query().FlightBoard(g.ctx, "JFK", BoardDepartures, nil, nil, 1, nil)
	if err != nil || page.TotalCount != maxBoardLegs+1 {
		t.Errorf("%+v %v", page, err)
	}
}

// Many follow one board: it is read by one, one who does not read holds nobody
// up, and when the last has left nothing is left.
func TestBoardLiveIsShared(t *testing.T) {
	g := boardRig(t, dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)})
	g.subscribeTo(g.ctx, leaving("1", 60))
	before := goleak.IgnoreCurrent()
	ctx, leave := context.WithCancel(g.ctx)
	slow := g.board(ctx, nil)
	var quick []<-chan *BoardUpdate
	for range 20 {
		quick = append(quick, g.board(ctx, nil))
	}
	for _, c := range quick {
		wantBoard(t, take(t, c), "added 1")
	}
	if n := len(g.r.live.boards.open); n != 1 || len(g.r.live.legs.ids()) != 1 {
		t.Errorf("%d boards are read, and %d legs", n, len(g.r.live.legs.ids()))
	}
	const many = readAtOnce + tailLength + 3
	for i := range many {
		s := leaving("1", 60)
		s.Departure.Gate = fmt.Sprint("G", i)
		g.see(s)
		for _, c := range quick {
			wantBoard(t, take(t, c), fmt.Sprint("changed 1 G", i))
		}
	}
	wantBoard(t, take(t, slow), "added 1")
	for i := range many {
		wantBoard(t, take(t, slow), fmt.Sprint("changed 1 G", i))
	}
	leave()
	for _, c := range append(quick, slow) {
		wantEndOrMore(c)
	}
	eventually(t, "nobody follows it any more", func() bool {
		g.r.live.boards.mu.Lock()
		defer g.r.live.boards.mu.Unlock()
		return len(g.r.live.boards.open) == 0 && len(g.r.live.legs.ids()) == 0
	})
	goleak.VerifyNone(t, before)
}

func TestBoardOverTransports(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	g.subscribeTo(g.ctx, leaving("1", 60))
	const query = `subscription { board(airport: "jfk", direction: DEPARTURES) { cursor change leg flight { flightNumber } changes { to } } }`
	socket := dial(t, s).init()
	socket.subscribe("1", query)
	socket.want("1", "next", `"change":"ADDED","leg":"leg_`)
	stream := openStream(t, s.URL, query)
	stream.want("next", `"change":"ADDED"`)
	moved := leaving("1", 60)
	moved.Departure.Gate = "C1"
	g.see(moved)
	socket.want("1", "next", `"change":"CHANGED"`)
	stream.want("next", `"changes":[{"to":"C1"}]`)
	socket.subscribe("2", `subscription { flightsChanged(legs: [{carrier: "AA", flightNumber: "1", date: "`+today+`"}]) { cursor flight { flightNumber } changes { to } } }`)
	socket.want("2", "next", `"changes":[]`)
	stream = openStream(t, s.URL, `subscription { flightsChanged(legs: [{carrier: "AA", flightNumber: "1", date: "`+today+`"}]) { cursor } }`)
	stream.want("next", `"cursor":"`)
	stream.leave()
}
