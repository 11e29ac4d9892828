package db

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

const (
	sharedMost  = 64               // callers in one transaction
	sharedLimit = 10 * time.Second // for one transaction
)

// gathering has callers share transactions: while one is written and flushed
// the next gathers.
type gathering[T any] struct {
	mu      sync.Mutex
	waiting []*T
	running int // that take from waiting
}

// join adds one to those that wait. It has run begin with up to sharedMost of
// them at a time, writers of them side by side.
func (g *gathering[T]) join(ctx context.Context, one *T, writers int, run func(context.Context, []*T)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, one)
	if g.running < writers {
		g.running++
		go g.work(context.WithoutCancel(ctx), run)
	}
}

// work runs what waits, until nothing does.
func (g *gathering[T]) work(ctx context.Context, run func(context.Context, []*T)) {
	for {
		g.mu.Lock()
		n := min(len(g.waiting), sharedMost)
		if n == 0 {
			g.running--
			g.mu.Unlock()
			return
		}
		list := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		g.mu.Unlock()
		run(ctx, list)
	}
}

// createShared makes a subscription in a transaction with others that come in
// at the same time. What a caller who has given up had waited for may have been
// made all the same.
func (db *DB) createShared(ctx context.Context, c *creation) error {
	if err := ctx.Err(); err != nil {
		return domainError(ctx, "create subscription", err)
	}
	c.done = make(chan struct{})
	db.creates.join(ctx, c, db.kind.writers(), db.runCreates)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return domainError(ctx, "create subscription", ctx.Err())
	}
}

func (db *DB) runCreates(ctx context.Context, list []*creation) {
	now, later := apart(list)
	db.createGroup(ctx, now, len(now) == 1)
	for _, c := range later {
		go db.createGroup(ctx, []*creation{c}, true)
	}
}

// apart takes those out whose idempotency key another of the list has too.
func apart(list []*creation) (now, later []*creation) {
	type scoped struct{ apiKey, key string }
	keys := make(map[scoped]bool)
	for _, c := range list {
		k := scoped{c.Idempotency.APIKey, c.Idempotency.Key}
		if k.key != "" && keys[k] {
			later = append(later, c)
			continue
		}
		keys[k] = true
		now = append(now, c)
	}
	return now, later
}

// createGroup makes subscriptions in one transaction. Whoever is left waits no
// longer together with the others: those of a flight that somebody holds wait
// for it, and after a failure each is tried alone, so that it is its own.
func (db *DB) createGroup(ctx context.Context, list []*creation, wait bool) {
	err := db.createCaught(ctx, list, wait)
	busy := make(map[string][]*creation)
	for _, c := range list {
		switch {
		case err != nil && len(list) > 1:
			go db.createGroup(ctx, []*creation{c}, true)
		case err == nil && c.flight == nil && c.fault == nil:
			busy[c.FlightID] = append(busy[c.FlightID], c)
		default:
			c.err = err
			close(c.done)
		}
	}
	for _, held := range busy {
		go db.createGroup(ctx, held, true)
	}
}

// createCaught is create for a goroutine of ours.
func (db *DB) createCaught(ctx context.Context, list []*creation, wait bool) error {
	return caught(ctx, "create subscription", func(ctx context.Context) error { return db.create(ctx, list, wait) })
}

// caught runs a transaction that callers share, in a goroutine of ours, where
// nothing else bounds it or catches a panic.
func caught(ctx context.Context, op string, run func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedLimit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "panic in a shared transaction", "op", op, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("db %s: panic: %v", op, p)
		}
	}()
	return run(ctx)
}
