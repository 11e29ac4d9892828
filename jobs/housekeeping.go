package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/flightwire/flightwire/db"
)

const (
	houseEvery   = 10 * time.Minute      // between two passes, give or take half of it
	housePace    = 50 * time.Millisecond // least pause between two batches
	houseTimeout = 10 * time.Second      // of a batch
	houseRows    = 500                   // most rows of a batch

	// DefaultEventDays is how many days events and attempts are kept, if nobody
	// says otherwise.
	DefaultEventDays = 30

	// DefaultHistoryDays is how many days after a flight its history is kept, if
	// nobody says otherwise.
	DefaultHistoryDays = 30
)

// keepHouse deletes what has had its time now and then, until ctx ends. The
// first pass comes at any time of the interval, so that processes that start
// together do not work together.
func (w *Worker) keepHouse(ctx context.Context) {
	wait := rand.N(w.houseEvery)
	for rest(ctx, wait) {
		if err := w.cleanHouse(ctx); err != nil && ctx.Err() == nil {
			slog.ErrorContext(ctx, "what is old could not be deleted; it is tried again", "error", err)
		}
		wait = w.houseEvery/2 + rand.N(w.houseEvery)
	}
}

// rest waits for d; false when ctx has ended.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// cleanHouse deletes everything that has had its time, batch by batch. Events go
// before the history that they refer to.
func (w *Worker) cleanHouse(ctx context.Context) error {
	for _, clean := range []func(context.Context) error{w.dropRunOut, w.trimLogs, w.trimHistory} {
		if err := clean(ctx); err != nil {
			return err
		}
	}
	w.Step("house.cleaned")
	return nil
}

// batches calls batch until it is done. After each it pauses for as long as the
// batch took, and at least for housePace.
func batches(ctx context.Context, batch func(context.Context) (done bool, err error)) error {
	for {
		began := time.Now()
		batchCtx, cancel := context.WithTimeout(ctx, houseTimeout)
		done, err := batch(batchCtx)
		cancel()
		if err != nil || done {
			return err
		}
		if !rest(ctx, max(housePace, time.Since(began))) {
			return ctx.Err()
		}
	}
}

// dropRunOut deletes viewers whose process is gone, and idempotency keys that
// stand for nothing any more.
func (w *Worker) dropRunOut(ctx context.Context) error {
	err := batches(ctx, func(ctx context.Context) (bool, error) {
		n, err := w.DB.DropViewers(ctx, w.DB.Now().Add(-time.Minute), houseRows)
		return n < houseRows, err
	})
	if err != nil {
		return err
	}
	return batches(ctx, func(ctx context.Context) (bool, error) {
		n, err := w.DB.TrimIdempotencyKeys(ctx, houseRows)
		return n < houseRows, err
	})
}

// trimLogs deletes old attempts, then old events.
func (w *Worker) trimLogs(ctx context.Context) error {
	before := w.DB.Now().AddDate(0, 0, -w.EventDays)
	trim := func(batch func(context.Context, time.Time, string) (db.TrimmedLog, error)) (rows int, err error) {
		from := ""
		err = batches(ctx, func(ctx context.Context) (bool, error) {
			got, err := batch(ctx, before, from)
			from, rows = got.Next, rows+got.Rows
			return got.Done, err
		})
		return rows, err
	}
	attempts, err := trim(w.DB.TrimDeliveries)
	events := 0
	if err == nil {
		events, err = trim(w.DB.TrimEvents)
	}
	if events+attempts > 0 {
		slog.InfoContext(ctx, "old events are deleted", "events", events, "attempts", attempts)
	}
	return err
}

// trimHistory deletes what is known of old flights.
func (w *Worker) trimHistory(ctx context.Context) error {
	var from db.TrimPlace
	updates, legs := 0, 0
	err := batches(ctx, func(ctx context.Context) (bool, error) {
		got, err := w.DB.TrimHistory(ctx, w.Intake.World(), w.HistoryDays, w.EventDays, from)
		from, updates, legs = got.Next, updates+got.Updates, legs+got.Legs
		return got.Done, err
	})
	if updates+legs > 0 {
		slog.InfoContext(ctx, "old history is deleted", "updates", updates, "legs", legs)
	}
	return err
}
