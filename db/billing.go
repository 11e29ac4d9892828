package db

import (
	"context"
	"time"
)

// AccountUsage is what an account has used in a UTC month, some seconds behind.
type AccountUsage struct {
	Account        string `db:"id"` // account id
	Name           string `db:"name"`
	Plan           string `db:"plan"`
	Requests       int64  `db:"requests"`
	WatchedFlights int64  `db:"watched"`
}

// UsageOfAll returns what every account has used in a month, "2026-11", by
// name. Revoked keys count; account tokens do not.
func (db *DB) UsageOfAll(ctx context.Context, month string) ([]AccountUsage, error) {
	var out []AccountUsage
	err := db.sel(ctx, &out, `SELECT a.id, a.name, a.plan, COALESCE(r.n, 0) AS requests, COALESCE(w.n, 0) AS watched
		FROM accounts a
		LEFT JOIN (SELECT k.account_id, CAST(sum(u.requests) AS BIGINT) AS n
			FROM usage u JOIN api_keys k ON k.id = u.key_id WHERE u.period = $1 GROUP BY k.account_id) r ON r.account_id = a.id
		LEFT JOIN (SELECT account_id, count(*) AS n FROM watched_flights WHERE month = $1 GROUP BY account_id) w ON w.account_id = a.id
		ORDER BY a.name`, month)
	return out, domainError(ctx, "usage of all", err)
}

// UsageOf returns what the keys of an account have used in the month that
// begins at start: a row for each key and month, and for each key and day that
// is still kept, those without requests left out, days in order.
func (db *DB) UsageOf(ctx context.Context, account string, start time.Time) ([]Usage, error) {
	start = MonthStart(start)
	periods := []string{MonthOf(start)}
	for day := start; day.Month() == start.Month(); day = day.AddDate(0, 0, 1) {
		periods = append(periods, day.Format(time.DateOnly))
	}
	var out []Usage
	err := db.sel(ctx, &out, `SELECT u.period, u.key_id, u.requests FROM usage u
		WHERE u.period `+db.kind.oneOf()+` AND u.key_id IN (SELECT id FROM api_keys WHERE account_id = $2)
		ORDER BY u.period, u.key_id`, idList(periods), account)
	return out, domainError(ctx, "usage of", err)
}

// WatchedFlightsIn is [DB.WatchedFlights] of a month by its name, "2026-11".
func (db *DB) WatchedFlightsIn(ctx context.Context, account, month string) (int, error) {
	n, err := db.watched(ctx, account, month)
	return n, domainError(ctx, "watched flights", err)
}
