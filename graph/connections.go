package graph

import (
	"context"
	"slices"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// FlightSubscriptionFilter narrows a connection of subscriptions; empty fields
// do not.
type FlightSubscriptionFilter struct {
	Statuses              []flight.Status // nil: all; empty: a fault
	Carrier, FlightNumber string
	DateFrom, DateTo      string         // both included
	Faults                flight.Invalid // as in [LegInput]
}

// FlightSubscriptionConnection is a page of an account's subscriptions.
type FlightSubscriptionConnection struct {
	Edges    []FlightSubscriptionEdge
	PageInfo PageInfo
	count
}

// FlightSubscriptionEdge is a subscription in a list, with its place.
type FlightSubscriptionEdge struct {
	Cursor string
	Node   *flight.Subscription
}

// DeliveryConnection is a page of the attempts to deliver to a subscription.
type DeliveryConnection struct {
	Edges    []DeliveryEdge
	PageInfo PageInfo
	count
}

// DeliveryEdge is an attempt in a log, with its place.
type DeliveryEdge struct {
	Cursor string
	Node   *flight.Delivery
}

// SentEventConnection is a page of the events of a subscription.
type SentEventConnection struct {
	Edges    []SentEventEdge
	PageInfo PageInfo
	count
}

// SentEventEdge is an event in a log, with its place.
type SentEventEdge struct {
	Cursor string
	Node   *flight.SentEvent
}

// count counts a whole list, for those who ask.
type count func(context.Context) (int, error)

// TotalCount returns how many there are in all, now.
func (c count) TotalCount(ctx context.Context) (int, error) { return c(ctx) }

// SubscriptionsConnection returns a page of the account's subscriptions, their
// secrets masked. filter may be nil. CodeInvalid when something is out of range,
// or a cursor is none of this list.
func (q *queries) SubscriptionsConnection(ctx context.Context, filter *FlightSubscriptionFilter, order db.SubscriptionOrder, first *int, after *string, last *int, before *string) (*FlightSubscriptionConnection, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	var form flight.Invalid
	if filter != nil {
		form = filter.Faults
	}
	where, list, args := parseWhere(&v, filter), listOf("subscriptions", acc, string(order)), pageArguments{first, last, after, before}
	part := args.part(&v, list)
	if err := faults(form, v); err != nil {
		return nil, err
	}
	read, err := q.r.cfg.DB.SubscriptionsPart(ctx, acc, where, order, part)
	if err != nil {
		return nil, err
	}
	rows, cursors, info := cut(args, read, list)
	page := &FlightSubscriptionConnection{Edges: make([]FlightSubscriptionEdge, len(rows)), PageInfo: info}
	for i, s := range rows {
		page.Edges[i].Cursor = cursors[i]
		page.Edges[i].Node, _ = masked(s, nil)
	}
	page.count = func(ctx context.Context) (int, error) { return q.r.cfg.DB.CountSubscriptions(ctx, acc, where) }
	return page, nil
}

// parseWhere brings a filter into normal form. It records every fault in v.
func parseWhere(v *flight.Invalid, in *FlightSubscriptionFilter) (out db.SubscriptionsWhere) {
	if in == nil {
		return out
	}
	names := parseFilter(v, &SubscriptionFilter{Carrier: in.Carrier, FlightNumber: in.FlightNumber})
	out.Carrier, out.FlightNumber = names.Carrier, names.FlightNumber
	out.DateFrom, out.DateTo = parseDate(v, "dateFrom", in.DateFrom), parseDate(v, "dateTo", in.DateTo)
	if out.DateFrom != "" && out.DateTo != "" && out.DateTo < out.DateFrom {
		v.Add("dateTo", "must not be before dateFrom")
	}
	if in.Statuses != nil && len(in.Statuses) == 0 {
		v.Add("statuses", "must name at least one")
	}
	for _, s := range in.Statuses {
		if !slices.Contains(out.Statuses, s) {
			out.Statuses = append(out.Statuses, s)
		}
	}
	return out
}

// parseDate checks a date that may be left out. It records a fault in v.
func parseDate(v *flight.Invalid, field, date string) string {
	if date == "" {
		return ""
	}
	var faults flight.Invalid
	key := flight.ParseKey(&faults, "AA", "1", date)
	if len(faults) > 0 {
		v.Add(field, "%s", faults[0].Message)
	}
	return key.Date
}

// DeliveriesConnection returns a page of the attempts to deliver to a
// subscription, newest first. CodeInvalid as in SubscriptionsConnection.
func (l *logs) DeliveriesConnection(ctx context.Context, s *flight.Subscription, first *int, after *string, last *int, before *string) (*DeliveryConnection, error) {
	args, list := pageArguments{first, last, after, before}, listOf("deliveries", s.ID)
	part, err := l.part(ctx, s, args, list)
	if err != nil {
		return nil, err
	}
	read, err := l.r.cfg.DB.DeliveriesPart(ctx, s.ID, part)
	if err != nil {
		return nil, err
	}
	rows, cursors, info := cut(args, read, list)
	page := &DeliveryConnection{Edges: make([]DeliveryEdge, len(rows)), PageInfo: info}
	for i, d := range rows {
		page.Edges[i] = DeliveryEdge{cursors[i], d}
	}
	page.count = func(ctx context.Context) (int, error) { return l.r.cfg.DB.CountDeliveries(ctx, s.ID) }
	return page, nil
}

// EventsConnection returns a page of the events of a subscription, newest
// first. CodeInvalid as in SubscriptionsConnection.
func (l *logs) EventsConnection(ctx context.Context, s *flight.Subscription, first *int, after *string, last *int, before *string) (*SentEventConnection, error) {
	args, list := pageArguments{first, last, after, before}, listOf("events", s.ID)
	part, err := l.part(ctx, s, args, list)
	if err != nil {
		return nil, err
	}
	read, err := l.r.cfg.DB.SentEventsPart(ctx, s.ID, part)
	if err != nil {
		return nil, err
	}
	rows, cursors, info := cut(args, read, list)
	page := &SentEventConnection{Edges: make([]SentEventEdge, len(rows)), PageInfo: info}
	for i, e := range rows {
		page.Edges[i] = SentEventEdge{cursors[i], e}
	}
	page.count = func(ctx context.Context) (int, error) { return l.r.cfg.DB.CountSentEvents(ctx, s.ID) }
	return page, nil
}

// part reads which part of a log is asked for. A subscription of another
// account, which nobody has read, is refused.
func (l *logs) part(ctx context.Context, s *flight.Subscription, args pageArguments, list listID) (db.Part, error) {
	if err := l.check(ctx, s, 1); err != nil {
		return db.Part{}, err
	}
	var v flight.Invalid
	part := args.part(&v, list)
	return part, v.Err()
}
