package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// accountsCommand are the commands about accounts.
type accountsCommand struct {
	Create  accountsCreate  `cmd:"" help:"Make an account with a token for its dashboard. The token is shown this once."`
	List    accountsList    `cmd:"" help:"List every account, by name."`
	Token   accountsToken   `cmd:"" help:"Issue an account a token, which is shown this once; the one before is refused at once."`
	Plan    accountsPlan    `cmd:"" help:"Move an account to another plan, from the next request on."`
	Disable accountsDisable `cmd:"" help:"Refuse an account's keys and token at once, and pause its subscriptions."`
	Enable  accountsEnable  `cmd:"" help:"Take a disabled account into use again. Its subscriptions stay paused until each is resumed."`
}

type accountsCreate struct {
	operatorSettings
	Name string `arg:"" help:"Name of the account."`
	Plan string `required:"" placeholder:"PLAN" help:"free, starter, pro, unlimited or one of FLIGHTWIRE_PLANS."`
}

// Run makes an account.
func (a *accountsCreate) Run(s session) error {
	return a.with(s, false, func(o operator) error {
		token, err := o.CreateAccount(s, a.Name, a.Plan)
		if err != nil {
			return err
		}
		return a.printToken(s.stdout, token)
	})
}

type accountsToken struct {
	operatorSettings
	Name string `arg:"" help:"Name of the account."`
}

// Run issues a token.
func (a *accountsToken) Run(s session) error {
	return a.with(s, true, func(o operator) error {
		token, err := o.IssueToken(s, a.Name)
		if err != nil {
			return err
		}
		return a.printToken(s.stdout, token)
	})
}

func (a *operatorSettings) printToken(w io.Writer, t access.IssuedToken) error {
	if a.JSON {
		return printJSON(w, t)
	}
	_, err := fmt.Fprintf(w, "id       %s\naccount  %s\nplan     %s\ntoken    %s\n\nThe token is not shown again.\n", t.ID, t.Account, t.Plan, t.Token)
	return err
}

type accountsPlan struct {
	operatorSettings
	Name string `arg:"" help:"Name of the account."`
	Plan string `arg:"" help:"free, starter, pro, unlimited or one of FLIGHTWIRE_PLANS."`
}

// Run moves an account to another plan.
func (a *accountsPlan) Run(s session) error {
	return a.with(s, true, func(o operator) error {
		account, err := o.SetPlan(s, a.Name, a.Plan)
		if err != nil {
			return err
		}
		return a.printAccount(s.stdout, account, fmt.Sprintf("%s is on the plan %s", account.Name, account.Plan))
	})
}

type accountsDisable struct {
	operatorSettings
	Name string `arg:"" help:"Name of the account."`
}

// Run disables an account.
func (a *accountsDisable) Run(s session) error {
	return a.with(s, true, func(o operator) error {
		account, err := o.SetDisabled(s, a.Name, true)
		if err != nil {
			return err
		}
		return a.printAccount(s.stdout, account, account.Name+" is disabled, its subscriptions are paused")
	})
}

type accountsEnable struct {
	operatorSettings
	Name string `arg:"" help:"Name of the account."`
}

// Run takes a disabled account into use again.
func (a *accountsEnable) Run(s session) error {
	return a.with(s, true, func(o operator) error {
		account, err := o.SetDisabled(s, a.Name, false)
		if err != nil {
			return err
		}
		return a.printAccount(s.stdout, account, account.Name+" is in use; what was paused is resumed one by one")
	})
}

func (a *operatorSettings) printAccount(w io.Writer, account access.Account, line string) error {
	if a.JSON {
		return printJSON(w, accountViewOf(account))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

type accountsList struct{ operatorSettings }

// Run lists every account.
func (a *accountsList) Run(s session) error {
	return a.with(s, false, func(o operator) error {
		list, err := o.Accounts(s)
		if err != nil {
			return err
		}
		if a.JSON {
			views := make([]accountView, len(list))
			for i, account := range list {
				views[i] = accountViewOf(account)
			}
			return printJSON(s.stdout, views)
		}
		w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "NAME\tID\tPLAN\tKEYS\tCREATED\tTOKEN ISSUED\tDISABLED")
		for _, c := range list {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", c.Name, c.ID, c.Plan, c.Keys, c.CreatedAt, c.TokenAt, c.DisabledAt)
		}
		return w.Flush()
	})
}

// accountView is an account in JSON.
type accountView struct {
	ID            string      `json:"id"`
	Account       string      `json:"account"` // its name
	Plan          string      `json:"plan"`
	Keys          int         `json:"keys"` // in use
	CreatedAt     flight.Time `json:"createdAt"`
	TokenIssuedAt flight.Time `json:"tokenIssuedAt,omitzero"`
	DisabledAt    flight.Time `json:"disabledAt,omitzero"`
}

func accountViewOf(a access.Account) accountView {
	return accountView{a.ID, a.Name, a.Plan, a.Keys, a.CreatedAt, a.TokenAt, a.DisabledAt}
}
