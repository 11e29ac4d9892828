package graph

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// fewChecks has rapid draw so often, unless it was told otherwise: each draw
// reads a database.
func fewChecks(t *testing.T, n string) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if was := checks.Value.String(); was == checks.DefValue {
		if err := flag.Set("rapid.checks", n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set("rapid.checks", was) })
	}
}

// listedFlights makes an account's subscriptions: of several flights and
// dates, some paused, some of flights that are not found yet.
func (g *rig) listedFlights() []*flight.Subscription {
	g.t.Helper()
	who, _ := access.From(g.ctx)
	g.ctx = access.With(g.t.Context(), access.Identity{Account: who.Account, Plan: "unlimited"})
	tomorrow := began.AddDate(0, 0, 1).Format(time.DateOnly)
	late := leg("200", "JFK", "LHR")
	late.Date = tomorrow
	g.source.say(leg("100", "JFK", "LHR"), leg("200", "JFK", "LHR"), late)
	var all []*flight.Subscription
	for n := range 17 {
		in := newInput()
		in.FlightNumber = []string{"100", "200", "300"}[n%3]
		if n%4 == 1 {
			in.FlightNumber, in.Date = "200", tomorrow
		}
		s := g.create(in)
		if n%5 == 0 {
			var err error
			if s, err = g.r.Mutation().PauseSubscription(g.ctx, s.ID); err != nil {
				g.t.Fatal(err)
			}
		}
		all = append(all, s)
	}
	return all
}

// Every order and every filter of the connection of subscriptions holds to the
// specification.
func TestSubscriptionsConnection(t *testing.T) {
	fewChecks(t, "25")
	eachMode(t, func(t *testing.T, g *rig) {
		made := g.listedFlights()
		tomorrow := began.AddDate(0, 0, 1).Format(time.DateOnly)
		filters := map[string]*FlightSubscriptionFilter{
			"all": nil, "none of it": {},
			"of a status":   {Statuses: []flight.Status{flight.SubscriptionPaused}},
			"of two":        {Statuses: []flight.Status{flight.SubscriptionPending, flight.SubscriptionPaused, flight.SubscriptionPending}},
			"of a flight":   {Carrier: "aal", FlightNumber: "0200"},
			"since":         {DateFrom: tomorrow},
			"until":         {DateTo: today, Statuses: []flight.Status{flight.SubscriptionActive}},
			"of a day":      {DateFrom: tomorrow, DateTo: tomorrow},
			"of an odd one": {FlightNumber: "999"},
		}
		for name, f := range filters {
			for _, o := range []db.SubscriptionOrder{db.CreatedDescending, db.CreatedAscending, db.DateAscending, db.DateDescending} {
				t.Run(name+" "+string(o), func(t *testing.T) {
					g.subscriptionLister(g.ctx, f, o).holdsTo(t, wanted(made, f, o))
				})
			}
		}
	})
}

// wanted are the ids of those that match, in order. They were made one after
// the other.
func wanted(made []*flight.Subscription, f *FlightSubscriptionFilter, o db.SubscriptionOrder) []string {
	list := slices.Clone(made)
	if o == db.DateAscending || o == db.DateDescending {
		slices.SortStableFunc(list, func(a, b *flight.Subscription) int { return strings.Compare(a.Date, b.Date) })
	}
	if o == db.CreatedDescending || o == db.DateDescending {
		slices.Reverse(list)
	}
	var ids []string
	for _, s := range list {
		if f == nil || (f.Statuses == nil || slices.Contains(f.Statuses, s.Status)) && (f.FlightNumber == "" || strings.TrimLeft(f.FlightNumber, "0") == s.FlightNumber) &&
			(f.DateFrom == "" || s.Date >= f.DateFrom) && (f.DateTo == "" || s.Date <= f.DateTo) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// The logs of a subscription hold to the specification, too.
func TestLogConnections(t *testing.T) {
	fewChecks(t, "25")
	eachMode(t, func(t *testing.T, g *rig) {
		s := g.create(newInput())
		for range 9 {
			if _, err := g.r.Mutation().TestSubscription(g.ctx, s.ID); err != nil {
				t.Fatal(err)
			}
		}
		g.deliver(10)
		events, err := g.r.FlightSubscription().EventLog(g.ctx, s, 200)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range events.Data {
			ids = append(ids, e.ID)
		}
		g.eventLister(g.ctx, s).holdsTo(t, ids)
		attempts, err := g.r.FlightSubscription().Deliveries(g.ctx, s, 200)
		if err != nil || len(ids) != 10 || attempts.Total != 10 {
			t.Fatal(len(ids), attempts, err)
		}
		ids = nil
		for _, d := range attempts.Data {
			ids = append(ids, d.ID)
		}
		g.deliveryLister(g.ctx, s).holdsTo(t, ids)
	})
}

// deliver claims what waits and records that it was taken, n times.
func (g *rig) deliver(n int) {
	g.t.Helper()
	for range n {
		due, _, err := g.db.DueEvents(g.t.Context(), db.Prompt, db.DuePlace{}, 10)
		if err != nil || len(due) != 1 {
			g.t.Fatal(due, err)
		}
		claimed, err := g.db.ClaimEvents(g.t.Context(), []string{due[0].EventID}, time.Minute)
		if err != nil || len(claimed) != 1 {
			g.t.Fatal(claimed, err)
		}
		if _, err := g.db.RecordResults(g.t.Context(), []db.Result{{Attempt: claimed[0], Status: flight.DeliverySucceeded, StatusCode: 200, AttemptedAt: g.db.Now()}}); err != nil {
			g.t.Fatal(err)
		}
	}
}

// Pages stay where they are while rows are added before them and deleted among
// them: nothing comes twice, and nothing that was there is left out.
func TestPagesStayWhereTheyAre(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		want := wanted(g.listedFlights(), nil, db.CreatedDescending)
		list, three := g.subscriptionLister(g.ctx, nil, db.CreatedDescending), 3
		remove := func(id string) {
			if _, err := g.r.Mutation().DeleteSubscription(g.ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		page, err := list(&three, nil, nil, nil)
		for ; err == nil; page, err = list(&three, page.info.EndCursor, nil, nil) {
			if got = append(got, page.ids...); !page.info.HasNextPage {
				break
			}
			g.create(newInput())
			remove(page.ids[2]) // the row of the cursor itself
			if len(got) < 9 {
				remove(want[len(got)+1]) // one that is not told of yet
				want = slices.Delete(want, len(got)+1, len(got)+2)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n got %q\nwant %q", err, got, want)
		}
	})
}

// A cursor that is none, that is of another list, of another order or of
// another account's list is refused, and so is a page that is too long.
func TestConnectionRefuses(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		s, other := g.create(newInput()), g.create(newInput())
		rival := access.With(t.Context(), access.Identity{Account: g.account("rival")})
		one := 1
		cursorOf := func(list lister) string {
			p, err := list(&one, nil, nil, nil)
			if err != nil || len(p.cursors) != 1 {
				t.Fatal(p, err)
			}
			return p.cursors[0]
		}
		list := g.subscriptionLister(g.ctx, nil, db.CreatedDescending)
		mine, event := cursorOf(list), cursorOf(g.eventLister(g.ctx, s))
		for name, cursor := range map[string]string{
			"nothing": "", "nonsense": "!", "no place": "Zmx0", "padded": mine + "==", "cut": mine[:8], "longer": mine + "QQ", "huge": strings.Repeat("A", 10_000),
			"of another order":       cursorOf(g.subscriptionLister(g.ctx, nil, db.DateDescending)),
			"of another list":        event,
			"of a key beyond all":    listOf("subscriptions", s.Account, string(db.CreatedDescending)).cursor(db.Place{Key: db.MaxKey + 1, ID: s.ID}),
			"of a key below nothing": listOf("subscriptions", s.Account, string(db.CreatedDescending)).cursor(db.Place{Key: -1, ID: s.ID}),
			"of an id that is none":  listOf("subscriptions", s.Account, string(db.CreatedDescending)).cursor(db.Place{ID: "\x00"}),
		} {
			_, err := list(nil, &cursor, nil, &cursor)
			if e, ok := err.(*flight.Error); !ok || e.Code != flight.CodeInvalid {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wantFields(t, err, "after", "before")
		}
		_, err := g.subscriptionLister(rival, nil, db.CreatedDescending)(nil, &mine, nil, nil)
		wantFields(t, err, "after")
		_, err = g.eventLister(g.ctx, other)(nil, nil, nil, &event)
		wantFields(t, err, "before")
		_, err = g.deliveryLister(g.ctx, s)(nil, &event, nil, nil)
		wantFields(t, err, "after")

		bad, most := -1, maxPage+1
		_, err = list(&bad, nil, &most, nil)
		wantFields(t, err, "first", "last")
		_, err = g.eventLister(g.ctx, s)(&most, nil, &bad, nil)
		wantFields(t, err, "first", "last")
		_, err = g.subscriptionLister(g.ctx, &FlightSubscriptionFilter{
			Statuses: []flight.Status{}, Carrier: "?", FlightNumber: "?", DateFrom: "2026-02-30", DateTo: "soon"}, db.CreatedDescending)(&bad, nil, nil, nil)
		wantFields(t, err, "statuses", "carrier", "flightNumber", "dateFrom", "dateTo", "first")
		_, err = g.subscriptionLister(g.ctx, &FlightSubscriptionFilter{DateFrom: "2026-11-22", DateTo: "2026-11-21"}, db.CreatedDescending)(nil, nil, nil, nil)
		wantFields(t, err, "dateTo")

		for _, read := range []func(context.Context) lister{
			func(ctx context.Context) lister { return g.deliveryLister(ctx, s) }, func(ctx context.Context) lister { return g.eventLister(ctx, s) },
		} {
			_, err := read(rival)(nil, nil, nil, nil)
			wantCode(t, err, flight.CodeSubscriptionMissing)
			_, err = read(t.Context())(nil, nil, nil, nil)
			wantCode(t, err, flight.CodeMissingAPIKey)
		}
		_, err = g.subscriptionLister(t.Context(), nil, db.CreatedDescending)(nil, nil, nil, nil)
		wantCode(t, err, flight.CodeMissingAPIKey)
	})
}

const connectionQuery = `query($after: String, $statuses: [SubscriptionStatus!], $order: FlightSubscriptionOrder! = CREATED_AT_DESC) {
	subscriptionsConnection(first: 2, after: $after, orderBy: $order, filter: {statuses: $statuses}) {
		totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
		edges { cursor node { id status secret
			eventsConnection(last: 1) { totalCount edges { node { type } } pageInfo { hasPreviousPage } }
			deliveriesConnection { totalCount edges { node { id } } } } } } }`

// Over HTTP a page has what is nested in it, and secrets are masked.
func TestConnectionOverHTTP(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		var ids []string
		for range 3 {
			ids = append(ids, g.create(newInput()).ID)
		}
		s := g.serve(nil)
		type body struct {
			SubscriptionsConnection struct {
				TotalCount int
				PageInfo   PageInfo
				Edges      []struct {
					Cursor string
					Node   struct {
						ID, Status, Secret string
						EventsConnection   struct {
							TotalCount int
							Edges      []struct{ Node struct{ Type string } }
						}
						DeliveriesConnection struct {
							TotalCount int
							Edges      []struct{ Node struct{ ID string } }
						}
					}
				}
			}
		}
		ask := func(variables map[string]any) (b body) {
			r := post(t, s.URL, connectionQuery, variables)
			text, err := json.Marshal(r.Data)
			if err == nil {
				err = json.Unmarshal(text, &b)
			}
			if err != nil || len(r.Errors) > 0 {
				t.Fatal(r.body, err)
			}
			return b
		}
		first := ask(nil).SubscriptionsConnection
		if first.TotalCount != 3 || len(first.Edges) != 2 || first.Edges[0].Node.ID != ids[2] || !first.PageInfo.HasNextPage || first.PageInfo.HasPreviousPage {
			t.Fatalf("%+v", first)
		}
		n := first.Edges[0].Node
		if !strings.HasPrefix(n.Secret, "whsec_****") || n.EventsConnection.TotalCount != 1 || n.EventsConnection.Edges[0].Node.Type != "SUBSCRIPTION_CREATED" ||
			n.DeliveriesConnection.TotalCount != 0 || n.DeliveriesConnection.Edges == nil {
			t.Errorf("%+v", n)
		}
		second := ask(map[string]any{"after": first.PageInfo.EndCursor, "statuses": []string{"ACTIVE", "PENDING"}}).SubscriptionsConnection
		if len(second.Edges) != 1 || second.Edges[0].Node.ID != ids[0] || second.PageInfo.HasNextPage || !second.PageInfo.HasPreviousPage {
			t.Errorf("%+v", second)
		}
		r := post(t, s.URL, connectionQuery, map[string]any{"statuses": []string{}})
		if r.code() != "INVALID_REQUEST" || !strings.Contains(r.body, `"field":"statuses"`) {
			t.Error(r.body)
		}
		r = post(t, s.URL, connectionQuery, map[string]any{"after": first.PageInfo.EndCursor, "order": "FLIGHT_DATE_ASC"})
		if r.code() != "INVALID_REQUEST" || fmt.Sprint(r.Errors[0].Path) != "[subscriptionsConnection]" {
			t.Error(r.body)
		}
	})
}

// FuzzListCursor: whatever is taken for a cursor of a list is one that the list
// gives out for that place, and is of that list.
func FuzzListCursor(f *testing.F) {
	list, other := listOf("subscriptions", "acc_1"), listOf("subscriptions", "acc_2")
	f.Add(list.cursor(db.Place{Key: 1_700_000_000_000_000, ID: "sub_0"}))
	f.Add(list.cursor(db.Place{Key: db.MaxKey}))
	f.Add(other.cursor(db.Place{Key: 1, ID: "sub_0"}))
	f.Add("====")
	f.Fuzz(func(t *testing.T, text string) {
		p := list.place(text)
		if p == nil {
			return
		}
		if list.cursor(*p) != text || p.Key < 0 || p.Key > db.MaxKey || other.place(text) != nil {
			t.Errorf("%q is taken for %+v", text, *p)
		}
	})
}
