package access

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func wantFull(t *testing.T, g *Guard, who Identity, leg string) {
	t.Helper()
	if _, err := g.Watch(t.Context(), who, leg); flight.CodeOf(err) != flight.CodeLiveLegLimit {
		t.Errorf("%s is let in: %v", leg, err)
	}
}

func watch(t *testing.T, g *Guard, who Identity, leg string) func() {
	t.Helper()
	leave, err := g.Watch(t.Context(), who, leg)
	if err != nil {
		t.Fatalf("%s: %v", leg, err)
	}
	return leave
}

// An account's legs count over all processes, each leg once.
func TestLiveLegs(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		clock := new(hand)
		clock.set(edge)
		plans := testPlans(NoLimit, NoLimit, NoLimit)
		here, there := guardAt(t, m, clock, plans), guardAt(t, m, clock, plans)
		who, other := Identity{Account: "acc_1", Plan: "pro"}, Identity{Account: "acc_2", Plan: "pro"}
		first, again, elsewhere := watch(t, here, who, "a"), watch(t, here, who, "a"), watch(t, there, who, "a")
		watch(t, there, who, "b")
		watch(t, here, who, "c")
		wantFull(t, here, who, "d")
		wantFull(t, there, who, "d")
		watch(t, there, who, "c")()
		watch(t, there, other, "d")()
		first()
		first() // twice does no harm
		wantFull(t, here, who, "d")
		again()
		wantFull(t, there, who, "d")
		elsewhere()
		watch(t, there, who, "d")()

		clock.set(edge.Add(liveFor - time.Second)) // as if here alone had died
		there.live.renew()
		clock.set(edge.Add(liveFor + time.Second))
		watch(t, there, who, "e")
		watch(t, there, who, "f")
		wantFull(t, there, who, "g")
		if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		there.live.renew() // brings back what Redis forgot
		wantFull(t, here, who, "g")
		if len(here.live.byKey) != 1 || len(there.live.byKey) != 1 {
			t.Errorf("records of %d and %d accounts are held", len(here.live.byKey), len(there.live.byKey))
		}
	})
}

func TestLiveLegsAtOnce(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		clock := new(hand)
		clock.set(edge)
		plans := Plans{{Name: "pro", LiveLegs: 20}}
		guards := []*Guard{guardAt(t, m, clock, plans), guardAt(t, m, clock, plans)}
		who := Identity{Account: "acc_1", Plan: "pro"}
		var in atomic.Int64
		var viewers sync.WaitGroup
		for i := range 64 {
			viewers.Go(func() {
				if _, err := guards[i%2].Watch(t.Context(), who, fmt.Sprint(i)); err == nil {
					in.Add(1)
				}
			})
		}
		viewers.Wait()
		if in.Load() != 20 {
			t.Errorf("%d of 64 are let in, want 20", in.Load())
		}
	})
}

// Without Redis each process counts by itself; a plan without a limit asks
// nobody.
func TestLiveLegsWithoutRedis(t *testing.T) {
	r := fakeRedis(func(cmd redis.Cmder) { cmd.SetErr(errors.New("down")) }, nil)
	defer r.Close()
	clock := new(hand)
	clock.set(edge)
	l := newLive(r, clock.now)
	var leaves []func()
	for _, leg := range []string{"a", "b", "a"} {
		leave, err := l.watch(t.Context(), "acc_1", leg, 2)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	if _, err := l.watch(t.Context(), "acc_1", "c", 2); flight.CodeOf(err) != flight.CodeLiveLegLimit {
		t.Errorf("got %v", err)
	}
	for _, leave := range leaves {
		leave()
	}
	if len(l.byKey) != 0 {
		t.Errorf("%d accounts are left over", len(l.byKey))
	}
	g := &Guard{live: nil} // would panic if it were asked
	if leave, err := g.Watch(t.Context(), Identity{Plan: "unlimited"}, "a"); err != nil {
		t.Error(err)
	} else {
		leave()
	}
}
