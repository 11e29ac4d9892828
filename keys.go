package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// keysCommand are the commands about API keys.
type keysCommand struct {
	Create keysCreate `cmd:"" help:"Make a key, and the account when there is none. The key is shown this once."`
	List   keysList   `cmd:"" help:"List every key, revoked ones too, oldest first."`
	Rotate keysRotate `cmd:"" help:"Give a key a new secret; the old one is refused at once."`
	Revoke keysRevoke `cmd:"" help:"End a key for good."`
}

// keyStore makes and changes keys: access.Keys, or the process that has the
// embedded database open.
type keyStore interface {
	Create(ctx context.Context, account, plan string) (access.IssuedKey, error)
	List(context.Context) ([]access.Key, error)
	Rotate(ctx context.Context, id string) (access.IssuedKey, error)
	Revoke(ctx context.Context, id string) (access.Key, error)
}

// keySettings say where the keys are.
type keySettings struct {
	storage
	Migrate string `default:"auto" env:"FLIGHTWIRE_MIGRATE" placeholder:"MODE" help:"auto: bring the database's schema up to date first; off: do not."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

type keysCreate struct {
	keySettings
	Account string `required:"" placeholder:"NAME" help:"Name of the account."`
	Plan    string `placeholder:"PLAN" help:"free, starter, pro, unlimited or one of FLIGHTWIRE_PLANS; may be left out for an account that exists."`
}

// Run makes a key.
func (k *keysCreate) Run(s session) error {
	return k.with(s, false, func(keys keyStore) error {
		key, err := keys.Create(s, k.Account, k.Plan)
		if err != nil {
			return err
		}
		return k.printIssued(s.stdout, key)
	})
}

type keysRotate struct {
	keySettings
	ID string `arg:"" help:"The key's id."`
}

// Run rotates a key.
func (k *keysRotate) Run(s session) error {
	return k.with(s, true, func(keys keyStore) error {
		key, err := keys.Rotate(s, k.ID)
		if err != nil {
			return err
		}
		return k.printIssued(s.stdout, key)
	})
}

type keysRevoke struct {
	keySettings
	ID string `arg:"" help:"The key's id."`
}

// Run revokes a key.
func (k *keysRevoke) Run(s session) error {
	return k.with(s, true, func(keys keyStore) error {
		key, err := keys.Revoke(s, k.ID)
		if err != nil {
			return err
		}
		if k.JSON {
			return printJSON(s.stdout, viewOf(key))
		}
		_, err = fmt.Fprintf(s.stdout, "revoked %s of %s\n", key.ID, key.Account)
		return err
	})
}

type keysList struct{ keySettings }

// Run lists every key.
func (k *keysList) Run(s session) error {
	return k.with(s, false, func(keys keyStore) error {
		list, err := keys.List(s)
		if err != nil {
			return err
		}
		if k.JSON {
			views := make([]keyView, len(list))
			for i, key := range list {
				views[i] = viewOf(key)
			}
			return printJSON(s.stdout, views)
		}
		w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ID\tACCOUNT\tPLAN\tCREATED\tROTATED\tREVOKED")
		for _, key := range list {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", key.ID, key.Account, key.Plan, key.CreatedAt, key.RotatedAt, key.RevokedAt)
		}
		return w.Flush()
	})
}

// keyView is a key in JSON, without its secret.
type keyView struct {
	ID        string      `json:"id"`
	Account   string      `json:"account"`
	Plan      string      `json:"plan"`
	CreatedAt flight.Time `json:"createdAt"`
	RotatedAt flight.Time `json:"rotatedAt,omitzero"`
	RevokedAt flight.Time `json:"revokedAt,omitzero"`
}

func viewOf(k access.Key) keyView {
	return keyView{k.ID, k.Account, k.Plan, k.CreatedAt, k.RotatedAt, k.RevokedAt}
}

func (k *keySettings) printIssued(w io.Writer, key access.IssuedKey) error {
	if k.JSON {
		return printJSON(w, key)
	}
	_, err := fmt.Fprintf(w, "id       %s\naccount  %s\nplan     %s\nkey      %s\n\nThe key is not shown again.\n", key.ID, key.Account, key.Plan, key.Key)
	return err
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// with runs f on the keys: on the servers that the settings name, else in the
// process that has the data folder open, else on the folder itself. changing
// says that f must reach every process that knows the key.
func (k *keySettings) with(s session, changing bool, f func(keyStore) error) (err error) {
	var c Config
	if err := k.fill(&c); err != nil {
		return err
	}
	off, err := migrateOff(k.Migrate)
	if err != nil {
		return err
	}
	if c.DatabaseURL == "" || c.RedisURL == "" {
		if remote, ok := dialKeys(c.DataDir); ok {
			return f(remote)
		}
	}
	if c.DatabaseURL != "" && c.RedisURL == "" && changing {
		return usagef("REDIS_URL is needed as well: through it every process hears that a key has changed")
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
	store := access.NewKeys(d, r)
	store.Plans = c.Plans
	return f(store)
}

// openStorage opens the database for a command that seals nothing: on
// PostgreSQL it needs no secret key.
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
