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
	batchMax     = 256         // questions asked in one round trip
	redisTimeout = time.Second // for one round trip
	redisRest    = time.Second // in which Redis is left alone after a failure
)

// errBlind means that Redis cannot be asked just now.
var errBlind = errors.New("redis is not asked")

// batcher asks Redis. Requests that wait at the same time share one round
// trip, and those that ask the same one script call, which counts them all.
// Every answer was asked for after the request that gets it came in.
type batcher struct {
	redis redis.UniversalClient
	now   func() time.Time
	plans []any                                  // as the script reads them
	alone *tally                                 // counts in place of the script; nil: Redis does
	took  func(id string, n int64, at time.Time) // is told what was taken from a key's windows

	trips  int64         // made so far; run's
	lasted time.Duration // the last of them; run's

	start time.Time
	blind atomic.Int64 // nanoseconds after start until which Redis is left alone
	down  atomic.Int64 // nanoseconds after start at which Redis first failed; 0: it answers

	mu      sync.Mutex
	closed  bool
	waiting map[question]*ask
	order   []*ask
	callers int           // who wait
	expect  int           // callers of the last batch, and who had come when it was answered
	ready   chan struct{} // one slot: as many have come as are expected
	wake    chan struct{}
	done    chan struct{}
}

// ask is one question with all who wait for its answer; reply and err are
// valid once done is closed.
type ask struct {
	question
	tallied bool  // Redis is asked for the entry only
	runs    []run // under batcher.mu while it waits
	done    chan struct{}
	reply   reply
	err     error
}

func newBatcher(c Config, took func(string, int64, time.Time)) *batcher {
	b := &batcher{redis: c.Redis, now: c.Now, plans: planArgs(c.Plans), took: took,
		start:   time.Now().Add(-time.Nanosecond), // so that down is never 0 by chance
		waiting: map[question]*ask{}, wake: make(chan struct{}, 1), ready: make(chan struct{}, 1), done: make(chan struct{})}
	if c.Alone {
		b.alone = newTally(c.Plans)
	}
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

// downFor returns how long Redis has not answered; 0 when it does.
func (b *batcher) downFor() time.Duration {
	since := b.down.Load()
	if since == 0 {
		return 0
	}
	return time.Since(b.start) - time.Duration(since)
}

// get returns the entry of a key id, "" when there is none.
func (b *batcher) get(ctx context.Context, id string) (string, error) {
	a, _, err := b.ask(ctx, question{id: id}, 0)
	if err != nil {
		return "", err
	}
	return a.reply.raw, nil
}

// ask puts a question for a request of that cost.
func (b *batcher) ask(ctx context.Context, q question, cost int64) (*ask, ticket, error) {
	if b.resting() {
		return nil, ticket{}, errBlind
	}
	b.mu.Lock()
	a := b.waiting[q]
	if a == nil {
		if b.closed {
			b.mu.Unlock()
			return nil, ticket{}, errBlind
		}
		a = &ask{question: q, tallied: b.alone != nil, done: make(chan struct{})}
		b.waiting[q] = a
		if b.order = append(b.order, a); len(b.order) == 1 {
			b.wake <- struct{}{} // has room: it was emptied before order was
		}
	}
	var t ticket
	a.runs, t = join(a.runs, cost)
	if b.callers++; b.callers == b.expect {
		select {
		case b.ready <- struct{}{}:
		default:
		}
	}
	b.mu.Unlock()
	select {
	case <-a.done:
		return a, t, a.err
	case <-ctx.Done():
		return nil, t, ctx.Err()
	}
}

func (b *batcher) run() {
	defer close(b.done)
	var batch []*ask
	for range b.wake {
		b.gather()
		b.mu.Lock()
		batch, b.order = b.order, batch[:0]
		callers := b.callers
		b.callers = 0
		clear(b.waiting)
		b.mu.Unlock()
		for rest := batch; len(rest) > 0; {
			n := min(batchMax, len(rest))
			b.fetch(rest[:n], callers)
			rest = rest[n:]
		}
		clear(batch)
	}
}

// gatherMax is how long a batch waits at most for those who are about to join.
const gatherMax = time.Millisecond

// gather waits until as many callers have come as were there a moment ago,
// though no longer than two calls take. Those who were answered together come
// back together, and a script call costs far more than a turn of the scheduler:
// without this a few go alone again and again. Whoever is alone does not wait.
func (b *batcher) gather() {
	b.mu.Lock()
	enough := b.callers >= b.expect
	select {
	case <-b.ready:
	default:
	}
	b.mu.Unlock()
	if enough {
		return
	}
	late := time.NewTimer(min(gatherMax, 2*b.lasted))
	defer late.Stop()
	select {
	case <-b.ready:
	case <-late.C:
	}
}

// fetch asks Redis for a batch in one round trip and hands out the answers.
func (b *batcher) fetch(batch []*ask, callers int) {
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	now, began := b.now(), time.Now()
	b.trips++
	failed := b.send(ctx, batch, now, (*ask).command)
	var unknown []*ask // by a Redis that was started anew
	for _, a := range batch {
		if isNoScript(a.err) {
			unknown = append(unknown, a)
		}
	}
	if len(unknown) > 0 {
		failed = b.send(ctx, unknown, now, (*ask).wholeCommand)
	}
	if failed != nil {
		b.fail(failed)
	} else if b.down.Swap(0) != 0 {
		degraded.Set(0)
		slog.Info("Redis answers again: requests are counted as before")
	}
	b.lasted = time.Since(began)
	b.mu.Lock()
	b.expect = callers + b.callers
	b.mu.Unlock()
	for _, a := range batch {
		a.reply.trip = b.trips
		if n := a.reply.taken(a.runs); n > 0 {
			b.took(a.id, n, now)
		}
		close(a.done)
	}
}

// fail notes that Redis does not answer.
func (b *batcher) fail(err error) {
	b.blind.Store(int64(time.Since(b.start) + redisRest))
	if b.down.CompareAndSwap(0, int64(time.Since(b.start))) {
		degraded.Set(1)
		slog.Warn("Redis does not answer: API keys are checked against SQL, and each has a small allowance of requests", "error", err)
	}
}

// send puts commands for a batch on their way and reads the answers.
func (b *batcher) send(ctx context.Context, batch []*ask, now time.Time, command func(*ask, context.Context, redis.Cmdable, time.Time, []any) redis.Cmder) (failed error) {
	cmds := make([]redis.Cmder, len(batch))
	if len(batch) == 1 {
		cmds[0] = command(batch[0], ctx, b.redis, now, b.plans)
	} else {
		pipe := b.redis.Pipeline()
		for i, a := range batch {
			cmds[i] = command(a, ctx, pipe, now, b.plans)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i, a := range batch {
		a.read(cmds[i], now)
		if a.err == nil && a.tallied && a.hash != "" {
			a.reply = b.alone.take(a.question, a.reply.raw, a.runs, now)
		}
		if a.err != nil && !isNoScript(a.err) {
			failed = a.err
		}
	}
	return failed
}

// command is what Redis is asked.
func (a *ask) command(ctx context.Context, c redis.Cmdable, now time.Time, plans []any) redis.Cmder {
	if a.hash == "" || a.tallied {
		return c.Get(ctx, entryKey(a.id))
	}
	return c.EvalSha(ctx, quotaScript.Hash(), windowKeys(a.id, now), a.args(now, plans, a.runs)...)
}

// wholeCommand brings the script along.
func (a *ask) wholeCommand(ctx context.Context, c redis.Cmdable, now time.Time, plans []any) redis.Cmder {
	return c.Eval(ctx, quotaScriptText, windowKeys(a.id, now), a.args(now, plans, a.runs)...)
}

func (a *ask) read(cmd redis.Cmder, now time.Time) {
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		a.reply.raw, a.err = cmd.Result()
		if errors.Is(a.err, redis.Nil) {
			a.err = nil
		}
	case *redis.Cmd:
		var values []any
		if values, a.err = cmd.Slice(); a.err == nil {
			a.reply, a.err = readReply(values, len(a.runs), now)
		}
	}
}
