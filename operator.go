package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// operator is what the commands of whoever runs the service do: here, or in the
// process that has the embedded database open.
type operator interface {
	CreateKey(ctx context.Context, account, plan string) (access.IssuedKey, error)
	Keys(context.Context) ([]access.Key, error)
	RotateKey(ctx context.Context, id string) (access.IssuedKey, error)
	RevokeKey(ctx context.Context, id string) (access.Key, error)

	CreateAccount(ctx context.Context, name, plan string) (access.IssuedToken, error)
	IssueToken(ctx context.Context, name string) (access.IssuedToken, error)
	Accounts(context.Context) ([]access.Account, error)
	SetPlan(ctx context.Context, name, plan string) (access.Account, error)
	SetDisabled(ctx context.Context, name string, disabled bool) (access.Account, error)

	// month is such as "2026-11"; "" is the present one.
	Usage(ctx context.Context, month string) ([]db.AccountUsage, error)
	// account is a name; "" is everybody.
	Audit(ctx context.Context, account string, limit int) ([]db.AuditEntry, error)
	// firstKey is the digest of the key that is meant; "" is whichever is first.
	Reencrypt(ctx context.Context, firstKey string) (db.Reencrypted, error)
}

// local is the operator of the process that has the database open.
type local struct {
	db       *db.DB
	keys     *access.Keys
	accounts *access.Accounts
}

func newLocal(d *db.DB, r redis.UniversalClient, plans access.Plans) *local {
	l := &local{d, access.NewKeys(d, r), access.NewAccounts(d, r)}
	l.keys.Plans, l.accounts.Plans = plans, plans
	return l
}

func (l *local) CreateKey(ctx context.Context, account, plan string) (access.IssuedKey, error) {
	return l.keys.Create(ctx, account, plan)
}

func (l *local) Keys(ctx context.Context) ([]access.Key, error) { return l.keys.List(ctx) }

func (l *local) RotateKey(ctx context.Context, id string) (access.IssuedKey, error) {
	return l.keys.Rotate(ctx, id)
}

func (l *local) RevokeKey(ctx context.Context, id string) (access.Key, error) {
	return l.keys.Revoke(ctx, id)
}

func (l *local) CreateAccount(ctx context.Context, name, plan string) (access.IssuedToken, error) {
	return l.accounts.Create(ctx, name, plan)
}

func (l *local) IssueToken(ctx context.Context, name string) (access.IssuedToken, error) {
	return l.accounts.IssueToken(ctx, name)
}

func (l *local) Accounts(ctx context.Context) ([]access.Account, error) { return l.accounts.List(ctx) }

func (l *local) SetPlan(ctx context.Context, name, plan string) (access.Account, error) {
	return l.accounts.SetPlan(ctx, name, plan)
}

func (l *local) SetDisabled(ctx context.Context, name string, disabled bool) (access.Account, error) {
	if disabled {
		return l.accounts.Disable(ctx, name)
	}
	return l.accounts.Enable(ctx, name)
}

func (l *local) Usage(ctx context.Context, month string) ([]db.AccountUsage, error) {
	if month == "" {
		month = l.db.Now().Format(monthLayout)
	}
	return l.db.UsageOfAll(ctx, month)
}

func (l *local) Audit(ctx context.Context, account string, limit int) ([]db.AuditEntry, error) {
	if account == "" {
		return l.db.Audit(ctx, "", limit)
	}
	a, err := l.db.AccountNamed(ctx, account)
	if err != nil {
		return nil, err
	}
	return l.db.Audit(ctx, a.ID, limit)
}

func (l *local) Reencrypt(ctx context.Context, firstKey string) (db.Reencrypted, error) {
	if firstKey != "" && firstKey != l.db.FirstKey() {
		return db.Reencrypted{}, flight.Errorf(flight.CodeInvalid,
			"the running process encrypts under another key: start it with the same FLIGHTWIRE_SECRET_KEY first")
	}
	return l.db.Reencrypt(ctx, db.Operator)
}

// operatorSettings say where the operator's commands work.
type operatorSettings struct {
	storage
	Migrate string `default:"auto" env:"FLIGHTWIRE_MIGRATE" placeholder:"MODE" help:"auto: bring the database's schema up to date first; off: do not."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// with runs f: on the servers that the settings name, else in the process that
// has the data folder open, else on the folder itself. changing says that f
// must reach every process that knows a key.
func (k *operatorSettings) with(s session, changing bool, f func(operator) error) (err error) {
	var c Config
	if err := k.fill(&c); err != nil {
		return err
	}
	off, err := migrateOff(k.Migrate)
	if err != nil {
		return err
	}
	if c.DatabaseURL == "" || c.RedisURL == "" {
		if there, ok := dialOperator(c.DataDir); ok {
			return f(there)
		}
	}
	if c.DatabaseURL != "" && c.RedisURL == "" && changing {
		return usagef("REDIS_URL is needed as well: through it every process hears of the change")
	}
	d, err := openStorage(s, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if off {
		if current, err := d.Current(s); err != nil || !current {
			return errors.Join(err, errNotCurrent)
		}
	} else if _, err := d.MigrateUp(s); err != nil {
		return err
	}
	r, err := openRedis(s, c.RedisURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return f(newLocal(d, r, c.Plans))
}

// openStorage opens the database. Without a secret key, PostgreSQL is opened
// for a command that seals and opens nothing.
func openStorage(ctx context.Context, c Config) (*db.DB, error) {
	switch {
	case len(c.SecretKeys) > 0:
	case c.DatabaseURL == "":
		var err error
		if c.SecretKeys, err = keptSecret(c.DataDir); err != nil {
			return nil, err
		}
	default:
		var unused [32]byte
		_, _ = rand.Read(unused[:]) // never fails
		c.SecretKeys = []string{base64.StdEncoding.EncodeToString(unused[:])}
	}
	return db.Open(ctx, db.Config{URL: c.DatabaseURL, Dir: c.DataDir, Keys: c.SecretKeys})
}
