package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// A batch touches at most 500 rows: trimRows updates, and then of trimLegs legs
// the row, what stands, and its base.
const (
	trimRows = 400
	trimLegs = 33
)

// recent is how long, in world time, a leg stays as it is after it was last
// asked for: caches and requests under way may refer to it.
const recent = 24 * time.Hour

// TrimPlace is where a pass over the old legs has come to. The zero TrimPlace
// is the beginning.
type TrimPlace struct{ date, id string }

// Trimmed is what one batch has deleted.
type Trimmed struct {
	Updates, Legs int       // rows, without those that went with their leg
	Next          TrimPlace // where the next batch goes on
	Done          bool      // the pass is over
}

// historyEnd returns the first date whose flights keep their history: days have
// not passed since that date ended where it ends last, twelve hours behind UTC.
func historyEnd(now flight.Time, days int) string {
	return now.Std().Add(-12*time.Hour).AddDate(0, 0, -days).Format(time.DateOnly)
}

// TrimHistory deletes one batch of what is known of flights whose date is more
// than days ago at the world time now; a pass calls it until Done. A leg without
// subscriptions goes whole. Of one with subscriptions stay what stands, what an
// event carries, and what a resume would reckon from; it is not looked at before
// its events may have gone, which are kept for eventDays. Legs that are watched,
// or were asked for lately, are left alone. Any number of processes may do it at
// once: each leaves to the others what they are at.
func (db *DB) TrimHistory(ctx context.Context, now flight.Time, days, eventDays int, from TrimPlace) (Trimmed, error) {
	var out Trimmed
	err := db.tx(ctx, "trim history", func(tx *Tx) error {
		out = Trimmed{Next: from}
		legs, err := tx.oldLegs(ctx, now, days, eventDays, from)
		if err != nil || len(legs) == 0 {
			out.Done = true
			return orNothing(err)
		}
		ids := make([]string, len(legs))
		for i, l := range legs {
			ids[i] = l.ID
		}
		for budget := trimRows; ; { // until nothing is the base of what has gone
			n, err := tx.trimUpdates(ctx, ids, budget)
			if err != nil {
				return err
			}
			out.Updates += n
			if budget -= n; budget == 0 {
				return nil // there may be more of these legs
			}
			if n == 0 {
				break
			}
		}
		if out.Legs, err = tx.dropLegs(ctx, ids); err != nil {
			return err
		}
		last := legs[len(legs)-1]
		out.Next, out.Done = TrimPlace{last.Date, last.ID}, len(legs) < trimLegs
		return tx.markTrimmed(ctx, ids)
	})
	return out, err
}

// orNothing ends a transaction that has nothing to write.
func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

type oldLeg struct {
	ID   string `db:"id"`
	Date string `db:"date"`
}

// oldLegs locks the next legs that may have something to delete.
func (tx *Tx) oldLegs(ctx context.Context, now flight.Time, days, eventDays int, from TrimPlace) (legs []oldLeg, err error) {
	err = tx.sel(ctx, &legs, `SELECT id, date FROM flights
		WHERE next_poll_at IS NULL AND trimmed < version AND date < $1 AND (date, id) > ($2, $3)
			AND (fetched_at IS NULL OR fetched_at < $4)
			AND (date < $5 OR NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.flight_id = flights.id))
		ORDER BY date, id LIMIT $6`+tx.kind.skipLocked("flights"),
		historyEnd(now, days), from.date, from.id, At(now.Std().Add(-recent)), historyEnd(now, max(days, eventDays)), trimLegs)
	return legs, err
}

// trimUpdates deletes updates of locked legs that nothing needs, oldest first.
func (tx *Tx) trimUpdates(ctx context.Context, legs []string, limit int) (int, error) {
	n, err := tx.exec(ctx, `DELETE FROM updates WHERE (flight_id, version) IN (
		SELECT u.flight_id, u.version FROM updates u JOIN flights f ON f.id = u.flight_id
		WHERE u.flight_id `+tx.kind.oneOf()+` AND u.version <> f.version
			AND NOT EXISTS (SELECT 1 FROM updates d WHERE d.flight_id = u.flight_id AND d.base = u.version)
			AND (u.flight_id, u.version) NOT IN (SELECT s.flight_id, e.version FROM subscriptions s JOIN events e ON e.subscription_id = s.id
				WHERE s.flight_id `+tx.kind.oneOf()+`)
			AND (u.flight_id, u.version) NOT IN (SELECT s.flight_id, t.resume_from FROM subscriptions s JOIN subscription_state t ON t.subscription_id = s.id
				WHERE s.flight_id `+tx.kind.oneOf()+` AND t.resume_from IS NOT NULL)
			AND (u.flight_id, u.version) NOT IN (SELECT s.flight_id, t.told_version FROM subscriptions s JOIN subscription_state t ON t.subscription_id = s.id
				WHERE s.flight_id `+tx.kind.oneOf()+` AND t.told_version IS NOT NULL AND s.status <> 'completed')
		ORDER BY u.flight_id, u.version LIMIT $2)`, idList(legs), limit)
	return int(n), err
}

// dropLegs deletes the locked legs that nobody refers to, with what stands.
func (tx *Tx) dropLegs(ctx context.Context, legs []string) (int, error) {
	n, err := tx.exec(ctx, `DELETE FROM flights WHERE id `+tx.kind.oneOf()+`
		AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.flight_id = flights.id)
		AND NOT EXISTS (SELECT 1 FROM viewers v WHERE v.flight_id = flights.id)`, idList(legs))
	return int(n), err
}

// markTrimmed takes the locked legs out of the search of which only that is
// left which stays as long as their subscriptions. Where the last of these is
// deleted, they come back.
func (tx *Tx) markTrimmed(ctx context.Context, legs []string) error {
	_, err := tx.exec(ctx, `UPDATE flights SET trimmed = version WHERE id `+tx.kind.oneOf()+`
		AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.flight_id = flights.id)
		AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.flight_id = flights.id AND s.status <> 'completed')
		AND NOT EXISTS (SELECT 1 FROM subscriptions s JOIN events e ON e.subscription_id = s.id
			WHERE s.flight_id = flights.id AND e.version > 0 AND e.version < flights.version)`, idList(legs))
	return err
}

// DropViewers deletes rows of viewers that ran out before a wall time, whose
// processes are gone, at most limit, and returns how many.
func (db *DB) DropViewers(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	err := db.tx(ctx, "drop viewers", func(tx *Tx) error {
		n = 0
		var rows []struct {
			Process  string `db:"process" json:"process"`
			FlightID string `db:"flight_id" json:"flight_id"`
		}
		err := tx.sel(ctx, &rows, `SELECT process, flight_id FROM viewers WHERE expires_at < $1 LIMIT $2`+tx.kind.skipLocked("viewers"), At(before), limit)
		if err != nil || len(rows) == 0 {
			return orNothing(err)
		}
		n, err = tx.exec(ctx, `DELETE FROM viewers WHERE (flight_id, process) IN (SELECT x.flight_id, x.process FROM `+
			tx.kind.rows("process text", "flight_id text")+`)`, jsonText(rows))
		return err
	})
	return int(n), err
}
