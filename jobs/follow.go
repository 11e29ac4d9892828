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
func (in *Intake) follow(ctx context.Context, a db.Answer, rank flight.Rank, legs flight.Legs, err error) (flight.Legs, error) {
	source, ok := in.Source.(upstream.Tracker)
	if !ok || err != nil && flight.CodeOf(err) != flight.CodeFlightNotFound {
		return legs, err
	}
	tracked, dbErr := in.DB.TrackedLegs(ctx, a.Key)
	if dbErr != nil {
		return nil, dbErr
	}
	found := slices.Clip(legs)
	for _, t := range tracked {
		if t.Provider != source.Name() || lists(legs, t) {
			continue
		}
		if err := in.Budget.take(ctx, rank); err != nil {
			return nil, err
		}
		leg, err := in.leg(ctx, source, a, t.ProviderFlightID)
		switch flight.CodeOf(err) {
		case "":
			found = append(found, leg)
		case flight.CodeFlightNotFound: // the provider has forgotten it
		default:
			return nil, err
		}
	}
	if len(found) == len(legs) {
		return legs, err
	}
	return upstream.Finish(a.Key, found, a.Now)
}

// leg asks the source for one leg of a flight by its id.
func (in *Intake) leg(ctx context.Context, source upstream.Tracker, a db.Answer, id string) (*flight.Snapshot, error) {
	var leg *flight.Snapshot
	err := in.call(ctx, a.Key, func() (err error) {
		leg, err = source.Leg(ctx, a.Key, id, a.Now)
		return err
	})
	return leg, err
}

// lists reports whether legs have a leg, by its route or its id.
func lists(legs flight.Legs, t db.TrackedLeg) bool {
	return slices.ContainsFunc(legs, func(s *flight.Snapshot) bool {
		return s.LegKey() == t.Leg || s.ProviderFlightID == t.ProviderFlightID
	})
}
