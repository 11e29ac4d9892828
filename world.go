package main

import (
	"cmp"
	"context"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/replay"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// openWorld returns where flights come from, and the clock that they move by:
// wall time for real upstreams, else the one that all processes of the database
// share.
func openWorld(ctx context.Context, c Config, base string, d *db.DB) ([]upstream.Source, flight.Clock, error) {
	if _, ok := vendorOf(c.Upstreams[0]); ok {
		var sources []upstream.Source
		for _, name := range c.Upstreams {
			sources = append(sources, c.Providers.open(name, base, nil))
		}
		return sources, flight.Clock{}, nil
	}
	if c.Upstreams[0] == replayed {
		source, err := replay.New(replay.Config{Path: c.ReplayFile, FlagBase: base})
		if err != nil {
			return nil, flight.Clock{}, err
		}
		clock, err := worldClock(ctx, c, d, firstDeparture(ctx, source).Std().Add(-2*time.Hour))
		return []upstream.Source{source}, clock, err
	}
	clock, err := worldClock(ctx, c, d, time.Time{})
	return []upstream.Source{simulator.New(simulator.Config{FlagBase: base})}, clock, err
}

// worldClock returns the world's clock. A world that is new begins at c.Start,
// else at epoch, else now; one that runs goes on.
func worldClock(ctx context.Context, c Config, d *db.DB, epoch time.Time) (flight.Clock, error) {
	want := flight.Clock{Epoch: c.Start, Speed: c.Speed}
	if !c.Start.IsZero() || epoch.IsZero() {
		return d.WorldClock(ctx, c.Upstreams[0], want)
	}
	want.Epoch = epoch
	clock, err := d.WorldClock(ctx, c.Upstreams[0], want)
	if flight.CodeOf(err) == flight.CodeConflict && !clock.Epoch.Equal(epoch) {
		want.Epoch = time.Time{} // it began otherwise once, and nobody asks for another beginning now
		clock, err = d.WorldClock(ctx, c.Upstreams[0], want)
	}
	return clock, err
}

// firstDeparture returns the first scheduled departure of a replayed day.
func firstDeparture(ctx context.Context, s *replay.Source) flight.Time {
	first := flight.Time(0)
	for _, leg := range departures(ctx, s, 1) {
		if t := leg.Departure.Times.ScheduledGate.At(); first == 0 || t < first {
			first = t
		}
	}
	return first
}

// departures returns every leg of a replayed day as it is known at now.
func departures(ctx context.Context, s *replay.Source, now flight.Time) flight.Legs {
	var all flight.Legs
	for _, key := range s.Flights() {
		if legs, err := s.Legs(ctx, key, now); err == nil {
			all = append(all, legs...)
		}
	}
	return all
}

// demoPoll is how often dev looks at a simulated flight, unless it is told
// otherwise: often enough to see the minute flight change step by step.
const demoPoll = 5 * time.Second

// pollEvery returns the fixed poll interval, or 0 for the adaptive one.
func pollEvery(c Config, clock flight.Clock) time.Duration {
	if !c.Serve && c.Upstreams[0] == simulated && clock.Speed == 1 {
		return cmp.Or(c.PollEvery, demoPoll)
	}
	return c.PollEvery
}
