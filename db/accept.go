package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Answer is what an upstream said of one flight, and what follows from asking.
type Answer struct {
	Source   string          // who said it
	Key      flight.Key      // what was asked for
	AskedAt  time.Time       // wall time by [DB.Now], before asking
	Now      flight.Time     // world time of the same moment
	Legs     flight.Legs     // none: there is no such flight
	Schedule flight.Schedule // plans the next poll of each leg that is watched
	Hold     time.Duration   // world time for which a value that vanished still counts, see [flight.Hold]; 0: none does
	Poll     *PollClaim      // the claim under which was asked; nil for a look-up
}

// Accepted is what came of an answer.
type Accepted struct {
	Standing
	Changed []string // legs that have a new version: row ids
	Due     []Due    // events that may be delivered at once
}

// Accept is the one door for snapshots. Polls, look-ups and refreshes all hand
// their answers to it. In one transaction it refuses what was asked for before
// what stands, stores what is new, writes the events of every subscription
// that is to hear of it, completes the watches that end, finds the flights
// that were waited for, and plans the next poll.
//
// Answers that come in at the same time share a transaction. What a caller who
// has given up had brought may have been accepted all the same.
func (db *DB) Accept(ctx context.Context, a Answer) (Accepted, error) {
	if err := ctx.Err(); err != nil {
		return Accepted{}, domainError(ctx, "accept", err)
	}
	c := &accepting{Answer: a, done: make(chan struct{})}
	db.accepts.join(ctx, c, db.kind.writers(), db.runAccepts)
	select {
	case <-c.done:
	case <-ctx.Done():
		return Accepted{}, domainError(ctx, "accept", ctx.Err())
	}
	if c.err != nil {
		return Accepted{}, c.err
	}
	standing, err := db.standing(ctx, c.door.resolvedRows())
	return Accepted{Standing: standing, Changed: c.door.changed, Due: c.door.due}, domainError(ctx, "accept", err)
}

// door is one answer's pass through Accept.
type door struct {
	*doorway
	Answer
	rows    []*flightRow                    // every row of the flight, locked
	rowOf   map[*flight.Snapshot]*flightRow // the row of each leg of the answer
	seen    map[string]bool                 // rows that the answer has spoken of
	fresh   map[snapshotKey]*flight.Snapshot
	changed []string
	due     []Due
}

// pass takes the answer in, its rows being locked.
func (d *door) pass(ctx context.Context) error {
	for _, leg := range d.Legs {
		if err := d.leg(ctx, leg); err != nil {
			return err
		}
	}
	return d.absent(ctx)
}

// match finds the row of every leg, each its own, and returns the legs that
// have none yet: by the route, else by the provider's id, which stays when a
// route changes. Legs of one route are one leg, of which the first counts.
func (d *door) match() (missing []*flight.Snapshot) {
	d.rowOf = make(map[*flight.Snapshot]*flightRow, len(d.Legs))
	taken := make(map[*flightRow]bool, len(d.Legs))
	for _, s := range d.Legs {
		leg := s.LegKey()
		if i := slices.IndexFunc(d.rows, func(f *flightRow) bool { return f.Leg == leg }); i >= 0 {
			d.rowOf[s], taken[d.rows[i]] = d.rows[i], true
		}
	}
	for _, s := range d.Legs {
		if d.rowOf[s] != nil {
			continue
		}
		i := slices.IndexFunc(d.rows, func(f *flightRow) bool {
			return f.Resolved && !taken[f] && s.ProviderFlightID != "" && f.idOf(d.Source) == s.ProviderFlightID
		})
		if i < 0 {
			missing = append(missing, s)
			continue
		}
		d.rowOf[s], taken[d.rows[i]] = d.rows[i], true
	}
	return missing
}

func newLegRow(source string, s *flight.Snapshot) flightRow {
	return flightRow{
		ID: newID("flt_"), Leg: s.LegKey(), FlightKey: s.FlightKey,
		Carrier: s.CarrierCode, Number: s.FlightNumber, Date: s.Date,
		Resolved: true, Origin: s.Departure.Airport.IATA, Destination: s.Arrival.Airport.IATA,
		Provider: source, ProviderFlightID: s.ProviderFlightID,
	}
}

// insertFlight makes a row unless another process has just made it.
func (tx *Tx) insertFlight(ctx context.Context, f flightRow) error {
	_, err := tx.exec(ctx, `INSERT INTO flights (id, leg, flight_key, carrier, number, date, resolved, origin, destination,
			provider, provider_flight_id, version, catch_up, poll_reason, poll_token, poll_failures, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, false, '', '', 0, $12) ON CONFLICT (leg) DO NOTHING`,
		f.ID, f.Leg, f.FlightKey, f.Carrier, f.Number, f.Date, f.Resolved, f.Origin, f.Destination,
		f.Provider, f.ProviderFlightID, At(tx.db.Now()))
	return err
}

// leg takes in one leg of the answer.
func (d *door) leg(ctx context.Context, s *flight.Snapshot) error {
	f := d.rowOf[s]
	if d.seen[f.ID] {
		return nil // the same route once more
	}
	d.seen[f.ID] = true
	if !d.AskedAt.After(f.AskedAt.Std()) {
		return d.plan(ctx, f, nil) // older than what stands: it changes nothing
	}
	next, err := d.take(ctx, f, s)
	if err != nil {
		return err
	}
	for _, p := range slices.Clone(d.rows) {
		if p.Resolved || p.FlightKey != d.Key.String() {
			continue
		}
		if chosen, err := d.Legs.Select(p.selector()); err != nil || d.rowOf[chosen] != f {
			continue
		}
		if err := d.adopt(ctx, p, f, next); err != nil {
			return err
		}
	}
	return d.plan(ctx, f, next)
}

// take puts what counts of raw in the place of what stands of a leg, and
// returns it.
func (d *door) take(ctx context.Context, f *flightRow, raw *flight.Snapshot) (*flight.Snapshot, error) {
	if f.Version == 0 {
		return raw, d.store(ctx, f, step{next: raw, raw: raw, isNew: true})
	}
	stored, err := d.db.snapshot(ctx, d.queries, f.ID, f.Version)
	if err != nil {
		return nil, err
	}
	held, err := f.held()
	if err != nil {
		return nil, err
	}
	if listed := flight.Listed(held); len(listed) < len(held) {
		held = listed
		f.hold(held)
	}
	s := step{prev: stored.FetchedAgain(f.FetchedAt.Flight()), raw: raw}
	reconciled, kept := flight.Reconcile(s.prev, held, raw, f.Provider, d.Source, d.Now)
	s.next, s.held = flight.Hold(s.prev, held, reconciled, d.Now, d.Hold)
	s.held = append(kept, s.held...)
	same := flight.SameContent(stored, s.next)
	if same {
		s.next = stored.FetchedAgain(raw.FetchedAt)
	}
	s.isNew = !same || !sameHeld(held, s.held)
	return s.next, d.store(ctx, f, s)
}

// sameHeld reports whether the same values are held against the same words:
// then, if the same counts, the upstream has said the same.
func sameHeld(a, b []flight.Held) bool {
	return slices.EqualFunc(a, b, func(a, b flight.Held) bool { return a.Path == b.Path && a.By == b.By && a.Said == b.Said })
}

// held returns the values that the standing snapshot holds.
func (f *flightRow) held() (held []flight.Held, err error) {
	if f.Held == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(f.Held), &held); err != nil {
		return nil, fmt.Errorf("what %s holds: %w", f.ID, err)
	}
	return held, nil
}

func (f *flightRow) hold(held []flight.Held) {
	f.Held = ""
	if len(held) > 0 {
		f.Held = jsonText(held)
	}
}

// step is the way from one version of a leg to what an answer makes of it.
type step struct {
	prev, next *flight.Snapshot // what counted, nil at first sight, and what counts now
	raw        *flight.Snapshot // what the upstream said
	held       []flight.Held    // what next has and raw has not
	isNew      bool             // the upstream said something else than before
}

// store writes a new version where the upstream said something new, with the
// events of those who are to hear of it.
func (d *door) store(ctx context.Context, f *flightRow, s step) error {
	prev, next := s.prev, s.next
	var changes []flight.Change
	if s.isNew {
		if prev != nil {
			changes = flight.Diff(prev, next)
		}
		if err := d.insertUpdate(ctx, f, s, changes); err != nil {
			return err
		}
		d.changed = append(d.changed, f.ID)
		f.hold(s.held)
	}
	f.AskedAt, f.FetchedAt = At(d.AskedAt), world(next.FetchedAt)
	f.Leg, f.Origin, f.Destination = next.LegKey(), next.Departure.Airport.IATA, next.Arrival.Airport.IATA
	f.known(d.Source, next.ProviderFlightID)
	reason, ended := "", false
	if f.watched() {
		reason, ended = flight.WatchEnded(next, d.Now)
	}
	if len(changes) == 0 && !ended && !f.CatchUp {
		return nil
	}
	return d.fanOut(ctx, f, news{prev: prev, next: next, changes: changes, ended: ended, reason: reason})
}

func (d *door) insertUpdate(ctx context.Context, f *flightRow, s step, changes []flight.Change) error {
	f.Version++
	var previous Time
	if s.prev != nil {
		previous = world(s.prev.FetchedAt)
	}
	base, baseText, err := d.base(ctx, f.ID, f.Version)
	if err != nil {
		return err
	}
	text := s.next.Encode()
	var raw, packedChanges []byte
	if len(s.held) > 0 {
		raw = pack(text, s.raw.Encode())
	}
	plainChanges := "[]"
	if len(changes) > 0 {
		plainChanges, packedChanges = "", pack(text, []byte(jsonText(changes)))
	}
	d.updates = append(d.updates, []any{f.ID, f.Version, "", base, pack(baseText, text), raw, plainChanges, packedChanges,
		previous, d.Source, At(d.wall)})
	d.fresh[snapshotKey{f.ID, f.Version}] = s.next
	return nil
}

// plan writes the row back with the time of its next poll: none when nobody
// watches any more, nor while another process holds the claim. next is nil
// when the answer was refused.
func (d *door) plan(ctx context.Context, f *flightRow, next *flight.Snapshot) error {
	return d.planUnlisted(ctx, f, next, 0)
}

// planUnlisted is plan for a leg that is looked for until then; 0: it is not.
func (d *door) planUnlisted(ctx context.Context, f *flightRow, next *flight.Snapshot, until flight.Time) error {
	if next != nil {
		f.PollFailures = 0
	}
	mine := d.Poll != nil && d.Poll.FlightID == f.ID && d.Poll.Token == f.PollToken
	claimed := f.PollToken != "" && f.PollLeaseUntil.Std().After(d.wall) && !mine
	if next == nil {
		if !mine {
			return nil
		}
		stored, err := d.db.snapshot(ctx, d.queries, f.ID, f.Version)
		if err != nil {
			return err
		}
		next = stored
	}
	if mine {
		f.PollToken, f.PollLeaseUntil = "", Time{} // also when nobody watches: somebody may soon
	}
	if f.watched() && !claimed {
		p := d.Schedule.Next(next, d.Now)
		if until > 0 {
			p = d.Schedule.NextUnlisted(next, d.Now, until)
		}
		f.NextPollAt, f.PollReason, f.PollToken, f.PollLeaseUntil = world(p.At), p.Reason, "", Time{}
		f.LastPolledAt = world(d.Now)
	}
	d.save(f)
	return nil
}

// stillWatched is the condition that somebody wants the row of flights polled;
// now is the parameter that holds the wall time. It is asked of a few rows: for
// EXISTS, PostgreSQL may read all subscriptions first.
func stillWatched(now string) string {
	return `coalesce((SELECT true FROM subscriptions w WHERE w.flight_id = flights.id AND w.status IN ('active', 'pending') LIMIT 1),
		(SELECT true FROM viewers v WHERE v.flight_id = flights.id AND v.expires_at > ` + now + ` LIMIT 1), false)`
}

// resolvedRows returns the rows that have a snapshot.
func (d *door) resolvedRows() []flightRow {
	var out []flightRow
	for _, f := range d.rows {
		if f.Resolved && f.Version > 0 {
			out = append(out, *f)
		}
	}
	return out
}
