package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// replayBatch is how many events a transaction of a replay takes at most.
const replayBatch = 500

// RedeliverEvent sends an event again, under its id and with its body: it waits
// in its subscription's sequence as if it had not been attempted, the numbers of
// its attempts go on, and its retries begin anew. One that waits already, or is
// under way, is left as it is. It returns the event as it is now.
// CodeSubscriptionMissing, CodeEventMissing when it is no event of that
// subscription, CodeInvalidState while nothing is sent to it, CodeEventGone when
// the body cannot be put together any more.
func (db *DB) RedeliverEvent(ctx context.Context, account, subscription, id string) (sent *flight.SentEvent, err error) {
	err = db.tx(ctx, "redeliver event", func(tx *Tx) error {
		s, err := tx.lockSubscription(ctx, account, subscription)
		if err != nil {
			return err
		}
		e, err := tx.lockEvent(ctx, s.ID, id)
		if err != nil {
			return err
		}
		if e.Status != flight.EventPending {
			if err := s.Status.Sends(e.Type); err != nil {
				return err
			}
			if e.Gone {
				return flight.Errorf(flight.CodeEventGone, "What event %.64q carried is not kept any more, so it cannot be sent as it was.", id)
			}
			if err := tx.requeue(ctx, s, []unsent{e}, db.Now()); err != nil {
				return err
			}
		}
		sent, err = tx.sentEvent(ctx, id)
		return err
	})
	return sent, err
}

// ReplayEvents sends the events of a subscription again that r asks for, in the
// order of their sequence and at most limit, as RedeliverEvent does with each.
// What carries a snapshot that is not kept any more stays as it is. It is done
// in short transactions; after an error the same replay goes on where it ended.
// CodeSubscriptionMissing, CodeEventMissing when r.After is no event of that
// subscription, CodeInvalidState while nothing is sent to it.
func (db *DB) ReplayEvents(ctx context.Context, account, subscription string, r flight.Replay, limit int) (flight.Replayed, error) {
	out := flight.Replayed{More: true}
	for after := int64(0); out.More && out.Count < limit; {
		var batch []unsent
		err := db.tx(ctx, "replay events", func(tx *Tx) (err error) {
			s, err := tx.lockSubscription(ctx, account, subscription)
			if err != nil {
				return err
			}
			if err := s.Status.Sends(flight.EventUpdated); err != nil {
				return err
			}
			if after == 0 && r.After != "" {
				if after, err = tx.seqOf(ctx, s.ID, r.After); err != nil {
					return err
				}
			}
			batch, out.More, err = tx.unsentAfter(ctx, s.ID, after, r, min(replayBatch, limit-out.Count))
			if err != nil || len(batch) == 0 {
				return orNothing(err)
			}
			return tx.requeue(ctx, s, batch, db.Now())
		})
		if err != nil {
			return out, err
		}
		if n := len(batch); n > 0 {
			out.Count, after = out.Count+n, batch[n-1].Seq
		}
	}
	return out, nil
}

// unsent is an event that may be sent again.
type unsent struct {
	ID      string             `db:"id"`
	Seq     int64              `db:"seq"`
	Type    flight.EventType   `db:"type"`
	Version int64              `db:"version"`
	Status  flight.EventStatus `db:"status"`
	Gone    bool               `db:"gone"` // its snapshot is not there
}

const snapshotKept = `(e.version = 0 OR EXISTS (SELECT 1 FROM updates u WHERE u.flight_id = e.flight_id AND u.version = e.version))`

// lockEvent locks an event of a subscription whose state is locked.
func (tx *Tx) lockEvent(ctx context.Context, subscription, id string) (e unsent, err error) {
	err = tx.get(ctx, &e, `SELECT e.id, e.seq, e.type, e.version, e.status, NOT `+snapshotKept+` AS gone
		FROM events e WHERE e.id = $1 AND e.subscription_id = $2`+tx.kind.forUpdate(), id, subscription)
	if errors.Is(err, sql.ErrNoRows) {
		err = missingEvent(id)
	}
	return e, err
}

// seqOf returns an event's place in its subscription's sequence.
func (tx *Tx) seqOf(ctx context.Context, subscription, id string) (seq int64, err error) {
	err = tx.get(ctx, &seq, `SELECT seq FROM events WHERE id = $1 AND subscription_id = $2`, id, subscription)
	if errors.Is(err, sql.ErrNoRows) {
		err = missingEvent(id)
	}
	return seq, err
}

func missingEvent(id string) error {
	return flight.Errorf(flight.CodeEventMissing, "There is no event %.64q of this subscription, or none any more.", id)
}

// unsentAfter locks the first events behind a place that r asks for, and
// reports whether there are more.
func (tx *Tx) unsentAfter(ctx context.Context, subscription string, after int64, r flight.Replay, limit int) (batch []unsent, more bool, err error) {
	since := time.Unix(0, 0)
	if r.Since.Known() {
		since = r.Since.Std()
	}
	err = tx.sel(ctx, &batch, `SELECT e.id, e.seq, e.type, e.version, e.status, false AS gone FROM events e
		WHERE e.subscription_id = $1 AND e.seq > $2 AND e.status IN ('missed', 'failed') AND (e.status = 'missed' OR $3)
			AND e.created_at >= $4 AND `+snapshotKept+`
		ORDER BY e.seq LIMIT $5`+tx.kind.forUpdate(), subscription, after, r.IncludeFailed, At(since), limit+1)
	if more = len(batch) > limit; more {
		batch = batch[:limit]
	}
	return batch, more, err
}

// requeue has locked events, in the order of their sequence, wait anew. Attempts
// so far do not count against their retries: they are put down as interruptions.
func (tx *Tx) requeue(ctx context.Context, s *locked, events []unsent, now time.Time) error {
	ids := make([]string, len(events))
	told := int64(0)
	for i, e := range events {
		ids[i] = e.ID
		if e.Status == flight.EventDelivered && e.Type != flight.EventTest {
			told = max(told, e.Version)
		}
	}
	if told > 0 { // a resume goes by it whatever becomes of the event
		if _, err := tx.exec(ctx, `UPDATE subscription_state SET told_version = $2
			WHERE subscription_id = $1 AND (told_version IS NULL OR told_version < $2)`, s.ID, told); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, `UPDATE events SET status = 'pending', next_attempt_at = NULL, delivered_at = NULL, interruptions = attempts
		WHERE id `+tx.kind.oneOf(), idList(ids)); err != nil {
		return err
	}
	return tx.giveTurn(ctx, s.state, events[0].Seq, now)
}

// giveTurn gives the first of those that wait its turn, if nobody has it, or
// somebody behind first who is not under way yet.
func (tx *Tx) giveTurn(ctx context.Context, st *stateRow, first int64, now time.Time) error {
	if head := st.HeadSeq; head != nil {
		n := int64(0)
		if *head > first {
			var err error
			if n, err = tx.exec(ctx, `UPDATE events SET next_attempt_at = NULL
				WHERE subscription_id = $1 AND seq = $2 AND status = 'pending' AND lease_token = ''`, st.SubscriptionID, *head); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
	}
	st.HeadSeq = &first
	if _, err := tx.exec(ctx, `UPDATE events SET next_attempt_at = $3 WHERE subscription_id = $1 AND seq = $2`,
		st.SubscriptionID, first, At(now)); err != nil {
		return err
	}
	return tx.writeStates(ctx, []*stateRow{st})
}
