package db

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/flightwire/flightwire/flight"
)

// Idempotency makes creates that are repeated one.
type Idempotency struct {
	APIKey  string // id of the API key, to which Key is scoped
	Key     string // what the client sent; "": nothing is repeated
	Request string // digest of what is asked for: another one is refused
}

// purged is how many rows that have run out a create takes away, which is more
// than it adds.
const purged = 8

type idempotencyRow struct {
	SubscriptionID string `db:"subscription_id"`
	Request        string `db:"request"`
}

const selectIdempotency = `SELECT subscription_id, request FROM idempotency_keys
	WHERE api_key_id = $1 AND idempotency_key = $2 AND created_at > $3`

// Replay returns the subscription that was created with that key in the last
// 24 hours, as it is now and with the whole secret; nil when there is none.
// CodeIdempotencyReused when something else was asked for,
// CodeSubscriptionMissing when it has been deleted.
func (db *DB) Replay(ctx context.Context, account string, k Idempotency) (*flight.Subscription, error) {
	if k.Key == "" {
		return nil, nil
	}
	var row idempotencyRow
	err := db.get(ctx, &row, selectIdempotency, k.APIKey, k.Key, At(db.Now().Add(-flight.IdempotencyWindow)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = db.sameRequest(row, k)
	}
	if err != nil {
		return nil, domainError(ctx, "replay", err)
	}
	return db.Subscription(ctx, account, row.SubscriptionID)
}

// sameRequest is CodeIdempotencyReused when row was made by another request.
func (db *DB) sameRequest(row idempotencyRow, k Idempotency) error {
	request, err := db.seal.Open(row.SubscriptionID, row.Request)
	if err == nil && request != k.Request {
		err = flight.Errorf(flight.CodeIdempotencyReused, "This Idempotency-Key stood with another request in the last 24 hours. Send the same request, or a new key.")
	}
	return err
}

// newKeyRow is an element of the JSON array that becomes rows of idempotency_keys.
type newKeyRow struct {
	APIKey         string `json:"api_key_id"`
	Key            string `json:"idempotency_key"`
	SubscriptionID string `json:"subscription_id"`
	Request        string `json:"request"` // sealed
}

// takeKeys takes the idempotency keys of subscriptions that are being made, no
// two of them alike. Where one is taken, the subscription that stands for it is
// noted; of two creates at once the later one waits here.
func (tx *Tx) takeKeys(ctx context.Context, list []*creation) error {
	now := tx.db.Now()
	over := At(now.Add(-flight.IdempotencyWindow))
	var rows []newKeyRow
	for _, c := range list {
		if k := c.Idempotency; k.Key != "" {
			rows = append(rows, newKeyRow{k.APIKey, k.Key, c.id, tx.db.seal.Seal(c.id, k.Request)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	var taken []string
	err := tx.sel(ctx, &taken, `INSERT INTO idempotency_keys (api_key_id, idempotency_key, subscription_id, request, created_at)
		SELECT x.api_key_id, x.idempotency_key, x.subscription_id, x.request, $2
		FROM `+tx.kind.rows("api_key_id text", "idempotency_key text", "subscription_id text", "request text")+`
		WHERE true ORDER BY x.api_key_id, x.idempotency_key
		ON CONFLICT (api_key_id, idempotency_key) DO UPDATE
			SET subscription_id = excluded.subscription_id, request = excluded.request, created_at = excluded.created_at
			WHERE idempotency_keys.created_at <= $3
		RETURNING subscription_id`, jsonText(rows), At(now), over)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Idempotency.Key == "" || slices.Contains(taken, c.id) {
			continue
		}
		if err := tx.standFor(ctx, c, over); err != nil {
			return err
		}
	}
	_, err = tx.dropKeys(ctx, over, purged*len(rows))
	return err
}

// dropKeys deletes the oldest keys that were taken up to over, at most limit.
func (tx *Tx) dropKeys(ctx context.Context, over Time, limit int) (int64, error) {
	return tx.exec(ctx, `DELETE FROM idempotency_keys WHERE (api_key_id, idempotency_key) IN (
		SELECT api_key_id, idempotency_key FROM idempotency_keys WHERE created_at <= $1
		ORDER BY created_at LIMIT $2`+tx.kind.skipLocked("idempotency_keys")+`)`, over, limit)
}

// standFor notes the subscription that a key which is taken stands for, or why
// it does not stand for this one.
func (tx *Tx) standFor(ctx context.Context, c *creation, over Time) error {
	var row idempotencyRow
	if err := tx.get(ctx, &row, selectIdempotency, c.Idempotency.APIKey, c.Idempotency.Key, over); err != nil {
		return err
	}
	c.stands, c.fault = row.SubscriptionID, tx.db.sameRequest(row, c.Idempotency)
	return nil
}
