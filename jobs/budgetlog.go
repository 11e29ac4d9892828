package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// run writes counts to SQL every few seconds until the Budget is closed, and
// then once more, and says how the calls stand.
func (b *Budget) run() {
	defer close(b.done)
	tick := time.NewTicker(saveCallsEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-b.stop:
			last = true
		}
		b.settle(!last)
	}
}

// settle is one round of run.
func (b *Budget) settle(tell bool) {
	ctx, cancel := context.WithTimeout(context.Background(), sqlTimeout)
	defer cancel()
	if err := b.ledger.save(ctx); err != nil {
		slog.Warn("calls to the upstream could not be written to SQL; they are written later", "provider", b.Provider, "error", err)
		return
	}
	if !tell {
		return
	}
	now := b.Now()
	calls, alone := b.standing(now)
	if alone { // others write there too
		if err := b.learn(ctx, now, true); err != nil {
			slog.Warn("the month's calls could not be read", "provider", b.Provider, "error", err)
			return
		}
		calls, _ = b.standing(now)
	}
	observeCalls(b.Provider, calls, alone)
	b.tell(calls, now)
}

// mood is how the calls stand, as the log tells it.
type mood int

const (
	enough mood = iota
	short
	usedUp
)

// moodOf returns the mood of a few seconds in which so many were refused.
func moodOf(c flight.Calls, refused int) mood {
	switch {
	case c.Limit > 0 && c.Used >= c.Limit:
		return usedUp
	case refused > 0 || c.Load() >= 2./3:
		return short
	}
	return enough
}

// calmFor is how long calls must have been enough before the log says so.
const calmFor = time.Minute

// tell writes a line when the calls begin to run short, when they are used up,
// and when they have been enough again for a while.
func (b *Budget) tell(c flight.Calls, now time.Time) {
	b.mu.Lock()
	m := moodOf(c, b.refused)
	refused := b.refused
	b.refused = 0
	before := b.told
	if m >= before {
		b.toldAt = now
	}
	if m > before || m < before && now.Sub(b.toldAt) >= calmFor {
		b.told = m
	}
	after := b.told
	b.mu.Unlock()
	if after == before {
		return
	}
	details := []any{"provider", b.Provider, "load", c.Load(), "left", c.Left, "month_used", c.Used, "month_limit", c.Limit, "refused", refused}
	switch after {
	case usedUp:
		slog.Error("the month's calls to the upstream are used up: nothing is polled or looked up there until the next", details...)
	case short:
		slog.Warn("calls to the upstream run short: flights far from departure and arrival wait", details...)
	case enough:
		slog.Info("calls to the upstream are enough again", details...)
	}
}
