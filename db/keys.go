package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// APIKey is a key with the account that it belongs to. The secret is not in
// it, and nowhere else: Hash is what is kept of it.
type APIKey struct {
	ID          string
	Account     string // account id
	AccountName string
	Plan        string
	Hash        string // SHA-256 of the secret in hex
	Version     int64  // 1, and one more with every rotation and the revocation
	CreatedAt   time.Time
	RotatedAt   time.Time // zero: never rotated
	RevokedAt   time.Time // zero: in use
}

type keyRow struct {
	ID          string `db:"id"`
	Account     string `db:"account_id"`
	AccountName string `db:"name"`
	Plan        string `db:"plan"`
	Hash        string `db:"hash"`
	Version     int64  `db:"version"`
	CreatedAt   Time   `db:"created_at"`
	RotatedAt   Time   `db:"rotated_at"`
	RevokedAt   Time   `db:"revoked_at"`
}

func (r keyRow) key() APIKey {
	return APIKey{r.ID, r.Account, r.AccountName, r.Plan, r.Hash, r.Version,
		r.CreatedAt.Std(), r.RotatedAt.Std(), r.RevokedAt.Std()}
}

const selectKeys = `
	SELECT k.id, k.account_id, a.name, a.plan, k.hash, k.version, k.created_at, k.rotated_at, k.revoked_at
	FROM api_keys k JOIN accounts a ON a.id = k.account_id`

func (q queries) key(ctx context.Context, id string) (APIKey, error) {
	var row keyRow
	err := q.get(ctx, &row, selectKeys+` WHERE k.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return APIKey{}, &flight.Error{Code: flight.CodeNotFound, Message: "There is no API key with the id " + id + ".", Cause: err}
	}
	return row.key(), err
}

// CreateKey stores a new key of the account with that name, and makes the
// account when there is none. An empty plan means the account's own; it is
// CodeInvalid when the account is yet to be made. A plan other than the
// account's is CodeConflict: a key does not change it.
func (db *DB) CreateKey(ctx context.Context, accountName, plan, keyID, hash string) (key APIKey, err error) {
	err = db.tx(ctx, "create key", func(tx *Tx) error {
		now := At(db.Now())
		account, has, err := tx.account(ctx, accountName, plan, now)
		if err != nil {
			return err
		}
		if plan != "" && plan != has {
			return flight.Errorf(flight.CodeConflict,
				"The account %s is on the plan %s: leave the plan out, or name that one.", accountName, has)
		}
		if _, err := tx.exec(ctx, `
			INSERT INTO api_keys (id, account_id, hash, version, created_at) VALUES ($1, $2, $3, 1, $4)`,
			keyID, account, hash, now); err != nil {
			return err
		}
		key, err = tx.key(ctx, keyID)
		return err
	})
	return key, err
}

// account returns the id and the plan of the account with that name; with a
// plan it makes the account first if need be.
func (tx *Tx) account(ctx context.Context, name, plan string, now Time) (id, has string, err error) {
	if plan != "" {
		if _, err := tx.exec(ctx, `
			INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO NOTHING`, newID("acc_"), name, plan, now); err != nil {
			return "", "", err
		}
	}
	var row struct{ ID, Plan string }
	err = tx.get(ctx, &row, `SELECT id, plan FROM accounts WHERE name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		var v flight.Invalid
		v.Add("plan", "must be given, because there is no account %s yet", name)
		return "", "", v.Err()
	}
	return row.ID, row.Plan, err
}

// Keys returns every key, revoked ones too, oldest first.
func (db *DB) Keys(ctx context.Context) ([]APIKey, error) {
	var rows []keyRow
	if err := db.sel(ctx, &rows, selectKeys+` ORDER BY k.created_at, k.id`); err != nil {
		return nil, domainError(ctx, "keys", err)
	}
	keys := make([]APIKey, len(rows))
	for i, r := range rows {
		keys[i] = r.key()
	}
	return keys, nil
}

// Key returns a key, revoked or not; CodeNotFound when there is none.
func (db *DB) Key(ctx context.Context, id string) (APIKey, error) {
	key, err := db.key(ctx, id)
	return key, domainError(ctx, "key", err)
}

// RotateKey gives a key the hash of a new secret. CodeNotFound when there is
// no such key, CodeConflict when it is revoked.
func (db *DB) RotateKey(ctx context.Context, id, newHash string) (key APIKey, err error) {
	err = db.tx(ctx, "rotate key", func(tx *Tx) error {
		n, err := tx.exec(ctx, `
			UPDATE api_keys SET hash = $2, version = version + 1, rotated_at = $3
			WHERE id = $1 AND revoked_at IS NULL`, id, newHash, At(db.Now()))
		if err != nil {
			return err
		}
		if key, err = tx.key(ctx, id); err != nil {
			return err
		}
		if n == 0 {
			return flight.Errorf(flight.CodeConflict, "The API key %s is revoked: create a new one.", id)
		}
		return nil
	})
	if err != nil {
		return APIKey{}, err
	}
	return key, nil
}

// RevokeKey ends a key for good. CodeNotFound when there is no such key; on a
// revoked one it changes nothing.
func (db *DB) RevokeKey(ctx context.Context, id string) (key APIKey, err error) {
	err = db.tx(ctx, "revoke key", func(tx *Tx) error {
		if _, err := tx.exec(ctx, `
			UPDATE api_keys SET version = version + 1, revoked_at = $2
			WHERE id = $1 AND revoked_at IS NULL`, id, At(db.Now())); err != nil {
			return err
		}
		key, err = tx.key(ctx, id)
		return err
	})
	return key, err
}
