package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/flight"
)

const (
	liveFor   = 30 * time.Second // how long an announcement holds: as long as a dead process's legs count
	liveEvery = 10 * time.Second // announcements are renewed
)

// liveKey is the sorted set of the legs that an account watches live: members
// "<process> <leg>", scored with the Unix millisecond until which they count.
func liveKey(account string) string { return "fw:{" + account + "}:live" }

// addLive lets a process watch one more leg, unless the account watches as
// many others already. A leg that several processes watch counts once.
//
// KEYS: the set. ARGV: now, the member, its leg, its score, the limit, the
// set's lifetime in ms. It returns -1 when the leg is let in, else how many
// legs are watched.
var addLive = redis.NewScript(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1])
local legs, n = {}, 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local leg = string.match(member, '^%S+ (.*)$')
  if not legs[leg] then
    legs[leg] = true
    n = n + 1
  end
end
if not legs[ARGV[3]] and n >= tonumber(ARGV[5]) then return n end
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return -1`)

// live knows which legs this process's viewers watch, by account.
type live struct {
	redis   redis.UniversalClient
	now     func() time.Time
	process string

	*records[map[string]int] // viewers of each leg, by account
}

func newLive(r redis.UniversalClient, now func() time.Time) *live {
	l := &live{redis: r, now: now, process: newKeyID()}
	l.records = newRecords(func() map[string]int { return map[string]int{} }, l.announceAll)
	return l
}

// Watch counts a viewer of a leg in, over all processes, until leave is called;
// viewers of one leg count once. CodeLiveLegLimit when the account watches as
// many other legs as its plan allows. While Redis does not answer, each process
// counts by itself.
func (g *Guard) Watch(ctx context.Context, who Identity, leg string) (leave func(), err error) {
	limit := g.plans.Of(who.Plan).LiveLegs
	if limit < 0 {
		return func() {}, nil
	}
	return g.live.watch(ctx, who.Account, leg, limit)
}

func (l *live) watch(ctx context.Context, account, leg string, limit int64) (func(), error) {
	a := l.hold(account)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value[leg] == 0 {
		if n := l.announceNew(ctx, a, account, leg, limit); n >= 0 {
			l.release(account, a)
			return nil, flight.Errorf(flight.CodeLiveLegLimit, "The account watches %d of %d legs live. End one of them first, or move to a larger plan.", n, limit)
		}
	}
	a.value[leg]++
	return sync.OnceFunc(func() { l.leave(account, a, leg) }), nil
}

// announceNew returns -1 when one more leg may be watched, else how many are.
func (l *live) announceNew(ctx context.Context, a *record[map[string]int], account, leg string, limit int64) int64 {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	now := l.now()
	n, err := addLive.Run(ctx, l.redis, []string{liveKey(account)}, now.UnixMilli(), l.member(leg), leg,
		now.Add(liveFor).UnixMilli(), limit, (2 * liveFor).Milliseconds()).Int64()
	if err == nil {
		return n
	}
	slog.Warn("Redis does not answer: legs watched live are counted by this process alone", "error", err)
	if n := int64(len(a.value)); n >= limit {
		return n
	}
	return -1
}

func (l *live) member(leg string) string { return l.process + " " + leg }

func (l *live) leave(account string, a *record[map[string]int], leg string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value[leg]--; a.value[leg] == 0 {
		delete(a.value, leg)
		ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
		defer cancel()
		if err := l.redis.ZRem(ctx, liveKey(account), l.member(leg)).Err(); err != nil {
			slog.Warn("a leg that is not watched any more counts for a while", "for", liveFor, "error", err)
		}
	}
	l.release(account, a)
}

// announceAll announces all that an account watches here.
func (l *live) announceAll(account string, a *record[map[string]int]) error {
	if len(a.value) == 0 {
		return nil
	}
	until := float64(l.now().Add(liveFor).UnixMilli())
	members := make([]redis.Z, 0, len(a.value))
	for leg := range a.value {
		members = append(members, redis.Z{Score: until, Member: l.member(leg)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	pipe := l.redis.Pipeline()
	pipe.ZAdd(ctx, liveKey(account), members...)
	pipe.PExpire(ctx, liveKey(account), 2*liveFor)
	_, err := pipe.Exec(ctx)
	return err
}
