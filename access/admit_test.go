package access

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// hand is a clock that a test sets.
type hand struct{ at atomic.Int64 }

func (h *hand) set(t time.Time) { h.at.Store(t.UnixNano()) }
func (h *hand) now() time.Time  { return time.Unix(0, h.at.Load()).UTC() }

// edge is the last moment of a minute, a day and a month.
var edge = time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC)

func testPlans(minute, day, month int64) Plans {
	return Plans{{Name: "pro", Requests: Limits{minute, day, month}, WatchedFlights: NoLimit, LiveLegs: 3}}
}

func guardAt(t *testing.T, m dbtest.Mode, clock *hand, plans Plans) *Guard {
	g := New(Config{DB: m.DB, Redis: m.Redis, Plans: plans, Grace: DefaultGrace, Now: clock.now})
	t.Cleanup(g.Close)
	return g
}

// admit asks for n requests of one cost at the same time, on all guards in
// turn, and returns how many passed.
func admit(t *testing.T, guards []*Guard, key string, n, cost int) int64 {
	t.Helper()
	var passed atomic.Int64
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			_, _, err := guards[i%len(guards)].Admit(context.Background(), key, cost)
			if err == nil {
				passed.Add(1)
			} else if flight.CodeOf(err) != flight.CodeQuotaExceeded {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	return passed.Load()
}

func wantCounts(t *testing.T, r redis.UniversalClient, id string, at time.Time, minute, day, month int64) {
	t.Helper()
	for w, want := range []int64{minute, day, month} {
		n, err := r.Get(t.Context(), windowKeys(id, at)[w+1]).Int64()
		if err != nil && !errors.Is(err, redis.Nil) || n != want {
			t.Errorf("the %v of %v is at %d, %v; want %d", Window(w), at, n, err, want)
		}
	}
}

// 64 callers on two processes, before and after the edge of a minute, and of a
// day and a month with it: exactly the limit passes on each side.
func TestExactlyTheLimitPasses(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		clock := new(hand)
		guards := []*Guard{guardAt(t, m, clock, testPlans(100, NoLimit, NoLimit)), guardAt(t, m, clock, testPlans(100, NoLimit, NoLimit))}
		clock.set(edge)
		if n := admit(t, guards, key.Key, 99, 1); n != 99 {
			t.Errorf("%d of 99 pass", n)
		}
		if n := admit(t, guards, key.Key, 64, 1); n != 1 {
			t.Errorf("%d pass where one is left", n)
		}
		clock.set(edge.Add(1))
		if n := admit(t, guards, key.Key, 64, 1) + admit(t, guards, key.Key, 64, 1); n != 100 {
			t.Errorf("%d of 128 pass in the next minute", n)
		}
		wantCounts(t, m.Redis, key.ID, edge, 100, 100, 100)
		wantCounts(t, m.Redis, key.ID, edge.Add(1), 100, 100, 100)
	})
}

// While the clock passes the edge under the callers, and no two processes read
// it alike, no window takes more or less than its limit.
func TestLimitWhileTheEdgePasses(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		here, there := new(hand), new(hand)
		guards := []*Guard{guardAt(t, m, here, testPlans(200, NoLimit, NoLimit)), guardAt(t, m, there, testPlans(200, NoLimit, NoLimit))}
		here.set(edge)
		there.set(edge)
		var before, after atomic.Int64
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				for range 20 {
					_, q, err := guards[i%2].Admit(context.Background(), key.Key, 1)
					switch {
					case err == nil && q.At.After(edge):
						after.Add(1)
					case err == nil:
						if before.Add(1) == 100 {
							here.set(edge.Add(time.Second))
						}
					case flight.CodeOf(err) != flight.CodeQuotaExceeded:
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
		if before.Load() != 200 || after.Load() != 200 { // 640 callers on each side
			t.Errorf("%d pass before the edge and %d after, want 200 each", before.Load(), after.Load())
		}
	})
}

// What is refused by one window takes nothing of the others, whatever it costs
// and whoever shares its call.
func TestRefusedTakesNothing(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		clock := new(hand)
		clock.set(edge)
		for w, plans := range []Plans{testPlans(5, 100, 1000), testPlans(100, 5, 1000), testPlans(100, 1000, 5)} {
			g := guardAt(t, m, clock, plans)
			key := create(t, keys, "Acme")
			if n := admit(t, []*Guard{g}, key.Key, 3, 1); n != 3 {
				t.Fatalf("%d of 3 pass", n)
			}
			if n := admit(t, []*Guard{g}, key.Key, 64, 3); n != 0 {
				t.Errorf("%d at a cost of 3 pass where 2 are left", n)
			}
			wantCounts(t, m.Redis, key.ID, edge, 3, 3, 3)
			who, q, err := g.Admit(t.Context(), key.Key, 3)
			e, _ := err.(*flight.Error)
			if e == nil || e.Window != Window(w).String() || e.RetryAfter != 1 || q.Used != [windows]int64{3, 3, 3} || who.KeyID != key.ID {
				t.Errorf("refused by the %v with %+v, %+v", Window(w), err, q)
			}
			if n := admit(t, []*Guard{g}, key.Key, 64, 1); n != 2 {
				t.Errorf("%d pass where 2 are left", n)
			}
			wantCounts(t, m.Redis, key.ID, edge, 5, 5, 5)
		}
	})
}

// A key's id is no secret: who only knows that takes nothing from its owner.
func TestWrongSecretTakesNothing(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		clock := new(hand)
		clock.set(edge)
		g := guardAt(t, m, clock, testPlans(5, 5, 5))
		key := create(t, keys, "Acme")
		refusals := func(text string, code flight.Code) {
			t.Helper()
			if who, q, err := g.Admit(t.Context(), text, 1); flight.CodeOf(err) != code || who != (Identity{}) || q != (Quota{}) {
				t.Errorf("%q: %+v, %+v, %v", text, who, q, err)
			}
		}
		for range 8 { // from SQL, and as cached
			refusals(keyText(key.ID, testSecret), flight.CodeInvalidAPIKey)
		}
		refusals("", flight.CodeMissingAPIKey)
		refusals("hello", flight.CodeInvalidAPIKey)
		refusals(keyText(newKeyID(), testSecret), flight.CodeInvalidAPIKey)
		wantCounts(t, m.Redis, key.ID, edge, 0, 0, 0)
		if n := admit(t, []*Guard{g}, key.Key, 3, 1); n != 3 {
			t.Errorf("%d of 3 pass", n)
		}
		next, err := keys.Rotate(t.Context(), key.ID) // keeps the counters
		if err != nil {
			t.Fatal(err)
		}
		refusals(key.Key, flight.CodeInvalidAPIKey)
		if n := admit(t, []*Guard{g}, next.Key, 64, 1); n != 2 {
			t.Errorf("%d pass after the rotation, where 2 are left", n)
		}
		// While a change holds the entry, SQL says whose key it is, and Redis counts.
		m.Redis.Set(t.Context(), entryKey(key.ID), entryHeld, time.Minute)
		clock.set(edge.Add(1))
		if n := admit(t, []*Guard{g}, next.Key, 64, 1); n != 5 {
			t.Errorf("%d pass while the key is changed, want 5", n)
		}
	})
}

// A key in use costs one round trip and no SQL, also when Redis has forgotten
// the script and when very many ask at once.
func TestAdmitIsOneRoundTrip(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		var trips atomic.Int64
		m.Redis.AddHook(hook{
			command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				trips.Add(1)
				return next(ctx, cmd)
			},
			pipeline: func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
				trips.Add(1)
				return next(ctx, cmds)
			},
		})
		clock := new(hand)
		clock.set(edge)
		g := guardAt(t, m, clock, nil)
		reads := counted(g)
		store := &countedStore{usageStore: g.ledger.store}
		g.ledger.store = store
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		admit(t, []*Guard{g}, key.Key, 1, 1)
		if reads() != 1 || store.reads.Load() != 1 {
			t.Errorf("the first request read the key %d times and its usage %d times", reads(), store.reads.Load())
		}
		trips.Store(0)
		for range 10 {
			admit(t, []*Guard{g}, key.Key, 1, 1)
		}
		if n := trips.Load(); n != 10 || reads() != 1 || store.reads.Load() != 1 {
			t.Errorf("ten requests took %d round trips", n)
		}
		if err := m.Redis.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if n := admit(t, []*Guard{g}, key.Key, 64, 1); n != 64 {
			t.Errorf("%d of 64 pass when Redis has forgotten the script", n)
		}
		if n := trips.Load(); n >= 64 || reads() != 1 || store.reads.Load() != 1 {
			t.Errorf("64 requests at once took %d round trips", n-10)
		}
	})
}

type countedStore struct {
	usageStore
	reads atomic.Int64
}

func (s *countedStore) Usage(ctx context.Context, id, day, month string) (int64, int64, error) {
	s.reads.Add(1)
	return s.usageStore.Usage(ctx, id, day, month)
}

// Redis forgets everything: day and month come back from SQL, read once by each
// process, and the minute does not. A new process finds them too, and so does a
// Redis that was emptied before the last seconds were saved.
func TestCountsComeBack(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		clock := new(hand)
		clock.set(edge)
		plans := testPlans(80, 100, 1000)
		guards := []*Guard{guardAt(t, m, clock, plans), guardAt(t, m, clock, plans)}
		var stores []*countedStore
		for _, g := range guards {
			s := &countedStore{usageStore: g.ledger.store}
			g.ledger.store = s
			stores = append(stores, s)
		}
		if n := admit(t, guards, key.Key, 64, 1); n != 64 {
			t.Fatalf("%d of 64 pass", n)
		}
		for _, g := range guards {
			if err := g.ledger.save(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range stores {
			s.reads.Store(0)
		}
		if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if n := admit(t, guards, key.Key, 128, 1); n != 36 {
			t.Errorf("%d pass after the flush, where 36 are left of the day", n)
		}
		wantCounts(t, m.Redis, key.ID, edge, 36, 100, 100)
		for i, s := range stores {
			if s.reads.Load() > 1 {
				t.Errorf("process %d read the usage %d times", i, s.reads.Load())
			}
		}
		guards[0].Close() // saves
		guards[1].Close()
		if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		wantAgain := guardAt(t, m, clock, plans)
		_, q, err := wantAgain.Admit(t.Context(), key.Key, 1)
		if flight.CodeOf(err) != flight.CodeQuotaExceeded || q.Used != [windows]int64{0, 100, 100} {
			t.Errorf("a new process has %+v, %v", q, err)
		}
		clock.set(edge.Add(1)) // another day and month: nothing of the old is brought along
		if _, q, err := wantAgain.Admit(t.Context(), key.Key, 1); err != nil || q.Used != [windows]int64{1, 1, 1} {
			t.Errorf("the next month begins with %+v, %v", q, err)
		}
		m.Redis.FlushDB(t.Context()) // before anything was saved: one process forgets nothing
		if _, q, err := wantAgain.Admit(t.Context(), key.Key, 1); err != nil || q.Used != [windows]int64{1, 2, 2} {
			t.Errorf("after a flush the one process has %+v, %v", q, err)
		}
	})
}

// Counts that cannot be written stay pending, and nothing is lost or doubled.
func TestLedgerKeepsWhatFailed(t *testing.T) {
	m := &memory{fail: errors.New("down")}
	l := newLedger(m, time.Now)
	l.add("a", 3, edge)
	if err := l.save(t.Context()); err == nil {
		t.Error("no error")
	}
	if _, err := l.read(t.Context(), "a", reply{at: edge, trip: 1}); err == nil {
		t.Error("what is behind passes for what has been counted")
	}
	l.add("a", 4, edge)
	m.fail = nil
	q, err := l.read(t.Context(), "a", reply{at: edge, trip: 2})
	if err != nil || q.day != 7 || q.month != 7 {
		t.Errorf("%+v, %v", q, err)
	}
	if err := l.save(t.Context()); err != nil || m.rows[ledgerRow{"2026-11", "a"}] != 7 {
		t.Errorf("%v, %v", m.rows, err)
	}
}

// Redis is down: each key has its allowance in each minute, for the grace; then
// nothing passes; and when Redis is back all is as before.
func TestAllowanceWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		r := fakeRedis(func(cmd redis.Cmder) {
			if down.Load() {
				cmd.SetErr(errors.New("down"))
			} else if c, ok := cmd.(*redis.Cmd); ok {
				c.SetVal([]any{entry{hash: hashSecret(testSecret), account: "acc_1", plan: "pro", name: "A"}.String(), "pro", int64(0), int64(0), int64(0), int64(1)})
			}
		}, func(int) {})
		defer r.Close()
		store := new(memory)
		c := Config{Redis: r, Plans: testPlans(40, 100, 1000), Grace: 90 * time.Second, Now: time.Now}
		g := newGuardOn(c, func(_ context.Context, id string) (db.APIKey, error) {
			return db.APIKey{ID: id, Account: "acc_1", AccountName: "A", Plan: "pro", Hash: hashSecret(testSecret)}, nil
		}, store)
		defer g.Close()
		time.Sleep(time.Until(Minute.End(time.Now()))) // the bubble's clock, here and below
		ask := func(id string) (passed int, last error) {
			for range 30 {
				if _, q, err := g.Admit(t.Context(), keyText(id, testSecret), 1); err == nil {
					passed++
				} else if last = err; flight.CodeOf(err) != flight.CodeQuotaUnavailable || q != (Quota{}) {
					t.Errorf("%+v, %v", q, err)
				}
			}
			return passed, last
		}
		one, other := newKeyID(), newKeyID()
		if _, _, err := g.Admit(t.Context(), keyText(one, testSecret[1:]+"A"), 1); flight.CodeOf(err) != flight.CodeInvalidAPIKey {
			t.Errorf("without Redis a wrong secret gets %v", err)
		}
		for _, id := range []string{one, other} {
			n, err := ask(id)
			if e, _ := err.(*flight.Error); n != 10 || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
				t.Errorf("%d pass, then %+v", n, err)
			}
		}
		if g.asks.down.Load() == 0 {
			t.Error("nobody knows that Redis is down")
		}
		time.Sleep(time.Minute)
		if n, _ := ask(one); n != 10 {
			t.Errorf("%d pass in the second minute", n)
		}
		time.Sleep(31 * time.Second)
		if n, err := ask(one); n != 0 || err.(*flight.Error).RetryAfter != 5*time.Second {
			t.Errorf("%d pass after the grace, then %+v", n, err)
		}
		time.Sleep(saveEvery)
		store.mu.Lock()
		if n := store.rows[ledgerRow{Month.period(time.Now()), one}]; n != 20 {
			t.Errorf("%d of 20 are in the month's usage", n)
		}
		store.mu.Unlock()
		down.Store(false)
		time.Sleep(redisRest)
		if n, _ := ask(one); n != 30 || g.asks.down.Load() != 0 {
			t.Errorf("%d of 30 pass when Redis is back", n)
		}
		down.Store(true) // a new outage has a grace of its own
		if n, _ := ask(other); n != 10 {
			t.Errorf("%d pass in the next outage", n)
		}
	})
}

func TestAllowanceOf(t *testing.T) {
	for limit, want := range map[int64]int64{NoLimit: 60, 1: 1, 10: 3, 60: 15, 300: 60, 1e9: 60} {
		if got := allowanceOf(Limits{limit, 1, 1}); got != want {
			t.Errorf("of %d a minute: %d", limit, got)
		}
	}
	a := allowance{grace: 0}
	if err := a.take("a", Limits{10, 10, 10}, 1, edge, 0); flight.CodeOf(err) != flight.CodeQuotaUnavailable {
		t.Errorf("without a grace: %v", err)
	}
}
