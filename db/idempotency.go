package db

import (
	"context"
	"database/sql"
	"errors"

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

// takeKey takes an idempotency key for a subscription that is being made, and
// returns "". Where it is taken, it returns the id of the subscription that
// stands for it instead; of two creates at once the later one waits here.
func (tx *Tx) takeKey(ctx context.Context, id string, k Idempotency) (made string, err error) {
	now := tx.db.Now()
	over := At(now.Add(-flight.IdempotencyWindow))
	n, err := tx.exec(ctx, `INSERT INTO idempotency_keys (api_key_id, idempotency_key, subscription_id, request, created_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (api_key_id, idempotency_key) DO UPDATE
			SET subscription_id = excluded.subscription_id, request = excluded.request, created_at = excluded.created_at
			WHERE idempotency_keys.created_at <= $6`,
		k.APIKey, k.Key, id, tx.db.seal.Seal(id, k.Request), At(now), over)
	if err != nil {
		return "", err
	}
	if n == 0 {
		var row idempotencyRow
		err := tx.get(ctx, &row, selectIdempotency, k.APIKey, k.Key, over)
		if err == nil {
			err = tx.db.sameRequest(row, k)
		}
		return row.SubscriptionID, err
	}
	_, err = tx.exec(ctx, `DELETE FROM idempotency_keys WHERE (api_key_id, idempotency_key) IN (
		SELECT api_key_id, idempotency_key FROM idempotency_keys WHERE created_at <= $1
		ORDER BY created_at LIMIT $2`+tx.kind.skipLocked("idempotency_keys")+`)`, over, purged)
	return "", err
}
