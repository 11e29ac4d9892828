package graph

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
)

// trips counts what Redis is asked.
type trips struct{ n atomic.Int64 }

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.n.Add(1); return next(ctx, cmd) }
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.n.Add(1); return next(ctx, cmds) }
}

// A cached look-up asks Redis once, for the key and its windows together, and
// the key that is rotated meanwhile is refused by that one question.
func TestQueryIsOneRoundTrip(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newRig(t, m, nil)
		g.source.say(leg("100", "JFK", "LHR"))
		guard := access.New(access.Config{DB: m.DB, Redis: m.Redis, Grace: time.Minute, Alone: m.Name == "sqlite"})
		t.Cleanup(guard.Close)
		keys := access.NewKeys(m.DB, m.Redis)
		key, err := keys.Create(t.Context(), "pro account", "pro")
		if err != nil {
			t.Fatal(err)
		}
		s := g.serve(func(c *HandlerConfig) { c.Auth = guard })
		query := func(key string) *reply { return post(t, s.URL, flightQuery, legVariable(), "X-Api-Key", key) }
		for range 2 { // the first reads the key and its counts from SQL
			if r := query(key.Key); r.status != 200 || len(r.Errors) > 0 {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		var asked trips
		m.Redis.AddHook(&asked)
		for range 10 {
			if r := query(key.Key); r.status != 200 || r.header.Get("X-RateLimit-Limit-Minute") != "300" {
				t.Fatalf("%d %v %s", r.status, r.header, r.body)
			}
		}
		if n := asked.n.Load(); n != 10 {
			t.Errorf("ten queries took %d round trips", n)
		}
		if _, err := keys.Rotate(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if r := query(key.Key); r.status != http.StatusUnauthorized || r.Data != nil {
			t.Errorf("the old key: %d %s", r.status, r.body)
		}
		if r := post(t, s.URL, "{ malformed", nil, "X-Api-Key", key.Key); r.status != http.StatusUnauthorized {
			t.Errorf("the old key with a malformed query: %d %s", r.status, r.body)
		}
	})
}
