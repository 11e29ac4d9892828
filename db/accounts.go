package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Account owns subscriptions, keys and at most one account token.
type Account struct {
	ID         string
	Name       string
	Plan       string
	Keys       int // that are in use
	CreatedAt  time.Time
	DisabledAt time.Time // zero: in use
	TokenAt    time.Time // when its token was last issued; zero: it has none
}

type accountRow struct {
	ID         string `db:"id"`
	Name       string `db:"name"`
	Plan       string `db:"plan"`
	Keys       int    `db:"keys"`
	CreatedAt  Time   `db:"created_at"`
	DisabledAt Time   `db:"disabled_at"`
	TokenAt    Time   `db:"token_at"`
}

func (r accountRow) account() Account {
	return Account{r.ID, r.Name, r.Plan, r.Keys, r.CreatedAt.Std(), r.DisabledAt.Std(), r.TokenAt.Std()}
}

const selectAccounts = `SELECT a.id, a.name, a.plan, a.created_at, a.disabled_at, COALESCE(t.rotated_at, t.created_at) AS token_at,
		(SELECT count(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL) AS keys
	FROM accounts a LEFT JOIN account_tokens t ON t.account_id = a.id `

// Hold is called in a transaction that changes what stands of an account, with
// the ids of every key and token that it has in use, before the commit: until
// then no other can be made. When it fails, nothing is changed.
type Hold func(ctx context.Context, ids []string) error

// errDisabled is the refusal of a disabled account.
func errDisabled() error {
	return flight.Errorf(flight.CodeAccountDisabled, "The account is disabled. Ask whoever runs this service to enable it.")
}

// Accounts returns every account, by name.
func (db *DB) Accounts(ctx context.Context) ([]Account, error) {
	var rows []accountRow
	if err := db.sel(ctx, &rows, selectAccounts+`ORDER BY a.name`); err != nil {
		return nil, domainError(ctx, "accounts", err)
	}
	out := make([]Account, len(rows))
	for i, r := range rows {
		out[i] = r.account()
	}
	return out, nil
}

// Account returns the account with that id; CodeNotFound when there is none.
func (db *DB) Account(ctx context.Context, id string) (Account, error) {
	var row accountRow
	err := db.get(ctx, &row, selectAccounts+`WHERE a.id = $1`, id)
	return row.account(), domainError(ctx, "account", err)
}

// AccountNamed returns the account with that name; CodeNotFound when there is
// none.
func (db *DB) AccountNamed(ctx context.Context, name string) (Account, error) {
	a, err := db.accountNamed(ctx, name)
	return a, domainError(ctx, "account", err)
}

func (q queries) accountNamed(ctx context.Context, name string) (Account, error) {
	var row accountRow
	err := q.get(ctx, &row, selectAccounts+`WHERE a.name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		err = &flight.Error{Code: flight.CodeNotFound, Message: "There is no account " + name + ".", Cause: err}
	}
	return row.account(), err
}

// CreateAccount makes an account with a token. CodeConflict when there is one
// of that name.
func (db *DB) CreateAccount(ctx context.Context, by Actor, name, plan, tokenID, tokenHash string) (a Account, err error) {
	err = db.tx(ctx, "create account", func(tx *Tx) error {
		now := At(db.Now())
		made, err := tx.makeAccount(ctx, by, name, plan, now)
		if err != nil {
			return err
		}
		if a, err = tx.accountNamed(ctx, name); err != nil {
			return err
		}
		if !made {
			return flight.Errorf(flight.CodeConflict, "There is an account %s already: accounts token issues it a token.", name)
		}
		if err := tx.putToken(ctx, by, a.ID, tokenID, tokenHash, now); err != nil {
			return err
		}
		a, err = tx.accountNamed(ctx, name)
		return err
	})
	return a, err
}

// makeAccount makes an account unless there is one of that name.
func (tx *Tx) makeAccount(ctx context.Context, by Actor, name, plan string, now Time) (made bool, err error) {
	id := newID("acc_")
	n, err := tx.exec(ctx, `
		INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO NOTHING`, id, name, plan, now)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.audit(ctx, by, id, ActionAccountCreated, id, "plan "+plan)
}

func (tx *Tx) putToken(ctx context.Context, by Actor, account, id, hash string, now Time) error {
	_, err := tx.exec(ctx, `INSERT INTO account_tokens (id, account_id, hash, version, created_at) VALUES ($1, $2, $3, 1, $4)`,
		id, account, hash, now)
	if err != nil {
		return err
	}
	return tx.audit(ctx, by, account, ActionTokenIssued, id, "")
}

// IssueToken gives the token of an account the hash of a new secret, or makes
// one under tokenID when it has none. It returns the token's id. CodeNotFound
// when there is no such account.
func (db *DB) IssueToken(ctx context.Context, by Actor, name, tokenID, hash string, hold Hold) (id string, a Account, err error) {
	a, err = db.changeAccount(ctx, "issue token", name, hold, func(tx *Tx, a Account) error {
		now := At(db.Now())
		err := tx.get(ctx, &id, `SELECT id FROM account_tokens WHERE account_id = $1`, a.ID)
		if errors.Is(err, sql.ErrNoRows) {
			id = tokenID
			return tx.putToken(ctx, by, a.ID, id, hash, now)
		}
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE account_tokens SET hash = $2, version = version + 1, rotated_at = $3 WHERE id = $1`, id, hash, now); err != nil {
			return err
		}
		return tx.audit(ctx, by, a.ID, ActionTokenIssued, id, "in place of the one before")
	})
	return id, a, err
}

// SetPlan moves an account to another plan. CodeNotFound when there is no such
// account.
func (db *DB) SetPlan(ctx context.Context, by Actor, name, plan string, hold Hold) (Account, error) {
	return db.changeAccount(ctx, "set plan", name, hold, func(tx *Tx, a Account) error {
		if a.Plan == plan {
			return nil
		}
		if _, err := tx.exec(ctx, `UPDATE accounts SET plan = $2 WHERE id = $1`, a.ID, plan); err != nil {
			return err
		}
		return tx.audit(ctx, by, a.ID, ActionAccountPlan, a.ID, a.Plan+" to "+plan)
	})
}

// SetDisabled disables an account or takes it into use again. From the commit
// on nobody makes or resumes a subscription of a disabled one; those that there
// are go on until [DB.PauseDisabled]. CodeNotFound when there is no such
// account.
func (db *DB) SetDisabled(ctx context.Context, by Actor, name string, disabled bool, hold Hold) (Account, error) {
	return db.changeAccount(ctx, "set disabled", name, hold, func(tx *Tx, a Account) error {
		if disabled != a.DisabledAt.IsZero() {
			return nil // it is so already
		}
		at, action := Time{}, ActionAccountEnabled
		if disabled {
			at, action = At(db.Now()), ActionAccountDisabled
		}
		if _, err := tx.exec(ctx, `UPDATE accounts SET disabled_at = $2 WHERE id = $1`, a.ID, at); err != nil {
			return err
		}
		return tx.audit(ctx, by, a.ID, action, a.ID, "")
	})
}

// changeAccount runs change on an account whose row is locked, after hold has
// been told of all that it lets in.
func (db *DB) changeAccount(ctx context.Context, op, name string, hold Hold, change func(*Tx, Account) error) (a Account, err error) {
	err = db.tx(ctx, op, func(tx *Tx) error {
		var locked string // before it is read, so that nothing is older than the lock
		err := tx.get(ctx, &locked, `SELECT id FROM accounts WHERE name = $1`+tx.kind.forUpdate(), name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if a, err = tx.accountNamed(ctx, name); err != nil {
			return err
		}
		var ids []string
		if err := tx.sel(ctx, &ids, `SELECT id FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL
			UNION ALL SELECT id FROM account_tokens WHERE account_id = $1`, a.ID); err != nil {
			return err
		}
		if err := hold(ctx, ids); err != nil {
			return err
		}
		if err := change(tx, a); err != nil {
			return err
		}
		a, err = tx.accountNamed(ctx, name)
		return err
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}

// inUse is CodeAccountDisabled when an account is disabled. It cannot become so
// before the transaction ends. One that is not there is not disabled.
func (tx *Tx) inUse(ctx context.Context, account string) error {
	var disabled Time
	err := tx.get(ctx, &disabled, `SELECT disabled_at FROM accounts WHERE id = $1`+tx.kind.forKeyShare(), account)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && !disabled.Std().IsZero():
		return errDisabled()
	}
	return err
}
