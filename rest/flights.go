package rest

import (
	"context"
	"net/http"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/graph"
)

// searchFlight answers GET /v1/flights/search.
func (a *api) searchFlight(ctx context.Context, r *http.Request) (answer, error) {
	q := newQuery(r)
	return snapshot(a.flight(ctx, q, q.text("carrier"), q.text("flightNumber"), q.text("date")))
}

// getFlight answers GET /v1/flights/{carrier}/{flightNumber}/{date}.
func (a *api) getFlight(ctx context.Context, r *http.Request) (answer, error) {
	return snapshot(a.flightAt(ctx, r))
}

// snapshot answers with the bytes that were made when the leg last changed.
func snapshot(s *flight.Snapshot, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: s.Encode()}, nil
}

// timeline is the contract's FlightTimeline.
type timeline struct {
	FlightKey string                 `json:"flightKey"` // with its leg suffix
	Count     int                    `json:"count"`
	Data      []flight.TimelineEntry `json:"data"` // newest first
}

// getTimeline answers GET /v1/flights/{carrier}/{flightNumber}/{date}/timeline.
// It takes every selector that the flight itself takes.
func (a *api) getTimeline(ctx context.Context, r *http.Request) (answer, error) {
	s, err := a.flightAt(ctx, r)
	if err != nil {
		return answer{}, err
	}
	t := timeline{FlightKey: s.LegKey(), Count: len(s.Timeline), Data: s.Timeline}
	if t.Data == nil {
		t.Data = []flight.TimelineEntry{}
	}
	return answer{status: http.StatusOK, body: encode(t)}, nil
}

// flightAt looks up the flight that the path names.
func (a *api) flightAt(ctx context.Context, r *http.Request) (*flight.Snapshot, error) {
	return a.flight(ctx, newQuery(r), r.PathValue("carrier"), r.PathValue("flightNumber"), r.PathValue("date"))
}

// flight looks up a leg by its natural key and the selectors of the query.
func (a *api) flight(ctx context.Context, q *query, carrier, number, date string) (*flight.Snapshot, error) {
	leg := graph.LegInput{
		Carrier: carrier, FlightNumber: number, Date: date,
		Origin: q.text("origin"), Destination: q.text("destination"), FlightID: q.text("flightId"),
	}
	refresh := q.flag("refresh")
	leg.Faults = q.faults
	return a.query.Flight(ctx, leg, refresh)
}
