package db

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// PollClaim is the right to poll one leg, until its lease runs out.
type PollClaim struct {
	FlightID string     `json:"flight"`
	Token    string     `json:"token"`
	Key      flight.Key `json:"key"`
}

// ClaimPolls claims up to limit legs whose poll is due at the world time now,
// the longest due first. A leg that nobody watches any more loses its plan
// instead. A claim that is neither finished nor confirmed before
// its lease runs out may be taken by anyone.
func (db *DB) ClaimPolls(ctx context.Context, now flight.Time, limit int, lease time.Duration) ([]PollClaim, error) {
	var claims []PollClaim
	err := db.tx(ctx, "claim polls", func(tx *Tx) error {
		claims = nil // of a pass that was broken off
		wall := db.Now()
		var rows []flightRow
		err := tx.sel(ctx, &rows, `SELECT `+flightColumns+` FROM flights
			WHERE next_poll_at <= $1 AND (poll_lease_until IS NULL OR poll_lease_until <= $2)
			ORDER BY next_poll_at LIMIT $3`+tx.kind.skipLocked("flights"), world(now), At(wall), limit)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return errNothing
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		// Nobody watches: the viewers have gone, or the last subscription was suspended.
		var idle []string
		err = tx.sel(ctx, &idle, `UPDATE flights SET next_poll_at = NULL, poll_reason = ''
			WHERE id IN (SELECT x.id FROM `+tx.kind.ids()+`) AND NOT `+stillWatched("$2")+` RETURNING id`, idList(ids), At(wall))
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(idle, id) })
		token := newID("")
		for i := range rows {
			if slices.Contains(ids, rows[i].ID) {
				claims = append(claims, PollClaim{rows[i].ID, token, rows[i].key()})
			}
		}
		_, err = tx.exec(ctx, `UPDATE flights SET poll_token = $2, poll_lease_until = $3
			WHERE id IN (SELECT x.id FROM `+tx.kind.ids()+`)`, idList(ids), token, At(wall.Add(lease)))
		return err
	})
	return claims, err
}

// ConfirmPoll renews a claim when its work begins. ok is false when the claim
// has gone to another, who will do the work.
func (db *DB) ConfirmPoll(ctx context.Context, c PollClaim, lease time.Duration) (ok bool, err error) {
	err = db.tx(ctx, "confirm poll", func(tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE flights SET poll_lease_until = $3 WHERE id = $1 AND poll_token = $2`,
			c.FlightID, c.Token, At(db.Now().Add(lease)))
		ok = n == 1
		return err
	})
	return ok, err
}

// FailPoll ends a claim after an upstream error: what stands stays, the next
// poll backs off, and a watch whose time has come ends all the same. events
// says whether something waits to be delivered.
func (db *DB) FailPoll(ctx context.Context, c PollClaim, now flight.Time, schedule flight.Schedule, retryAfter time.Duration) (events bool, err error) {
	return db.endClaim(ctx, "fail poll", c, now, func(f *flightRow) flight.Poll {
		f.PollFailures++
		return schedule.AfterError(now, f.PollFailures, retryAfter)
	})
}

// endClaim ends a claim that brought no answer and plans the next poll; nothing
// happens when another has the claim.
func (db *DB) endClaim(ctx context.Context, op string, c PollClaim, now flight.Time, plan func(*flightRow) flight.Poll) (events bool, err error) {
	err = db.tx(ctx, op, func(tx *Tx) error {
		events = false
		d := door{Tx: tx, Answer: Answer{Key: c.Key, Now: now, Poll: &c}, wall: db.Now()}
		f := new(flightRow)
		err := tx.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE id = $1 AND poll_token = $2`+tx.kind.forUpdate(), c.FlightID, c.Token)
		if err != nil {
			return ignoreMissing(err)
		}
		d.rows = []*flightRow{f}
		if err := d.endOverdue(ctx, f); err != nil {
			return err
		}
		p := plan(f)
		f.NextPollAt, f.PollReason, f.PollToken, f.PollLeaseUntil = world(p.At), p.Reason, "", Time{}
		events = d.events
		return d.saveFlight(ctx, f)
	})
	return events, err
}

// endOverdue completes the subscriptions of a leg whose watch ends by the
// clock alone.
func (d *door) endOverdue(ctx context.Context, f *flightRow) error {
	if !f.Resolved {
		reason, ended := flight.SearchEnded(f.Date, d.Now)
		if !ended {
			return nil
		}
		return d.fanOut(ctx, f, news{ended: true, reason: reason})
	}
	last, err := d.db.snapshot(ctx, d.queries, f.ID, f.Version)
	if err != nil {
		return err
	}
	reason, ended := flight.WatchEnded(last, d.Now)
	if !ended {
		return nil
	}
	last = last.FetchedAgain(f.FetchedAt.Flight())
	return d.fanOut(ctx, f, news{prev: last, next: last, ended: true, reason: reason})
}

// ignoreMissing turns "no such row" into success.
func ignoreMissing(err error) error {
	if flight.CodeOf(err) == flight.CodeNotFound || errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
