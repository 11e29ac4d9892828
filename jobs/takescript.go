package jobs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// callKeys are the names of a provider's bucket and of its counter of a month,
// in one slot of a cluster. The month is in the name, so that no count depends
// on when Redis forgets one.
func callKeys(provider, month string) []string {
	base := "fw:{calls:" + provider + "}:"
	return []string{base + "bucket", base + month}
}

// takeScript takes one call from a bucket and from a month, or from neither; see
// room.take.
//
// KEYS: the bucket, as the Unix µs at which it is full again, and the month's
// counter. ARGV: now; the room's interval, depth, reserve and month; where
// this process last saw the two, which counts where Redis has less; "1" when
// that is what SQL has counted, else ""; the counter's lifetime in ms.
//
// It returns nothing when the counter is missing and SQL must be asked, else
// the verdict and the two as they are now.
var takeScript = redis.NewScript(`
local now, interval, depth = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local reserve, month = tonumber(ARGV[4]), tonumber(ARGV[5])
local v = redis.call('MGET', KEYS[1], KEYS[2])
if not v[2] and ARGV[8] == '' then return {} end
local full = math.max(tonumber(v[1] or '0'), tonumber(ARGV[6]))
local used = math.max(tonumber(v[2] or '0'), tonumber(ARGV[7]))
full = math.min(math.max(full, now), now + depth)
if month >= 0 and used >= month then return {2, full, used} end
if full + interval - now > depth - reserve then return {1, full, used} end
full = full + interval
used = used + 1
if interval > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', string.format('%.0f', math.ceil((full - now) / 1000) + 60000))
end
redis.call('SET', KEYS[2], string.format('%.0f', used), 'PX', ARGV[9])
return {0, full, used}`)

// counterFor is the lifetime of a month's counter: past the month's end.
const counterFor = 33 * 24 * time.Hour

var (
	errLost  = errors.New("redis has no count of this month's calls")
	errReply = errors.New("the script that takes calls answered something unheard of")
)

// runTake runs takeScript. errLost when the counter is missing and seen does
// not stand for SQL.
func runTake(ctx context.Context, r redis.Scripter, provider string, m room, seen counts, fromSQL bool, now time.Time) (counts, verdict, error) {
	sql := ""
	if fromSQL {
		sql = "1"
	}
	values, err := takeScript.Run(ctx, r, callKeys(provider, db.MonthOf(now)), now.UnixMicro(), m.interval, m.depth, m.reserve, m.month,
		seen.full, seen.used, sql, strconv.FormatInt(counterFor.Milliseconds(), 10)).Int64Slice()
	switch {
	case err != nil:
		return counts{}, 0, err
	case len(values) == 0:
		return counts{}, 0, errLost
	case len(values) != 3 || values[0] < int64(passed) || values[0] > int64(overMonth):
		return counts{}, 0, errReply
	}
	return counts{full: values[1], used: values[2]}, verdict(values[0]), nil
}
