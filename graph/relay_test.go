package graph

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// relay is the algorithm of the Relay specification of cursor connections over
// a whole list, with two things that it leaves open: without first and last it
// is the first 50, and what stands behind a cursor includes the cursor's own
// row. after and before are places in the list; -1: not given.
func relay(all []string, first, last *int, after, before int) (edges []string, next, previous bool) {
	if first == nil && last == nil {
		fifty := 50
		first = &fifty
	}
	edges = all
	if before >= 0 {
		edges = edges[:before]
	}
	if after >= 0 {
		edges = edges[min(after+1, len(edges)):]
	}
	next, previous = before >= 0, after >= 0
	if first != nil {
		next = len(edges) > *first
	}
	if last != nil {
		previous = len(edges) > *last
	}
	if first != nil {
		edges = edges[:min(*first, len(edges))]
	}
	if last != nil {
		edges = edges[max(len(edges)-*last, 0):]
	}
	return edges, next, previous
}

// onePage is a page of any connection.
type onePage struct {
	ids, cursors []string
	info         PageInfo
	total        int
}

// lister reads a page of some connection.
type lister func(first *int, after *string, last *int, before *string) (onePage, error)

func pageOf[E any](ctx context.Context, edges []E, info PageInfo, total func(context.Context) (int, error), edge func(E) (cursor, id string)) (onePage, error) {
	p := onePage{info: info}
	for _, e := range edges {
		cursor, id := edge(e)
		p.ids, p.cursors = append(p.ids, id), append(p.cursors, cursor)
	}
	var err error
	p.total, err = total(ctx)
	return p, err
}

func (g *rig) subscriptionLister(ctx context.Context, f *FlightSubscriptionFilter, o db.SubscriptionOrder) lister {
	return func(first *int, after *string, last *int, before *string) (onePage, error) {
		c, err := g.r.Query().SubscriptionsConnection(ctx, f, o, first, after, last, before)
		if err != nil {
			return onePage{}, err
		}
		return pageOf(ctx, c.Edges, c.PageInfo, c.TotalCount, func(e FlightSubscriptionEdge) (string, string) { return e.Cursor, e.Node.ID })
	}
}

func (g *rig) deliveryLister(ctx context.Context, s *flight.Subscription) lister {
	return func(first *int, after *string, last *int, before *string) (onePage, error) {
		c, err := g.r.FlightSubscription().DeliveriesConnection(ctx, s, first, after, last, before)
		if err != nil {
			return onePage{}, err
		}
		return pageOf(ctx, c.Edges, c.PageInfo, c.TotalCount, func(e DeliveryEdge) (string, string) { return e.Cursor, e.Node.ID })
	}
}

func (g *rig) eventLister(ctx context.Context, s *flight.Subscription) lister {
	return func(first *int, after *string, last *int, before *string) (onePage, error) {
		c, err := g.r.FlightSubscription().EventsConnection(ctx, s, first, after, last, before)
		if err != nil {
			return onePage{}, err
		}
		return pageOf(ctx, c.Edges, c.PageInfo, c.TotalCount, func(e SentEventEdge) (string, string) { return e.Cursor, e.Node.ID })
	}
}

// holdsTo checks a list against the specification, with pages of any kind, and
// that pages forward and backward are the whole list, whatever their sizes.
func (list lister) holdsTo(t *testing.T, all []string) {
	t.Helper()
	most := maxPage
	whole, err := list(&most, nil, nil, nil)
	if err != nil || !slices.Equal(whole.ids, all) || whole.total != len(all) {
		t.Fatalf("the whole list: %v, %d in all\n got %q\nwant %q", err, whole.total, whole.ids, all)
	}
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, most int) *int {
			if rapid.Bool().Draw(t, "has "+name) {
				n := rapid.IntRange(0, most).Draw(t, name)
				return &n
			}
			return nil
		}
		first, last := number("first", len(all)+1), number("last", len(all)+1)
		place := func(name string) (int, *string) {
			n := rapid.IntRange(-1, len(all)-1).Draw(t, name)
			if n < 0 {
				return n, nil
			}
			return n, &whole.cursors[n]
		}
		at, after := place("after")
		upto, before := place("before")
		edges, next, previous := relay(all, first, last, at, upto)
		got, err := list(first, after, last, before)
		if err != nil || !slices.Equal(got.ids, edges) || got.info.HasNextPage != next || got.info.HasPreviousPage != previous {
			t.Fatalf("%v, next %v, previous %v\n got %q\nwant %q", err, got.info.HasNextPage, got.info.HasPreviousPage, got.ids, edges)
		}
		if n := len(edges); n == 0 && (got.info.StartCursor != nil || got.info.EndCursor != nil) ||
			n > 0 && (*got.info.StartCursor != got.cursors[0] || *got.info.EndCursor != got.cursors[n-1]) {
			t.Fatalf("%+v", got.info)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		size := func() *int { n := rapid.IntRange(1, 7).Draw(t, "size"); return &n }
		var forward, backward []string
		page, err := list(size(), nil, nil, nil)
		for ; err == nil && page.info.HasNextPage; page, err = list(size(), page.info.EndCursor, nil, nil) {
			forward = append(forward, page.ids...)
		}
		forward = append(forward, page.ids...)
		if err == nil {
			page, err = list(nil, nil, size(), nil)
		}
		for ; err == nil && page.info.HasPreviousPage; page, err = list(nil, nil, size(), page.info.StartCursor) {
			backward = append(slices.Clone(page.ids), backward...)
		}
		backward = append(slices.Clone(page.ids), backward...)
		if err != nil || !slices.Equal(forward, all) || !slices.Equal(backward, all) {
			t.Fatalf("%v\n forward %q\nbackward %q\n     all %q", err, forward, backward, all)
		}
	})
}
