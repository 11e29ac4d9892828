package graph

import (
	"context"

	"github.com/flightwire/flightwire/flight"
)

// logs are the use cases that read what was sent to a subscription, which the
// caller has read or made before.
type logs struct{ r *Resolver }

// Deliveries returns the newest attempts, newest first. CodeInvalid when limit
// is out of range.
func (l *logs) Deliveries(ctx context.Context, s *flight.Subscription, limit int) (*DeliveryLog, error) {
	if err := l.check(ctx, s, limit); err != nil {
		return nil, err
	}
	data, total, err := l.r.cfg.DB.Deliveries(ctx, s.ID, limit)
	if err != nil {
		return nil, err
	}
	return &DeliveryLog{Count: len(data), Total: total, Limit: limit, Data: data}, nil
}

// EventLog returns the newest events, newest first. CodeInvalid when limit is
// out of range.
func (l *logs) EventLog(ctx context.Context, s *flight.Subscription, limit int) (*EventLog, error) {
	if err := l.check(ctx, s, limit); err != nil {
		return nil, err
	}
	data, total, err := l.r.cfg.DB.SentEvents(ctx, s.ID, limit)
	if err != nil {
		return nil, err
	}
	return &EventLog{Count: len(data), Total: total, Limit: limit, Data: data}, nil
}

// check refuses a subscription of another account, which nobody has read, and
// a limit that is out of range.
func (*logs) check(ctx context.Context, s *flight.Subscription, limit int) error {
	acc, err := account(ctx)
	if err != nil {
		return err
	}
	if s.Account != acc {
		return missing(s.ID)
	}
	var v flight.Invalid
	checkLimit(&v, limit)
	return v.Err()
}
