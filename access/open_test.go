package access

import (
	"context"
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

func mustOpen(t *testing.T, open func(context.Context, Identity) (func(), error), who Identity) func() {
	t.Helper()
	leave, err := open(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func wantLimit(t *testing.T, open func(context.Context, Identity) (func(), error), who Identity, code flight.Code) {
	t.Helper()
	if _, err := open(t.Context(), who); flight.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// What an account has open counts over all processes, until it is closed, or its
// process has been dead for a while.
func TestOpenLimits(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		clock := new(hand)
		clock.set(edge)
		plans := Plans{{Name: "pro", Connections: 3, Streams: 2}}
		here, there := guardAt(t, m, clock, plans), guardAt(t, m, clock, plans)
		who, other := Identity{Account: "acc_1", Plan: "pro"}, Identity{Account: "acc_2", Plan: "pro"}
		first := mustOpen(t, here.Connect, who)
		mustOpen(t, here.Connect, who)
		third := mustOpen(t, there.Connect, who)
		wantLimit(t, here.Connect, who, flight.CodeConnectionLimit)
		wantLimit(t, there.Connect, who, flight.CodeConnectionLimit)
		mustOpen(t, there.Connect, other)()
		mustOpen(t, here.Follow, who) // streams are counted apart
		mustOpen(t, there.Follow, who)
		wantLimit(t, here.Follow, who, flight.CodeStreamLimit)
		first()
		first() // twice does no harm
		mustOpen(t, there.Connect, who)
		wantLimit(t, here.Connect, who, flight.CodeConnectionLimit)
		third()
		mustOpen(t, here.Connect, who)()

		clock.set(edge.Add(liveFor - time.Second)) // as if here alone had died
		there.opened.renew()
		clock.set(edge.Add(liveFor + time.Second))
		mustOpen(t, there.Connect, who)
		mustOpen(t, there.Connect, who)
		wantLimit(t, there.Connect, who, flight.CodeConnectionLimit)
		if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		there.opened.renew() // brings back what Redis forgot
		wantLimit(t, here.Connect, who, flight.CodeConnectionLimit)
	})
}

func TestOpenLimitsAtOnce(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		clock := new(hand)
		clock.set(edge)
		plans := Plans{{Name: "pro", Streams: 20}}
		guards := []*Guard{guardAt(t, m, clock, plans), guardAt(t, m, clock, plans)}
		who := Identity{Account: "acc_1", Plan: "pro"}
		var in atomic.Int64
		var viewers sync.WaitGroup
		for i := range 64 {
			viewers.Go(func() {
				if _, err := guards[i%2].Follow(t.Context(), who); err == nil {
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
func TestOpenLimitsWithoutRedis(t *testing.T) {
	r := fakeRedis(func(cmd redis.Cmder) { cmd.SetErr(errors.New("down")) }, nil)
	defer r.Close()
	clock := new(hand)
	clock.set(edge)
	o := newOpened(r, clock.now)
	open := func() (func(), error) {
		return o.open(t.Context(), "acc_1", openStreams, 2, flight.CodeStreamLimit, "%d of %d")
	}
	var leaves []func()
	for range 2 {
		leave, err := open()
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	if _, err := open(); flight.CodeOf(err) != flight.CodeStreamLimit || fmt.Sprint(err) != "stream_limit: 2 of 2" {
		t.Errorf("got %v", err)
	}
	for _, leave := range leaves {
		leave()
	}
	if len(o.byKey) != 0 {
		t.Errorf("%d records are left over", len(o.byKey))
	}
	g := &Guard{opened: new(opened)} // would panic if it asked
	for _, open := range []func(context.Context, Identity) (func(), error){g.Connect, g.Follow} {
		mustOpen(t, open, Identity{Plan: "unlimited"})()
	}
}
