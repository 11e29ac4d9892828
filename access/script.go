package access

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// question is what is asked of Redis about one key. Those that are the same
// and wait at the same time are one question.
type question struct {
	id   string
	hash string // of the secret that was presented; "": the entry only, nothing is taken

	// What Redis did not have the time before, and SQL has.
	entry      string // the key's entry; "": Redis has it
	seeded     string // the day for which the following two hold; "": Redis has them
	day, month int64  // counted in that day, and in its month
}

// reply is what Redis said.
type reply struct {
	raw     string // the entry; "" when there is none
	lost    bool   // Redis has not counted this day or month; nothing was taken
	counted bool   // used and passed are valid
	plan    string
	used    counts  // before this question took anything
	passed  []int64 // of each run
	at      time.Time
	trip    int64 // which round trip brought it
}

// windowKeys are the names of a key's entry and counters. The window is in the
// name, so that no process ever counts in another window than it means, and no
// count depends on when Redis forgets one.
func windowKeys(id string, now time.Time) []string {
	base := "fw:{" + id + "}:"
	return []string{base + "key", base + Minute.period(now), base + Day.period(now), base + Month.period(now)}
}

// quotaScript looks a key up and takes requests from its three windows, all or
// none of each request's cost; see grant.
//
// KEYS: the entry, and the counters of the minute, the day and the month.
// ARGV: the hash that the secret must have; the entry, where SQL said it; what
// SQL has counted in the day and in the month, or ""; lifetimes of the
// counters in ms; the number of plans; of each its name and limits; then of
// each run how many and at what cost.
//
// It returns the entry and nothing else when the hash does not fit or there is
// no key in it; the entry and "lost" when a counter is missing that SQL must be
// asked for; else entry, plan, the three counts before, and how many of each
// run pass.
const quotaScriptText = `
local v = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local entry = ARGV[2]
if entry == '' then entry = v[1] or '' end
local _, _, hash, plan = string.find(entry, '^ok (%S+) %S+ (%S+) ')
if hash ~= ARGV[1] then return {entry} end
local used = {v[2] or '0', v[3] or ARGV[3], v[4] or ARGV[4]}
if used[2] == '' or used[3] == '' then return {entry, 'lost'} end
local first = 9 + 4 * tonumber(ARGV[8])
local at = 9
for i = 9, first - 1, 4 do
  if ARGV[i] == plan then at = i end
end
local left = -1
for w = 1, 3 do
  used[w] = tonumber(used[w])
  local limit = tonumber(ARGV[at + w])
  if limit >= 0 then
    local room = math.max(0, limit - used[w])
    if left < 0 or room < left then left = room end
  end
end
local out = {entry, plan, used[1], used[2], used[3]}
local taken = 0
for i = first, #ARGV, 2 do
  local n, cost = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  if left >= 0 and cost > 0 then
    n = math.min(n, math.floor(left / cost))
    left = left - n * cost
  end
  taken = taken + n * cost
  out[#out + 1] = n
end
for w = 1, 3 do
  if taken > 0 or not v[w + 1] then
    redis.call('SET', KEYS[w + 1], string.format('%.0f', used[w] + taken), 'PX', ARGV[4 + w])
  end
end
return out`

var quotaScript = redis.NewScript(quotaScriptText)

// lifetimes of the counters: well past the end of their windows, for processes
// whose clocks are off. They bound memory and nothing else.
var lifetimes = [windows]string{
	Minute: strconv.FormatInt((10 * time.Minute).Milliseconds(), 10),
	Day:    strconv.FormatInt((48 * time.Hour).Milliseconds(), 10),
	Month:  strconv.FormatInt((33 * 24 * time.Hour).Milliseconds(), 10),
}

// planArgs are the plans as the script reads them.
func planArgs(p Plans) []any {
	args := []any{len(p.all())}
	for _, plan := range p.all() {
		args = append(args, plan.Name)
		for _, limit := range plan.Requests {
			args = append(args, limit)
		}
	}
	return args
}

// args are the script's ARGV for a question.
func (q question) args(now time.Time, plans []any, runs []run) []any {
	day, month := "", ""
	if q.seeded == Day.period(now) {
		day, month = strconv.FormatInt(q.day, 10), strconv.FormatInt(q.month, 10)
	}
	args := make([]any, 0, 7+len(plans)+2*len(runs))
	args = append(args, q.hash, q.entry, day, month, lifetimes[Minute], lifetimes[Day], lifetimes[Month])
	args = append(args, plans...)
	for _, r := range runs {
		args = append(args, r.n, r.cost)
	}
	return args
}

var errReply = errors.New("the quota script answered something unheard of")

// readReply takes apart what the script returned for that many runs.
func readReply(values []any, runs int, now time.Time) (r reply, err error) {
	r.at = now
	text := make([]string, min(2, len(values)))
	for i := range text {
		s, ok := values[i].(string)
		if !ok {
			return r, errReply
		}
		text[i] = s
	}
	switch {
	case len(values) == 0:
		return r, errReply
	case len(values) == 1:
		r.raw = text[0]
		return r, nil
	case len(values) == 2:
		r.raw, r.lost = text[0], true
		return r, nil
	case len(values) != 5+runs:
		return r, errReply
	}
	r.raw, r.plan, r.counted, r.passed = text[0], text[1], true, make([]int64, runs)
	for i, v := range values[2:] {
		n, ok := v.(int64)
		if !ok {
			return r, errReply
		}
		if i < int(windows) {
			r.used[i] = n
		} else {
			r.passed[i-int(windows)] = n
		}
	}
	return r, nil
}

// isNoScript reports whether Redis does not know the script: it was started
// anew, and nothing has been done.
func isNoScript(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

// ticket is a request's place in a question: which run, and how many before it
// there.
type ticket struct {
	run  int
	nth  int64
	cost int64
}

// join gives a request of that cost its place.
func join(runs []run, cost int64) ([]run, ticket) {
	if last := len(runs) - 1; last >= 0 && runs[last].cost == cost {
		runs[last].n++
		return runs, ticket{last, runs[last].n - 1, cost}
	}
	return append(runs, run{1, cost}), ticket{len(runs), 0, cost}
}

// outcome returns whether the request passes, and the counts after it.
func (r reply) outcome(runs []run, t ticket) (used counts, ok bool) {
	ok = t.nth < r.passed[t.run]
	before := int64(0)
	for i := range t.run {
		before += r.passed[i] * runs[i].cost
	}
	before += min(t.nth, r.passed[t.run]) * t.cost
	if ok {
		before += t.cost
	}
	for w := range used {
		used[w] = r.used[w] + before
	}
	return used, ok
}

// taken returns how many requests a reply let pass, at their cost.
func (r reply) taken(runs []run) (n int64) {
	for i, passed := range r.passed {
		if runs[i].cost > 0 && passed <= math.MaxInt64/runs[i].cost {
			n += passed * runs[i].cost
		}
	}
	return n
}
