package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// NewSubscription is what a subscription is made of. Its parts have been
// validated.
type NewSubscription struct {
	Account        string
	Key            flight.Key
	Selector       flight.Selector // looked for while the flight is not found
	FlightID       string          // row of the leg; empty: not found yet
	WebhookURL     string
	Secret         string
	Headers        map[string]string
	Events         flight.ChangeSet
	DelayThreshold int             // minutes
	Metadata       json.RawMessage // a JSON object, or nil
	Idempotency    Idempotency     // zero: nothing is repeated
	Cap            WatchCap        // of the account's plan
	Now            flight.Time     // world time
}

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

// CreateSubscription stores a subscription with its subscription.created event
// and starts the polling of its flight. The answer holds the whole secret. With
// an idempotency key that is taken already it is what [DB.Replay] returns.
// CodeWatchedFlightLimit when the plan allows no more; CodeConflict when the
// leg's row has gone meanwhile.
func (db *DB) CreateSubscription(ctx context.Context, n NewSubscription) (*flight.Subscription, error) {
	fresh := newID("sub_")
	id := fresh
	err := db.tx(ctx, "create subscription", func(tx *Tx) error {
		id = fresh
		if n.Idempotency.Key != "" {
			made, err := tx.takeKey(ctx, fresh, n.Idempotency)
			if err != nil {
				return err
			}
			if made != "" {
				id = made
				return errNothing
			}
		}
		if err := tx.countWatched(ctx, n.Account, fresh, n.Cap); err != nil {
			return err
		}
		return tx.createSubscription(ctx, fresh, n)
	})
	if err != nil {
		return nil, err
	}
	return db.Subscription(ctx, n.Account, id)
}

func (tx *Tx) createSubscription(ctx context.Context, id string, n NewSubscription) error {
	f, err := tx.lockFlight(ctx, n)
	if err != nil {
		return err
	}
	s := &follower{
		ID: id, Status: flight.SubscriptionPending, Carrier: f.Carrier, Number: f.Number, Date: f.Date,
		Events: n.Events, DelayThreshold: n.DelayThreshold, Metadata: string(n.Metadata), state: &stateRow{SubscriptionID: id},
	}
	e := event{kind: flight.EventCreated, flight: f}
	if e.next, err = tx.present(ctx, f); err != nil {
		return err
	}
	if e.next != nil {
		s.Status = flight.SubscriptionActive
		s.state.setTold(flight.ToldBy(e.next))
	}
	if err := tx.insertSubscription(ctx, f, s, n); err != nil {
		return err
	}
	out := outbox{tx: tx, now: tx.db.Now()}
	out.add(s, e)
	if err := out.write(ctx); err != nil {
		return err
	}
	return tx.startPolling(ctx, f.ID, n.Now, false)
}

// lockFlight locks the row that a new subscription belongs to, and makes the
// one of a flight that is not found yet.
func (tx *Tx) lockFlight(ctx context.Context, n NewSubscription) (*flightRow, error) {
	f := new(flightRow)
	if n.FlightID != "" {
		err := tx.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE id = $1`+tx.kind.forUpdate(), n.FlightID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, flight.Errorf(flight.CodeConflict, "The flight changed while the subscription was made. Try again.")
		}
		return f, err
	}
	leg := n.Key.String() + "?" + strings.Join([]string{n.Selector.Origin, n.Selector.Destination, n.Selector.FlightID}, "&")
	err := tx.insertFlight(ctx, flightRow{
		ID: newID("flt_"), Leg: leg, FlightKey: n.Key.String(), Carrier: n.Key.Carrier, Number: n.Key.Number, Date: n.Key.Date,
		Origin: n.Selector.Origin, Destination: n.Selector.Destination, ProviderFlightID: n.Selector.FlightID,
	})
	if err != nil {
		return nil, err
	}
	err = tx.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE leg = $1`+tx.kind.forUpdate(), leg)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errMoved // it was there, and was found between the two statements
	}
	return f, err
}

func (tx *Tx) insertSubscription(ctx context.Context, f *flightRow, s *follower, n NewSubscription) error {
	now := At(tx.db.Now())
	_, err := tx.exec(ctx, `INSERT INTO subscriptions (id, account_id, flight_id, status, status_reason, carrier, number, date,
			webhook_url, secret, headers, events, delay_threshold, metadata, created_at, updated_at)
		VALUES ($1, $2, $3, $4, '', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
		s.ID, n.Account, f.ID, s.Status, f.Carrier, f.Number, f.Date,
		n.WebhookURL, tx.db.seal.Seal(s.ID, n.Secret), encodeHeaders(n.Headers), int64(n.Events), n.DelayThreshold, string(n.Metadata), now)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `INSERT INTO subscription_state (subscription_id, seq, told_departure, told_arrival, delivered_count, failed_count, failure_streak)
		VALUES ($1, 0, 0, 0, 0, 0, 0)`, s.ID)
	return err
}

// startPolling makes a leg due at now: always, or unless a poll is planned.
func (tx *Tx) startPolling(ctx context.Context, flightID string, now flight.Time, always bool) error {
	_, err := tx.exec(ctx, `UPDATE flights SET next_poll_at = $2, poll_reason = 'watch began'
		WHERE id = $1 AND (next_poll_at IS NULL OR $3)`, flightID, world(now), always)
	return err
}

// stopPolling takes the plan away from a leg that nobody watches any more.
func (tx *Tx) stopPolling(ctx context.Context, flightID string) error {
	_, err := tx.exec(ctx, `UPDATE flights SET next_poll_at = NULL, poll_reason = '' WHERE id = $1 AND NOT `+stillWatched("$2"),
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

// SubscriptionFilter narrows a list of subscriptions; empty fields do not.
type SubscriptionFilter struct {
	Status                      flight.Status
	Carrier, FlightNumber, Date string
	Offset, Limit               int
}

// Subscriptions returns a page of an account's subscriptions, newest first,
// and how many there are in all.
func (db *DB) Subscriptions(ctx context.Context, account string, f SubscriptionFilter) (page []*flight.Subscription, total int, err error) {
	where, args := `WHERE s.account_id = $1`, []any{account}
	for _, c := range []struct{ column, value string }{
		{"status", string(f.Status)}, {"carrier", f.Carrier}, {"number", f.FlightNumber}, {"date", f.Date},
	} {
		if c.value != "" {
			args = append(args, c.value)
			where += fmt.Sprintf(" AND s.%s = $%d", c.column, len(args))
		}
	}
	if err := db.get(ctx, &total, `SELECT count(*) FROM subscriptions s `+where, args...); err != nil {
		return nil, 0, domainError(ctx, "subscriptions", err)
	}
	var rows []subscriptionRow
	args = append(args, f.Limit, f.Offset)
	err = db.sel(ctx, &rows, subscriptionSelect+where+fmt.Sprintf(` ORDER BY s.created_at DESC, s.id DESC LIMIT $%d OFFSET $%d`, len(args)-1, len(args)), args...)
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
