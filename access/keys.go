package access

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

const changeTimeout = 10 * time.Second // well under heldFor

// Keys makes and changes API keys. It is safe for concurrent use.
type Keys struct {
	Plans Plans // that accounts may be on; nil: the built-in ones

	db    *db.DB
	redis redis.UniversalClient
}

// IssuedKey is a key with its secret, which is shown this once.
type IssuedKey struct {
	ID        string      `json:"id"`
	Key       string      `json:"key"`
	Account   string      `json:"account"` // the account's name
	Plan      string      `json:"plan"`
	CreatedAt flight.Time `json:"createdAt"`
}

// Key is a key without its secret.
type Key struct {
	ID        string
	AccountID string
	Account   string // the account's name
	Plan      string
	CreatedAt flight.Time
	RotatedAt flight.Time // unknown: never rotated
	RevokedAt flight.Time // unknown: in use
}

// NewKeys returns a Keys on the database and the Redis that the Guards use.
func NewKeys(d *db.DB, r redis.UniversalClient) *Keys { return &Keys{db: d, redis: r} }

// Create makes a key for the account with that name, and the account when
// there is none. The plan may be left out for an account that exists. The
// errors are CodeInvalid for a name or plan that cannot be, and CodeConflict
// when the account is on another plan.
//
// Redis has no part in it: nobody can have asked for a random id before.
func (k *Keys) Create(ctx context.Context, account, plan string) (IssuedKey, error) {
	account = strings.TrimSpace(account)
	var v flight.Invalid
	if !validName(account) {
		v.Add("account", "must be 1 to 100 printable characters")
	}
	if plan != "" {
		k.Plans.check(&v, plan)
	}
	if err := v.Err(); err != nil {
		return IssuedKey{}, err
	}
	id, secret := newKeyID(), newSecret()
	key, err := k.db.CreateKey(ctx, account, plan, id, hashSecret(secret))
	if err != nil {
		return IssuedKey{}, err
	}
	return issued(key, secret), nil
}

func validName(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= 100 &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// List returns every key, revoked ones too, oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	rows, err := k.db.Keys(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(rows))
	for i, r := range rows {
		keys[i] = keyOf(r)
	}
	return keys, nil
}

// Rotate gives a key a new secret. Everything else about it stays. Once it has
// returned, the old secret is refused on every process. The errors are
// CodeNotFound when there is no such key and CodeConflict when it is revoked;
// any other leaves open whether the key was rotated: rotate it again.
func (k *Keys) Rotate(ctx context.Context, id string) (IssuedKey, error) {
	secret := newSecret()
	key, err := k.change(ctx, id, func(ctx context.Context) (db.APIKey, error) {
		return k.db.RotateKey(ctx, id, hashSecret(secret))
	})
	if err != nil {
		return IssuedKey{}, err
	}
	return issued(key, secret), nil
}

// Revoke ends a key for good; on a revoked one it changes nothing. Once it has
// returned, the key is refused on every process. CodeNotFound when there is no
// such key; any other error leaves open whether it was revoked: do it again.
func (k *Keys) Revoke(ctx context.Context, id string) (Key, error) {
	key, err := k.change(ctx, id, func(ctx context.Context) (db.APIKey, error) {
		return k.db.RevokeKey(ctx, id)
	})
	return keyOf(key), err
}

// change runs op, which changes a key's row, so that from its return on no
// process accepts what stood there before. While it runs, the entry is held
// and every check reads the row. Should this process die, or Redis, the hold
// stands for longer than op can take.
func (k *Keys) change(ctx context.Context, id string, op func(context.Context) (db.APIKey, error)) (db.APIKey, error) {
	if !validID(id) {
		return db.APIKey{}, flight.Errorf(flight.CodeNotFound, "There is no API key with the id %q.", id)
	}
	if err := k.redis.Set(ctx, entryKey(id), entryHeld, heldFor).Err(); err != nil {
		return db.APIKey{}, &flight.Error{Code: flight.CodeInternal, Cause: err,
			Message: "Nothing was changed, because Redis cannot be reached to tell every process: try again."}
	}
	opCtx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	key, err := op(opCtx)
	if err != nil && flight.CodeOf(err) == flight.CodeInternal {
		return db.APIKey{}, err // it may yet be committed, so the hold stays
	}
	delCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTimeout)
	defer cancel()
	_ = k.redis.Del(delCtx, entryKey(id)).Err() // if not: the hold runs out by itself
	return key, err
}

func issued(k db.APIKey, secret string) IssuedKey {
	return IssuedKey{ID: k.ID, Key: keyText(k.ID, secret), Account: k.AccountName, Plan: k.Plan,
		CreatedAt: flight.TimeOf(k.CreatedAt)}
}

func keyOf(k db.APIKey) Key {
	return Key{ID: k.ID, AccountID: k.Account, Account: k.AccountName, Plan: k.Plan,
		CreatedAt: flight.TimeOf(k.CreatedAt), RotatedAt: flight.TimeOf(k.RotatedAt), RevokedAt: flight.TimeOf(k.RevokedAt)}
}
