package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flightwire/flightwire/flight"
)

// Deliveries returns the newest attempts to deliver to a subscription, newest
// first and at most limit, and how many there are in all.
func (db *DB) Deliveries(ctx context.Context, subscription string, limit int) (log []*flight.Delivery, total int, err error) {
	var rows []loggedDelivery
	err = db.get(ctx, &total, countDeliveries, subscription)
	if err == nil {
		err = db.sel(ctx, &rows, `SELECT `+loggedColumns+` FROM deliveries WHERE subscription_id = $1 ORDER BY attempted_at DESC, id DESC LIMIT $2`, subscription, limit)
	}
	if err != nil {
		return nil, 0, domainError(ctx, "deliveries", err)
	}
	log = make([]*flight.Delivery, len(rows))
	for i := range rows {
		log[i] = rows[i].delivery()
	}
	return log, max(total, len(log)), nil
}

type loggedDelivery struct {
	ID            string                `db:"id"`
	EventID       string                `db:"event_id"`
	EventType     flight.EventType      `db:"event_type"`
	Attempt       int                   `db:"attempt"`
	Status        flight.DeliveryStatus `db:"status"`
	StatusCode    int                   `db:"status_code"`
	Error         string                `db:"error"`
	LatencyMS     int                   `db:"latency_ms"`
	AttemptedAt   Time                  `db:"attempted_at"`
	NextAttemptAt Time                  `db:"next_attempt_at"`
	ResponseBody  string                `db:"response_body"`
}

const (
	loggedColumns   = `id, event_id, event_type, attempt, status, status_code, error, latency_ms, attempted_at, next_attempt_at, response_body`
	countDeliveries = `SELECT count(*) FROM deliveries WHERE subscription_id = $1`
	countEvents     = `SELECT count(*) FROM events WHERE subscription_id = $1`
)

func (r *loggedDelivery) delivery() *flight.Delivery {
	d := &flight.Delivery{
		ID: r.ID, EventID: r.EventID, EventType: r.EventType, Attempt: r.Attempt, Status: r.Status, Error: r.Error,
		AttemptedAt: r.AttemptedAt.Flight(), NextAttemptAt: r.NextAttemptAt.Flight(), ResponseBody: r.ResponseBody,
	}
	if r.StatusCode != 0 {
		d.StatusCode = &r.StatusCode
	}
	if r.Status != flight.DeliveryInterrupted {
		d.LatencyMS = &r.LatencyMS
	}
	return d
}

// SentEvents returns the newest events of a subscription, newest first and at
// most limit, and how many there are in all.
func (db *DB) SentEvents(ctx context.Context, subscription string, limit int) (log []*flight.SentEvent, total int, err error) {
	var rows []sentEventRow
	err = db.get(ctx, &total, countEvents, subscription)
	if err == nil {
		err = db.sel(ctx, &rows, `SELECT `+sentEventColumns+` FROM events WHERE subscription_id = $1 ORDER BY seq DESC LIMIT $2`, subscription, limit)
	}
	if err != nil {
		return nil, 0, domainError(ctx, "sent events", err)
	}
	log = make([]*flight.SentEvent, len(rows))
	for i := range rows {
		if log[i], err = rows[i].sent(); err != nil {
			return nil, 0, err
		}
	}
	return log, max(total, len(log)), nil // one may have come in between the two
}

// sentEvent returns one event.
func (q queries) sentEvent(ctx context.Context, id string) (*flight.SentEvent, error) {
	var r sentEventRow
	if err := q.get(ctx, &r, `SELECT `+sentEventColumns+` FROM events WHERE id = $1`, id); err != nil {
		return nil, err
	}
	return r.sent()
}

type sentEventRow struct {
	ID          string             `db:"id"`
	Type        flight.EventType   `db:"type"`
	FlightKey   string             `db:"flight_key"`
	Envelope    string             `db:"envelope"`
	Status      flight.EventStatus `db:"status"`
	Attempts    int                `db:"attempts"`
	CreatedAt   Time               `db:"created_at"`
	DeliveredAt Time               `db:"delivered_at"`
}

const sentEventColumns = `id, type, flight_key, envelope, status, attempts, created_at, delivered_at`

func (r *sentEventRow) sent() (*flight.SentEvent, error) {
	changes, err := sentChanges(r.Envelope)
	if err != nil {
		return nil, fmt.Errorf("changes of %s: %w", r.ID, err)
	}
	return &flight.SentEvent{
		ID: r.ID, Type: r.Type, CreatedAt: r.CreatedAt.Flight(), FlightKey: r.FlightKey, Changes: changes,
		Status: r.Status, Attempts: r.Attempts, DeliveredAt: r.DeliveredAt.Flight(),
	}, nil
}

// sentChanges reads the changes of an event out of its envelope, with the
// bytes of their values as they were sent.
func sentChanges(envelope string) ([]flight.Change, error) {
	var sent struct {
		Changes []struct {
			flight.Change
			From json.RawMessage `json:"from"`
			To   json.RawMessage `json:"to"`
		} `json:"changes"`
	}
	if err := json.Unmarshal([]byte(envelope), &sent); err != nil {
		return nil, err
	}
	changes := make([]flight.Change, len(sent.Changes))
	for i, c := range sent.Changes {
		changes[i] = c.Change
		changes[i].From, changes[i].To = value(c.From), value(c.To)
	}
	return changes, nil
}

// value is a value of a change; null is nil.
func value(raw json.RawMessage) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
