// Package upstream is where flights come from. A [Source] asks one provider,
// or one made-up world, for the legs of a flight; each lives in a package of
// its own below this one.
//
// A source promises complete snapshots: every field that the provider knows,
// nothing that it does not, derived fields filled in by Snapshot.Complete, and
// errors of type *flight.Error that never carry a credential.
package upstream

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Source is one upstream.
type Source interface {
	// Name is the source's word in FLIGHTWIRE_UPSTREAM.
	Name() string

	// Legs asks for every leg that the key's carrier operates under its number
	// on its date, the provider's default leg first. Each snapshot is complete
	// and freshly made, lists the others in its alternates, and has as
	// FetchedAt the world time now. Errors: CodeFlightNotFound when there is
	// no such flight; CodeUpstream when the provider refused us or made no
	// sense; CodeUpstreamUnavailable when it is down or over its limit, with
	// RetryAfter where it said; CodeUpstreamTimeout when ctx ran out.
	Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error)

	// Floor is the least time between two polls of one flight.
	Floor() time.Duration
}

// Tracker is a Source that can also be asked for one leg by the id that it gave
// it, under whatever number and date the leg goes now.
type Tracker interface {
	Source

	// Leg returns the leg of that id, described as a leg of the flight key: its
	// carrier, number and date are the key's, and a number that it goes under
	// instead is one of its codeshares. Otherwise it is as from Legs, and so
	// are the errors.
	Leg(ctx context.Context, key flight.Key, id string, now flight.Time) (*flight.Snapshot, error)
}

// Finish completes the legs of one answer: derived fields, alternates and
// FetchedAt. Every source ends with it. It returns CodeFlightNotFound when
// there are none.
func Finish(key flight.Key, legs flight.Legs, now flight.Time) (flight.Legs, error) {
	if len(legs) == 0 {
		return nil, flight.NotFound(key)
	}
	for i, s := range legs {
		s.FetchedAt = now
		s.Alternates = legs.Refs(i)
		s.Complete()
	}
	return legs, nil
}
