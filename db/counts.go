package db

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/flightwire/flightwire/flight"
)

// tally is a row of subscription_counts: a difference, or what differences add
// up to.
type tally struct {
	ID      string        `db:"id" json:"id"`
	Account string        `db:"account_id" json:"account_id"`
	Status  flight.Status `db:"status" json:"status"`
	N       int64         `db:"n" json:"n"`
}

// sum adds tallies up, to one for each account and status that is not zero.
func sum(tallies []tally) []tally {
	type group struct {
		account string
		status  flight.Status
	}
	at := make(map[group]int)
	var out []tally
	for _, t := range tallies {
		g := group{t.Account, t.Status}
		i, there := at[g]
		if !there {
			i = len(out)
			at[g], out = i, append(out, tally{Account: t.Account, Status: t.Status})
		}
		out[i].N += t.N
	}
	return slices.DeleteFunc(out, func(t tally) bool { return t.N == 0 })
}

// foldOneIn is in how many entries of its ledger an account's are folded.
const foldOneIn = 64

// count enters differences into the ledger of how many subscriptions there are.
// Every insert and delete of a subscription, and every change of a status, has
// its entry in the same transaction.
func (tx *Tx) count(ctx context.Context, differences []tally) error {
	rows := sum(differences)
	if err := tx.insertTallies(ctx, rows); err != nil {
		return err
	}
	var accounts []string
	for _, r := range rows {
		if rand.IntN(foldOneIn) == 0 {
			accounts = append(accounts, r.Account)
		}
	}
	return tx.fold(ctx, accounts)
}

func (tx *Tx) insertTallies(ctx context.Context, rows []tally) error {
	if len(rows) == 0 {
		return nil
	}
	for i := range rows {
		rows[i].ID = newID("")
	}
	_, err := tx.exec(ctx, `INSERT INTO subscription_counts (account_id, id, status, n) SELECT x.account_id, x.id, x.status, x.n
		FROM `+tx.kind.rows("account_id text", "id text", "status text", "n bigint"), jsonText(rows))
	return err
}

// fold replaces the ledgers of accounts by their sums. Entries that another
// transaction is folding are left to it, and those that are not committed yet
// to the next.
func (tx *Tx) fold(ctx context.Context, accounts []string) error {
	if len(accounts) == 0 {
		return nil
	}
	var rows []tally
	err := tx.sel(ctx, &rows, `DELETE FROM subscription_counts WHERE (account_id, id) IN (
			SELECT account_id, id FROM subscription_counts WHERE account_id `+tx.kind.oneOf()+tx.kind.skipLocked("subscription_counts")+`)
		RETURNING account_id, id, status, n`, idList(accounts))
	if err != nil {
		return err
	}
	return tx.insertTallies(ctx, sum(rows))
}

// counted returns how many subscriptions an account has, or has in one status.
func (q queries) counted(ctx context.Context, account string, status flight.Status) (n int, err error) {
	query, args := `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM subscription_counts WHERE account_id = $1`, []any{account}
	if status != "" {
		query, args = query+` AND status = $2`, append(args, status)
	}
	return n, q.get(ctx, &n, query, args...)
}

// changeStatus gives subscriptions, whose states are locked, another status.
func (tx *Tx) changeStatus(ctx context.Context, ids []string, status flight.Status, reason string) error {
	if len(ids) == 0 {
		return nil
	}
	var before []tally
	err := tx.sel(ctx, &before, `SELECT account_id, status, count(*) AS n FROM subscriptions
		WHERE id `+tx.kind.oneOf()+` GROUP BY account_id, status`, idList(ids))
	if err != nil {
		return err
	}
	var differences []tally
	for _, t := range before {
		differences = append(differences, tally{Account: t.Account, Status: t.Status, N: -t.N}, tally{Account: t.Account, Status: status, N: t.N})
	}
	_, err = tx.exec(ctx, `UPDATE subscriptions SET status = $2, status_reason = $3, updated_at = $4
		WHERE id `+tx.kind.oneOf(), idList(ids), status, reason, At(tx.db.Now()))
	if err != nil {
		return err
	}
	return tx.count(ctx, differences)
}
