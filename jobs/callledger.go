package jobs

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flightwire/flightwire/db"
)

const (
	saveCallsEvery = 3 * time.Second
	sqlTimeout     = 10 * time.Second
)

// callLedger carries the calls that this process made to SQL, every few
// seconds, as differences, so that any number of processes add up.
type callLedger struct {
	db       *db.DB
	provider string
	reads    singleflight.Group

	saving sync.Mutex // one save or read at a time: what is read has all that was saved

	mu      sync.Mutex
	pending map[string]int64 // by month
}

// add notes one more call.
func (l *callLedger) add(month string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[month]++
}

// save writes what is pending. What could not be written stays pending; where
// it is open whether it was, it may be counted twice.
func (l *callLedger) save(ctx context.Context) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	pending := l.pending
	l.pending = map[string]int64{}
	l.mu.Unlock()
	var failed error
	for month, n := range pending {
		if err := l.db.AddCalls(ctx, l.provider, month, n); err != nil {
			failed = err
			l.mu.Lock()
			l.pending[month] += n
			l.mu.Unlock()
		}
	}
	return failed
}

// read returns how many calls of a month SQL has, with what this process has
// pending. Those who ask at the same time share one read.
func (l *callLedger) read(ctx context.Context, month string) (int64, error) {
	v, err, _ := l.reads.Do(month, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlTimeout)
		defer cancel()
		if err := l.save(ctx); err != nil {
			return int64(0), err
		}
		return l.db.Calls(ctx, l.provider, month)
	})
	return v.(int64), err
}
