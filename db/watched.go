package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// WatchCap is how many flights a plan lets an account watch in a month, UTC.
// The zero WatchCap is no limit.
type WatchCap struct {
	Limit  int
	Capped bool // Limit counts
}

// WatchedFlights returns how many subscriptions an account has created in the
// month of t, UTC, with those that are deleted.
func (db *DB) WatchedFlights(ctx context.Context, account string, t time.Time) (int, error) {
	n, err := db.watched(ctx, account, MonthOf(t))
	return n, domainError(ctx, "watched flights", err)
}

func (q queries) watched(ctx context.Context, account, month string) (n int, err error) {
	err = q.get(ctx, &n, `SELECT count(*) FROM watched_flights WHERE month = $1 AND account_id = $2`, month, account)
	return n, err
}

// lockCap has creates of an account whose plan has a cap wait for each other,
// on its row.
func (tx *Tx) lockCap(ctx context.Context, account string, limit WatchCap) error {
	if !limit.Capped {
		return nil
	}
	var locked string
	return tx.get(ctx, &locked, `SELECT id FROM accounts WHERE id = $1`+tx.kind.forNoKeyUpdate(), account)
}

// checkCap is CodeWatchedFlightLimit when the month's watched flights are used
// up. The account is locked where there is a cap.
func (tx *Tx) checkCap(ctx context.Context, account string, limit WatchCap) error {
	if !limit.Capped {
		return nil
	}
	now := tx.db.Now()
	used, err := tx.watched(ctx, account, MonthOf(now))
	if err != nil || used < limit.Limit {
		return err
	}
	resets := MonthEnd(now)
	e := flight.Errorf(flight.CodeWatchedFlightLimit,
		"The plan allows %d watched flights a month, and this month's are used. Change the plan, or wait until %s. Existing subscriptions keep running.",
		limit.Limit, resets.Format("2 January 2006"))
	e.Watched = &flight.WatchedLimit{Limit: limit.Limit, Used: used, ResetsAt: flight.TimeOf(resets)}
	return e
}
