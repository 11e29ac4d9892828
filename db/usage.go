package db

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Usage is how many requests of a key were counted in a UTC day or month.
type Usage struct {
	Period   string    `json:"period" db:"period"` // "2026-11-21" or "2026-11"
	KeyID    string    `json:"key_id" db:"key_id"` // or the id of an account token
	Requests int64     `json:"requests" db:"requests"`
	LastAt   time.Time `json:"-" db:"-"` // when the last of them was let in; zero: not known
}

// AddUsage adds to what has been counted, and notes when the keys were last
// used, all or nothing. Any number of
// processes may add to the same rows. After an error it is open whether it was
// added.
func (db *DB) AddUsage(ctx context.Context, more []Usage) error {
	if len(more) == 0 {
		return nil
	}
	more = slices.Clone(more)
	slices.SortFunc(more, func(a, b Usage) int { // one order of locks for all
		return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.KeyID, b.KeyID))
	})
	return db.tx(ctx, "add usage", func(tx *Tx) error {
		if err := tx.markUsed(ctx, more); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `
			INSERT INTO usage (period, key_id, requests, updated_at)
			SELECT x.period, x.key_id, x.requests, $2 FROM `+tx.kind.rows("period TEXT", "key_id TEXT", "requests BIGINT")+` WHERE true
			ON CONFLICT (period, key_id) DO UPDATE SET requests = usage.requests + excluded.requests, updated_at = excluded.updated_at`,
			jsonText(more), At(db.Now()))
		return err
	})
}

// markUsed notes when keys were last used.
func (tx *Tx) markUsed(ctx context.Context, more []Usage) error {
	last := map[string]time.Time{}
	for _, u := range more {
		if u.LastAt.After(last[u.KeyID]) {
			last[u.KeyID] = u.LastAt
		}
	}
	type row struct {
		ID string `json:"id"`
		At any    `json:"at"`
	}
	rows := make([]row, 0, len(last))
	for _, id := range slices.Sorted(maps.Keys(last)) {
		rows = append(rows, row{id, tx.kind.moment(last[id])})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `UPDATE api_keys SET last_used_at = x.at FROM `+tx.kind.rows("id TEXT", "at TIMESTAMPTZ")+`
		WHERE api_keys.id = x.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < x.at)`, jsonText(rows))
	return err
}

// Usage returns what has been counted of a key in a day and in a month; 0 where
// nothing has.
func (db *DB) Usage(ctx context.Context, keyID, day, month string) (inDay, inMonth int64, err error) {
	var rows []Usage
	err = db.sel(ctx, &rows, `SELECT period, key_id, requests FROM usage WHERE key_id = $1 AND period IN ($2, $3)`, keyID, day, month)
	for _, r := range rows {
		if r.Period == day {
			inDay = r.Requests
		} else {
			inMonth = r.Requests
		}
	}
	return inDay, inMonth, domainError(ctx, "usage", err)
}

// DropUsageDays forgets the days before one; months are kept for ever.
func (db *DB) DropUsageDays(ctx context.Context, before string) error {
	_, err := db.write.ExecContext(ctx, `DELETE FROM usage WHERE length(period) = 10 AND period < $1`, before)
	return domainError(ctx, "drop usage", err)
}
