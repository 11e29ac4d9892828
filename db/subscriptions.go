package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flightwire/flightwire/flight"
)

// subscriptionRow is a subscription with its state and its flight.
type subscriptionRow struct {
	ID             string           `db:"id"`
	AccountID      string           `db:"account_id"`
	FlightID       string           `db:"flight_id"`
	Status         flight.Status    `db:"status"`
	StatusReason   string           `db:"status_reason"`
	Carrier        string           `db:"carrier"`
	Number         string           `db:"number"`
	Date           string           `db:"date"`
	WebhookURL     string           `db:"webhook_url"`
	Secret         string           `db:"secret"`
	Headers        string           `db:"headers"`
	Events         flight.ChangeSet `db:"events"`
	DelayThreshold int              `db:"delay_threshold"`
	Metadata       string           `db:"metadata"`
	CreatedAt      Time             `db:"created_at"`
	UpdatedAt      Time             `db:"updated_at"`
	DeliveredCount int              `db:"delivered_count"`
	FailedCount    int              `db:"failed_count"`
	LastChangeAt   Time             `db:"last_change_at"`
	LastDeliveryAt Time             `db:"last_delivery_at"`
	LastPolledAt   Time             `db:"last_polled_at"`
	Resolved       bool             `db:"resolved"`
}

const subscriptionSelect = `SELECT s.id, s.account_id, s.flight_id, s.status, s.status_reason, s.carrier, s.number, s.date,
		s.webhook_url, s.secret, s.headers, s.events, s.delay_threshold, s.metadata, s.created_at, s.updated_at,
		st.delivered_count, st.failed_count, st.last_change_at, st.last_delivery_at, f.last_polled_at, f.resolved
	FROM subscriptions s
	JOIN subscription_state st ON st.subscription_id = s.id
	JOIN flights f ON f.id = s.flight_id `

func (db *DB) subscription(r *subscriptionRow) (*flight.Subscription, error) {
	secret, err := db.seal.Open(r.ID, r.Secret)
	if err != nil {
		return nil, err
	}
	s := &flight.Subscription{
		ID: r.ID, Account: r.AccountID, Status: r.Status, StatusReason: r.StatusReason,
		FlightKey: flight.Key{Carrier: r.Carrier, Number: r.Number, Date: r.Date}.String(),
		Carrier:   r.Carrier, FlightNumber: r.Number, Date: r.Date,
		WebhookURL: r.WebhookURL, Secret: secret, Events: r.Events.Types(), DelayThresholdMinutes: r.DelayThreshold,
		CreatedAt: r.CreatedAt.Flight(), UpdatedAt: r.UpdatedAt.Flight(),
		LastPolledAt: r.LastPolledAt.Flight(), LastChangeAt: r.LastChangeAt.Flight(), LastDeliveryAt: r.LastDeliveryAt.Flight(),
		DeliveredCount: r.DeliveredCount, FailedCount: r.FailedCount, FlightResolved: r.Resolved,
	}
	if r.Metadata != "" {
		s.Metadata = json.RawMessage(r.Metadata)
	}
	if s.Headers, err = decodeHeaders(r.ID, r.Headers); err != nil {
		return nil, err
	}
	return s, nil
}

func encodeHeaders(h map[string]string) string {
	if len(h) == 0 {
		return ""
	}
	return jsonText(h)
}

func decodeHeaders(id, text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var h map[string]string
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, fmt.Errorf("headers of %s: %w", id, err)
	}
	return h, nil
}

// startPolling makes a leg due at now: always, or unless a poll is planned.
func (tx *Tx) startPolling(ctx context.Context, flightID string, now flight.Time, always bool) error {
	_, err := tx.exec(ctx, `UPDATE flights SET next_poll_at = $2, poll_reason = 'watch began'
		WHERE id = $1 AND (next_poll_at IS NULL OR $3)`, flightID, world(now), always)
	return err
}

// stopPolling takes the plan away from a leg that nobody watches any more. What
// is kept of it may now be deleted in its time.
func (tx *Tx) stopPolling(ctx context.Context, flightID string) error {
	_, err := tx.exec(ctx, `UPDATE flights SET next_poll_at = NULL, poll_reason = '', trimmed = -1 WHERE id = $1 AND NOT `+stillWatched("$2"),
		flightID, At(tx.db.Now()))
	return err
}

// Subscription returns one subscription of an account, with the whole secret.
// CodeSubscriptionMissing when the account has no such subscription.
func (db *DB) Subscription(ctx context.Context, account, id string) (*flight.Subscription, error) {
	var r subscriptionRow
	err := db.get(ctx, &r, subscriptionSelect+`WHERE s.id = $1 AND s.account_id = $2`, id, account)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, missingSubscription(id)
	}
	if err != nil {
		return nil, domainError(ctx, "subscription", err)
	}
	return db.subscription(&r)
}

func missingSubscription(id string) error {
	return flight.Errorf(flight.CodeSubscriptionMissing, "There is no subscription %.64q in this account.", id)
}
