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

func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// monthStart returns when the month of t began, UTC.
func monthStart(t time.Time) time.Time {
	return time.Date(t.UTC().Year(), t.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
}

// monthEnd returns when the month of t ends, UTC.
func monthEnd(t time.Time) time.Time {
	return monthStart(t).AddDate(0, 1, 0)
}

// WatchedFlights returns how many subscriptions an account has created in the
// month of t, UTC, with those that are deleted.
func (db *DB) WatchedFlights(ctx context.Context, account string, t time.Time) (int, error) {
	n, err := db.watched(ctx, account, monthOf(t))
	return n, domainError(ctx, "watched flights", err)
}

func (q queries) watched(ctx context.Context, account, month string) (n int, err error) {
	err = q.get(ctx, &n, `SELECT count(*) FROM watched_flights WHERE month = $1 AND account_id = $2`, month, account)
	return n, err
}

// countWatched counts a subscription that is being made as a watched flight. Where
// there is a cap, creates of one account wait for each other, on its row.
// CodeWatchedFlightLimit when the month's are used up, CodeAccountDisabled when
// the account is disabled, which it cannot become before the transaction ends.
func (tx *Tx) countWatched(ctx context.Context, account, id string, limit WatchCap) error {
	now := tx.db.Now()
	if limit.Capped {
		var locked string
		if err := tx.get(ctx, &locked, `SELECT id FROM accounts WHERE id = $1`+tx.kind.forUpdate(), account); err != nil {
			return err
		}
		now = tx.db.Now() // the wait may have gone on into the next month
		used, err := tx.watched(ctx, account, monthOf(now))
		if err != nil {
			return err
		}
		if used >= limit.Limit {
			resets := monthEnd(now)
			e := flight.Errorf(flight.CodeWatchedFlightLimit,
				"The plan allows %d watched flights a month, and this month's are used. Change the plan, or wait until %s. Existing subscriptions keep running.",
				limit.Limit, resets.Format("2 January 2006"))
			e.Watched = &flight.WatchedLimit{Limit: limit.Limit, Used: used, ResetsAt: flight.TimeOf(resets)}
			return e
		}
	}
	n, err := tx.exec(ctx, `INSERT INTO watched_flights (month, account_id, subscription_id)
		SELECT $1, id, $3 FROM accounts WHERE id = $2 AND disabled_at IS NULL`+tx.kind.forKeyShare(), monthOf(now), account, id)
	if err == nil && n == 0 {
		err = errDisabled()
	}
	return err
}
