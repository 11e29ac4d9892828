package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/flightwire/flightwire/flight"
)

// Known is what was known of a leg for a while.
type Known struct {
	Version int64
	Source  string
	Said    *flight.Snapshot // as the upstream said it; its FetchedAt is the moment when it was first known
	Held    bool             // values that it had stopped saying still counted
	Changes []flight.Change  // what subscribers were told from, see [Update]
	Until   flight.Time      // world time at which the next one was first known; unknown: it stands
}

// LegOf returns the row of the leg that a snapshot describes, and its version,
// by its route, else by the upstream's id. id is empty when nothing is known of
// it any more.
func (db *DB) LegOf(ctx context.Context, s *flight.Snapshot) (id string, version int64, err error) {
	var row struct {
		ID      string `db:"id"`
		Version int64  `db:"version"`
	}
	err = db.get(ctx, &row, `SELECT id, version FROM flights
		WHERE resolved AND (leg = $1 OR flight_key = $2 AND provider_flight_id = $3 AND provider_flight_id <> '')
		ORDER BY CASE WHEN leg = $1 THEN 0 ELSE 1 END, id LIMIT 1`, s.LegKey(), s.FlightKey, s.ProviderFlightID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return row.ID, row.Version, domainError(ctx, "leg", err)
}

// History returns what was known of a leg before a version, newest first and at
// most limit, and how much there is in all. before 0 begins with what stands.
func (db *DB) History(ctx context.Context, flightID string, before int64, limit int) (log []Known, total int, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	var rows []knownRow
	err = db.get(ctx, &total, `SELECT count(*) FROM updates WHERE flight_id = $1`, flightID)
	if err == nil { // with the next one, which says until when the first was known
		err = db.sel(ctx, &rows, `SELECT u.version, u.raw, u.packed_raw, u.changes, u.packed_changes, u.source, `+packedColumns+` FROM `+packedFrom+`
			WHERE u.flight_id = $1 AND u.version <= coalesce((SELECT min(n.version) FROM updates n WHERE n.flight_id = $1 AND n.version >= $2), $2)
			ORDER BY u.version DESC LIMIT $3`, flightID, before, limit+1)
	}
	if err != nil {
		return nil, 0, domainError(ctx, "history", err)
	}
	var until flight.Time
	for i := range rows {
		k, err := rows[i].known()
		if err != nil {
			return nil, 0, fmt.Errorf("version %d of %s: %w", rows[i].Version, flightID, err)
		}
		k.Until, until = until, k.Said.FetchedAt
		if k.Version < before && len(log) < limit {
			log = append(log, k)
		}
	}
	return log, max(total, len(log)), nil // one may have come in between the two
}

type knownRow struct {
	packedText
	packedChanges
	Version   int64  `db:"version"`
	Raw       string `db:"raw"`
	PackedRaw []byte `db:"packed_raw"`
	Source    string `db:"source"`
}

func (r *knownRow) known() (Known, error) {
	k := Known{Version: r.Version, Source: r.Source, Held: r.Raw != "" || r.PackedRaw != nil}
	text, err := r.text()
	if err == nil {
		k.Changes, err = r.changes(text)
	}
	switch {
	case err != nil:
		return k, err
	case r.PackedRaw != nil:
		text, err = unpack(text, r.PackedRaw)
	case r.Raw != "":
		text = []byte(r.Raw)
	}
	if err == nil {
		k.Said, err = flight.DecodeSnapshot(text)
	}
	if err == nil {
		k.Said = k.Said.With(flight.Provenance{Source: r.Source})
	}
	return k, err
}
