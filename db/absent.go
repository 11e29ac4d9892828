package db

import (
	"context"

	"github.com/flightwire/flightwire/flight"
)

// absent plans the polls of the rows that the answer says nothing of: flights
// that are still looked for, and legs that the upstream no longer lists.
func (d *door) absent(ctx context.Context) error {
	for _, f := range d.rows {
		if d.seen[f.ID] || f.FlightKey != d.Key.String() {
			continue
		}
		var err error
		if f.Resolved {
			err = d.vanished(ctx, f)
		} else {
			err = d.unresolved(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// vanished goes on with a leg that the upstream knew and does not list now:
// what counts of it is [flight.Unlist]'s to say, where it is the leg's own
// upstream that has answered, and its watch ends when its date has passed.
func (d *door) vanished(ctx context.Context, f *flightRow) error {
	if !f.watched() || f.Version == 0 {
		return nil
	}
	if err := d.endOverdue(ctx, f); err != nil {
		return err
	}
	last, err := d.db.snapshot(ctx, d.queries, f.ID, f.Version)
	if err != nil {
		return err
	}
	held, err := f.held()
	if err != nil {
		return err
	}
	if !f.watched() || f.Provider != d.Source || !d.AskedAt.After(f.AskedAt.Std()) {
		return d.planUnlisted(ctx, f, last, flight.UnlistedUntil(last, held, d.Hold))
	}
	next, held, until := flight.Unlist(last, held, d.Now, d.Hold)
	if next == last {
		f.hold(held)
		return d.planUnlisted(ctx, f, last, until)
	}
	answered := f.AskedAt // it stays: what stands of a flight are the legs of its last answer
	s := step{prev: last.FetchedAgain(f.FetchedAt.Flight()), next: next, raw: next, isNew: true}
	if err := d.store(ctx, f, s); err != nil {
		return err
	}
	f.AskedAt = answered
	return d.plan(ctx, f, next)
}

// unresolved goes on looking for a flight, until its date has passed.
func (d *door) unresolved(ctx context.Context, f *flightRow) error {
	if err := d.endOverdue(ctx, f); err != nil {
		return err
	}
	if f.watched() {
		p := d.Schedule.NextLookup(f.Date, d.Now)
		f.NextPollAt, f.PollReason, f.PollToken, f.PollLeaseUntil, f.PollFailures = world(p.At), p.Reason, "", Time{}, 0
		f.LastPolledAt = world(d.Now)
	}
	d.save(f)
	return nil
}
