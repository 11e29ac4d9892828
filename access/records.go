package access

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// records are what this process knows of accounts while somebody has something
// open, by key. A record goes with its last user.
type records[T any] struct {
	fresh    func() T                               // what a new one knows
	announce func(key string, one *record[T]) error // tells Redis of one that is locked

	mu    sync.Mutex
	byKey map[string]*record[T]
}

func newRecords[T any](fresh func() T, announce func(key string, one *record[T]) error) *records[T] {
	return &records[T]{fresh: fresh, announce: announce, byKey: make(map[string]*record[T])}
}

type record[T any] struct {
	users int // under records.mu

	mu    sync.Mutex // held while Redis is asked, so that what it hears is in order
	value T
}

// hold and release keep a record while somebody uses it.
func (r *records[T]) hold(key string) *record[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.byKey[key]
	if one == nil {
		one = &record[T]{value: r.fresh()}
		r.byKey[key] = one
	}
	one.users++
	return one
}

func (r *records[T]) release(key string, one *record[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(r.byKey, key)
	}
}

// run has every record announced again, every liveEvery until stop is closed.
func (r *records[T]) run(stop <-chan struct{}) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			r.renew()
		}
	}
}

func (r *records[T]) renew() {
	r.mu.Lock()
	keys := slices.Collect(maps.Keys(r.byKey))
	r.mu.Unlock()
	for _, key := range keys {
		if err := r.renewOne(key); err != nil {
			slog.Warn("what is open or watched live could not be announced; it is tried again", "error", err)
			return
		}
	}
}

func (r *records[T]) renewOne(key string) error {
	one := r.hold(key)
	defer r.release(key, one)
	one.mu.Lock()
	defer one.mu.Unlock()
	return r.announce(key, one)
}
