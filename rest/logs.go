package rest

import (
	"context"
	"net/http"

	"github.com/flightwire/flightwire/flight"
)

// log is the newest records of a log. It has the form of every list, though
// its offset is always 0.
type log[T any] struct {
	Count  int `json:"count"`
	Total  int `json:"total"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
	Data   []T `json:"data"` // newest first
}

// listDeliveries answers GET /v1/subscriptions/{id}/deliveries.
func (a *api) listDeliveries(ctx context.Context, r *http.Request) (answer, error) {
	s, limit, err := a.logOf(ctx, r)
	if err != nil {
		return answer{}, err
	}
	l, err := a.logs.Deliveries(ctx, s, limit)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: encode(log[*flight.Delivery]{Count: l.Count, Total: l.Total, Limit: l.Limit, Data: l.Data})}, nil
}

// listEvents answers GET /v1/subscriptions/{id}/events.
func (a *api) listEvents(ctx context.Context, r *http.Request) (answer, error) {
	s, limit, err := a.logOf(ctx, r)
	if err != nil {
		return answer{}, err
	}
	l, err := a.logs.EventLog(ctx, s, limit)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: encode(log[*flight.SentEvent]{Count: l.Count, Total: l.Total, Limit: l.Limit, Data: l.Data})}, nil
}

// logOf reads whose log is asked for, and how much of it.
func (a *api) logOf(ctx context.Context, r *http.Request) (*flight.Subscription, int, error) {
	q := newQuery(r)
	limit := q.number("limit", defaultLimit)
	if err := q.faults.Err(); err != nil {
		return nil, 0, err
	}
	s, err := a.query.Subscription(ctx, r.PathValue("id"))
	return s, limit, err
}
