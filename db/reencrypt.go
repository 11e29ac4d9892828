package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/flightwire/flightwire/flight"
)

// Reencrypted is what [DB.Reencrypt] has done.
type Reencrypted struct {
	Done       int      // secrets that are now under the first key and were not before
	Remaining  int      // that are still under another one
	Unreadable []string // ids of the subscriptions whose secret no key opens
}

// sealed is a sealed text with where it stands.
type sealed struct {
	Subscription string `db:"subscription_id" json:"subscription_id"`
	APIKey       string `db:"api_key_id" json:"api_key_id"` // of idempotency_keys only, as the next
	Key          string `db:"idempotency_key" json:"idempotency_key"`
	Was          string `db:"was" json:"was"`
	Becomes      string `db:"-" json:"becomes"`
}

// vault is a column of sealed texts: how to read on in it, and how to replace
// what still is as it was read.
type vault struct {
	read    func(ctx context.Context, db *DB, after sealed, limit int) ([]sealed, error)
	replace func(tx *Tx) string // $1: the rows
}

var vaults = []vault{
	{
		read: func(ctx context.Context, db *DB, after sealed, limit int) (rows []sealed, err error) {
			err = db.sel(ctx, &rows, `SELECT id AS subscription_id, '' AS api_key_id, '' AS idempotency_key, secret AS was
				FROM subscriptions WHERE id > $1 ORDER BY id LIMIT $2`, after.Subscription, limit)
			return rows, err
		},
		replace: func(tx *Tx) string {
			return `UPDATE subscriptions SET secret = x.becomes FROM ` + tx.kind.rows("subscription_id TEXT", "was TEXT", "becomes TEXT") + `
				WHERE subscriptions.id = x.subscription_id AND subscriptions.secret = x.was`
		},
	},
	{ // what has run out is never read again
		read: func(ctx context.Context, db *DB, after sealed, limit int) (rows []sealed, err error) {
			err = db.sel(ctx, &rows, `SELECT subscription_id, api_key_id, idempotency_key, request AS was FROM idempotency_keys
				WHERE (api_key_id > $1 OR api_key_id = $1 AND idempotency_key > $2) AND created_at > $3
				ORDER BY api_key_id, idempotency_key LIMIT $4`, after.APIKey, after.Key, At(db.Now().Add(-flight.IdempotencyWindow)), limit)
			return rows, err
		},
		replace: func(tx *Tx) string {
			return `UPDATE idempotency_keys SET request = x.becomes
				FROM ` + tx.kind.rows("subscription_id TEXT", "api_key_id TEXT", "idempotency_key TEXT", "was TEXT", "becomes TEXT") + `
				WHERE idempotency_keys.api_key_id = x.api_key_id AND idempotency_keys.idempotency_key = x.idempotency_key
					AND idempotency_keys.subscription_id = x.subscription_id AND idempotency_keys.request = x.was`
		},
	},
}

const (
	reencryptBatch  = 500
	reencryptPasses = 3
)

// Reencrypt seals everything that another key sealed with the first one, in
// transactions of a few hundred. What changes meanwhile stays as it was
// changed, and is looked at again; processes that still seal with another key
// first leave Remaining. It may be broken off and run again at any time.
func (db *DB) Reencrypt(ctx context.Context, by Actor) (total Reencrypted, err error) {
	for range reencryptPasses {
		pass := Reencrypted{}
		for _, v := range vaults {
			if err := db.reencrypt(ctx, by, v, &pass); err != nil {
				return total, domainError(ctx, "re-encrypt", err)
			}
		}
		total.Done += pass.Done
		total.Remaining, total.Unreadable = pass.Remaining, pass.Unreadable
		if pass.Done == 0 && pass.Remaining == 0 {
			break // everything was seen under the first key
		}
	}
	return total, nil
}

// reencrypt is one pass through a vault. What it replaced counts as remaining
// until a later pass has seen it.
func (db *DB) reencrypt(ctx context.Context, by Actor, v vault, pass *Reencrypted) error {
	var after sealed
	for {
		rows, err := v.read(ctx, db, after, reencryptBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1]
		var stale []sealed
		for _, r := range rows {
			text, first, err := db.seal.open(r.Subscription, r.Was)
			switch {
			case err != nil:
				pass.Unreadable = append(pass.Unreadable, r.Subscription)
			case !first:
				r.Becomes = db.seal.Seal(r.Subscription, text)
				stale = append(stale, r)
			}
		}
		if len(stale) == 0 {
			continue
		}
		var n int64
		err = db.tx(ctx, "re-encrypt", func(tx *Tx) error {
			if n, err = tx.exec(ctx, v.replace(tx), jsonText(stale)); err != nil {
				return err
			}
			if n == 0 {
				return errNothing
			}
			return tx.audit(ctx, by, "", ActionReencrypted, "", fmt.Sprintf("%d secrets", n))
		})
		if err != nil {
			return err
		}
		pass.Done += int(n)
		pass.Remaining += len(stale) - int(n)
	}
}

// FirstKey returns a digest of the key that secrets are sealed with, by which
// two processes can tell that they have the same.
func (db *DB) FirstKey() string { return db.seal.first }

// KeyDigest is FirstKey of a database that is opened with these keys.
func KeyDigest(keys []string) (string, error) {
	s, err := newSealer(keys)
	if err != nil {
		return "", err
	}
	return s.first, nil
}

func digestOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("flightwire secret key\n"), key...))
	return hex.EncodeToString(sum[:8])
}
