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
	LastUsedAt  time.Time // some seconds behind; zero: never used
	DisabledAt  time.Time // of the account; zero: in use
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
	LastUsedAt  Time   `db:"last_used_at"`
	DisabledAt  Time   `db:"disabled_at"`
}

func (r keyRow) key() APIKey {
	return APIKey{r.ID, r.Account, r.AccountName, r.Plan, r.Hash, r.Version,
		r.CreatedAt.Std(), r.RotatedAt.Std(), r.RevokedAt.Std(), r.LastUsedAt.Std(), r.DisabledAt.Std()}
}

const (
	keyColumns = `SELECT k.id, k.account_id, a.name, a.plan, k.hash, k.version, k.created_at, k.rotated_at, k.revoked_at, k.last_used_at, a.disabled_at`

	selectKeys = keyColumns + ` FROM api_keys k JOIN accounts a ON a.id = k.account_id`

	selectCredential = keyColumns + ` FROM (
			SELECT id, account_id, hash, version, created_at, rotated_at, revoked_at, last_used_at FROM api_keys WHERE id = $1
			UNION ALL SELECT id, account_id, hash, version, created_at, rotated_at, NULL, NULL FROM account_tokens WHERE id = $1
		) k JOIN accounts a ON a.id = k.account_id`
)

func (q queries) key(ctx context.Context, id string) (APIKey, error) {
	return q.keyBy(ctx, selectKeys+` WHERE k.id = $1`, id)
}

func (q queries) keyBy(ctx context.Context, query, id string) (APIKey, error) {
	var row keyRow
	err := q.get(ctx, &row, query, id)
	if errors.Is(err, sql.ErrNoRows) {
		return APIKey{}, noKey(id, err)
	}
	return row.key(), err
}

func noKey(id string, cause error) error {
	return &flight.Error{Code: flight.CodeNotFound, Message: "There is no API key with the id " + id + ".", Cause: cause}
}

// CreateKey stores a new key of the account with that name, and makes the
// account when there is none. An empty plan means the account's own; it is
// CodeInvalid when the account is yet to be made. A plan other than the
// account's is CodeConflict: a key does not change it.
func (db *DB) CreateKey(ctx context.Context, by Actor, accountName, plan, keyID, hash string) (key APIKey, err error) {
	err = db.tx(ctx, "create key", func(tx *Tx) error {
		now := At(db.Now())
		account, has, err := tx.account(ctx, by, accountName, plan, now)
		if err != nil {
			return err
		}
		if plan != "" && plan != has {
			return flight.Errorf(flight.CodeConflict,
				"The account %s is on the plan %s: leave the plan out, or name that one.", accountName, has)
		}
		key, err = tx.putKey(ctx, by, account, keyID, hash, now)
		return err
	})
	return key, err
}

// AddKey stores a new key of by's own account. CodeConflict when limit of its
// keys have been in use in this month, UTC: whoever makes keys and revokes them
// again gets no further windows.
func (db *DB) AddKey(ctx context.Context, by Actor, keyID, hash string, limit int) (key APIKey, err error) {
	err = db.tx(ctx, "create key", func(tx *Tx) error {
		var locked string // so that two at once see each other
		if err := tx.get(ctx, &locked, `SELECT id FROM accounts WHERE id = $1`+tx.kind.forNoKeyUpdate(), by.Account); err != nil {
			return err
		}
		now := db.Now()
		var n int
		if err := tx.get(ctx, &n, `SELECT count(*) FROM api_keys WHERE account_id = $1 AND (revoked_at IS NULL OR revoked_at >= $2)`,
			by.Account, At(MonthStart(now))); err != nil {
			return err
		}
		if n >= limit {
			return flight.Errorf(flight.CodeConflict,
				"The account has had %d keys this month, the most there may be. Rotate one of them, or revoke some and wait for the next month.", n)
		}
		key, err = tx.putKey(ctx, by, by.Account, keyID, hash, At(now))
		return err
	})
	return key, err
}

func (tx *Tx) putKey(ctx context.Context, by Actor, account, id, hash string, now Time) (APIKey, error) {
	if _, err := tx.exec(ctx, `
		INSERT INTO api_keys (id, account_id, hash, version, created_at) VALUES ($1, $2, $3, 1, $4)`,
		id, account, hash, now); err != nil {
		return APIKey{}, err
	}
	if err := tx.audit(ctx, by, account, ActionKeyCreated, id, ""); err != nil {
		return APIKey{}, err
	}
	return tx.key(ctx, id)
}

// account returns the id and the plan of the account with that name; with a
// plan it makes the account first if need be.
func (tx *Tx) account(ctx context.Context, by Actor, name, plan string, now Time) (id, has string, err error) {
	if plan != "" {
		if _, err := tx.makeAccount(ctx, by, name, plan, now); err != nil {
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
	return db.keys(ctx, selectKeys+` ORDER BY k.created_at, k.id`)
}

// KeysOf returns every key of an account, revoked ones too, oldest first.
func (db *DB) KeysOf(ctx context.Context, account string) ([]APIKey, error) {
	return db.keys(ctx, selectKeys+` WHERE k.account_id = $1 ORDER BY k.created_at, k.id`, account)
}

func (db *DB) keys(ctx context.Context, query string, args ...any) ([]APIKey, error) {
	var rows []keyRow
	if err := db.sel(ctx, &rows, query, args...); err != nil {
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

// Credential is Key, of an account token too.
func (db *DB) Credential(ctx context.Context, id string) (APIKey, error) {
	key, err := db.keyBy(ctx, selectCredential, id)
	return key, domainError(ctx, "credential", err)
}

// RotateKey gives a key the hash of a new secret. CodeNotFound when there is
// no such key that is by's to change, CodeConflict when it is revoked.
func (db *DB) RotateKey(ctx context.Context, by Actor, id, newHash string) (key APIKey, err error) {
	err = db.tx(ctx, "rotate key", func(tx *Tx) error {
		n, err := tx.exec(ctx, `
			UPDATE api_keys SET hash = $2, version = version + 1, rotated_at = $3
			WHERE id = $1 AND revoked_at IS NULL AND ($4 = '' OR account_id = $4)`, id, newHash, At(db.Now()), by.Account)
		if err != nil {
			return err
		}
		if key, err = tx.keyFor(ctx, by, id); err != nil {
			return err
		}
		if n == 0 {
			return flight.Errorf(flight.CodeConflict, "The API key %s is revoked: create a new one.", id)
		}
		return tx.audit(ctx, by, key.Account, ActionKeyRotated, id, "")
	})
	if err != nil {
		return APIKey{}, err
	}
	return key, nil
}

// RevokeKey ends a key for good. CodeNotFound when there is no such key that is
// by's to change; on a revoked one it changes nothing.
func (db *DB) RevokeKey(ctx context.Context, by Actor, id string) (key APIKey, err error) {
	err = db.tx(ctx, "revoke key", func(tx *Tx) error {
		n, err := tx.exec(ctx, `
			UPDATE api_keys SET version = version + 1, revoked_at = $2
			WHERE id = $1 AND revoked_at IS NULL AND ($3 = '' OR account_id = $3)`, id, At(db.Now()), by.Account)
		if err != nil {
			return err
		}
		if key, err = tx.keyFor(ctx, by, id); err != nil || n == 0 {
			return err
		}
		return tx.audit(ctx, by, key.Account, ActionKeyRevoked, id, "")
	})
	if err != nil {
		return APIKey{}, err
	}
	return key, nil
}

// keyFor is key for somebody who changes it: another account's is not there.
func (q queries) keyFor(ctx context.Context, by Actor, id string) (APIKey, error) {
	key, err := q.key(ctx, id)
	if err == nil && by.Account != "" && key.Account != by.Account {
		return APIKey{}, noKey(id, sql.ErrNoRows)
	}
	return key, err
}
