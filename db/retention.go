package db

import (
	"context"
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// trimPage is how many rows of a log a batch looks at: few, because SQLite's
// writers wait for it.
const trimPage = 200

// TrimmedLog is what one batch has deleted of a log.
type TrimmedLog struct {
	Rows int
	Next string // where the next batch goes on
	Done bool   // the pass is over
}

// needed is the condition on an event e, its subscription s and the state st of
// that under which it stays whatever its age: it waits or is under way, or it is
// what a resume reckons from. That is the last one that was delivered, and where
// none was, the first; tests do not count, nor does what told_version stands for.
const needed = `(e.status = 'pending' OR s.status <> 'completed' AND e.version > 0 AND e.type <> 'subscription.test'
	AND (st.told_version IS NULL OR st.told_version < e.version)
	AND NOT EXISTS (SELECT 1 FROM events l WHERE l.subscription_id = e.subscription_id AND l.seq > e.seq
		AND l.version > 0 AND l.type <> 'subscription.test' AND l.status = 'delivered')
	AND (e.status = 'delivered' OR NOT EXISTS (SELECT 1 FROM events p WHERE p.subscription_id = e.subscription_id AND p.seq < e.seq
		AND p.version > 0 AND p.type <> 'subscription.test')))`

// TrimEvents deletes one batch of the events that were recorded before a wall
// time; a pass begins with an empty from and calls it with Next until Done. What
// waits or is under way stays, and the one event from which a resume would
// reckon. It waits for nobody, and what somebody else holds it leaves to the next
// pass; any number of processes may do it at once.
func (db *DB) TrimEvents(ctx context.Context, before time.Time, from string) (TrimmedLog, error) {
	return db.trimLog(ctx, "events", "evt_", `JOIN subscriptions s ON s.id = e.subscription_id
		JOIN subscription_state st ON st.subscription_id = s.id`, `AND NOT `+needed, before, from)
}

// TrimDeliveries deletes one batch of the attempts that were logged before a
// wall time, as [DB.TrimEvents] does with events.
func (db *DB) TrimDeliveries(ctx context.Context, before time.Time, from string) (TrimmedLog, error) {
	return db.trimLog(ctx, "deliveries", "dlv_", "", "", before, from)
}

// trimLog deletes a page of a log, in the order of its ids, which is that of
// time: so the primary key finds what is old, and the log needs no index for it.
func (db *DB) trimLog(ctx context.Context, table, prefix, join, condition string, before time.Time, from string) (TrimmedLog, error) {
	var out TrimmedLog
	err := db.tx(ctx, "trim "+table, func(tx *Tx) error {
		out = TrimmedLog{Next: from, Done: true}
		var page []string
		err := tx.sel(ctx, &page, `SELECT id FROM `+table+` WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`, from, firstID(prefix, before), trimPage)
		if err != nil || len(page) == 0 {
			return orNothing(err)
		}
		out.Next, out.Done = page[len(page)-1], len(page) < trimPage
		n, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT e.id FROM `+table+` e `+join+`
			WHERE e.id > $1 AND e.id <= $2 `+condition+tx.kind.skipLocked("e")+`)`, from, out.Next)
		out.Rows = int(n)
		return err
	})
	return out, err
}

// firstID is not after any id that newID makes at a moment or later, and after
// all that it made in the milliseconds before.
func firstID(prefix string, at time.Time) string {
	return prefix + fmt.Sprintf("%012x", max(at.UnixMilli(), 0))
}

// TrimIdempotencyKeys deletes idempotency keys that stand for nothing any more,
// at most limit, and returns how many. Creates do so too, but only while there
// are any.
func (db *DB) TrimIdempotencyKeys(ctx context.Context, limit int) (int, error) {
	var n int64
	err := db.tx(ctx, "trim idempotency keys", func(tx *Tx) (err error) {
		n, err = tx.dropKeys(ctx, At(db.Now().Add(-flight.IdempotencyWindow)), limit)
		if n == 0 {
			return orNothing(err)
		}
		return err
	})
	return int(n), err
}
