package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/flightwire/flightwire/flight"
)

// LoggedEvent is an event with its place in the sequence of its subscription.
type LoggedEvent struct {
	Seq int64
	*flight.SentEvent
}

// LoggedAttempt is an attempt with its place in the log of its subscription.
type LoggedAttempt struct {
	Seq int64
	*flight.Delivery
}

// LogPlaces are the ends of the two logs of a subscription: the places of its
// last event and of its last attempt, 0 where there is none. Places are given
// one by one under a lock that is held until the commit, so that nothing ever
// comes in before what can be read.
type LogPlaces struct {
	Event   int64 `db:"seq"`
	Attempt int64 `db:"attempt_seq"`
}

// LogPlaces returns where the logs of a subscription end.
// CodeSubscriptionMissing when there is no such subscription.
func (db *DB) LogPlaces(ctx context.Context, subscription string) (p LogPlaces, err error) {
	err = db.get(ctx, &p, `SELECT seq, attempt_seq FROM subscription_state WHERE subscription_id = $1`, subscription)
	if errors.Is(err, sql.ErrNoRows) {
		return p, missingSubscription(subscription)
	}
	return p, domainError(ctx, "log places", err)
}

// EventsAfter returns the events of a subscription that come after a place,
// oldest first and at most limit. CodeSubscriptionMissing when it is deleted.
func (db *DB) EventsAfter(ctx context.Context, subscription string, after int64, limit int) ([]LoggedEvent, error) {
	if end, err := db.LogPlaces(ctx, subscription); err != nil || end.Event <= after {
		return nil, err
	}
	var rows []struct {
		Seq int64 `db:"seq"`
		sentEventRow
	}
	err := db.sel(ctx, &rows, `SELECT seq, `+sentEventColumns+` FROM events
		WHERE subscription_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, subscription, after, limit)
	if err != nil {
		return nil, domainError(ctx, "events after", err)
	}
	out := make([]LoggedEvent, len(rows))
	for i := range rows {
		sent, err := rows[i].sent()
		if err != nil {
			return nil, err
		}
		out[i] = LoggedEvent{rows[i].Seq, sent}
	}
	return out, nil
}

// AttemptsAfter returns the attempts to deliver to a subscription that come
// after a place, in the order in which they were logged and at most limit.
// CodeSubscriptionMissing when it is deleted.
func (db *DB) AttemptsAfter(ctx context.Context, subscription string, after int64, limit int) ([]LoggedAttempt, error) {
	if end, err := db.LogPlaces(ctx, subscription); err != nil || end.Attempt <= after {
		return nil, err
	}
	var rows []struct {
		Seq int64 `db:"seq"`
		attemptRow
	}
	err := db.sel(ctx, &rows, `SELECT seq, `+attemptColumns+` FROM deliveries
		WHERE subscription_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, subscription, after, limit)
	if err != nil {
		return nil, domainError(ctx, "attempts after", err)
	}
	out := make([]LoggedAttempt, len(rows))
	for i := range rows {
		out[i] = LoggedAttempt{rows[i].Seq, rows[i].delivery()}
	}
	return out, nil
}
