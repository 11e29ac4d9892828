package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Attempt is one claimed attempt to deliver an event.
type Attempt struct {
	EventID        string
	EventType      flight.EventType
	SubscriptionID string
	Number         int // from 1, as x-service-delivery-attempt says
	Counted        int // the same without interrupted attempts: what retries are counted by
	URL            string
	Secret         string
	Headers        map[string]string
	Body           []byte
	Fault          string // why it cannot be sent at all, for the log; "" normally

	token string
}

type claimRow struct {
	ID             string           `db:"id"`
	SubscriptionID string           `db:"subscription_id"`
	Type           flight.EventType `db:"type"`
	Envelope       string           `db:"envelope"`
	FlightID       string           `db:"flight_id"`
	Version        int64            `db:"version"`
	Attempts       int              `db:"attempts"`
	Interruptions  int              `db:"interruptions"`
	LeaseToken     string           `db:"lease_token"`
	LeasedAt       Time             `db:"leased_at"`
	Status         flight.Status    `db:"status"`
	URL            string           `db:"webhook_url"`
	Secret         string           `db:"secret"`
	Headers        string           `db:"headers"`
}

// stopped reports whether the event must not be sent: its subscription was
// paused or suspended while a process died over it.
func (r *claimRow) stopped() bool { return !r.Type.SentWhile(r.Status) }

// ClaimEvents claims up to limit events whose attempt is due, the longest due
// first, for as long as lease. An attempt whose claim has run out belongs to a
// process that died: it is logged as interrupted and made anew, or missed when
// its subscription has been paused or suspended meanwhile.
func (db *DB) ClaimEvents(ctx context.Context, limit int, lease time.Duration) ([]Attempt, error) {
	out, stopped, err := db.claimEvents(ctx, limit, lease)
	if err != nil || len(stopped) == 0 {
		return out, err
	}
	if err := db.missInterrupted(ctx, stopped); err != nil {
		return out, nil // what is claimed must go out; the rest stays due
	}
	more, _, err := db.claimEvents(ctx, limit-len(out), lease) // it may be the turn of others now
	if err != nil {
		return out, nil
	}
	return append(out, more...), nil
}

// claimEvents is one pass through ClaimEvents; stopped are the interrupted
// attempts that must not be made anew, left as they are.
func (db *DB) claimEvents(ctx context.Context, limit int, lease time.Duration) (out []Attempt, stopped []claimRow, err error) {
	var rows []claimRow
	token := newID("")
	err = db.tx(ctx, "claim events", func(tx *Tx) error {
		now := db.Now()
		rows, stopped = nil, nil
		err := tx.sel(ctx, &rows, `SELECT e.id, e.subscription_id, e.type, e.envelope, e.flight_id, e.version, e.attempts, e.interruptions,
				e.lease_token, e.leased_at, s.status, s.webhook_url, s.secret, s.headers
			FROM events e JOIN subscriptions s ON s.id = e.subscription_id
			WHERE e.status = 'pending' AND e.next_attempt_at <= $1
			ORDER BY e.next_attempt_at, e.id LIMIT $2`+tx.kind.skipLocked("e"), At(now), limit)
		if err != nil {
			return err
		}
		rows, stopped = partition(rows)
		if len(rows) == 0 {
			return nil
		}
		if err := tx.logInterrupted(ctx, rows, now); err != nil {
			return err
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		_, err = tx.exec(ctx, `UPDATE events SET attempts = attempts + 1,
				interruptions = interruptions + CASE WHEN lease_token = '' THEN 0 ELSE 1 END,
				lease_token = $2, leased_at = $3, next_attempt_at = $4
			WHERE id IN (SELECT x.id FROM `+tx.kind.ids()+`)`, idList(ids), token, At(now), At(now.Add(lease)))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out = make([]Attempt, 0, len(rows))
	for i := range rows {
		out = append(out, db.attempt(ctx, &rows[i], token))
	}
	return out, stopped, nil
}

func partition(rows []claimRow) (send, stopped []claimRow) {
	for _, r := range rows {
		if r.stopped() {
			stopped = append(stopped, r)
		} else {
			send = append(send, r)
		}
	}
	return send, stopped
}

// interrupted is what the log says of an attempt whose claim ran out.
const interrupted = "The process died while the attempt was under way."

// logInterrupted logs the attempts whose claims ran out and that are made anew.
func (tx *Tx) logInterrupted(ctx context.Context, rows []claimRow, now time.Time) error {
	var log []deliveryRow
	for i := range rows {
		if r := &rows[i]; r.LeaseToken != "" {
			log = append(log, deliveryRow{
				ID: newID("dlv_"), SubscriptionID: r.SubscriptionID, EventID: r.ID, EventType: r.Type, Attempt: r.Attempts,
				Status: flight.DeliveryInterrupted, Error: interrupted,
				AttemptedAt: tx.kind.moment(r.LeasedAt.Std()), NextAttemptAt: tx.kind.moment(now),
			})
		}
	}
	return tx.insertDeliveries(ctx, log)
}

// missInterrupted gives up the attempts whose claims ran out while their
// subscriptions were paused or suspended. That changes whose turn it is, so
// it is recorded as results are, under the lock of the state.
func (db *DB) missInterrupted(ctx context.Context, rows []claimRow) error {
	results := make([]Result, len(rows))
	for i, r := range rows {
		results[i] = Result{
			Attempt: Attempt{EventID: r.ID, EventType: r.Type, SubscriptionID: r.SubscriptionID, Number: r.Attempts, token: r.LeaseToken},
			Status:  flight.DeliveryInterrupted, Error: interrupted, AttemptedAt: r.LeasedAt.Std(),
		}
	}
	_, err := db.RecordResults(ctx, results)
	return err
}

// attempt completes a claimed row. What stands in its way is the attempt's
// fault, so that it is logged where an operator looks.
func (db *DB) attempt(ctx context.Context, r *claimRow, token string) Attempt {
	a := Attempt{
		EventID: r.ID, EventType: r.Type, SubscriptionID: r.SubscriptionID, URL: r.URL,
		Number: r.Attempts + 1, Counted: r.Attempts + 1 - r.Interruptions, token: token,
	}
	if r.LeaseToken != "" {
		a.Counted--
	}
	var snap *flight.Snapshot
	var err error
	if r.Version > 0 {
		snap, err = db.snapshot(ctx, db.queries, r.FlightID, r.Version)
	}
	if err == nil {
		a.Secret, err = db.seal.Open(r.SubscriptionID, r.Secret)
	}
	if err == nil {
		a.Headers, err = decodeHeaders(r.SubscriptionID, r.Headers)
	}
	if err != nil {
		a.Fault = err.Error()
		return a
	}
	a.Body = body(r.Envelope, snap)
	return a
}
