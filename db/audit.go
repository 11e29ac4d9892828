package db

import (
	"context"
	"time"
)

// Actor is who changes something that the audit log tells of.
type Actor struct {
	Kind    string // ActorOperator, ActorToken or ActorKey
	ID      string // of the token or key; "" for the operator
	Account string // id of the account whose things it may change; "" for the operator: everybody's
	Request string // id of the request; "" when there is none
}

// The kinds of actors.
const (
	ActorOperator = "operator"
	ActorToken    = "account_token"
	ActorKey      = "api_key"
)

// Operator is whoever runs commands on the service's own machine.
var Operator = Actor{Kind: ActorOperator}

// The actions of the audit log.
const (
	ActionAccountCreated  = "account.created"
	ActionAccountPlan     = "account.plan_changed"
	ActionAccountDisabled = "account.disabled"
	ActionAccountEnabled  = "account.enabled"
	ActionTokenIssued     = "token.issued"
	ActionKeyCreated      = "key.created"
	ActionKeyRotated      = "key.rotated"
	ActionKeyRevoked      = "key.revoked"
	ActionSecretRevealed  = "secret.revealed"
	ActionSecretRotated   = "secret.rotated"
	ActionReencrypted     = "secrets.reencrypted"
)

// AuditEntry is a row of the audit log.
type AuditEntry struct {
	ID          string // begins with aud_
	Account     string // account id; "" when it concerns them all
	AccountName string
	Actor       string // kind of the actor
	ActorID     string // of the key or token; "" for the operator
	Action      string
	Target      string // id of what it was done to: a key, a token, a subscription or an account
	Detail      string // more in words; "" when there is no more
	Request     string // id of the request; "" when there was none
	At          time.Time
}

// audit writes that by has done something, in the transaction that does it.
func (tx *Tx) audit(ctx context.Context, by Actor, account, action, target, detail string) error {
	_, err := tx.exec(ctx, `INSERT INTO audit_log (id, account_id, actor, actor_id, action, target, detail, request_id, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		newID("aud_"), account, by.Kind, by.ID, action, target, detail, by.Request, At(tx.db.Now()))
	return err
}

// Audit returns the newest entries of an account, of all when account is "",
// newest first.
func (db *DB) Audit(ctx context.Context, account string, limit int) ([]AuditEntry, error) {
	var rows []struct {
		ID          string `db:"id"`
		Account     string `db:"account_id"`
		AccountName string `db:"name"`
		Actor       string `db:"actor"`
		ActorID     string `db:"actor_id"`
		Action      string `db:"action"`
		Target      string `db:"target"`
		Detail      string `db:"detail"`
		Request     string `db:"request_id"`
		At          Time   `db:"at"`
	}
	where, args := "", []any{limit}
	if account != "" {
		where, args = "WHERE l.account_id = $2", append(args, account)
	}
	err := db.sel(ctx, &rows, `SELECT l.id, l.account_id, COALESCE(a.name, '') AS name, l.actor, l.actor_id, l.action, l.target, l.detail, l.request_id, l.at
		FROM audit_log l LEFT JOIN accounts a ON a.id = l.account_id `+where+` ORDER BY l.at DESC, l.id DESC LIMIT $1`, args...)
	out := make([]AuditEntry, len(rows))
	for i, r := range rows {
		out[i] = AuditEntry{r.ID, r.Account, r.AccountName, r.Actor, r.ActorID, r.Action, r.Target, r.Detail, r.Request, r.At.Std()}
	}
	return out, domainError(ctx, "audit", err)
}
