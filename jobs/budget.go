package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// BudgetConfig says what a Budget works with.
type BudgetConfig struct {
	DB       *db.DB
	Redis    redis.UniversalClient
	Provider string // the source's name
	Limits   CallLimits
	Now      func() time.Time // nil: the database's clock
}

// Budget is what a provider's contract allows, shared by all processes: every
// call to it is taken from a bucket and from a month's calls first. A nil Budget
// has no limits and asks nobody. It is safe for concurrent use.
type Budget struct {
	BudgetConfig
	ledger callLedger
	stop   chan struct{}
	done   chan struct{}
	close  sync.Once

	mu      sync.Mutex
	month   string // that seen.used belongs to
	seen    counts // where the calls last stood, as far as this process knows
	share   int64  // Unix µs at which the bucket of this process alone is full again
	rest    time.Time
	down    bool // Redis did not answer the last time
	refused int  // calls that were refused since the log was last thought of
	told    mood
	toldAt  time.Time
}

// redisRest is for how long Redis is left alone after a failure.
const redisRest = time.Second

// callTimeout is how long Redis has to answer before an upstream is called
// without it. Tests that count calls exactly have more patience.
var callTimeout = time.Second

// NewBudget returns a Budget, nil where there are no limits. It is closed when
// nobody calls any more.
func NewBudget(c BudgetConfig) *Budget {
	if c.Limits.None() {
		return nil
	}
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	b := &Budget{
		BudgetConfig: c, stop: make(chan struct{}), done: make(chan struct{}),
		ledger: callLedger{db: c.DB, provider: c.Provider, pending: map[string]int64{}},
	}
	go b.run()
	return b
}

// Close writes what is not written yet.
func (b *Budget) Close() {
	if b == nil {
		return
	}
	b.close.Do(func() { close(b.stop) })
	<-b.done
}

// shortage is why a call was not made. It is the cause of the error that take
// returns.
type shortage struct {
	reason string
	wait   time.Duration
}

// Error returns the reason.
func (s *shortage) Error() string { return s.reason }

// Reasons for which a call is not made.
const (
	overTheRate    = "over the call rate"
	monthIsUsedUp  = "the month's calls are used up"
	monthIsKeptFor = "the month's last calls are kept for what is more urgent"
)

// isShortage reports whether a call was not made because of the limits.
func isShortage(err error) bool {
	_, ok := errors.AsType[*shortage](err)
	return ok
}

// take takes one call for a rank. CodeUpstreamUnavailable with a shortage as its
// cause when there is none.
func (b *Budget) take(ctx context.Context, r flight.Rank) error { return b.takeAs(ctx, r, r) }

// takeFurther takes one more call for a look of a rank that has begun. It leaves
// nothing to others and waits for the bucket as long as ctx lasts: a look that
// is cut off has wasted the calls before.
func (b *Budget) takeFurther(ctx context.Context, r flight.Rank) error {
	for {
		err := b.takeAs(ctx, r, flight.RankLookup)
		short, ok := errors.AsType[*shortage](err)
		if deadline, bounded := ctx.Deadline(); !ok || !bounded || time.Until(deadline) <= short.wait {
			return err
		}
		wait := time.NewTimer(short.wait)
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
	}
}

// takeAs takes one call for the use of one rank with the rights of another.
func (b *Budget) takeAs(ctx context.Context, use, r flight.Rank) error {
	if b == nil {
		return nil
	}
	now := b.Now()
	m := b.Limits.roomFor(r, monthPassed(now))
	c, v, err := b.ask(ctx, m, now)
	b.answered(now, err)
	if err != nil {
		if m, c, v, err = b.alone(ctx, r, now); err != nil {
			return fmt.Errorf("count a call to %s: %w", b.Provider, err)
		}
	}
	observeTake(b.Provider, use, v)
	switch v {
	case overRate:
		return b.refuse(overTheRate, m.wait(c, now.UnixMicro()))
	case overMonth:
		end := db.MonthEnd(now)
		if c.used < b.Limits.PerMonth {
			return b.refuse(monthIsKeptFor, end.Sub(now))
		}
		return b.refuse(monthIsUsedUp, end.Sub(now))
	}
	b.ledger.add(db.MonthOf(now))
	return nil
}

func (b *Budget) refuse(reason string, wait time.Duration) error {
	b.mu.Lock()
	b.refused++
	b.mu.Unlock()
	wait = max(wait, time.Millisecond)
	return &flight.Error{
		Code: flight.CodeUpstreamUnavailable, RetryAfter: wait, Cause: &shortage{reason, wait},
		Message: fmt.Sprintf("The upstream may not be asked just now: %s. Try again in %d s.", reason, int64(math.Ceil(wait.Seconds()))),
	}
}

// ask takes the call in Redis.
func (b *Budget) ask(ctx context.Context, m room, now time.Time) (counts, verdict, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlTimeout)
	defer cancel()
	run := func(seen counts, fromSQL bool) (counts, verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return runTake(ctx, b.Redis, b.Provider, m, seen, fromSQL, now)
	}
	seen, resting := b.last(now)
	if resting {
		return counts{}, 0, errResting
	}
	c, v, err := run(seen, false)
	if errors.Is(err, errLost) {
		var stored int64
		if stored, err = b.ledger.read(ctx, db.MonthOf(now)); err != nil {
			return counts{}, 0, err
		}
		seen, _ = b.last(now)
		seen.used = max(seen.used, stored)
		c, v, err = run(seen, true)
	}
	if err == nil {
		b.saw(c, now)
	}
	return c, v, err
}

var errResting = errors.New("redis is left alone for a moment")

// last returns where the calls last stood, and whether Redis is to be left
// alone.
func (b *Budget) last(now time.Time) (seen counts, resting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen = b.seen
	if b.month != db.MonthOf(now) {
		seen.used = 0
	}
	return seen, now.Before(b.rest)
}

// saw notes where the calls stand. Answers may come in any order.
func (b *Budget) saw(c counts, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if month := db.MonthOf(now); month > b.month {
		b.month, b.seen.used = month, 0
	}
	if b.month == db.MonthOf(now) {
		b.seen.used = max(b.seen.used, c.used)
	}
	b.seen.full = max(b.seen.full, c.full)
}

// answered notes whether Redis answers, and tells the log when that changes.
func (b *Budget) answered(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && !errors.Is(err, errResting) {
		b.rest = now.Add(redisRest)
	}
	switch {
	case err != nil && !b.down:
		slog.Warn("calls cannot be counted in Redis: this process makes a small share of them by itself", "provider", b.Provider, "error", err)
	case err == nil && b.down:
		slog.Info("calls are counted in Redis again", "provider", b.Provider)
	}
	b.down = err != nil
}

// shareWithoutRate is how many calls a process makes in a minute without Redis
// to a provider whose rate has no limit.
const shareWithoutRate = 60

// aloneLimits are what one process goes by without Redis: a quarter of the
// rate. The month is what SQL has.
func (l CallLimits) aloneLimits() CallLimits {
	if l.PerMinute == 0 {
		return CallLimits{PerMinute: shareWithoutRate, PerMonth: l.PerMonth}
	}
	return CallLimits{PerMinute: (l.PerMinute + 3) / 4, Burst: (l.burst() + 3) / 4, PerMonth: l.PerMonth}
}

// alone takes the call from the share of this process.
func (b *Budget) alone(ctx context.Context, r flight.Rank, now time.Time) (room, counts, verdict, error) {
	if err := b.learn(ctx, now, false); err != nil {
		return room{}, counts{}, 0, err
	}
	m := b.Limits.aloneLimits().roomFor(r, monthPassed(now))
	b.mu.Lock()
	defer b.mu.Unlock()
	c, v := m.take(counts{full: b.share, used: b.seen.used}, now.UnixMicro())
	if v == passed {
		b.share, b.seen.used = c.full, c.used
	}
	return m, c, v, nil
}

// learn reads what SQL has of the month where this process does not know any
// count, or in any case.
func (b *Budget) learn(ctx context.Context, now time.Time, again bool) error {
	b.mu.Lock()
	known := b.month == db.MonthOf(now)
	b.mu.Unlock()
	if known && !again {
		return nil
	}
	used, err := b.ledger.read(ctx, db.MonthOf(now))
	if err == nil {
		b.saw(counts{used: used}, now)
	}
	return err
}

// load says how short the calls run, for the next polls.
func (b *Budget) load() float64 {
	if b == nil {
		return 0
	}
	calls, _ := b.standing(b.Now())
	return calls.Load()
}

// standing returns where the calls stand as far as this process knows, and
// whether it is alone.
func (b *Budget) standing(now time.Time) (c flight.Calls, alone bool) {
	seen, _ := b.last(now)
	b.mu.Lock()
	share, down := b.share, b.down
	b.mu.Unlock()
	limits := b.Limits
	if down {
		limits, seen.full = limits.aloneLimits(), share
	}
	return limits.calls(seen, now), down
}
