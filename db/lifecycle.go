package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// locked is a subscription whose flight and state are locked.
type locked struct {
	*follower
	flight *flightRow
}

// lockSubscription locks a subscription of an account: its flight first, then
// its state, as everywhere. CodeSubscriptionMissing when it is not there.
func (tx *Tx) lockSubscription(ctx context.Context, account, id string) (*locked, error) {
	l := &locked{new(follower), new(flightRow)}
	err := tx.get(ctx, l.flight, `SELECT `+flightColumns+` FROM flights
		WHERE id = (SELECT flight_id FROM subscriptions WHERE id = $1 AND account_id = $2)`+tx.kind.forUpdate(), id, account)
	if err == nil {
		l.state = new(stateRow)
		err = tx.get(ctx, l.state, `SELECT `+stateColumns+` FROM subscription_state WHERE subscription_id = $1`+tx.kind.forUpdate(), id)
	}
	if err == nil {
		err = tx.get(ctx, l.follower, `SELECT `+followerColumns+`
			FROM subscriptions WHERE id = $1`, id)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, missingSubscription(id)
	case err != nil:
		return nil, err
	case l.FlightID != l.flight.ID: // its flight was found between the two statements
		return nil, errMoved
	}
	return l, nil
}

// errMoved breaks a transaction off that is to be run again.
var errMoved = errors.New("the flight was found meanwhile")

// DeleteSubscription removes a subscription with its events and attempts, and
// stops the polling of its flight if it was the last to watch it. It returns when
// the attempts that were claimed before have begun: nothing is sent afterwards.
func (db *DB) DeleteSubscription(ctx context.Context, account, id string) error {
	var claimed time.Time
	err := db.tx(ctx, "delete subscription", func(tx *Tx) error {
		s, err := tx.lockSubscription(ctx, account, id)
		if err != nil {
			return err
		}
		if claimed, err = tx.lastClaim(ctx, id); err != nil {
			return err
		}
		for _, table := range []string{"events WHERE subscription_id", "deliveries WHERE subscription_id", "subscriptions WHERE id"} {
			if _, err := tx.exec(ctx, `DELETE FROM `+table+` = $1`, id); err != nil {
				return err
			}
		}
		if err := tx.count(ctx, []tally{{Account: account, Status: s.Status, N: -1}}); err != nil {
			return err
		}
		return tx.stopPolling(ctx, s.flight.ID)
	})
	if err == nil {
		db.awaitSends(ctx, claimed)
	}
	return err
}

// PauseSubscription stops polling and delivering for a subscription. What
// still waits to be sent is missed; an attempt that was claimed before has begun
// when it returns. CodeInvalidState when it is completed.
func (db *DB) PauseSubscription(ctx context.Context, account, id string) (*flight.Subscription, error) {
	var claimed time.Time
	err := db.tx(ctx, "pause subscription", func(tx *Tx) error {
		s, err := tx.lockSubscription(ctx, account, id)
		if err != nil {
			return err
		}
		next, changed, err := s.Status.Next(flight.TriggerPause, s.flight.Resolved)
		if err != nil || !changed {
			return err
		}
		if claimed, err = tx.lastClaim(ctx, id); err != nil {
			return err
		}
		if err := tx.changeStatus(ctx, []string{id}, next, ""); err != nil {
			return err
		}
		if err := tx.missWaiting(ctx, s.state); err != nil {
			return err
		}
		if err := tx.writeStates(ctx, []*stateRow{s.state}); err != nil {
			return err
		}
		return tx.stopPolling(ctx, s.flight.ID)
	})
	if err != nil {
		return nil, err
	}
	db.awaitSends(ctx, claimed)
	return db.Subscription(ctx, account, id)
}

// missWaiting marks what a subscription still waits to be sent as missed. An
// attempt that is under way goes on.
func (tx *Tx) missWaiting(ctx context.Context, st *stateRow) error {
	_, err := tx.exec(ctx, `UPDATE events SET status = 'missed', next_attempt_at = NULL
		WHERE subscription_id = $1 AND status = 'pending' AND lease_token = ''`, st.SubscriptionID)
	if err != nil {
		return err
	}
	if st.HeadSeq == nil {
		return nil
	}
	var underWay int
	if err := tx.get(ctx, &underWay, `SELECT count(*) FROM events WHERE subscription_id = $1 AND seq = $2 AND status = 'pending'`,
		st.SubscriptionID, *st.HeadSeq); err != nil {
		return err
	}
	if underWay == 0 {
		st.HeadSeq = nil
	}
	return nil
}

// ResumeSubscription starts polling and delivering again. The flight is due at
// once, and after that poll the subscription is sent its net changes since the
// last snapshot that it was told of. CodeInvalidState when it is completed,
// CodeAccountDisabled when the account is disabled.
func (db *DB) ResumeSubscription(ctx context.Context, account, id string, now flight.Time) (*flight.Subscription, error) {
	err := db.tx(ctx, "resume subscription", func(tx *Tx) error {
		if err := tx.inUse(ctx, account); err != nil {
			return err
		}
		s, err := tx.lockSubscription(ctx, account, id)
		if err != nil {
			return err
		}
		next, changed, err := s.Status.Next(flight.TriggerResume, s.flight.Resolved)
		if err != nil || !changed {
			return err
		}
		s.Status = next
		s.state.FailureStreak = 0
		if err := tx.changeStatus(ctx, []string{id}, next, ""); err != nil {
			return err
		}
		out := outbox{tx: tx, now: db.Now()}
		out.touch(s.state)
		if s.flight.Resolved {
			if err := tx.catchUp(ctx, s, &out); err != nil {
				return err
			}
		}
		if err := out.write(ctx); err != nil {
			return err
		}
		return tx.startPolling(ctx, s.flight.ID, now, true)
	})
	if err != nil {
		return nil, err
	}
	return db.Subscription(ctx, account, id)
}

// catchUp prepares the net changes of a resumed subscription. One whose flight
// was found while it was paused hears of that instead. A test shows a snapshot
// too, but tells no change, so it does not count.
func (tx *Tx) catchUp(ctx context.Context, s *locked, out *outbox) error {
	var told sql.NullInt64
	err := tx.get(ctx, &told, `SELECT max(version) FROM (SELECT version FROM events
			WHERE subscription_id = $1 AND version > 0 AND type <> 'subscription.test' AND status IN ('delivered', 'pending')
		UNION ALL SELECT told_version FROM subscription_state WHERE subscription_id = $1) AS told`, s.ID)
	if err == nil && !told.Valid { // nothing reached it: reckon from what it was first shown
		err = tx.get(ctx, &told, `SELECT min(version) FROM events WHERE subscription_id = $1 AND version > 0 AND type <> 'subscription.test'`, s.ID)
	}
	if err != nil {
		return err
	}
	if !told.Valid {
		snap, err := tx.present(ctx, s.flight)
		if err != nil {
			return err
		}
		s.state.setTold(flight.ToldBy(snap))
		out.add(s.follower, event{kind: flight.EventActivated, flight: s.flight, next: snap})
		return nil
	}
	s.state.ResumeFrom = &told.Int64
	_, err = tx.exec(ctx, `UPDATE flights SET catch_up = true WHERE id = $1`, s.flight.ID)
	return err
}

// TestSubscription records a subscription.test event, whatever the state of the
// subscription, and returns its id. It carries the flight as it stands.
func (db *DB) TestSubscription(ctx context.Context, account, id string) (eventID string, err error) {
	err = db.tx(ctx, "test subscription", func(tx *Tx) error {
		s, err := tx.lockSubscription(ctx, account, id)
		if err != nil {
			return err
		}
		e := event{kind: flight.EventTest, flight: s.flight}
		if e.next, err = tx.present(ctx, s.flight); err != nil {
			return err
		}
		out := outbox{tx: tx, now: db.Now()}
		out.add(s.follower, e)
		eventID = out.rows[0].ID
		return out.write(ctx)
	})
	return eventID, err
}
