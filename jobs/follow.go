package jobs

import (
	"context"
	"slices"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// follow adds to the answer of a poll the watched legs that it does not list
// any more, where the source knows a leg by its id: airlines give a flight
// another number, or another day, and its subscribers are to hear of it still.
// Without such a leg, legs and err are returned as they are. The further call
// counts like every call; when it fails, the poll has failed.
func (in *Intake) follow(ctx context.Context, p *Provider, a db.Answer, rank flight.Rank, legs flight.Legs, err error) (flight.Legs, error) {
	source, ok := p.Source.(upstream.Tracker)
	if !ok || err != nil && flight.CodeOf(err) != flight.CodeFlightNotFound {
		return legs, err
	}
	tracked, dbErr := in.DB.TrackedLegs(ctx, a.Key, source.Name())
	if dbErr != nil {
		return nil, dbErr
	}
	found := slices.Clip(legs)
	for _, t := range tracked {
		if lists(legs, t) {
			continue
		}
		var leg *flight.Snapshot
		callErr := p.call(ctx, a.Key, rank, func(ctx context.Context) (err error) {
			leg, err = source.Leg(ctx, a.Key, t.ID, a.Now)
			return err
		})
		switch flight.CodeOf(callErr) {
		case "":
			found = append(found, leg)
		case flight.CodeFlightNotFound: // the provider has forgotten it
		default:
			return nil, callErr
		}
	}
	if len(found) == len(legs) {
		return legs, err
	}
	return upstream.Finish(a.Key, found, a.Now)
}

// lists reports whether legs have a leg, by its route or its id.
func lists(legs flight.Legs, t db.TrackedLeg) bool {
	return slices.ContainsFunc(legs, func(s *flight.Snapshot) bool {
		return s.LegKey() == t.Leg || s.ProviderFlightID == t.ID
	})
}
