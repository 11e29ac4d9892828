package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// monthLayout is how months are named.
const monthLayout = "2006-01"

// usageCommand lists what accounts have used.
type usageCommand struct {
	operatorSettings
	Month string `placeholder:"YYYY-MM" help:"The month, in UTC; unset: the present one."`
	CSV   bool   `name:"csv" help:"Print CSV."`
}

// Run lists what each account has used in a month.
func (u *usageCommand) Run(s session) error {
	if _, err := time.Parse(monthLayout, u.Month); u.Month != "" && err != nil {
		return usagef("--month: %q is not a month such as 2026-11", u.Month)
	}
	if u.CSV && u.JSON {
		return usagef("--csv and --json: choose one")
	}
	return u.with(s, false, func(o operator) error {
		rows, err := o.Usage(s, u.Month)
		switch {
		case err != nil:
			return err
		case u.CSV:
			return usageCSV(s.stdout, rows)
		case u.JSON:
			views := make([]usageView, len(rows))
			for i, r := range rows {
				views[i] = usageView{r.Account, r.Name, r.Plan, r.Requests, r.WatchedFlights}
			}
			return printJSON(s.stdout, views)
		}
		w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ACCOUNT\tID\tPLAN\tREQUESTS\tWATCHED FLIGHTS")
		for _, r := range rows {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", r.Name, r.Account, r.Plan, r.Requests, r.WatchedFlights)
		}
		return w.Flush()
	})
}

// usageView is an account's use in JSON.
type usageView struct {
	ID             string `json:"id"`
	Account        string `json:"account"` // its name
	Plan           string `json:"plan"`
	Requests       int64  `json:"requests"`
	WatchedFlights int64  `json:"watchedFlights"`
}

func usageCSV(w io.Writer, rows []db.AccountUsage) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"account", "id", "plan", "requests", "watched_flights"}) // Error has it
	for _, r := range rows {
		_ = out.Write([]string{plainCell(r.Name), r.Account, r.Plan, strconv.FormatInt(r.Requests, 10), strconv.FormatInt(r.WatchedFlights, 10)})
	}
	out.Flush()
	return out.Error()
}

// plainCell keeps a spreadsheet from taking a name for a formula.
func plainCell(s string) string {
	if strings.IndexAny(s, "=+-@\t\r") == 0 {
		return "'" + s
	}
	return s
}

// auditCommand lists who did what.
type auditCommand struct {
	operatorSettings
	Account string `placeholder:"NAME" help:"Only what concerns this account."`
	Limit   int    `default:"50" help:"How many to list, 1 to 10000."`
}

const maxAudit = 10_000

// Run lists the newest entries of the audit log.
func (a *auditCommand) Run(s session) error {
	if a.Limit < 1 || a.Limit > maxAudit {
		return usagef("--limit: %d is not from 1 to %d", a.Limit, maxAudit)
	}
	return a.with(s, false, func(o operator) error {
		log, err := o.Audit(s, a.Account, a.Limit)
		if err != nil {
			return err
		}
		views := make([]auditView, len(log))
		for i, e := range log {
			views[i] = auditView{e.ID, flight.TimeOf(e.At), e.AccountName, e.Account, e.Actor, e.ActorID, e.Action, e.Target, e.Detail, e.Request}
		}
		if a.JSON {
			return printJSON(s.stdout, views)
		}
		w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "AT\tACCOUNT\tACTOR\tACTION\tTARGET\tDETAIL\tREQUEST")
		for _, v := range views {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.At, v.Account, strings.TrimSpace(v.Actor+" "+v.ActorID), v.Action, v.Target, v.Detail, v.RequestID)
		}
		return w.Flush()
	})
}

// auditView is an entry of the audit log in JSON.
type auditView struct {
	ID        string      `json:"id"`
	At        flight.Time `json:"at"`
	Account   string      `json:"account,omitempty"` // its name; left out when it concerns them all
	AccountID string      `json:"accountId,omitempty"`
	Actor     string      `json:"actor"`
	ActorID   string      `json:"actorId,omitempty"`
	Action    string      `json:"action"`
	Target    string      `json:"target,omitempty"`
	Detail    string      `json:"detail,omitempty"`
	RequestID string      `json:"requestId,omitempty"`
}

// secretsCommand are the commands about stored secrets.
type secretsCommand struct {
	Reencrypt secretsReencrypt `cmd:"" help:"Encrypt every stored secret under the first of the keys in FLIGHTWIRE_SECRET_KEY, so that the others can be dropped."`
}

type secretsReencrypt struct{ operatorSettings }

// Run encrypts every stored secret under the first key.
func (r *secretsReencrypt) Run(s session) error {
	var c Config
	if err := r.fill(&c); err != nil {
		return err
	}
	if c.DatabaseURL != "" && len(c.SecretKeys) == 0 {
		return usagef("FLIGHTWIRE_SECRET_KEY is needed: the new key, a comma and the old one, as every process has them")
	}
	first := ""
	if len(c.SecretKeys) > 0 {
		var err error
		if first, err = db.KeyDigest(c.SecretKeys); err != nil {
			return err
		}
	}
	return r.with(s, false, func(o operator) error {
		done, err := o.Reencrypt(s, first)
		if err != nil {
			return err
		}
		if r.JSON {
			err = printJSON(s.stdout, reencryptView{done.Done, done.Remaining, append([]string{}, done.Unreadable...)})
		} else {
			_, err = fmt.Fprintf(s.stdout, "%d encrypted anew, %d remaining, %d unreadable\n", done.Done, done.Remaining, len(done.Unreadable))
		}
		return errors.Join(err, unfinished(done))
	})
}

// reencryptView is the outcome in JSON.
type reencryptView struct {
	Done       int      `json:"done"`
	Remaining  int      `json:"remaining"`
	Unreadable []string `json:"unreadable"` // ids of subscriptions
}

// maxNamed is how many subscriptions an error names.
const maxNamed = 20

// unfinished is the error of a re-encryption after which an old key is still
// needed.
func unfinished(r db.Reencrypted) error {
	switch {
	case len(r.Unreadable) > maxNamed:
		return fmt.Errorf("the secrets of %d subscriptions open with none of the keys: %s and more (--json lists them)",
			len(r.Unreadable), strings.Join(r.Unreadable[:maxNamed], ", "))
	case len(r.Unreadable) > 0:
		return fmt.Errorf("the secrets of these subscriptions open with none of the keys: %s", strings.Join(r.Unreadable, ", "))
	case r.Remaining > 0:
		return fmt.Errorf("%d secrets are still under another key: a process encrypts with it; start every process with the new key first, then run this again", r.Remaining)
	}
	return nil
}
