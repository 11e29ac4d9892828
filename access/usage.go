package access

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flightwire/flightwire/db"
)

const (
	saveEvery   = 3 * time.Second
	saveTimeout = 10 * time.Second
	keepDays    = 35 // days of usage that are kept; months are for ever
)

// usageStore is where counts outlive Redis: *db.DB.
type usageStore interface {
	AddUsage(ctx context.Context, more []db.Usage) error
	Usage(ctx context.Context, keyID, day, month string) (inDay, inMonth int64, err error)
	DropUsageDays(ctx context.Context, before string) error
}

// ledger carries what Redis has counted to SQL, every few seconds, as
// differences, so that any number of processes add up.
type ledger struct {
	store usageStore
	now   func() time.Time
	reads singleflight.Group

	mu      sync.Mutex
	pending map[ledgerRow]used

	saving  sync.Mutex      // one save or read at a time: what is read has all that was saved
	seedDay string          // under saving, as what follows
	seeds   map[string]seed // by key id, of that day
	dropped string          // the day for which old days were dropped; run's
}

type ledgerRow struct{ period, id string }

// used is how many requests there were, and when the last one was.
type used struct {
	n    int64
	last time.Time
}

func (u used) plus(n int64, at time.Time) used {
	if at.After(u.last) {
		u.last = at
	}
	u.n += n
	return u
}

func newLedger(s usageStore, now func() time.Time) *ledger {
	return &ledger{store: s, now: now, pending: map[ledgerRow]used{}}
}

// add notes n more requests of a key.
func (l *ledger) add(id string, n int64, at time.Time) {
	day, month := ledgerRow{Day.period(at), id}, ledgerRow{Month.period(at), id}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[day] = l.pending[day].plus(n, at)
	l.pending[month] = l.pending[month].plus(n, at)
}

// save writes what is pending. What could not be written stays pending; where
// it is open whether it was, it may be written twice.
func (l *ledger) save(ctx context.Context) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	return l.saveLocked(ctx)
}

func (l *ledger) saveLocked(ctx context.Context) error {
	l.mu.Lock()
	pending := l.pending
	l.pending = map[ledgerRow]used{}
	l.mu.Unlock()
	rows := make([]db.Usage, 0, len(pending))
	for r, u := range pending {
		rows = append(rows, db.Usage{Period: r.period, KeyID: r.id, Requests: u.n, LastAt: u.last})
	}
	err := l.store.AddUsage(ctx, rows)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for r, u := range pending {
		l.pending[r] = l.pending[r].plus(u.n, u.last)
	}
	return err
}

// seed is what SQL said of a key.
type seed struct {
	day, month int64
	read       time.Time // when SQL was asked
	sown       int64     // the round trip that brought it to Redis; 0: none yet
}

// seedFor is how long a seed may wait to be sown.
const seedFor = 2 * redisTimeout

// read returns what has been counted of a key in the day and the month in which
// Redis had no count, with what this process has pending. All requests that
// Redis told of one loss share one read.
func (l *ledger) read(ctx context.Context, id string, lost reply) (seed, error) {
	day := Day.period(lost.at)
	v, err, _ := l.reads.Do(id+" "+day, func() (any, error) {
		l.saving.Lock()
		defer l.saving.Unlock()
		if day != l.seedDay {
			l.seedDay, l.seeds = day, map[string]seed{}
		}
		if s, ok := l.seeds[id]; ok && (s.sown >= lost.trip || s.sown == 0 && time.Since(s.read) < seedFor) {
			return s, nil // of the same loss
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		s := seed{read: time.Now()}
		if err := l.saveLocked(ctx); err != nil {
			return s, err
		}
		var err error
		if s.day, s.month, err = l.store.Usage(ctx, id, day, Month.period(lost.at)); err != nil {
			return s, err
		}
		l.seeds[id] = s
		return s, nil
	})
	if err != nil {
		return seed{}, fmt.Errorf("read what was counted of the API key %s: %w", id, err)
	}
	return v.(seed), nil
}

// sown notes that the key's seed has reached Redis: what is missing there in a
// later round trip is another loss.
func (l *ledger) sown(id string, trip int64) {
	l.saving.Lock()
	defer l.saving.Unlock()
	if s, ok := l.seeds[id]; ok && s.sown == 0 {
		s.sown = trip
		l.seeds[id] = s
	}
}

// run saves every few seconds until stop is closed, and then once more.
func (l *ledger) run(stop <-chan struct{}) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-stop:
			last = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
		if err := l.save(ctx); err != nil {
			slog.Warn("counted requests could not be written to SQL; they are written later", "error", err)
		} else if !last {
			l.drop(ctx)
		}
		cancel()
	}
}

// drop forgets old days, once a day.
func (l *ledger) drop(ctx context.Context) {
	now := l.now()
	if today := Day.period(now); today != l.dropped {
		if err := l.store.DropUsageDays(ctx, Day.period(now.AddDate(0, 0, -keepDays))); err != nil {
			slog.Warn("old days of usage could not be dropped", "error", err)
			return
		}
		l.dropped = today
	}
}
