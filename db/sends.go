package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// SendWithin is how long after its claim an attempt may begin. One that comes
// to it later calls [DB.ClaimAgain] first. So who deletes, pauses or changes a
// subscription can be answered when every attempt that goes by what was before
// has begun.
const SendWithin = 200 * time.Millisecond

// clockError is how far two processes' ideas of the database's clock may differ.
const clockError = 50 * time.Millisecond

// lastClaim returns when the last of the claims was made that a subscription's
// events have, and keeps others from being made until the transaction ends. Its
// state is locked, so no event is given a turn meanwhile.
func (tx *Tx) lastClaim(ctx context.Context, subscription string) (last time.Time, err error) {
	var rows []struct {
		Token string `db:"lease_token"`
		At    Time   `db:"leased_at"`
	}
	err = tx.sel(ctx, &rows, `SELECT lease_token, leased_at FROM events
		WHERE subscription_id = $1 AND status = 'pending' AND next_attempt_at IS NOT NULL ORDER BY id`+tx.kind.forUpdate(), subscription)
	for _, r := range rows {
		if at := r.At.Std(); r.Token != "" && at.After(last) {
			last = at
		}
	}
	return last, err
}

// awaitSends returns when the attempts that had been claimed at a time have
// begun, or when ctx ends: then nobody waits for the answer.
func (db *DB) awaitSends(ctx context.Context, claimed time.Time) {
	left := claimed.Add(SendWithin + clockError).Sub(db.Now())
	if claimed.IsZero() || left <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(left):
	}
}

// ClaimAgain renews the claim of an attempt that could not begin in time, and
// returns it as it is to be made now. ok is false when it is not to be made any
// more: the claim has gone to another, or its subscription is deleted, paused or
// suspended.
func (db *DB) ClaimAgain(ctx context.Context, a Attempt) (again Attempt, ok bool, err error) {
	var rows []claimRow
	err = db.tryAgain(ctx, "claim again", func() error {
		rows = nil
		return db.writes.sel(ctx, &rows, `UPDATE events SET leased_at = $3 WHERE id = $1 AND lease_token = $2 AND status = 'pending'
			RETURNING id, subscription_id, type, envelope, flight_id, version, attempts, interruptions, lane`, a.EventID, a.token, At(db.Now()))
	})
	if err != nil || len(rows) == 0 {
		return Attempt{}, false, err
	}
	targets, err := db.targets(ctx, rows)
	if err != nil {
		return Attempt{}, false, err
	}
	t := targets[a.SubscriptionID]
	if t == nil || !a.EventType.SentWhile(t.Status) {
		return Attempt{}, false, nil
	}
	return db.attempt(ctx, &rows[0], t, a.token), true, nil
}

// target is where a subscription's events go.
type target struct {
	ID      string        `db:"id"`
	Status  flight.Status `db:"status"`
	URL     string        `db:"webhook_url"`
	Secret  string        `db:"secret"`
	Headers string        `db:"headers"`
}

// targets returns where claimed events go, by subscription. It is read after the
// claim, so that whoever has been deleted hears nothing more.
func (db *DB) targets(ctx context.Context, rows []claimRow) (map[string]*target, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].SubscriptionID
	}
	var targets []target
	if err := db.sel(ctx, &targets, `SELECT id, status, webhook_url, secret, headers FROM subscriptions WHERE id `+db.kind.oneOf(), idList(ids)); err != nil {
		return nil, domainError(ctx, "claim events", err)
	}
	byID := make(map[string]*target, len(targets))
	for i := range targets {
		byID[targets[i].ID] = &targets[i]
	}
	return byID, nil
}
