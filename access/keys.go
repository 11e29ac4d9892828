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

// MaxKeys is how many keys an account may have had in use in a month when it
// makes one by itself. The operator is bound by nothing.
const MaxKeys = 50

// Keys makes and changes API keys, in the operator's name. It is safe for
// concurrent use.
type Keys struct {
	Plans Plans // that accounts may be on; nil: the built-in ones

	db    *db.DB
	redis redis.UniversalClient
	by    db.Actor
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

	LastUsedAt flight.Time // some seconds behind; unknown: never used
}

// NewKeys returns a Keys on the database and the Redis that the Guards use.
func NewKeys(d *db.DB, r redis.UniversalClient) *Keys {
	return &Keys{db: d, redis: r, by: db.Operator}
}

// For returns the keys of one account, for whoever has its token: another
// account's key is CodeNotFound.
func (k *Keys) For(who Identity) *AccountKeys {
	own := *k
	own.by = who.Actor()
	return &AccountKeys{own}
}

// AccountKeys makes and changes the API keys of one account.
type AccountKeys struct{ keys Keys }

// Create makes a key. CodeConflict when the account has had MaxKeys this month.
func (a *AccountKeys) Create(ctx context.Context) (IssuedKey, error) {
	id, secret := newKeyID(), newSecret()
	key, err := a.keys.db.AddKey(ctx, a.keys.by, id, hashSecret(secret), MaxKeys)
	if err != nil {
		return IssuedKey{}, err
	}
	return issued(key, secret), nil
}

// List returns every key, revoked ones too, oldest first.
func (a *AccountKeys) List(ctx context.Context) ([]Key, error) {
	return keysOf(a.keys.db.KeysOf(ctx, a.keys.by.Account))
}

// Rotate is [Keys.Rotate].
func (a *AccountKeys) Rotate(ctx context.Context, id string) (IssuedKey, error) {
	if err := a.owns(ctx, id); err != nil {
		return IssuedKey{}, err
	}
	return a.keys.Rotate(ctx, id)
}

// Revoke is [Keys.Revoke].
func (a *AccountKeys) Revoke(ctx context.Context, id string) (Key, error) {
	if err := a.owns(ctx, id); err != nil {
		return Key{}, err
	}
	return a.keys.Revoke(ctx, id)
}

// owns is CodeNotFound unless the account has that key. It is asked before the
// entry is held, so that nobody holds up another's key.
func (a *AccountKeys) owns(ctx context.Context, id string) error {
	if !validID(id) {
		return noKey(id)
	}
	switch key, err := a.keys.db.Key(ctx, id); {
	case flight.CodeOf(err) == flight.CodeNotFound, err == nil && key.Account != a.keys.by.Account:
		return noKey(id)
	default:
		return err
	}
}

func noKey(id string) error {
	return flight.Errorf(flight.CodeNotFound, "There is no API key with the id %.64q.", strings.ToValidUTF8(id, "?"))
}

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
	key, err := k.db.CreateKey(ctx, k.by, account, plan, id, hashSecret(secret))
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
	return keysOf(k.db.Keys(ctx))
}

func keysOf(rows []db.APIKey, err error) ([]Key, error) {
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
		return k.db.RotateKey(ctx, k.by, id, hashSecret(secret))
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
		return k.db.RevokeKey(ctx, k.by, id)
	})
	return keyOf(key), err
}

// change runs op, which changes a key's row, so that from its return on no
// process accepts what stood there before. While it runs, the entry is held
// and every check reads the row. Should this process die, or Redis, the hold
// stands for longer than op can take.
func (k *Keys) change(ctx context.Context, id string, op func(context.Context) (db.APIKey, error)) (db.APIKey, error) {
	if !validID(id) {
		return db.APIKey{}, noKey(id)
	}
	if err := k.redis.Set(ctx, entryKey(id), entryHeld, heldFor).Err(); err != nil {
		return db.APIKey{}, unheld(err)
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

// unheld is the error of a change that was not begun.
func unheld(cause error) error {
	return &flight.Error{Code: flight.CodeInternal, Cause: cause,
		Message: "Nothing was changed, because Redis cannot be reached to tell every process: try again."}
}

func issued(k db.APIKey, secret string) IssuedKey {
	return IssuedKey{ID: k.ID, Key: keyText(k.ID, secret), Account: k.AccountName, Plan: k.Plan,
		CreatedAt: flight.TimeOf(k.CreatedAt)}
}

func keyOf(k db.APIKey) Key {
	return Key{ID: k.ID, AccountID: k.Account, Account: k.AccountName, Plan: k.Plan,
		CreatedAt: flight.TimeOf(k.CreatedAt), RotatedAt: flight.TimeOf(k.RotatedAt), RevokedAt: flight.TimeOf(k.RevokedAt),
		LastUsedAt: flight.TimeOf(k.LastUsedAt)}
}
