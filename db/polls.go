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
	Until    time.Time  `json:"until"` // the end of the lease, by [DB.Now]
}

// ClaimPolls claims up to limit legs whose poll is due at the world time now,
// the longest due first. A leg that nobody watches any more loses its plan
// instead. A claim that is neither finished nor confirmed before
// its lease runs out may be taken by anyone.
func (db *DB) ClaimPolls(ctx context.Context, now flight.Time, limit int, lease time.Duration) ([]PollClaim, error) {
	var claims []PollClaim
	err := db.tx(ctx, "claim polls", func(tx *Tx) error {
		claims = nil // of a pass that was broken off
		wall, token := db.Now(), newID("")
		until := wall.Add(lease)
		rows, err := tx.claimDue(ctx, now, wall, limit, token, until)
		if err != nil || len(rows) == 0 {
			return orNothing(err)
		}
		var doubtful []string
		for _, r := range rows {
			if !r.Watched {
				doubtful = append(doubtful, r.ID)
			}
		}
		idle, err := tx.unplan(ctx, doubtful, wall)
		for _, r := range rows {
			if !slices.Contains(idle, r.ID) {
				claims = append(claims, PollClaim{r.ID, token, flight.Key{Carrier: r.Carrier, Number: r.Number, Date: r.Date}, until})
			}
		}
		return err
	})
	return claims, err
}

// dueRow is a leg that has just been claimed.
type dueRow struct {
	ID         string `db:"id"`
	Carrier    string `db:"carrier"`
	Number     string `db:"number"`
	Date       string `db:"date"`
	NextPollAt Time   `db:"next_poll_at"`
	Watched    bool   `db:"watched"`
}

// claimDue claims the legs that are most due, the longest due first, in one
// statement, which reads and writes each row once.
func (tx *Tx) claimDue(ctx context.Context, now flight.Time, wall time.Time, limit int, token string, until time.Time) (rows []dueRow, err error) {
	err = tx.sel(ctx, &rows, tx.kind.claimDue(), world(now), At(wall), limit, token, At(until))
	slices.SortStableFunc(rows, func(a, b dueRow) int { return a.NextPollAt.Std().Compare(b.NextPollAt.Std()) })
	return rows, err
}

func (d dialect) claimDue() string {
	return `WITH due AS MATERIALIZED (
			SELECT ` + d.place() + ` AS place FROM flights WHERE next_poll_at <= $1 AND (poll_lease_until IS NULL OR poll_lease_until <= $2)
			ORDER BY next_poll_at LIMIT $3` + d.skipLocked("flights") + `)
		UPDATE flights SET poll_token = $4, poll_lease_until = $5 FROM due WHERE flights.` + d.place() + ` = due.place
		RETURNING flights.id, flights.carrier, flights.number, flights.date, flights.next_poll_at, ` + stillWatched("$2") + ` AS watched`
}

// unplan takes the plan and the claim away from those of the locked legs that
// nobody watches: the viewers have gone, or the last subscription was suspended.
// It looks again, because somebody may have come until the rows were locked.
func (tx *Tx) unplan(ctx context.Context, legs []string, wall time.Time) (idle []string, err error) {
	if len(legs) == 0 {
		return nil, nil
	}
	err = tx.sel(ctx, &idle, `UPDATE flights SET next_poll_at = NULL, poll_reason = '', poll_token = '', poll_lease_until = NULL, trimmed = -1
		WHERE id `+tx.kind.oneOf()+` AND NOT `+stillWatched("$2")+` RETURNING id`, idList(legs), At(wall))
	return idle, err
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

// TrackedLeg is a leg that is watched, and the id by which a source knows it.
type TrackedLeg struct {
	Leg string // its key with the route
	ID  string
}

// TrackedLegs returns the legs of a flight that are polled and for which the
// source has an id.
func (db *DB) TrackedLegs(ctx context.Context, key flight.Key, source string) (legs []TrackedLeg, err error) {
	var rows []flightRow
	err = db.sel(ctx, &rows, `SELECT leg, provider, provider_flight_id, other_ids FROM flights
		WHERE flight_key = $1 AND resolved AND next_poll_at IS NOT NULL ORDER BY id`, key.String())
	for i := range rows {
		if id := rows[i].idOf(source); id != "" {
			legs = append(legs, TrackedLeg{rows[i].Leg, id})
		}
	}
	return legs, domainError(ctx, "tracked legs", err)
}

// SourceOf returns the source of the last answer that listed a leg of a flight;
// "" when none did.
func (db *DB) SourceOf(ctx context.Context, key flight.Key) (source string, err error) {
	err = db.get(ctx, &source, `SELECT provider FROM flights WHERE flight_key = $1 AND resolved AND version > 0 ORDER BY asked_at DESC LIMIT 1`, key.String())
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return source, domainError(ctx, "source", err)
}

// FailPoll ends a claim after an upstream error: what stands stays, the next
// poll backs off, and a watch whose time has come ends all the same. due are
// the events that may be delivered at once.
func (db *DB) FailPoll(ctx context.Context, c PollClaim, now flight.Time, schedule flight.Schedule, retryAfter time.Duration) (due []Due, err error) {
	return db.endClaim(ctx, "fail poll", c, now, func(f *flightRow) flight.Poll {
		f.PollFailures++
		return schedule.AfterError(now, f.PollFailures, retryAfter)
	})
}

// endClaim ends a claim that brought no answer and plans the next poll; nothing
// happens when another has the claim.
func (db *DB) endClaim(ctx context.Context, op string, c PollClaim, now flight.Time, plan func(*flightRow) flight.Poll) (due []Due, err error) {
	err = db.tx(ctx, op, func(tx *Tx) error {
		due = nil
		d := door{doorway: newDoorway(tx), Answer: Answer{Key: c.Key, Now: now, Poll: &c}}
		f := new(flightRow)
		err := tx.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE id = $1 AND poll_token = $2`+tx.kind.forUpdate(), c.FlightID, c.Token)
		if err != nil {
			return ignoreMissing(err)
		}
		d.rows = []*flightRow{f}
		d.locked = d.rows
		if err := d.endOverdue(ctx, f); err != nil {
			return err
		}
		p := plan(f)
		f.NextPollAt, f.PollReason, f.PollToken, f.PollLeaseUntil = world(p.At), p.Reason, "", Time{}
		due = d.due
		d.save(f)
		return d.flush(ctx)
	})
	return due, err
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
