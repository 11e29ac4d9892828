package access

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	batchMax     = 256         // entries asked for in one round trip
	redisTimeout = time.Second // for one round trip
	redisRest    = time.Second // in which Redis is left alone after a failure
)

// errBlind means that Redis cannot be asked just now.
var errBlind = errors.New("redis is not asked")

// batcher fetches entries from Redis. Checks that wait at the same time share
// one round trip, and those of one key one answer. Every answer was asked for
// after the check that gets it came in.
type batcher struct {
	redis redis.UniversalClient
	start time.Time
	blind atomic.Int64 // nanoseconds after start until which Redis is left alone

	mu      sync.Mutex
	closed  bool
	waiting map[string]*ask
	order   []*ask
	wake    chan struct{}
	done    chan struct{}
}

// ask is one entry to fetch; raw and err are valid once done is closed.
type ask struct {
	id   string
	done chan struct{}
	raw  string // "" when there is no entry
	err  error
}

func newBatcher(r redis.UniversalClient) *batcher {
	b := &batcher{redis: r, start: time.Now(), waiting: map[string]*ask{},
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	go b.run()
	return b
}

// close stops the batcher after what is waiting has been answered.
func (b *batcher) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.wake)
	}
	b.mu.Unlock()
	<-b.done
}

// resting reports whether Redis failed less than redisRest ago.
func (b *batcher) resting() bool {
	until := b.blind.Load()
	return until != 0 && int64(time.Since(b.start)) < until
}

// get returns the entry of a key id, "" when there is none.
func (b *batcher) get(ctx context.Context, id string) (string, error) {
	if b.resting() {
		return "", errBlind
	}
	b.mu.Lock()
	a := b.waiting[id]
	if a == nil {
		if b.closed {
			b.mu.Unlock()
			return "", errBlind
		}
		a = &ask{id: id, done: make(chan struct{})}
		b.waiting[id] = a
		if b.order = append(b.order, a); len(b.order) == 1 {
			b.wake <- struct{}{} // has room: it was emptied before order was
		}
	}
	b.mu.Unlock()
	select {
	case <-a.done:
		return a.raw, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (b *batcher) run() {
	defer close(b.done)
	var batch []*ask
	for range b.wake {
		b.mu.Lock()
		batch, b.order = b.order, batch[:0]
		clear(b.waiting)
		b.mu.Unlock()
		for rest := batch; len(rest) > 0; {
			n := min(batchMax, len(rest))
			b.fetch(rest[:n])
			rest = rest[n:]
		}
		clear(batch)
	}
}

// fetch asks Redis for a batch in one round trip and hands out the answers.
func (b *batcher) fetch(batch []*ask) {
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	var failed error
	answer := func(a *ask, cmd *redis.StringCmd) {
		a.raw, a.err = cmd.Result()
		if errors.Is(a.err, redis.Nil) {
			a.err = nil
		}
		if a.err != nil {
			failed = a.err
		}
		close(a.done)
	}
	if len(batch) == 1 {
		answer(batch[0], b.redis.Get(ctx, entryKey(batch[0].id)))
	} else {
		pipe := b.redis.Pipeline()
		cmds := make([]*redis.StringCmd, len(batch))
		for i, a := range batch {
			cmds[i] = pipe.Get(ctx, entryKey(a.id))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, a := range batch {
			answer(a, cmds[i])
		}
	}
	if failed != nil {
		b.blind.Store(int64(time.Since(b.start) + redisRest))
		slog.Warn("Redis does not answer: API keys are checked against SQL", "error", failed)
	}
}
