package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// doorway is what the doors of one transaction share: the rows that they lock,
// and what they write, which goes out in a statement for all of them.
type doorway struct {
	*Tx
	wall    time.Time
	locked  []*flightRow           // rows of flights
	subs    map[string][]*follower // subscriptions by row, locked; nil until they are needed
	updates [][]any                // rows of updates
	out     outbox                 // events, and states of subscriptions
	saves   []*flightRow
}

func newDoorway(tx *Tx) *doorway {
	now := tx.db.Now()
	return &doorway{Tx: tx, wall: now, out: outbox{tx: tx, now: now}}
}

// lock locks every row of some flights in the order of their ids. Without wait
// it leaves out those that somebody else holds, and says which flights they are
// of.
func (w *doorway) lock(ctx context.Context, keys []string, wait bool) (busy []string, err error) {
	w.locked = nil
	how := w.kind.skipLocked("flights")
	if wait {
		how = w.kind.forUpdate()
	}
	if err := w.sel(ctx, &w.locked, `SELECT `+flightColumns+` FROM flights WHERE flight_key `+w.kind.oneOf()+` ORDER BY id`+how, idList(keys)); err != nil || wait {
		return nil, err
	}
	var all []struct {
		ID  string `db:"id"`
		Key string `db:"flight_key"`
	}
	if err := w.sel(ctx, &all, `SELECT id, flight_key FROM flights WHERE flight_key `+w.kind.oneOf(), idList(keys)); err != nil {
		return nil, err
	}
	for _, row := range all {
		if !slices.ContainsFunc(w.locked, func(f *flightRow) bool { return f.ID == row.ID }) {
			busy = append(busy, row.Key)
		}
	}
	return busy, nil
}

// of returns the locked rows of some flights.
func (w *doorway) of(keys []string) (rows []*flightRow) {
	for _, f := range w.locked {
		if slices.Contains(keys, f.FlightKey) {
			rows = append(rows, f)
		}
	}
	return rows
}

// followers returns the subscriptions of a leg that are not completed. The
// first call locks the states of every leg's in the order of their ids, as
// everyone does, and then reads the subscriptions, so that no status is older
// than its lock.
func (w *doorway) followers(ctx context.Context, flightID string) ([]*follower, error) {
	if w.subs != nil {
		return w.subs[flightID], nil
	}
	flights := make([]string, len(w.locked))
	for i, f := range w.locked {
		flights[i] = f.ID
	}
	var states []*stateRow
	err := w.sel(ctx, &states, `SELECT `+stateColumns+` FROM subscription_state
		WHERE subscription_id `+w.kind.in(`SELECT id FROM subscriptions WHERE flight_id `+w.kind.oneOf()+` AND status <> 'completed'`)+`
		ORDER BY subscription_id`+w.kind.forUpdate(), idList(flights))
	if err != nil {
		return nil, err
	}
	w.subs = make(map[string][]*follower)
	if len(states) == 0 {
		return nil, nil
	}
	var subs []*follower
	err = w.sel(ctx, &subs, `SELECT `+followerColumns+`
		FROM subscriptions WHERE flight_id `+w.kind.oneOf()+` AND status <> 'completed' ORDER BY id`, idList(flights))
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*stateRow, len(states))
	for _, s := range states {
		byID[s.SubscriptionID] = s
	}
	for _, s := range subs {
		if s.state = byID[s.ID]; s.state != nil {
			w.subs[s.FlightID] = append(w.subs[s.FlightID], s)
		}
	}
	return w.subs[flightID], nil
}

// save has a row written back.
func (w *doorway) save(f *flightRow) {
	if !slices.Contains(w.saves, f) {
		w.saves = append(w.saves, f)
	}
}

// flush writes what the doors have collected.
func (w *doorway) flush(ctx context.Context) error {
	if err := w.insertUpdates(ctx); err != nil {
		return err
	}
	if err := w.out.write(ctx); err != nil {
		return err
	}
	return w.saveFlights(ctx)
}

const updateInserts = `INSERT INTO updates (flight_id, version, snapshot, base, packed, packed_raw, changes, packed_changes,
			previous_fetched_at, source, created_at) VALUES `

func (w *doorway) insertUpdates(ctx context.Context) error {
	if len(w.updates) == 0 {
		return nil
	}
	var sql strings.Builder
	sql.WriteString(updateInserts)
	var args []any
	for i, row := range w.updates {
		if i > 0 {
			sql.WriteString(", ")
		}
		for j := range row {
			fmt.Fprintf(&sql, "%c$%d", "(,"[min(j, 1)], len(args)+j+1)
		}
		sql.WriteByte(')')
		args = append(args, row...)
	}
	_, err := w.exec(ctx, sql.String(), args...)
	return err
}

// saveFlights writes the rows back. Whether a leg stays watched is asked in the
// same statement, which sees what others have committed since the row was
// locked.
func (w *doorway) saveFlights(ctx context.Context) error {
	if len(w.saves) == 0 {
		return nil
	}
	type row struct {
		ID               string   `json:"id"`
		Leg              string   `json:"leg"`
		Origin           string   `json:"origin"`
		Destination      string   `json:"destination"`
		Provider         string   `json:"provider"`
		ProviderFlightID string   `json:"provider_flight_id"`
		OtherIDs         otherIDs `json:"other_ids"`
		Version          int64    `json:"version"`
		AskedAt          any      `json:"asked_at"`
		FetchedAt        any      `json:"fetched_at"`
		CatchUp          bool     `json:"catch_up"`
		Held             string   `json:"held"`
		NextPollAt       any      `json:"next_poll_at"`
		PollReason       string   `json:"poll_reason"`
		PollToken        string   `json:"poll_token"`
		PollLeaseUntil   any      `json:"poll_lease_until"`
		PollFailures     int      `json:"poll_failures"`
		LastPolledAt     any      `json:"last_polled_at"`
	}
	at := func(t Time) any { return w.kind.moment(t.Std()) }
	rows, ids := make([]row, len(w.saves)), make([]string, len(w.saves))
	for i, f := range w.saves {
		ids[i] = f.ID
		rows[i] = row{
			f.ID, f.Leg, f.Origin, f.Destination, f.Provider, f.ProviderFlightID, f.OtherIDs, f.Version, at(f.AskedAt), at(f.FetchedAt),
			f.CatchUp, f.Held, at(f.NextPollAt), f.PollReason, f.PollToken, at(f.PollLeaseUntil), f.PollFailures, at(f.LastPolledAt),
		}
	}
	_, err := w.exec(ctx, `UPDATE flights SET leg = x.leg, origin = x.origin, destination = x.destination, provider = x.provider,
			provider_flight_id = x.provider_flight_id, other_ids = x.other_ids, version = x.version, asked_at = x.asked_at, fetched_at = x.fetched_at,
			catch_up = x.catch_up, held = x.held, next_poll_at = CASE WHEN `+stillWatched("$2")+` THEN x.next_poll_at END,
			poll_reason = x.poll_reason, poll_token = x.poll_token, poll_lease_until = x.poll_lease_until,
			poll_failures = x.poll_failures, last_polled_at = x.last_polled_at
		FROM `+w.kind.rows("id text", "leg text", "origin text", "destination text", "provider text", "provider_flight_id text", "other_ids text",
		"version bigint", "asked_at timestamptz", "fetched_at timestamptz", "catch_up boolean", "held text", "next_poll_at timestamptz",
		"poll_reason text", "poll_token text", "poll_lease_until timestamptz", "poll_failures int", "last_polled_at timestamptz")+`
		WHERE flights.id = x.id`+w.kind.lookedUp("flights.id", "$3"), jsonText(rows), At(w.wall), idList(ids))
	if isUnique(err) { // a leg's new route got a row while the lock was waited for: it is seen now
		return errMoved
	}
	return err
}
