package access

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/flight"
)

// openKind is what an account has open for as long as it likes.
type openKind string

const (
	openConnections openKind = "connections" // websockets, and requests that are answered with a stream
	openStreams     openKind = "streams"     // live operations on them
)

// openKey is the hash of how many an account has open: of each process
// "<count> <Unix millisecond until which it counts>".
func openKey(account string, kind openKind) string { return "fw:{" + account + "}:" + string(kind) }

// addOpen lets a process have as many open as it says, unless all of them
// together would be more than the limit.
//
// KEYS: the hash. ARGV: now, the process, how many it will have, until when that
// counts, the limit, the hash's lifetime in ms. It returns -1 when it may, else
// how many are open.
var addOpen = redis.NewScript(`
local all, open = redis.call('HGETALL', KEYS[1]), 0
for i = 1, #all, 2 do
  if all[i] ~= ARGV[2] then
    local n, till = string.match(all[i + 1], '^(%d+) (%d+)$')
    if tonumber(till) < tonumber(ARGV[1]) then
      redis.call('HDEL', KEYS[1], all[i])
    else
      open = open + tonumber(n)
    end
  end
end
open = open + tonumber(ARGV[3])
if open > tonumber(ARGV[5]) then return open - 1 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return -1`)

// opened knows how much each account has open on this process.
type opened struct {
	redis   redis.UniversalClient
	now     func() time.Time
	process string

	*records[int64] // how many of one kind an account has open here, by key
}

func newOpened(r redis.UniversalClient, now func() time.Time) *opened {
	o := &opened{redis: r, now: now, process: newKeyID()}
	o.records = newRecords(func() int64 { return 0 }, o.announceOne)
	return o
}

// Connect counts a connection of an account in, over all processes, until leave
// is called. CodeConnectionLimit when it has as many as its plan allows. While
// Redis does not answer, each process counts by itself.
func (g *Guard) Connect(ctx context.Context, who Identity) (leave func(), err error) {
	return g.opened.open(ctx, who.Account, openConnections, g.plans.Of(who.Plan).Connections,
		flight.CodeConnectionLimit, "The account has %d of %d connections open. Send several operations over one websocket, or move to a larger plan.")
}

// Follow counts a live operation of an account in, as Connect does a
// connection. CodeStreamLimit.
func (g *Guard) Follow(ctx context.Context, who Identity) (leave func(), err error) {
	return g.opened.open(ctx, who.Account, openStreams, g.plans.Of(who.Plan).Streams,
		flight.CodeStreamLimit, "The account has %d of %d live operations open. End one of them first, or move to a larger plan.")
}

func (o *opened) open(ctx context.Context, account string, kind openKind, limit int64, code flight.Code, message string) (func(), error) {
	if limit < 0 {
		return func() {}, nil
	}
	key := openKey(account, kind)
	c := o.hold(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := o.add(ctx, key, c.value+1, limit); n >= 0 {
		o.release(key, c)
		return nil, &flight.Error{Code: code, Message: fmt.Sprintf(message, n, limit)}
	}
	c.value++
	return sync.OnceFunc(func() { o.leave(key, c) }), nil
}

// add returns -1 when this process may have n open, else how many there are.
func (o *opened) add(ctx context.Context, key string, n, limit int64) int64 {
	there, err := o.say(ctx, key, n, limit)
	if err == nil {
		return there
	}
	slog.Warn("Redis does not answer: what is open is counted by this process alone", "error", err)
	if n > limit {
		return n - 1
	}
	return -1
}

// say tells Redis that n are open here, unless that is too many.
func (o *opened) say(ctx context.Context, key string, n, limit int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if n == 0 {
		return -1, o.redis.HDel(ctx, key, o.process).Err()
	}
	now := o.now()
	return addOpen.Run(ctx, o.redis, []string{key}, now.UnixMilli(), o.process, n,
		now.Add(liveFor).UnixMilli(), limit, (2 * liveFor).Milliseconds()).Int64()
}

func (o *opened) leave(key string, c *record[int64]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value--
	if _, err := o.say(context.Background(), key, c.value, math.MaxInt64); err != nil {
		slog.Warn("what is not open any more counts for a while", "for", liveFor, "error", err)
	}
	o.release(key, c)
}

func (o *opened) announceOne(key string, c *record[int64]) error {
	_, err := o.say(context.Background(), key, c.value, math.MaxInt64) // it has been let in
	return err
}
