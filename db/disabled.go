package db

import (
	"context"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// accountDisabled is the statusReason of what was paused with its account.
const accountDisabled = "The account was disabled. Resume the subscription to take it up again."

// pausable are the statuses from which a pause leads on, as an SQL list.
var pausable = func() string {
	var list []string
	for _, s := range []flight.Status{flight.SubscriptionActive, flight.SubscriptionPending, flight.SubscriptionPaused,
		flight.SubscriptionCompleted, flight.SubscriptionSuspended} {
		if _, changes, err := s.Next(flight.TriggerPause, true); changes && err == nil {
			list = append(list, "'"+string(s)+"'")
		}
	}
	return strings.Join(list, ", ")
}()

// PauseDisabled pauses up to limit subscriptions of a disabled account, as
// [DB.PauseSubscription] does, and gives up what any other of them still waits
// to be sent. It returns how many it found: 0 when there is nothing left to do,
// or the account is in use.
func (db *DB) PauseDisabled(ctx context.Context, account string, limit int) (n int, err error) {
	err = db.tx(ctx, "pause disabled", func(tx *Tx) error {
		n = 0
		switch err := tx.inUse(ctx, account); flight.CodeOf(err) {
		case flight.CodeAccountDisabled:
		case "":
			return errNothing
		default:
			return err
		}
		var ids []string
		err := tx.sel(ctx, &ids, `SELECT s.id FROM subscriptions s WHERE s.account_id = $1 AND (s.status IN (`+pausable+`)
				OR EXISTS (SELECT 1 FROM events e WHERE e.subscription_id = s.id AND e.status = 'pending' AND e.lease_token = ''))
			ORDER BY s.id LIMIT $2`, account, limit)
		if err != nil {
			return err
		}
		n = len(ids)
		return tx.pauseAll(ctx, ids)
	})
	return n, err
}

// pauseAll is the body of PauseDisabled, in the order of locks that everyone
// keeps: flights by id, then states by id.
func (tx *Tx) pauseAll(ctx context.Context, ids []string) error {
	list := idList(ids)
	var flights []string
	err := tx.sel(ctx, &flights, `SELECT id FROM flights WHERE id IN (
			SELECT flight_id FROM subscriptions WHERE id `+tx.kind.oneOf()+`) ORDER BY id`+tx.kind.forUpdate(), list)
	if err != nil {
		return err
	}
	var states []string
	err = tx.sel(ctx, &states, `SELECT subscription_id FROM subscription_state
		WHERE subscription_id `+tx.kind.oneOf()+` ORDER BY subscription_id`+tx.kind.forUpdate(), list)
	if err != nil {
		return err
	}
	var subs []struct {
		ID       string `db:"id"`
		FlightID string `db:"flight_id"`
		Pausable bool   `db:"pausable"`
	}
	err = tx.sel(ctx, &subs, `SELECT id, flight_id, status IN (`+pausable+`) AS pausable FROM subscriptions WHERE id `+tx.kind.oneOf(), list)
	if err != nil {
		return err
	}
	var pause []string
	for _, s := range subs {
		if !slices.Contains(flights, s.FlightID) {
			return errMoved // its flight was found between the statements
		}
		if s.Pausable {
			pause = append(pause, s.ID)
		}
	}
	if err := tx.changeStatus(ctx, pause, flight.SubscriptionPaused, accountDisabled); err != nil {
		return err
	}
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`UPDATE events SET status = 'missed', next_attempt_at = NULL
			WHERE subscription_id ` + tx.kind.oneOf() + ` AND status = 'pending' AND lease_token = ''`, []any{list}},
		{`UPDATE subscription_state SET head_seq = NULL
			WHERE subscription_id ` + tx.kind.oneOf() + ` AND NOT EXISTS (
				SELECT 1 FROM events e WHERE e.subscription_id = subscription_state.subscription_id AND e.seq = head_seq AND e.status = 'pending')`, []any{list}},
		{`UPDATE flights SET next_poll_at = NULL, poll_reason = ''
			WHERE id ` + tx.kind.oneOf() + ` AND NOT ` + stillWatched("$2"), []any{idList(flights), At(tx.db.Now())}},
	} {
		if _, err := tx.exec(ctx, step.query, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// refuseDisabled makes the fault of every creation whose account is disabled.
// The others cannot become so before the transaction ends.
func (tx *Tx) refuseDisabled(ctx context.Context, list []*creation) error {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.Account
	}
	var rows []struct {
		ID         string `db:"id"`
		DisabledAt Time   `db:"disabled_at"`
	}
	err := tx.sel(ctx, &rows, `SELECT id, disabled_at FROM accounts WHERE id `+tx.kind.oneOf()+tx.kind.forKeyShare(), idList(ids))
	if err != nil {
		return err
	}
	for _, r := range rows {
		for _, c := range list {
			if c.Account == r.ID && !r.DisabledAt.Std().IsZero() {
				c.fault = errDisabled()
			}
		}
	}
	return nil
}
