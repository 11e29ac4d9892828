package graph

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

const (
	cacheBytes = 128 << 20 // about what the cached answers may weigh
	cacheRings = 1 << 17   // names whose last ring is remembered

	// staleFor is how old, in world time, an answer may be that stands in while
	// the upstream is down; fetchedAt tells. It is asked again after staleHold.
	staleFor  = 6 * time.Hour
	staleHold = 10 * time.Second

	standingTimeout = 10 * time.Second
)

// answer is what a look-up found.
type answer struct {
	db.Standing
	key     flight.Key
	name    string      // key as a string
	missing bool        // there is no such flight
	until   flight.Time // world time until which it may be given again
	heard   uint64      // rings heard before it was asked for
}

// result is the answer as a caller gets it.
func (a *answer) result() (db.Standing, error) {
	if a.missing {
		return db.Standing{}, flight.NotFound(a.key)
	}
	return a.Standing, nil
}

// lookups answers what stands of a flight: from this process's cache, else
// from the database, where polls and other processes leave their answers, else
// from the upstream. Identical look-ups share one.
type lookups struct {
	db     *db.DB
	intake *jobs.Intake
	now    func() flight.Time
	ttl    *time.Duration

	cache *otter.Cache[flight.Key, *answer]
	fills singleflight.Group

	rings   atomic.Uint64                // how often the bell rang
	doubted atomic.Uint64                // everything heard until then is doubtful
	last    *otter.Cache[string, uint64] // the last ring of a flight key, and of a leg's id
}

func newLookups(d *db.DB, intake *jobs.Intake, now func() flight.Time, ttl *time.Duration) *lookups {
	return &lookups{
		db: d, intake: intake, now: now, ttl: ttl,
		cache: otter.Must(&otter.Options[flight.Key, *answer]{MaximumWeight: cacheBytes, Weigher: weigh}),
		last:  otter.Must(&otter.Options[string, uint64]{MaximumSize: cacheRings}),
	}
}

// weigh estimates what an answer holds on to: the encoded legs, and about twice
// that decoded.
func weigh(_ flight.Key, a *answer) uint32 {
	n := 512
	for _, s := range a.Legs {
		n += 3 * len(s.Encode())
	}
	return uint32(n)
}

// rang hears that a leg has a new version.
func (l *lookups) rang(flightID, key string) {
	n := l.rings.Add(1)
	l.last.Set(flightID, n)
	l.last.Set(key, n)
}

// doubtAll makes every answer so far be looked up again.
func (l *lookups) doubtAll() { l.doubted.Store(l.rings.Add(1)) }

// doubtful reports whether the bell has rung for a flight since a was asked
// for. The answer's own change rings too, which costs one read of the database.
func (l *lookups) doubtful(a *answer) bool {
	if a.heard < l.doubted.Load() {
		return true
	}
	if n, ok := l.last.GetIfPresent(a.name); ok && n > a.heard {
		return true
	}
	for _, id := range a.IDs { // the upstream may spell the key in another way than was asked
		if n, ok := l.last.GetIfPresent(id); ok && n > a.heard {
			return true
		}
	}
	return false
}

// cached returns what stands of a flight if this process's cache can answer.
func (l *lookups) cached(key flight.Key) (db.Standing, bool) {
	a, ok := l.cache.GetIfPresent(key)
	if !ok || a.missing || l.now() >= a.until || l.doubtful(a) {
		return db.Standing{}, false
	}
	return a.Standing, true
}

// flight returns what stands of a flight. refresh asks the upstream in any
// case. Errors: CodeFlightNotFound and the upstream codes.
func (l *lookups) flight(ctx context.Context, key flight.Key, refresh bool) (db.Standing, error) {
	if !refresh {
		if a, ok := l.cache.GetIfPresent(key); ok && l.now() < a.until && !l.doubtful(a) {
			return a.result()
		}
	}
	name := key.String()
	if refresh {
		name += " refresh"
	}
	fill := l.fills.DoChan(name, func() (v any, err error) {
		defer func() { // nothing else catches it in this goroutine
			if p := recover(); p != nil {
				slog.ErrorContext(ctx, "panic in a look-up", "panic", p, "stack", string(debug.Stack()))
				err = errInternal
			}
		}()
		return l.fill(context.WithoutCancel(ctx), key, refresh) // others wait for it too
	})
	select {
	case r := <-fill:
		if r.Err != nil {
			return db.Standing{}, r.Err
		}
		return r.Val.(*answer).result()
	case <-ctx.Done():
		return db.Standing{}, ctx.Err()
	}
}

// fill finds the answer to a look-up that the cache has none for.
func (l *lookups) fill(ctx context.Context, key flight.Key, refresh bool) (*answer, error) {
	a := &answer{key: key, name: key.String(), heard: l.rings.Load()}
	var last db.Standing
	if !refresh {
		var err error
		if last, err = l.standing(ctx, key); err != nil {
			return nil, err
		}
		if now := l.now(); len(last.Legs) > 0 && now < l.freshUntil(last, now) {
			return l.keep(a, last, l.freshUntil(last, now)), nil
		}
		a.heard = l.rings.Load()
	}
	asked, err := l.intake.Ask(ctx, key, refresh)
	now := l.now()
	switch flight.CodeOf(err) {
	case "":
		if len(asked.Legs) == 0 {
			return nil, flight.NotFound(key)
		}
		return l.keep(a, asked, l.freshUntil(asked, now)), nil
	case flight.CodeFlightNotFound:
		a.missing = true
		return l.keep(a, db.Standing{}, now+l.span(flight.NotFoundFreshness)), nil
	case flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout:
		if len(last.Legs) > 0 && now-last.FetchedAt() < milliseconds(staleFor) {
			slog.WarnContext(ctx, "the upstream failed; an older answer stands in", "flight", a.name, "error", err)
			return l.keep(a, stale(last), now+milliseconds(staleHold)), nil
		}
	}
	return nil, err
}

// stale marks every leg of what stands.
func stale(s db.Standing) db.Standing {
	legs := make(flight.Legs, len(s.Legs))
	for i, leg := range s.Legs {
		leg.Encode() // the copy has it too
		p := leg.Provenance
		p.Stale = true
		legs[i] = leg.With(p)
	}
	s.Legs = legs
	return s
}

func (l *lookups) standing(ctx context.Context, key flight.Key) (db.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	return l.db.Standing(ctx, key)
}

// keep completes an answer and caches it, unless the cache is off.
func (l *lookups) keep(a *answer, s db.Standing, until flight.Time) *answer {
	a.Standing, a.until = s, until
	for _, leg := range s.Legs {
		leg.Encode() // before it is shared
	}
	if l.ttl == nil || *l.ttl > 0 {
		l.cache.Set(a.key, a)
	}
	return a
}

// freshUntil returns the world time until which an answer is fresh.
func (l *lookups) freshUntil(s db.Standing, now flight.Time) flight.Time {
	return s.FetchedAt() + l.span(s.Legs.Freshness(now))
}

// span returns a freshness, or the fixed one.
func (l *lookups) span(adaptive time.Duration) flight.Time {
	if l.ttl != nil {
		return milliseconds(*l.ttl)
	}
	return milliseconds(adaptive)
}

func milliseconds(d time.Duration) flight.Time { return flight.Time(d.Milliseconds()) }
