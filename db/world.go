package db

import (
	"context"

	"github.com/flightwire/flightwire/flight"
)

// WorldClock returns the clock of a simulated or replayed world, which every
// process of this database shares and which outlives them. The first one to
// ask starts it as want says. CodeConflict when it runs already for another
// upstream, at another speed, or from another epoch than want asks for; a zero
// speed or epoch asks for whatever there is.
func (db *DB) WorldClock(ctx context.Context, upstream string, want flight.Clock) (flight.Clock, error) {
	var row struct {
		StartAt  Time    `db:"start_at"`
		EpochAt  Time    `db:"epoch_at"`
		Speed    float64 `db:"speed"`
		Upstream string  `db:"upstream"`
	}
	err := db.tx(ctx, "world clock", func(tx *Tx) error {
		first := want
		first.Start = db.Now()
		if first.Epoch.IsZero() {
			first.Epoch = first.Start
		}
		if first.Speed == 0 {
			first.Speed = 1
		}
		if _, err := tx.exec(ctx, `INSERT INTO world (id, start_at, epoch_at, speed, upstream) VALUES (1, $1, $2, $3, $4)
			ON CONFLICT (id) DO NOTHING`, At(first.Start), At(first.Epoch), first.Speed, upstream); err != nil {
			return err
		}
		return tx.get(ctx, &row, `SELECT start_at, epoch_at, speed, upstream FROM world WHERE id = 1`)
	})
	if err != nil {
		return flight.Clock{}, err
	}
	have := flight.Clock{Start: row.StartAt.Std(), Epoch: row.EpochAt.Std(), Speed: row.Speed}
	switch {
	case row.Upstream != upstream:
		return have, flight.Errorf(flight.CodeConflict, "this database holds a world of the upstream %s; use another database or data folder for %s", row.Upstream, upstream)
	case want.Speed != 0 && want.Speed != have.Speed:
		return have, flight.Errorf(flight.CodeConflict, "this database's world runs at speed %g; start without --speed, or with another database or data folder", have.Speed)
	case !want.Epoch.IsZero() && !At(want.Epoch).Std().Equal(have.Epoch):
		return have, flight.Errorf(flight.CodeConflict, "this database's world began at %s; start without --start, or with another database or data folder", have.Epoch.Format("2006-01-02T15:04:05Z"))
	}
	return have, nil
}
