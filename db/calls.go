package db

import (
	"context"

	"github.com/flightwire/flightwire/flight"
)

// AddCalls adds to the calls that were made to a provider in a UTC month, such
// as "2026-11". Any number of processes may add to one month. After an error it
// is open whether they were added.
func (db *DB) AddCalls(ctx context.Context, provider, month string, calls int64) error {
	return db.tx(ctx, "add calls", func(tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO provider_calls (provider, month, calls, updated_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (provider, month) DO UPDATE SET calls = provider_calls.calls + excluded.calls, updated_at = excluded.updated_at`,
			provider, month, calls, At(db.Now()))
		return err
	})
}

// Calls returns how many calls were made to a provider in a UTC month; 0 when
// none were counted.
func (db *DB) Calls(ctx context.Context, provider, month string) (int64, error) {
	var calls int64
	err := db.get(ctx, &calls, `SELECT coalesce(sum(calls), 0) FROM provider_calls WHERE provider = $1 AND month = $2`, provider, month)
	return calls, domainError(ctx, "calls", err)
}

// PollRank returns how urgent the poll of a claim is at the world time now.
func (db *DB) PollRank(ctx context.Context, c PollClaim, now flight.Time) (flight.Rank, error) {
	f := new(flightRow)
	if err := db.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE id = $1`, c.FlightID); err != nil {
		return 0, domainError(ctx, "poll rank", err)
	}
	if !f.Resolved {
		return flight.RankOfSearch(f.Date, now), nil
	}
	last, err := db.snapshot(ctx, db.queries, f.ID, f.Version)
	if err != nil {
		return 0, domainError(ctx, "poll rank", err)
	}
	return flight.RankOf(last, now), nil
}

// PutOffPoll ends a claim for which there was no call to make: what stands
// stays, it is no failure of the upstream's, and the poll is made at p instead.
// A watch whose time has come at the world time now ends all the same. due
// are the events that may be delivered at once.
func (db *DB) PutOffPoll(ctx context.Context, c PollClaim, now flight.Time, p flight.Poll) (due []Due, err error) {
	return db.endClaim(ctx, "put poll off", c, now, func(*flightRow) flight.Poll { return p })
}
