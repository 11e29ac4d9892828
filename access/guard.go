package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

const (
	readTimeout = 5 * time.Second
	readers     = 8 // rows read at a time, so that made-up ids cannot take every connection

	recentFor  = time.Minute
	recentKeys = 10_000
)

// The refusals. The text is the same whatever is wrong with a key.
var (
	errMissing = &flight.Error{Code: flight.CodeMissingAPIKey,
		Message: "Send an API key in the x-api-key header, or as Authorization: Bearer <key>."}
	errInvalid = &flight.Error{Code: flight.CodeInvalidAPIKey,
		Message: "The API key is not valid: it is incomplete, unknown, revoked or replaced by a newer one. Send the key as it was last issued."}
	errDisabled = &flight.Error{Code: flight.CodeAccountDisabled,
		Message: "The account is disabled. Ask whoever runs this service to enable it."}

	// ErrToken is the refusal of an account token where it is of no use.
	ErrToken = &flight.Error{Code: flight.CodeInvalidAPIKey,
		Message: "This is an account token, which manages keys in GraphQL and does nothing else. Send an API key (fw_…)."}
)

// Guard checks presented keys and counts their requests. It is safe for
// concurrent use.
type Guard struct {
	redis  redis.UniversalClient
	now    func() time.Time
	plans  Plans
	asks   *batcher
	spare  allowance
	ledger *ledger
	live   *live
	opened *opened
	read   func(ctx context.Context, id string) (db.APIKey, error)
	slots  chan struct{}
	recent *otter.Cache[[sha256.Size]byte, time.Time] // when Authenticate let a key in, by its hash

	stop  chan struct{}
	loops sync.WaitGroup
	once  sync.Once

	mu    sync.Mutex
	loads map[string]*load // the latest of each key
}

// load is one reading of a key's row, shared by the checks that came in before
// it started. Later ones wait for the next: this row may be older than they
// are. entry and err are valid once done is closed.
type load struct {
	started bool // under Guard.mu
	done    chan struct{}
	entry   entry
	err     error
}

// Config says what a Guard works with. DB and Redis are required.
//
// The client must read from the primary (no ReadOnly or RouteBy options of a
// cluster), or a rotation is not seen at once; with ContextTimeoutEnabled a
// Redis that hangs delays a check by a second at most.
type Config struct {
	DB    *db.DB
	Redis redis.UniversalClient
	Plans Plans            // nil: the built-in ones
	Grace time.Duration    // how long a small allowance is given while Redis does not answer; 0: none is
	Alone bool             // this Redis has no other user and ends with the process: requests are counted here
	Now   func() time.Time // in which window a request falls; nil: the database's clock
}

// DefaultGrace is how long a small allowance is given if nobody says otherwise.
const DefaultGrace = 5 * time.Minute

// NewGuard returns a Guard that must be closed, with the built-in plans and
// the default grace.
func NewGuard(d *db.DB, r redis.UniversalClient) *Guard {
	return New(Config{DB: d, Redis: r, Grace: DefaultGrace})
}

// New returns a Guard that must be closed.
func New(c Config) *Guard {
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	return newGuardOn(c, c.DB.Credential, c.DB)
}

func newGuardOn(c Config, read func(context.Context, string) (db.APIKey, error), store usageStore) *Guard {
	g := &Guard{redis: c.Redis, now: c.Now, plans: c.Plans, spare: allowance{grace: c.Grace}, ledger: newLedger(store, c.Now),
		read: read, slots: make(chan struct{}, readers), stop: make(chan struct{}), loads: map[string]*load{}}
	g.recent = otter.Must(&otter.Options[[sha256.Size]byte, time.Time]{MaximumSize: recentKeys})
	g.asks = newBatcher(c, g.ledger.add)
	g.live = newLive(c.Redis, c.Now)
	g.opened = newOpened(c.Redis, c.Now)
	g.loops.Go(func() { g.ledger.run(g.stop) })
	g.loops.Go(func() { g.live.run(g.stop) })
	g.loops.Go(func() { g.opened.run(g.stop) })
	return g
}

// Close ends the Guard's goroutines, and writes what was counted to SQL. Checks
// after it still work, by SQL; Admit does not.
func (g *Guard) Close() {
	g.asks.close()
	g.once.Do(func() { close(g.stop) })
	g.loops.Wait()
}

// Authenticate returns whose key or account token was presented, and counts
// nothing. The errors are CodeMissingAPIKey for "", CodeInvalidAPIKey for
// whatever is neither in use, CodeAccountDisabled when its account is disabled,
// and internal ones when neither Redis nor SQL could be asked, or ctx ended.
func (g *Guard) Authenticate(ctx context.Context, presented string) (Identity, error) {
	if presented == "" {
		return Identity{}, errMissing
	}
	id, secret, ok := splitKey(presented)
	if !ok {
		return Identity{}, errInvalid
	}
	e, err := g.entry(ctx, id)
	if err != nil {
		return Identity{}, fmt.Errorf("check the API key %s: %w", id, err)
	}
	if err := e.check(secret); err != nil {
		return Identity{}, err
	}
	g.recent.Set(sha256.Sum256([]byte(presented)), time.Now())
	return e.identity(id, secret), nil
}

// Recent reports whether Authenticate let this key in on this process within
// the last minute. It proves nothing: it tells callers who may be made work for
// before Admit has the last word from all others, and asks nobody.
func (g *Guard) Recent(presented string) bool {
	at, ok := g.recent.GetIfPresent(sha256.Sum256([]byte(presented)))
	return ok && time.Since(at) < recentFor
}

func (e entry) identity(id, secret string) Identity {
	return Identity{Account: e.account, AccountName: e.name, KeyID: id, Plan: e.plan, Token: IsToken(secret)}
}

// entry returns what is known of a key id, as it stood at some moment after
// the call.
func (g *Guard) entry(ctx context.Context, id string) (entry, error) {
	raw, err := g.asks.get(ctx, id)
	if err == nil {
		if e, ok := parseEntry(raw); ok {
			return e, nil
		}
	}
	if ctx.Err() != nil {
		return entry{}, ctx.Err()
	}
	return g.load(ctx, id)
}

// load reads a key's row, together with all who want the same and came in
// before the reading starts.
func (g *Guard) load(ctx context.Context, id string) (entry, error) {
	g.mu.Lock()
	last := g.loads[id]
	if last != nil && !last.started {
		g.mu.Unlock()
		select {
		case <-last.done:
			return last.entry, last.err
		case <-ctx.Done():
			return entry{}, ctx.Err()
		}
	}
	l := &load{done: make(chan struct{})}
	g.loads[id] = l
	g.mu.Unlock()

	if last != nil {
		<-last.done
	}
	// Others wait for this reading, so it does not end with our caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	l.entry, l.err = g.run(ctx, id, l)
	g.mu.Lock()
	if g.loads[id] == l {
		delete(g.loads, id)
	}
	g.mu.Unlock()
	close(l.done)
	return l.entry, l.err
}

// run is the body of a load.
func (g *Guard) run(ctx context.Context, id string, l *load) (entry, error) {
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
	}
	g.mu.Lock()
	l.started = true
	g.mu.Unlock()
	if ctx.Err() != nil {
		return entry{}, ctx.Err()
	}

	var lease, found string
	if !g.asks.resting() {
		lease, found = g.lease(ctx, id)
	}
	if e, ok := parseEntry(found); ok {
		return e, nil
	}
	e, ttl := entry{}, unknownFor
	switch k, err := g.read(ctx, id); {
	case err == nil:
		e, ttl = entryOf(k), knownFor
	case flight.CodeOf(err) != flight.CodeNotFound:
		return entry{}, err
	}
	if lease != "" {
		g.put(ctx, id, lease, e, ttl)
	}
	return e, nil
}
