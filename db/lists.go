package db

import (
	"context"
	"fmt"

	"github.com/flightwire/flightwire/flight"
)

// SubscriptionFilter narrows a list of subscriptions; empty fields do not.
type SubscriptionFilter struct {
	Status                      flight.Status
	Carrier, FlightNumber, Date string
	Offset, Limit               int
}

// where is the filter as a condition on subscriptions with its arguments.
func (f SubscriptionFilter) where(account string) (string, []any) {
	where, args := ` WHERE account_id = $1`, []any{account}
	for _, c := range []struct{ column, value string }{
		{"status", string(f.Status)}, {"carrier", f.Carrier}, {"number", f.FlightNumber}, {"date", f.Date},
	} {
		if c.value != "" {
			args = append(args, c.value)
			where += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	return where, args
}

// Subscriptions returns a page of an account's subscriptions, newest first,
// and how many there are in all.
//
// The ids of a page are found in an index alone, from whichever end is nearer,
// and only its rows are read. All of an account's, and those of one status, are
// counted by the ledger.
func (db *DB) Subscriptions(ctx context.Context, account string, f SubscriptionFilter) (page []*flight.Subscription, total int, err error) {
	total, err = db.countFiltered(ctx, account, f)
	if err != nil {
		return nil, 0, domainError(ctx, "subscriptions", err)
	}
	limit := min(f.Limit, total-f.Offset)
	if limit <= 0 {
		return []*flight.Subscription{}, total, nil
	}
	order, offset := "DESC", f.Offset
	if rest := total - f.Offset - limit; rest < f.Offset {
		order, offset = "ASC", rest
	}
	where, args := f.where(account)
	ids := fmt.Sprintf(`SELECT id FROM subscriptions%s ORDER BY created_at %s, id %[2]s LIMIT $%[3]d OFFSET $%[4]d`,
		where, order, len(args)+1, len(args)+2)
	var rows []subscriptionRow
	err = db.sel(ctx, &rows, subscriptionSelect+`WHERE s.id IN (`+ids+`) ORDER BY s.created_at DESC, s.id DESC`, append(args, limit, offset)...)
	if err != nil {
		return nil, 0, domainError(ctx, "subscriptions", err)
	}
	page = make([]*flight.Subscription, len(rows))
	for i := range rows {
		if page[i], err = db.subscription(&rows[i]); err != nil {
			return nil, 0, err
		}
	}
	return page, total, nil
}

func (db *DB) countFiltered(ctx context.Context, account string, f SubscriptionFilter) (n int, err error) {
	if f.Carrier == "" && f.FlightNumber == "" && f.Date == "" {
		return db.counted(ctx, account, f.Status)
	}
	where, args := f.where(account)
	return n, db.get(ctx, &n, `SELECT count(*) FROM subscriptions`+where, args...)
}
