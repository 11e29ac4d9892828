package dbtest

import (
	"context"
	"slices"
	"time"

	"github.com/flightwire/flightwire/db"
)

// ClaimEvents claims up to limit events of any lane as a process that keeps no
// lanes would: first those that are due for the longest. Claims that ran out
// are ended before.
func ClaimEvents(ctx context.Context, d *db.DB, limit int, lease time.Duration) ([]db.Attempt, error) {
	due, err := allDue(ctx, d, limit)
	if err != nil {
		return nil, err
	}
	if _, err := d.EndInterrupted(ctx, due); err != nil {
		return nil, err
	}
	if due, err = allDue(ctx, d, limit); err != nil {
		return nil, err
	}
	ids := make([]string, len(due))
	for i := range due {
		ids[i] = due[i].EventID
	}
	return d.ClaimEvents(ctx, ids, lease)
}

func allDue(ctx context.Context, d *db.DB, limit int) (due []db.Due, err error) {
	for _, lane := range []db.Lane{db.Prompt, db.Slow} {
		more, _, err := d.DueEvents(ctx, lane, db.DuePlace{}, limit)
		if err != nil {
			return nil, err
		}
		due = append(due, more...)
	}
	slices.SortStableFunc(due, func(a, b db.Due) int { return a.At.Std().Compare(b.At.Std()) })
	return due[:min(limit, len(due))], nil
}
