package access

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Accounts makes and changes accounts and their tokens, in the operator's name.
// It is safe for concurrent use.
type Accounts struct {
	Plans Plans // that accounts may be on; nil: the built-in ones

	db    *db.DB
	redis redis.UniversalClient
}

// Account is an account without its token.
type Account struct {
	ID         string
	Name       string
	Plan       string
	Keys       int // that are in use
	CreatedAt  flight.Time
	DisabledAt flight.Time // unknown: in use
	TokenAt    flight.Time // when its token was last issued; unknown: it has none
}

// IssuedToken is an account's token with its secret, which is shown this once.
type IssuedToken struct {
	ID        string      `json:"id"`      // of the account
	Account   string      `json:"account"` // the account's name
	Plan      string      `json:"plan"`
	Token     string      `json:"token"`
	CreatedAt flight.Time `json:"createdAt"` // of the account
}

// NewAccounts returns an Accounts on the database and the Redis that the Guards
// use.
func NewAccounts(d *db.DB, r redis.UniversalClient) *Accounts { return &Accounts{db: d, redis: r} }

// Create makes an account and its token. The errors are CodeInvalid for a name
// or plan that cannot be, and CodeConflict when there is one of that name.
func (a *Accounts) Create(ctx context.Context, name, plan string) (IssuedToken, error) {
	name = strings.TrimSpace(name)
	var v flight.Invalid
	if !validName(name) {
		v.Add("name", "must be 1 to 100 printable characters")
	}
	a.Plans.check(&v, plan)
	if err := v.Err(); err != nil {
		return IssuedToken{}, err
	}
	id, secret := newKeyID(), newSecret()
	account, err := a.db.CreateAccount(ctx, db.Operator, name, plan, id, hashSecret(ofToken(secret)))
	if err != nil {
		return IssuedToken{}, err
	}
	return issuedToken(account, id, secret), nil
}

// IssueToken gives an account a token in place of the one that it has, if any.
// Once it has returned, the old one is refused on every process. CodeNotFound
// when there is no such account; any error that is not one of the domain leaves
// open whether it was issued: issue it again.
func (a *Accounts) IssueToken(ctx context.Context, name string) (out IssuedToken, err error) {
	secret := newSecret()
	err = a.change(ctx, func(ctx context.Context, hold db.Hold) error {
		id, account, err := a.db.IssueToken(ctx, db.Operator, strings.TrimSpace(name), newKeyID(), hashSecret(ofToken(secret)), hold)
		out = issuedToken(account, id, secret)
		return err
	})
	if err != nil {
		return IssuedToken{}, err
	}
	return out, nil
}

// List returns every account, by name.
func (a *Accounts) List(ctx context.Context) ([]Account, error) {
	rows, err := a.db.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Account, len(rows))
	for i, r := range rows {
		out[i] = accountOf(r)
	}
	return out, nil
}

// SetPlan moves an account to another plan. Once it has returned, every process
// goes by it. The errors are CodeInvalid for a plan that there is not,
// CodeNotFound when there is no such account; any other leaves open whether it
// was moved: move it again.
func (a *Accounts) SetPlan(ctx context.Context, name, plan string) (Account, error) {
	var v flight.Invalid
	if a.Plans.check(&v, plan); len(v) > 0 {
		return Account{}, v.Err()
	}
	return a.changed(ctx, func(ctx context.Context, hold db.Hold) (db.Account, error) {
		return a.db.SetPlan(ctx, db.Operator, strings.TrimSpace(name), plan, hold)
	})
}

const (
	pauseAtOnce  = 200
	pauseTimeout = 30 * time.Second // of so many
)

// Disable refuses an account's keys and its token on every process, and pauses
// its subscriptions. On a disabled one it pauses what is not paused yet. The
// errors are CodeNotFound when there is no such account; any other leaves open
// how far it came: do it again.
func (a *Accounts) Disable(ctx context.Context, name string) (Account, error) {
	account, err := a.setDisabled(ctx, name, true)
	for n := 1; err == nil && n > 0; {
		n, err = a.pauseSome(ctx, account.ID)
	}
	return account, err
}

func (a *Accounts) pauseSome(ctx context.Context, account string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, pauseTimeout)
	defer cancel()
	n, err := a.db.PauseDisabled(ctx, account, pauseAtOnce)
	if err != nil && flight.CodeOf(err) == flight.CodeInternal {
		err = &flight.Error{Code: flight.CodeInternal, Cause: err,
			Message: "The account is disabled, but not all of its subscriptions are paused yet: disable it once more."}
	}
	return n, err
}

// Enable takes a disabled account into use again: its keys and its token work
// as before, and its subscriptions stay paused until each is resumed. On one in
// use it changes nothing. The errors are those of SetPlan.
func (a *Accounts) Enable(ctx context.Context, name string) (Account, error) {
	return a.setDisabled(ctx, name, false)
}

func (a *Accounts) setDisabled(ctx context.Context, name string, disabled bool) (Account, error) {
	return a.changed(ctx, func(ctx context.Context, hold db.Hold) (db.Account, error) {
		return a.db.SetDisabled(ctx, db.Operator, strings.TrimSpace(name), disabled, hold)
	})
}

func (a *Accounts) changed(ctx context.Context, op func(context.Context, db.Hold) (db.Account, error)) (out Account, err error) {
	err = a.change(ctx, func(ctx context.Context, hold db.Hold) error {
		account, err := op(ctx, hold)
		out = accountOf(account)
		return err
	})
	return out, err
}

// change is [Keys.change] for all keys of an account and its token, which op
// names to hold before it commits.
func (a *Accounts) change(ctx context.Context, op func(context.Context, db.Hold) error) error {
	var held []string
	opCtx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	err := op(opCtx, func(ctx context.Context, ids []string) error {
		held = ids // when op is run again, it is for the same account
		return a.each(ctx, ids, func(ctx context.Context, p redis.Pipeliner, key string) { p.Set(ctx, key, entryHeld, heldFor) })
	})
	if err != nil && flight.CodeOf(err) == flight.CodeInternal {
		return err // it may yet be committed, so the holds stay
	}
	_ = a.each(context.WithoutCancel(ctx), held, func(ctx context.Context, p redis.Pipeliner, key string) { p.Del(ctx, key) })
	return err
}

// each does something to the entries of ids in one round trip.
func (a *Accounts) each(ctx context.Context, ids []string, do func(context.Context, redis.Pipeliner, string)) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	pipe := a.redis.Pipeline()
	for _, id := range ids {
		do(ctx, pipe, entryKey(id))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return unheld(err)
	}
	return nil
}

func issuedToken(a db.Account, id, secret string) IssuedToken {
	return IssuedToken{ID: a.ID, Account: a.Name, Plan: a.Plan, Token: tokenText(id, secret), CreatedAt: flight.TimeOf(a.CreatedAt)}
}

func accountOf(a db.Account) Account {
	return Account{ID: a.ID, Name: a.Name, Plan: a.Plan, Keys: a.Keys, CreatedAt: flight.TimeOf(a.CreatedAt),
		DisabledAt: flight.TimeOf(a.DisabledAt), TokenAt: flight.TimeOf(a.TokenAt)}
}
