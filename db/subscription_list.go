package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// SubscriptionOrder is an order in which subscriptions are listed. An index
// finds any place in it.
type SubscriptionOrder string

// The orders. Dates are those of the flights.
const (
	CreatedDescending SubscriptionOrder = "created_at_desc"
	CreatedAscending  SubscriptionOrder = "created_at_asc"
	DateAscending     SubscriptionOrder = "flight_date_asc"
	DateDescending    SubscriptionOrder = "flight_date_desc"
)

// column returns what subscriptions are ordered by, before their id.
func (o SubscriptionOrder) column() string {
	if o.byDate() {
		return "date"
	}
	return "created_at"
}

func (o SubscriptionOrder) byDate() bool     { return o == DateAscending || o == DateDescending }
func (o SubscriptionOrder) descending() bool { return o == CreatedDescending || o == DateDescending }

// value returns a place's key as the column has it: a moment is a number of
// microseconds, a date the number that its digits are.
func (o SubscriptionOrder) value(key int64) any {
	if o.byDate() {
		key = min(key, 9999_99_99)
		return fmt.Sprintf("%04d-%02d-%02d", key/100_00, key/100%100, key%100)
	}
	return At(time.UnixMicro(key))
}

// place returns where a row stands.
func (o SubscriptionOrder) place(r *subscriptionRow) Place {
	if o.byDate() {
		key, _ := strconv.ParseInt(strings.ReplaceAll(r.Date, "-", ""), 10, 64) // it has been validated
		return Place{key, r.ID}
	}
	return Place{r.CreatedAt.Std().UnixMicro(), r.ID}
}

// SubscriptionsWhere narrows a list of subscriptions; empty fields do not.
type SubscriptionsWhere struct {
	Statuses              []flight.Status // any of these, each once
	Carrier, FlightNumber string
	DateFrom, DateTo      string // both included
}

// conditions returns what follows an account's condition, the parameters of
// which are counted from n. There are few different texts, because each is kept
// prepared.
func (w SubscriptionsWhere) conditions(n int) (text string, args []any) {
	add := func(condition string, value string) {
		args = append(args, value)
		text += fmt.Sprintf(" AND "+condition, n+len(args)-1)
	}
	if w.Carrier != "" {
		add("carrier = $%d", w.Carrier)
	}
	if w.FlightNumber != "" {
		add("number = $%d", w.FlightNumber)
	}
	if w.DateFrom != "" || w.DateTo != "" {
		add("date >= $%d", w.DateFrom)
		add("date <= $%d", cmp.Or(w.DateTo, "9999-99-99"))
	}
	return text, args
}

// SubscriptionsPart returns a part of an account's subscriptions. It costs
// what its rows cost, wherever it lies, and what stands between them that a
// filter other than the statuses leaves out.
func (db *DB) SubscriptionsPart(ctx context.Context, account string, w SubscriptionsWhere, o SubscriptionOrder, p Part) (Stretch[*flight.Subscription], error) {
	s, err := stretch(ctx, p, o.descending(), func(ctx context.Context, low, high Place, down bool, limit int) ([]*flight.Subscription, []Place, error) {
		return db.subscriptionsBetween(ctx, account, w, o, low, high, down, limit)
	})
	return s, domainError(ctx, "subscriptions", err)
}

// statuses are all that there are. Those of one lie together in an index, in
// either order, so a list is theirs merged. PostgreSQL sees better what a page
// costs than where it is given one index for all.
var statuses = []flight.Status{
	flight.SubscriptionActive, flight.SubscriptionPending, flight.SubscriptionPaused, flight.SubscriptionCompleted, flight.SubscriptionSuspended,
}

func (db *DB) subscriptionsBetween(ctx context.Context, account string, w SubscriptionsWhere, o SubscriptionOrder, low, high Place, down bool, limit int) ([]*flight.Subscription, []Place, error) {
	direction := "ASC"
	if down {
		direction = "DESC"
	}
	args := []any{account, o.value(low.Key), low.ID, o.value(high.Key), high.ID, limit}
	more, values := w.conditions(len(args) + 1)
	args = append(args, values...)
	order := func(alias string) string {
		return fmt.Sprintf("ORDER BY %s%s %s, %[1]sid %[3]s", alias, o.column(), direction)
	}
	var parts []string
	for i := range statuses {
		args = append(args, w.nth(i))
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT id, %s FROM subscriptions
			WHERE account_id = $1 AND status = $%d AND (%[1]s, id) >= ($2, $3) AND (%[1]s, id) <= ($4, $5)%[3]s %[4]s LIMIT $6) AS s%[5]d`,
			o.column(), len(args), more, order(""), i))
	}
	found := `SELECT id FROM (` + strings.Join(parts, ` UNION ALL `) + `) AS merged ` + order("") + ` LIMIT $6`
	var rows []subscriptionRow
	err := db.sel(ctx, &rows, subscriptionSelect+`WHERE s.id IN (`+found+`) `+order("s."), args...)
	if err != nil {
		return nil, nil, err
	}
	list, places := make([]*flight.Subscription, len(rows)), make([]Place, len(rows))
	for i := range rows {
		if list[i], err = db.subscription(&rows[i]); err != nil {
			return nil, nil, err
		}
		places[i] = o.place(&rows[i])
	}
	return list, places, nil
}

// nth returns one of the statuses that are asked for, "" when there are fewer:
// no row has that.
func (w SubscriptionsWhere) nth(i int) flight.Status {
	switch {
	case len(w.Statuses) == 0:
		return statuses[i]
	case i < len(w.Statuses):
		return w.Statuses[i]
	}
	return ""
}

// CountSubscriptions returns how many subscriptions of an account match: by
// the ledger, where only statuses are asked for.
func (db *DB) CountSubscriptions(ctx context.Context, account string, w SubscriptionsWhere) (n int, err error) {
	if w.Carrier == "" && w.FlightNumber == "" && w.DateFrom == "" && w.DateTo == "" {
		n, err = db.countedAny(ctx, account, w.Statuses)
		return n, domainError(ctx, "count subscriptions", err)
	}
	list := w.Statuses
	if len(list) == 0 {
		list = statuses
	}
	more, args := w.conditions(3)
	err = db.get(ctx, &n, `SELECT count(*) FROM subscriptions WHERE status IN (SELECT x.id FROM `+db.kind.ids()+`) AND account_id = $2`+more,
		slices.Concat([]any{jsonText(list), account}, args)...)
	return n, domainError(ctx, "count subscriptions", err)
}

// countedAny returns how many subscriptions an account has in some statuses; in
// all when none is named.
func (q queries) countedAny(ctx context.Context, account string, list []flight.Status) (n int, err error) {
	if len(list) == 0 {
		return q.counted(ctx, account, "")
	}
	err = q.get(ctx, &n, `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM subscription_counts WHERE account_id = $2 AND status IN (SELECT x.id FROM `+q.kind.ids()+`)`,
		jsonText(list), account)
	return n, err
}
