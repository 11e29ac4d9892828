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
	sharedMost  = 64               // creates in one transaction
	sharedLimit = 10 * time.Second // for one transaction
)

// creates are the subscriptions that wait to be made in a transaction that
// they share: while one is written and flushed the next gathers.
type creates struct {
	mu      sync.Mutex
	waiting []*creation
	running int // that take from waiting
}

// createShared makes a subscription in a transaction with others that come in
// at the same time. What a caller who has given up had waited for may have been
// made all the same.
func (db *DB) createShared(ctx context.Context, c *creation) error {
	if err := ctx.Err(); err != nil {
		return domainError(ctx, "create subscription", err)
	}
	c.done = make(chan struct{})
	g := &db.creates
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	begin := g.running < db.kind.writers()
	if begin {
		g.running++
	}
	g.mu.Unlock()
	if begin {
		go db.runCreates(context.WithoutCancel(ctx))
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return domainError(ctx, "create subscription", ctx.Err())
	}
}

// runCreates makes what waits, until nothing does.
func (db *DB) runCreates(ctx context.Context) {
	g := &db.creates
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
		now, later := apart(list)
		db.createGroup(ctx, now, len(now) == 1)
		for _, c := range later {
			go db.createGroup(ctx, []*creation{c}, true)
		}
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

// createCaught is create for a goroutine of ours, where nothing else catches a
// panic.
func (db *DB) createCaught(ctx context.Context, list []*creation, wait bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedLimit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "panic in a create", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("db create subscription: panic: %v", p)
		}
	}()
	return db.create(ctx, list, wait)
}
