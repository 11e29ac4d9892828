package db

import (
	"context"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// accepting is an answer on its way into the database.
type accepting struct {
	Answer
	door *door         // of the last run of the transaction; nil: somebody else holds its flight
	done chan struct{} // closed when err is final
	err  error
}

// keys are the flights that the answer is of. The answer's spelling of the
// carrier may differ from the one that was asked for.
func (a *accepting) keys() []string {
	keys := []string{a.Key.String()}
	for _, s := range a.Legs {
		if !slices.Contains(keys, s.FlightKey) {
			keys = append(keys, s.FlightKey)
		}
	}
	return keys
}

func (db *DB) runAccepts(ctx context.Context, list []*accepting) {
	taken := make(map[string]bool)
	var now, later []*accepting
	for _, a := range list {
		keys := a.keys()
		if slices.ContainsFunc(keys, func(k string) bool { return taken[k] }) {
			later = append(later, a)
			continue
		}
		for _, k := range keys {
			taken[k] = true
		}
		now = append(now, a)
	}
	db.acceptGroup(ctx, now, len(now) == 1)
	for _, a := range later {
		go db.acceptGroup(ctx, []*accepting{a}, true)
	}
}

// acceptGroup takes answers in, in one transaction. Whoever is left waits no
// longer together with the others: an answer for a flight that somebody holds
// waits for it, and after a failure each is tried alone, so that it is its own.
func (db *DB) acceptGroup(ctx context.Context, list []*accepting, wait bool) {
	err := caught(ctx, "accept", func(ctx context.Context) error { return db.accept(ctx, list, wait) })
	for _, a := range list {
		if len(list) > 1 && err != nil || err == nil && a.door == nil {
			go db.acceptGroup(ctx, []*accepting{a}, true)
			continue
		}
		if err == nil {
			for key, s := range a.door.fresh {
				db.snapshots.set(key, s)
			}
		}
		a.err = err
		close(a.done)
	}
}

func (db *DB) accept(ctx context.Context, list []*accepting, wait bool) error {
	return db.tx(ctx, "accept", func(tx *Tx) error {
		w := newDoorway(tx)
		doors, err := w.open(ctx, list, wait)
		if err != nil {
			return err
		}
		for _, d := range doors {
			if err := d.pass(ctx); err != nil {
				return err
			}
		}
		return w.flush(ctx)
	})
}

// open locks every row of the flights, first making those that are missing, and
// returns the doors of the answers whose flights nobody else holds.
func (w *doorway) open(ctx context.Context, list []*accepting, wait bool) (doors []*door, err error) {
	var keys []string
	for _, a := range list {
		keys = append(keys, a.keys()...)
	}
	// match returns the legs that have no row.
	match := func() (missing []legRow, err error) {
		doors = nil
		busy, err := w.lock(ctx, keys, wait)
		if err != nil {
			return nil, err
		}
		for _, a := range list {
			if a.door = nil; slices.ContainsFunc(a.keys(), func(k string) bool { return slices.Contains(busy, k) }) {
				continue
			}
			a.door = &door{doorway: w, Answer: a.Answer, rows: w.of(a.keys()), seen: make(map[string]bool), fresh: make(map[snapshotKey]*flight.Snapshot)}
			doors = append(doors, a.door)
			for _, s := range a.door.match() {
				missing = append(missing, legRow{a.Source, s})
			}
		}
		return missing, nil
	}
	missing, err := match()
	if err != nil || len(missing) == 0 {
		return doors, err
	}
	// One order for everyone: another process may be making the same rows.
	slices.SortFunc(missing, func(a, b legRow) int { return strings.Compare(a.leg.LegKey(), b.leg.LegKey()) })
	for _, m := range missing {
		if err := w.insertFlight(ctx, newLegRow(m.source, m.leg)); err != nil {
			return nil, err
		}
	}
	if missing, err = match(); err == nil && len(missing) > 0 {
		err = errMoved
	}
	return doors, err
}

// legRow is a leg that has no row yet.
type legRow struct {
	source string
	leg    *flight.Snapshot
}
