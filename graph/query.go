package graph

import (
	"context"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// queries are the use cases that read.
type queries struct{ r *Resolver }

// Flight returns one leg of a flight as the upstream last described it. The
// snapshot is shared: it must not be changed. Errors: CodeInvalid,
// CodeFlightNotFound, CodeLegNotFound with the legs, and the upstream codes
// when nothing of the last hours can stand in.
func (q *queries) Flight(ctx context.Context, leg LegInput, refresh bool) (*flight.Snapshot, error) {
	if _, err := account(ctx); err != nil {
		return nil, err
	}
	var v flight.Invalid
	key, sel := q.r.parseLeg(&v, leg)
	if err := faults(leg.Faults, v); err != nil {
		return nil, err
	}
	s, err := q.r.lookups.flight(ctx, key, refresh)
	if err != nil {
		return nil, err
	}
	return s.Legs.Select(sel)
}

// Subscription returns one subscription of the account, its secret masked.
// CodeSubscriptionMissing when the account has no such subscription.
func (q *queries) Subscription(ctx context.Context, id string) (*flight.Subscription, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	return masked(q.r.cfg.DB.Subscription(ctx, acc, id))
}

// Subscriptions returns a page of the account's subscriptions, newest first,
// their secrets masked. filter may be nil. CodeInvalid when something is out
// of range.
func (q *queries) Subscriptions(ctx context.Context, filter *SubscriptionFilter, offset, limit int) (*SubscriptionPage, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	f := parseFilter(&v, filter)
	checkPage(&v, offset, limit)
	if err := faults(f.Faults, v); err != nil {
		return nil, err
	}
	rows, total, err := q.r.cfg.DB.Subscriptions(ctx, acc, db.SubscriptionFilter{
		Status: f.Status, Carrier: f.Carrier, FlightNumber: f.FlightNumber, Date: f.Date, Offset: offset, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	for i, s := range rows {
		rows[i], _ = masked(s, nil)
	}
	return &SubscriptionPage{Count: len(rows), Total: total, Offset: offset, Limit: limit, Data: rows}, nil
}

// masked hides the secret of a subscription that db has just read.
func masked(s *flight.Subscription, err error) (*flight.Subscription, error) {
	if err != nil {
		return nil, err
	}
	s.Secret = webhook.MaskSecret(s.Secret)
	return s, nil
}
