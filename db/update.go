package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// SubscriptionUpdate is what to replace in a subscription: nil stays. Its parts
// have been validated.
type SubscriptionUpdate struct {
	WebhookURL     *string
	Events         *flight.ChangeSet
	DelayThreshold *int               // minutes
	Headers        *map[string]string // empty: none
	Metadata       *json.RawMessage   // a JSON object, or empty: none
}

// UpdateSubscription replaces parts of a subscription. The next event and the
// next attempt go by them; what has been recorded keeps its body. An update of
// nothing changes nothing.
func (db *DB) UpdateSubscription(ctx context.Context, account, id string, u SubscriptionUpdate) (*flight.Subscription, error) {
	var columns []string
	args := []any{id}
	set := func(column string, value any) {
		args = append(args, value)
		columns = append(columns, fmt.Sprintf("%s = $%d", column, len(args)))
	}
	if u.WebhookURL != nil {
		set("webhook_url", *u.WebhookURL)
	}
	if u.Events != nil {
		set("events", int64(*u.Events))
	}
	if u.DelayThreshold != nil {
		set("delay_threshold", *u.DelayThreshold)
	}
	if u.Headers != nil {
		set("headers", encodeHeaders(*u.Headers))
	}
	if u.Metadata != nil {
		set("metadata", string(*u.Metadata))
	}
	if len(columns) == 0 {
		return db.Subscription(ctx, account, id)
	}
	return db.replace(ctx, "update subscription", account, id, columns, args, nil)
}

// RotateSecret replaces the signing secret of a subscription: the next attempt
// is signed with the new one. The answer holds it whole.
func (db *DB) RotateSecret(ctx context.Context, by Actor, account, id, secret string) (*flight.Subscription, error) {
	return db.replace(ctx, "rotate secret", account, id, []string{"secret = $2"}, []any{id, db.seal.Seal(id, secret)}, func(tx *Tx) error {
		return tx.audit(ctx, by, account, ActionSecretRotated, id, "")
	})
}

// RevealSecret is Subscription for somebody who is to see the secret: the audit
// log tells of it before the secret is returned.
func (db *DB) RevealSecret(ctx context.Context, by Actor, account, id string) (*flight.Subscription, error) {
	s, err := db.Subscription(ctx, account, id)
	if err != nil {
		return nil, err
	}
	if err := db.tx(ctx, "reveal secret", func(tx *Tx) error {
		return tx.audit(ctx, by, account, ActionSecretRevealed, id, "")
	}); err != nil {
		return nil, err
	}
	return s, nil
}

// replace sets columns of a subscription under the lock of its state, so that
// a fan-out sees either all of the old ones or all of the new, and waits until
// the attempts that go by the old ones have begun. also, if there is one, belongs
// to the same transaction.
func (db *DB) replace(ctx context.Context, op, account, id string, columns []string, args []any, also func(*Tx) error) (*flight.Subscription, error) {
	var claimed time.Time
	err := db.tx(ctx, op, func(tx *Tx) error {
		if _, err := tx.lockSubscription(ctx, account, id); err != nil {
			return err
		}
		var err error
		if claimed, err = tx.lastClaim(ctx, id); err != nil {
			return err
		}
		_, err = tx.exec(ctx, fmt.Sprintf(`UPDATE subscriptions SET %s, updated_at = $%d WHERE id = $1`,
			strings.Join(columns, ", "), len(args)+1), append(args[:len(args):len(args)], At(db.Now()))...)
		if err == nil && also != nil {
			err = also(tx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	db.awaitSends(ctx, claimed)
	return db.Subscription(ctx, account, id)
}
