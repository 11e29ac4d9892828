package access

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// fakeRedis is a client that never dials: answer stands for Redis.
func fakeRedis(answer func(cmd redis.Cmder), pipelined func(n int)) *redis.Client {
	r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"}) // an address needs no name server
	r.AddHook(hook{
		command: func(_ context.Context, cmd redis.Cmder, _ redis.ProcessHook) error {
			answer(cmd)
			return cmd.Err()
		},
		pipeline: func(_ context.Context, cmds []redis.Cmder, _ redis.ProcessPipelineHook) error {
			pipelined(len(cmds))
			for _, cmd := range cmds {
				answer(cmd)
			}
			return nil
		},
	})
	return r
}

// What waits while a round trip is under way goes into the next, at most
// batchMax together, each id once; everyone gets the answer to his own id.
func TestWaitingChecksShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trips []int
		var asked sync.Map
		goOn := make(chan struct{})
		r := fakeRedis(func(cmd redis.Cmder) {
			key := cmd.Args()[1].(string)
			if key == entryKey("first") {
				trips = append(trips, 1)
				<-goOn
			}
			if _, twice := asked.LoadOrStore(key, true); twice {
				t.Errorf("%s is asked for twice", key)
			}
			cmd.(*redis.StringCmd).SetVal("of " + key)
		}, func(n int) { trips = append(trips, n) })
		defer r.Close()
		b := newBatcher(Config{Redis: r, Now: time.Now}, nil)

		var callers sync.WaitGroup
		get := func(id string) {
			callers.Go(func() {
				if v, err := b.get(t.Context(), id); v != "of "+entryKey(id) || err != nil {
					t.Errorf("%s: %q, %v", id, v, err)
				}
			})
		}
		get("first")
		synctest.Wait()
		for range 300 {
			id := newKeyID()
			for range 3 {
				get(id)
			}
		}
		synctest.Wait()
		close(goOn)
		callers.Wait()
		b.close()
		if !slices.Equal(trips, []int{1, 256, 44}) {
			t.Errorf("round trips of %v", trips)
		}
	})
}

func TestCallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		r := fakeRedis(func(cmd redis.Cmder) {
			<-goOn
			cmd.(*redis.StringCmd).SetVal(entryNo)
		}, nil)
		defer r.Close()
		g := newGuard(r, func(context.Context, string) (db.APIKey, error) {
			t.Error("SQL was asked for one who has left")
			return db.APIKey{}, errors.New("no")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := g.Authenticate(ctx, keyText(testID, testSecret)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(goOn)
		g.Close()
	})
}

// Without Redis SQL is asked: by one reader for all who came before it began,
// and by a second for those who came while it was reading, because the first
// may have an older row than they must see. Redis is left alone for a second,
// then asked again.
func TestWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commands, reads atomic.Int64
		down := true
		r := fakeRedis(func(cmd redis.Cmder) {
			commands.Add(1)
			if down {
				cmd.SetErr(errors.New("down"))
			} else {
				cmd.(*redis.StringCmd).SetVal(entry{hash: hashSecret(testSecret), account: "acc_1", plan: "pro", name: "A"}.String())
			}
		}, nil)
		defer r.Close()
		goOn := make(chan struct{})
		g := newGuard(r, func(_ context.Context, id string) (db.APIKey, error) {
			hash := hashSecret(testSecret)
			if reads.Add(1) == 2 {
				hash = hashSecret("rotated")
			}
			<-goOn
			return db.APIKey{ID: id, Hash: hash}, nil
		})
		defer g.Close()
		var callers sync.WaitGroup
		check := func() {
			if _, err := g.Authenticate(t.Context(), keyText(testID, testSecret)); err != nil {
				t.Error(err)
			}
		}
		callers.Go(check)
		synctest.Wait()
		for range 63 {
			callers.Go(func() {
				if accepts(t, g, keyText(testID, testSecret)) {
					t.Error("a row that was read before the check came in decides it")
				}
			})
		}
		synctest.Wait()
		if reads.Load() != 1 {
			t.Errorf("%d reads at a time for one key", reads.Load())
		}
		close(goOn)
		callers.Wait()
		if reads.Load() != 2 || commands.Load() != 1 {
			t.Errorf("64 checks took %d reads of SQL and %d of Redis", reads.Load(), commands.Load())
		}
		if len(g.loads) != 0 {
			t.Errorf("%d loads are left over", len(g.loads))
		}

		down = false
		check()
		if reads.Load() != 3 || commands.Load() != 1 {
			t.Error("Redis is asked at once after it failed")
		}
		time.Sleep(redisRest) // the bubble's clock
		check()
		if reads.Load() != 3 || commands.Load() != 2 {
			t.Error("Redis is not asked again")
		}
	})
}

// Made-up ids never read more than a few rows at a time, and none waits for
// ever.
func TestReadersAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRedis(func(cmd redis.Cmder) { cmd.SetErr(errors.New("down")) }, func(int) {})
		defer r.Close()
		var now, most atomic.Int64
		g := newGuard(r, func(ctx context.Context, _ string) (db.APIKey, error) {
			for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); {
				m = most.Load()
			}
			<-ctx.Done() // a database that hangs
			now.Add(-1)
			return db.APIKey{}, ctx.Err()
		})
		defer g.Close()
		began := time.Now()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				_, err := g.Authenticate(t.Context(), keyText(newKeyID(), testSecret))
				if flight.CodeOf(err) != flight.CodeInternal {
					t.Errorf("got %v", err)
				}
			})
		}
		callers.Wait()
		if most.Load() != readers {
			t.Errorf("%d rows are read at a time", most.Load())
		}
		if d := time.Since(began); d > readTimeout+redisTimeout {
			t.Errorf("they waited %v", d)
		}
	})
}

func TestClosed(t *testing.T) {
	r := fakeRedis(func(cmd redis.Cmder) { cmd.SetErr(errors.New("down")) }, nil)
	defer r.Close()
	g := newGuard(r, func(_ context.Context, id string) (db.APIKey, error) {
		return db.APIKey{ID: id, Account: "acc_1", Hash: hashSecret(testSecret)}, nil
	})
	g.Close()
	g.Close() // twice does no harm
	if id, err := g.Authenticate(t.Context(), keyText(testID, testSecret)); err != nil || id.Account != "acc_1" {
		t.Errorf("got %+v, %v", id, err)
	}
}
