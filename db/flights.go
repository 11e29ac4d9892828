package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// flightRow is a row of flights.
type flightRow struct {
	ID               string   `db:"id"`
	Leg              string   `db:"leg"`
	FlightKey        string   `db:"flight_key"`
	Carrier          string   `db:"carrier"`
	Number           string   `db:"number"`
	Date             string   `db:"date"`
	Resolved         bool     `db:"resolved"`
	Origin           string   `db:"origin"`
	Destination      string   `db:"destination"`
	Provider         string   `db:"provider"`
	ProviderFlightID string   `db:"provider_flight_id"`
	OtherIDs         otherIDs `db:"other_ids"`
	Version          int64    `db:"version"`
	AskedAt          Time     `db:"asked_at"`
	FetchedAt        Time     `db:"fetched_at"`
	CatchUp          bool     `db:"catch_up"`
	Held             string   `db:"held"` // JSON of the values that the standing snapshot holds; "" for none
	NextPollAt       Time     `db:"next_poll_at"`
	PollReason       string   `db:"poll_reason"`
	PollToken        string   `db:"poll_token"`
	PollLeaseUntil   Time     `db:"poll_lease_until"`
	PollFailures     int      `db:"poll_failures"`
	LastPolledAt     Time     `db:"last_polled_at"`
	CreatedAt        Time     `db:"created_at"`
}

const flightColumns = `id, leg, flight_key, carrier, number, date, resolved, origin, destination,
	provider, provider_flight_id, other_ids, version, asked_at, fetched_at, catch_up, held,
	next_poll_at, poll_reason, poll_token, poll_lease_until, poll_failures, last_polled_at, created_at`

// selector is what a flight that is looked for must match.
func (f *flightRow) selector() flight.Selector {
	return flight.Selector{Origin: f.Origin, Destination: f.Destination, FlightID: f.ProviderFlightID}
}

// watched reports whether somebody wants this leg polled.
func (f *flightRow) watched() bool { return !f.NextPollAt.Std().IsZero() }

// Standing is what is known of a flight: the legs of the last answer, the
// default leg first, each fetched when the upstream was last asked, with the
// id of its row and its version.
type Standing struct {
	Legs     flight.Legs
	IDs      []string
	Versions []int64
}

// FetchedAt returns the world time at which the upstream was last asked;
// unknown when it never was.
func (s Standing) FetchedAt() flight.Time {
	if len(s.Legs) == 0 {
		return 0
	}
	return s.Legs[0].FetchedAt
}

// IDOf returns the row id of one of the legs.
func (s Standing) IDOf(leg *flight.Snapshot) string {
	return s.IDs[slices.Index(s.Legs, leg)]
}

// Standing returns what is known of a flight; it is empty when the flight has
// never been seen.
func (db *DB) Standing(ctx context.Context, key flight.Key) (Standing, error) {
	var rows []flightRow
	err := db.sel(ctx, &rows, `SELECT `+flightColumns+` FROM flights WHERE flight_key = $1 AND resolved`, key.String())
	if err != nil {
		return Standing{}, domainError(ctx, "standing", err)
	}
	return db.standing(ctx, rows)
}

// standing reads the snapshots of rows, of which it keeps those of the last
// answer.
func (db *DB) standing(ctx context.Context, rows []flightRow) (Standing, error) {
	var last time.Time
	for i := range rows {
		if at := rows[i].AskedAt.Std(); at.After(last) {
			last = at
		}
	}
	rows = slices.DeleteFunc(rows, func(f flightRow) bool { return f.Version == 0 || !f.AskedAt.Std().Equal(last) })
	var s Standing
	legs := make(map[string]*flight.Snapshot, len(rows))
	for i := range rows {
		snap, err := db.snapshot(ctx, db.queries, rows[i].ID, rows[i].Version)
		if err != nil {
			return Standing{}, err
		}
		legs[rows[i].ID] = rows[i].asOfNow(snap)
	}
	slices.SortFunc(rows, func(a, b flightRow) int { return place(legs[a.ID]) - place(legs[b.ID]) })
	for i := range rows {
		s.Legs = append(s.Legs, legs[rows[i].ID])
		s.IDs = append(s.IDs, rows[i].ID)
		s.Versions = append(s.Versions, rows[i].Version)
	}
	return s, nil
}

// place returns where a leg stands in its answer.
func place(s *flight.Snapshot) int {
	return slices.IndexFunc(s.Alternates, func(l flight.LegRef) bool { return l.Selected })
}

// snapshot returns one version of a leg.
func (db *DB) snapshot(ctx context.Context, q queries, flightID string, version int64) (*flight.Snapshot, error) {
	key := snapshotKey{flightID, version}
	if s := db.snapshots.get(key); s != nil {
		return s, nil
	}
	var row packedText
	err := q.get(ctx, &row, `SELECT `+packedColumns+` FROM `+packedFrom+` WHERE u.flight_id = $1 AND u.version = $2`, flightID, version)
	if err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", version, flightID, err)
	}
	text, err := row.text()
	if err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", version, flightID, err)
	}
	s, err := flight.DecodeSnapshot(text)
	if err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", version, flightID, err)
	}
	db.snapshots.set(key, s)
	return s, nil
}

// present returns the snapshot of a row as of the last look; nil while the
// flight is not found.
func (tx *Tx) present(ctx context.Context, f *flightRow) (*flight.Snapshot, error) {
	if !f.Resolved || f.Version == 0 {
		return nil, nil
	}
	s, err := tx.db.snapshot(ctx, tx.queries, f.ID, f.Version)
	if err != nil {
		return nil, err
	}
	return f.asOfNow(s), nil
}

// asOfNow returns the row's snapshot as of the last answer, marked as stale
// where polls have failed since.
func (f *flightRow) asOfNow(s *flight.Snapshot) *flight.Snapshot {
	return s.FetchedAgain(f.FetchedAt.Flight()).With(f.provenance())
}

func (f *flightRow) provenance() flight.Provenance {
	return flight.Provenance{Source: f.Provider, OtherIDs: f.OtherIDs.list(), Stale: f.PollFailures > 0}
}

// Update is one version of a leg's snapshot.
type Update struct {
	FlightID          string
	Version           int64
	Snapshot          *flight.Snapshot
	Changes           []flight.Change // the Diff to the version before
	PreviousFetchedAt flight.Time
	CreatedAt         time.Time
}

type updateRow struct {
	FlightID string `db:"flight_id"`
	Version  int64  `db:"version"`
	packedChanges
	PreviousFetchedAt Time   `db:"previous_fetched_at"`
	Source            string `db:"source"`
	CreatedAt         Time   `db:"created_at"`
}

const updateColumns = `flight_id, version, changes, packed_changes, previous_fetched_at, source, created_at`

func (db *DB) update(ctx context.Context, r updateRow) (Update, error) {
	snap, err := db.snapshot(ctx, db.queries, r.FlightID, r.Version)
	if err != nil {
		return Update{}, err
	}
	u := Update{
		FlightID: r.FlightID, Version: r.Version, Snapshot: snap.With(flight.Provenance{Source: r.Source}),
		PreviousFetchedAt: r.PreviousFetchedAt.Flight(), CreatedAt: r.CreatedAt.Std(),
	}
	if u.Changes, err = r.changes(snap.Encode()); err != nil {
		return Update{}, fmt.Errorf("changes of version %d of %s: %w", r.Version, r.FlightID, err)
	}
	return u, nil
}

// UpdatesAfter returns the updates of a leg that changed something watched and
// came after version, oldest first, at most limit.
func (db *DB) UpdatesAfter(ctx context.Context, flightID string, version int64, limit int) ([]Update, error) {
	var rows []updateRow
	err := db.sel(ctx, &rows, `SELECT `+updateColumns+` FROM updates
		WHERE flight_id = $1 AND version > $2 AND changes <> '[]' ORDER BY version LIMIT $3`, flightID, version, limit)
	if err != nil {
		return nil, domainError(ctx, "updates after", err)
	}
	out := make([]Update, len(rows))
	for i, r := range rows {
		if out[i], err = db.update(ctx, r); err != nil {
			return nil, domainError(ctx, "updates after", err)
		}
	}
	return out, nil
}

// LatestUpdate returns the present state of a leg. Its snapshot is fetched
// when the upstream last answered. CodeNotFound when there is no such leg.
func (db *DB) LatestUpdate(ctx context.Context, flightID string) (Update, error) {
	var r struct {
		updateRow
		FetchedAt    Time     `db:"fetched_at"`
		PollFailures int      `db:"poll_failures"`
		Provider     string   `db:"provider"`
		OtherIDs     otherIDs `db:"other_ids"`
	}
	err := db.get(ctx, &r, `SELECT u.flight_id, u.version, u.changes, u.packed_changes, u.previous_fetched_at, u.source, u.created_at,
			f.fetched_at, f.poll_failures, f.provider, f.other_ids
		FROM flights f JOIN updates u ON u.flight_id = f.id AND u.version = f.version WHERE f.id = $1`, flightID)
	if err != nil {
		return Update{}, domainError(ctx, "latest update", err)
	}
	u, err := db.update(ctx, r.updateRow)
	if err != nil {
		return Update{}, domainError(ctx, "latest update", err)
	}
	f := flightRow{FetchedAt: r.FetchedAt, PollFailures: r.PollFailures, Provider: r.Provider, OtherIDs: r.OtherIDs}
	u.Snapshot = f.asOfNow(u.Snapshot)
	return u, nil
}

// Watch keeps legs polled for the live viewers of one process until the wall
// time given; processes call it again before that. now is the world time, at
// which a leg that nobody watched is polled first.
func (db *DB) Watch(ctx context.Context, process string, flightIDs []string, until time.Time, now flight.Time) error {
	flightIDs = slices.Sorted(slices.Values(flightIDs)) // one order of locks for everyone
	for part := range slices.Chunk(flightIDs, watchedAtOnce) {
		if err := db.watch(ctx, process, part, until, now); err != nil {
			return err
		}
	}
	if len(flightIDs) == 0 {
		return nil
	}
	_, err := db.writes.exec(ctx, `DELETE FROM viewers WHERE process = $1 AND expires_at < $2`, process, At(db.Now()))
	return domainError(ctx, "forget viewers", err)
}

// watchedAtOnce is how many legs a transaction announces: whoever writes
// meanwhile waits for no more.
const watchedAtOnce = 500

func (db *DB) watch(ctx context.Context, process string, flightIDs []string, until time.Time, now flight.Time) error {
	return db.tx(ctx, "watch", func(tx *Tx) error {
		others, err := tx.watchOn(ctx, process, flightIDs, until)
		if err != nil || len(others) == 0 {
			return err
		}
		ids := idList(others)
		// The flights are locked first, as everywhere.
		var have []string
		if err := tx.sel(ctx, &have, `SELECT f.id FROM flights f WHERE f.id `+tx.kind.oneOf()+` ORDER BY f.id`+tx.kind.forUpdate(), ids); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO viewers (process, flight_id, expires_at)
			SELECT $2, x.id, $3 FROM `+tx.kind.ids()+` WHERE true
			ON CONFLICT (flight_id, process) DO UPDATE SET expires_at = excluded.expires_at`, idList(have), process, At(until))
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE flights SET next_poll_at = $2, poll_reason = 'live viewer'
			WHERE next_poll_at IS NULL AND id `+tx.kind.oneOf(), ids, world(now))
		return err
	})
}

// watchOn goes on with what the process watches already, and returns the others.
// An announcement that holds keeps its leg from being stopped, so no flight need
// be locked, and whoever has news of one does not wait.
func (tx *Tx) watchOn(ctx context.Context, process string, flightIDs []string, until time.Time) (others []string, err error) {
	var on []string
	err = tx.sel(ctx, &on, `UPDATE viewers SET expires_at = $3
		WHERE process = $2 AND expires_at > $4 AND flight_id IN (SELECT x.id FROM `+tx.kind.ids()+`)
			AND EXISTS (SELECT 1 FROM flights f WHERE f.id = viewers.flight_id AND f.next_poll_at IS NOT NULL)
		RETURNING flight_id`, idList(flightIDs), process, At(until), At(tx.db.Now()))
	if err != nil || len(on) == 0 {
		return flightIDs, err
	}
	slices.Sort(on)
	for _, id := range flightIDs {
		if _, found := slices.BinarySearch(on, id); !found {
			others = append(others, id)
		}
	}
	return others, nil
}
