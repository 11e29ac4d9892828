package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// keysCommand are the commands about API keys.
type keysCommand struct {
	Create keysCreate `cmd:"" help:"Make a key, and the account when there is none. The key is shown this once."`
	List   keysList   `cmd:"" help:"List every key, revoked ones too, oldest first."`
	Rotate keysRotate `cmd:"" help:"Give a key a new secret; the old one is refused at once."`
	Revoke keysRevoke `cmd:"" help:"End a key for good."`
}

type keysCreate struct {
	operatorSettings
	Account string `required:"" placeholder:"NAME" help:"Name of the account."`
	Plan    string `placeholder:"PLAN" help:"free, starter, pro, unlimited or one of FLIGHTWIRE_PLANS; may be left out for an account that exists."`
}

// Run makes a key.
func (k *keysCreate) Run(s session) error {
	return k.with(s, false, func(o operator) error {
		key, err := o.CreateKey(s, k.Account, k.Plan)
		if err != nil {
			return err
		}
		return k.printIssued(s.stdout, key)
	})
}

type keysRotate struct {
	operatorSettings
	ID string `arg:"" help:"The key's id."`
}

// Run rotates a key.
func (k *keysRotate) Run(s session) error {
	return k.with(s, true, func(o operator) error {
		key, err := o.RotateKey(s, k.ID)
		if err != nil {
			return err
		}
		return k.printIssued(s.stdout, key)
	})
}

type keysRevoke struct {
	operatorSettings
	ID string `arg:"" help:"The key's id."`
}

// Run revokes a key.
func (k *keysRevoke) Run(s session) error {
	return k.with(s, true, func(o operator) error {
		key, err := o.RevokeKey(s, k.ID)
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

type keysList struct{ operatorSettings }

// Run lists every key.
func (k *keysList) Run(s session) error {
	return k.with(s, false, func(o operator) error {
		list, err := o.Keys(s)
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
		_, _ = fmt.Fprintln(w, "ID\tACCOUNT\tPLAN\tCREATED\tLAST USED\tROTATED\tREVOKED")
		for _, key := range list {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key.ID, key.Account, key.Plan, key.CreatedAt, key.LastUsedAt, key.RotatedAt, key.RevokedAt)
		}
		return w.Flush()
	})
}

// keyView is a key in JSON, without its secret.
type keyView struct {
	ID         string      `json:"id"`
	Account    string      `json:"account"`
	Plan       string      `json:"plan"`
	CreatedAt  flight.Time `json:"createdAt"`
	LastUsedAt flight.Time `json:"lastUsedAt,omitzero"` // some seconds behind
	RotatedAt  flight.Time `json:"rotatedAt,omitzero"`
	RevokedAt  flight.Time `json:"revokedAt,omitzero"`
}

func viewOf(k access.Key) keyView {
	return keyView{k.ID, k.Account, k.Plan, k.CreatedAt, k.LastUsedAt, k.RotatedAt, k.RevokedAt}
}

func (k *operatorSettings) printIssued(w io.Writer, key access.IssuedKey) error {
	if k.JSON {
		return printJSON(w, key)
	}
	_, err := fmt.Fprintf(w, "id       %s\naccount  %s\nplan     %s\nkey      %s\n\nThe key is not shown again.\n", key.ID, key.Account, key.Plan, key.Key)
	return err
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
