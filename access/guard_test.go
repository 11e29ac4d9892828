package access

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// counted wraps the guard's reads of SQL; the function returns their number.
func counted(g *Guard) func() int64 {
	var n atomic.Int64
	read := g.read
	g.read = func(ctx context.Context, id string) (db.APIKey, error) {
		n.Add(1)
		return read(ctx, id)
	}
	return n.Load
}

func TestRefusalText(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g, keys := NewGuard(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		defer g.Close()
		rotated, revoked := create(t, keys, "Acme"), create(t, keys, "Acme")
		if _, err := keys.Rotate(t.Context(), rotated.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Revoke(t.Context(), revoked.ID); err != nil {
			t.Fatal(err)
		}
		const invalid = "invalid_api_key: The API key is not valid: it is incomplete, unknown, revoked or replaced by a newer one. Send the key as it was last issued."
		const missing = "missing_api_key: Send an API key in the x-api-key header, or as Authorization: Bearer <key>."
		for name, c := range map[string]struct{ key, want string }{
			"missing":      {"", missing},
			"malformed":    {"hello", invalid},
			"unknown":      {keyText(newKeyID(), testSecret), invalid},
			"wrong secret": {keyText(rotated.ID, testSecret), invalid},
			"rotated":      {rotated.Key, invalid},
			"revoked":      {revoked.Key, invalid},
		} {
			for range 2 { // from SQL, and as cached
				if id, err := g.Authenticate(t.Context(), c.key); err == nil || err.Error() != c.want || id != (Identity{}) {
					t.Errorf("%s: %+v, %v", name, id, err)
				}
			}
		}
	})
}

func TestMalformedKeysCostNothing(t *testing.T) {
	r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	defer r.Close()
	r.AddHook(hook{command: func(context.Context, redis.Cmder, redis.ProcessHook) error {
		t.Error("Redis was asked")
		return redis.Nil
	}})
	g := newGuard(r, func(context.Context, string) (db.APIKey, error) {
		t.Error("SQL was asked")
		return db.APIKey{}, errors.New("no")
	})
	defer g.Close()
	for name, text := range malformed {
		if _, err := g.Authenticate(t.Context(), text); flight.CodeOf(err) != flight.CodeInvalidAPIKey {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Keys in use, revoked ones and made-up ones are all answered from Redis, with
// one GET each.
func TestCachedCheckIsOneRoundTrip(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		var commands atomic.Int64
		m.Redis.AddHook(hook{command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			commands.Add(1)
			return next(ctx, cmd)
		}})
		g, keys := NewGuard(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		defer g.Close()
		reads := counted(g)
		good, revoked := create(t, keys, "Acme"), create(t, keys, "Acme")
		if _, err := keys.Revoke(t.Context(), revoked.ID); err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{good.Key, revoked.Key, keyText(newKeyID(), testSecret)} {
			accepts(t, g, key)
			if reads() != int64(i+1) {
				t.Errorf("key %d: the first check read SQL %d times", i, reads()-int64(i))
			}
			commands.Store(0)
			for range 10 {
				accepts(t, g, key)
			}
			if n := commands.Load(); n != 10 || reads() != int64(i+1) {
				t.Errorf("key %d: ten checks took %d commands and %d reads of SQL", i, n, reads()-int64(i+1))
			}
		}
	})
}

// A second fault must not make SQL believe what Redis remembers: an entry in a
// form that we do not know is left alone and SQL decides.
func TestForeignEntry(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g, keys := NewGuard(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		defer g.Close()
		key := create(t, keys, "Acme")
		for _, v := range []string{"", "ok", "ok ", "ok a b", "v2 something", entryHeld} {
			if err := m.Redis.Set(t.Context(), entryKey(key.ID), v, 0).Err(); err != nil {
				t.Fatal(err)
			}
			if !accepts(t, g, key.Key) || accepts(t, g, keyText(key.ID, testSecret)) {
				t.Errorf("with the entry %q SQL does not decide", v)
			}
			if got := m.Redis.Get(t.Context(), entryKey(key.ID)).Val(); got != v {
				t.Errorf("the entry %q became %q", v, got)
			}
		}
	})
}

// 64 callers on two processes use the old key all the while: none that asks
// after the rotation was answered gets through.
func TestRotationUnderLoad(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		guards := []*Guard{NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis)}
		for _, g := range guards {
			defer g.Close()
		}
		key := create(t, keys, "Acme")
		for round := range 5 {
			var answered, stop atomic.Bool
			var passed, late, refused atomic.Int64
			var callers sync.WaitGroup
			warm := make(chan struct{}, 64)
			for i := range 64 {
				callers.Go(func() {
					for n := 0; !stop.Load(); n++ {
						after := answered.Load()
						_, err := guards[i%2].Authenticate(context.Background(), key.Key)
						switch {
						case err == nil && after:
							late.Add(1)
						case err == nil:
							passed.Add(1)
						case flight.CodeOf(err) != flight.CodeInvalidAPIKey:
							t.Error(err)
							return
						case after && refused.Add(1) == 2000:
							stop.Store(true)
						}
						if n == 3 {
							warm <- struct{}{}
						}
					}
				})
			}
			for range 64 {
				<-warm
			}
			if round%2 == 1 { // Redis may forget everything at any moment
				m.Redis.Del(t.Context(), entryKey(key.ID))
			}
			next, err := keys.Rotate(t.Context(), key.ID)
			answered.Store(true)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range guards {
				if !accepts(t, g, next.Key) {
					t.Error("the new key is refused after its rotation")
				}
			}
			callers.Wait()
			if late.Load() != 0 || passed.Load() < 64 {
				t.Fatalf("round %d: %d got through after the rotation, %d before", round, late.Load(), passed.Load())
			}
			key = next
		}
	})
}

// A process that was just reading the old row, and is slower than the whole
// rotation, neither puts it back nor hands it to those who ask afterwards.
func TestSlowReader(t *testing.T) {
	for name, meanwhile := range map[string]func(context.Context, redis.UniversalClient, string) error{
		"rotation alone": func(context.Context, redis.UniversalClient, string) error { return nil },
		"Redis forgets": func(ctx context.Context, r redis.UniversalClient, id string) error {
			return r.Del(ctx, entryKey(id)).Err()
		},
		"another change begins": func(ctx context.Context, r redis.UniversalClient, id string) error {
			return r.Set(ctx, entryKey(id), entryHeld, heldFor).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
				slow, other, keys := NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
				defer slow.Close()
				defer other.Close()
				key := create(t, keys, "Acme")

				hasRead, goOn := make(chan struct{}), make(chan struct{})
				var once sync.Once
				read := slow.read
				slow.read = func(ctx context.Context, id string) (db.APIKey, error) {
					row, err := read(ctx, id)
					once.Do(func() { close(hasRead); <-goOn })
					return row, err
				}
				var callers sync.WaitGroup
				callers.Go(func() { accepts(t, slow, key.Key) }) // began before: either answer will do
				<-hasRead
				next, err := keys.Rotate(t.Context(), key.ID)
				if err != nil {
					t.Fatal(err)
				}
				if err := meanwhile(t.Context(), m.Redis, key.ID); err != nil {
					t.Fatal(err)
				}
				for range 8 { // of the same process, while its reader is still at it
					callers.Go(func() {
						if accepts(t, slow, key.Key) {
							t.Error("one who asked after the rotation was given the row of before it")
						}
					})
				}
				close(goOn)
				callers.Wait()
				for _, g := range []*Guard{slow, other} {
					if accepts(t, g, key.Key) || !accepts(t, g, next.Key) {
						t.Error("the slow reader put the old entry back")
					}
				}
			})
		})
	}
}

// Whatever took the place of a lease stays.
func TestPutReplacesItsOwnLeaseOnly(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := NewGuard(m.DB, m.Redis)
		defer g.Close()
		e := entry{hash: hashSecret(testSecret), account: "acc_1", plan: "pro", name: "A"}
		newer := entry{hash: hashSecret("newer"), account: "acc_1", plan: "pro", name: "A"}.String()
		for name, there := range map[string]string{"nothing": "", "held": entryHeld, "another's lease": leasePrefix + "x", "an entry": newer} {
			id := newKeyID()
			lease, found := g.lease(t.Context(), id)
			if lease == "" || found != "" {
				t.Fatalf("lease %q, found %q", lease, found)
			}
			m.Redis.Del(t.Context(), entryKey(id))
			if there != "" {
				m.Redis.Set(t.Context(), entryKey(id), there, 0)
			}
			if g.put(t.Context(), id, lease, e, knownFor) {
				t.Errorf("%s: put all the same", name)
			}
			if v := m.Redis.Get(t.Context(), entryKey(id)).Val(); v != there {
				t.Errorf("%s: became %q", name, v)
			}
		}

		id := newKeyID()
		first, _ := g.lease(t.Context(), id)
		second, _ := g.lease(t.Context(), id) // takes over
		if g.put(t.Context(), id, first, e, knownFor) || !g.put(t.Context(), id, second, e, knownFor) {
			t.Error("it is not the last lease that counts")
		}
		if lease, found := g.lease(t.Context(), id); lease != "" || found != e.String() {
			t.Errorf("an entry gives the lease %q, found %q", lease, found)
		}
		if ttl := m.Redis.PTTL(t.Context(), entryKey(id)).Val(); ttl <= knownFor/2 || ttl > knownFor {
			t.Errorf("the entry lives %v", ttl)
		}
	})
}

func TestEntryText(t *testing.T) {
	for _, e := range []entry{{}, {"h", "acc_1", "pro", "A", false}, {"h", "acc_1", "pro", " Ada  & Co ", true}, {"h", "acc_1", "pro", "ok no held", false}} {
		if got, ok := parseEntry(e.String()); !ok || got != e {
			t.Errorf("%+v is read as %+v, %v", e, got, ok)
		}
	}
}
