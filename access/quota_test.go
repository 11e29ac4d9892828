package access

import (
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

var anyTime = rapid.Custom(func(t *rapid.T) time.Time {
	zone := time.FixedZone("somewhere", rapid.IntRange(-12*60, 14*60).Draw(t, "zone")*60)
	at := time.Unix(rapid.Int64Range(0, 7_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
	if rapid.Bool().Draw(t, "edge") { // the moments around an edge are few, and matter most
		at = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "off")))
	}
	return at.In(zone)
})

// Windows cover time without gaps and overlaps, and begin where UTC's minutes,
// days and months do.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime.Draw(t, "at")
		for w := Minute; w < windows; w++ {
			start, end := w.Start(at), w.End(at)
			if start.After(at) || !end.After(at) {
				t.Fatalf("%v of %v is from %v to %v", w, at, start, end)
			}
			last := end.Add(-1)
			if !w.Start(end).Equal(end) || !w.Start(last).Equal(start) || !w.End(start).Equal(end) || !w.End(last).Equal(end) {
				t.Fatalf("%v of %v: what follows does not begin at its end %v", w, at, end)
			}
			if w.period(start) != w.period(last) || w.period(at) != w.period(start) || w.period(end) == w.period(at) {
				t.Fatalf("%v: the names %s and %s do not tell windows apart", w, w.period(at), w.period(end))
			}
			if s := start.UTC(); s.Second() != 0 || s.Nanosecond() != 0 || w >= Day && (s.Hour() != 0 || s.Minute() != 0) || w == Month && s.Day() != 1 {
				t.Fatalf("%v begins at %v", w, start)
			}
		}
		if Minute.End(at).Sub(Minute.Start(at)) != time.Minute || Day.End(at).Sub(Day.Start(at)) != 24*time.Hour {
			t.Fatal("a minute or a day has another length")
		}
	})
}

var anyRuns = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) run {
	return run{rapid.Int64Range(1, 40).Draw(t, "n"), rapid.Int64Range(1, 7).Draw(t, "cost")}
}), 1, 6)

// Requests that share a call fare as they would one after the other.
func TestGrantIsOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, runs := rapid.Int64Range(0, 100).Draw(t, "left"), anyRuns.Draw(t, "runs")
		got := grant(left, runs)
		for i, r := range runs {
			passed := int64(0)
			for range r.n {
				if r.cost <= left {
					left -= r.cost
					passed++
				}
			}
			if got[i] != passed {
				t.Fatalf("run %d: %d pass, want %d", i, got[i], passed)
			}
		}
	})
}

// Each request of a call hears of the counts that it would have found alone.
func TestOutcomeIsOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.Int64Range(0, 100).Draw(t, "left")
		costs := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 60).Draw(t, "costs")
		var runs []run
		tickets := make([]ticket, len(costs))
		for i, cost := range costs {
			runs, tickets[i] = join(runs, cost)
		}
		r := reply{used: counts{0, 1000, 5}, passed: grant(left, runs)}
		used, total := int64(0), int64(0)
		for i, cost := range costs {
			got, ok := r.outcome(runs, tickets[i])
			if want := cost <= left-used; ok != want {
				t.Fatalf("request %d passes: %v", i, ok)
			}
			if ok {
				used += cost
				total += cost
			}
			if got != (counts{used, 1000 + used, 5 + used}) {
				t.Fatalf("request %d hears of %v, want %d more", i, got, used)
			}
		}
		if r.taken(runs) != total {
			t.Fatalf("%d were taken, want %d", r.taken(runs), total)
		}
	})
}

var anyLimit = rapid.OneOf(rapid.Just(NoLimit), rapid.Int64Range(1, 120))

// The script decides as grant does, takes exactly what passes from all three
// windows, and nothing for what does not.
func TestScriptIsGrant(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		now := time.Date(2026, 11, 21, 10, 5, 7, 0, time.UTC)
		rapid.Check(t, func(rt *rapid.T) {
			limits := Limits{anyLimit.Draw(rt, "minute"), anyLimit.Draw(rt, "day"), anyLimit.Draw(rt, "month")}
			runs := anyRuns.Draw(rt, "runs")
			used := counts{}
			for w := range used {
				used[w] = rapid.Int64Range(0, 130).Draw(rt, "used")
			}
			id := newKeyID()
			keys := windowKeys(id, now)
			for w := range used {
				m.Redis.Set(t.Context(), keys[w+1], used[w], time.Minute)
			}
			q := question{id: id, hash: "h", entry: entry{hash: "h", account: "acc_1", plan: "gold", name: "A B"}.String()}
			plans := planArgs(Plans{{Name: "free", Requests: Limits{1, 1, 1}}, {Name: "gold", Requests: limits}})
			values, err := quotaScript.Run(t.Context(), m.Redis, keys, q.args(now, plans, runs)...).Slice()
			if err != nil {
				rt.Fatal(err)
			}
			r, err := readReply(values, len(runs), now)
			want := grant(limits.left(used), runs)
			if err != nil || !r.counted || r.used != used || r.plan != "gold" || !slices.Equal(r.passed, want) {
				rt.Fatalf("limits %v, used %v, runs %v: %+v, %v; want %v", limits, used, runs, r, err, want)
			}
			for w := range used {
				if n, err := m.Redis.Get(t.Context(), keys[w+1]).Int64(); err != nil || n != used[w]+r.taken(runs) {
					rt.Fatalf("%v is at %d, %v; it was %d and %d were taken", Window(w), n, err, used[w], r.taken(runs))
				}
			}
			if _, full := limits.full(counts{used[0] + r.taken(runs), used[1] + r.taken(runs), used[2] + r.taken(runs)}, math.MaxInt32); full != (limits != Limits{NoLimit, NoLimit, NoLimit}) {
				rt.Fatal("something fits that cannot")
			}
		})
	})
}

func TestFullWindow(t *testing.T) {
	l := Limits{10, 20, 30}
	for _, c := range []struct {
		limits Limits
		used   counts
		cost   int64
		want   Window
		full   bool
	}{
		{l, counts{9, 19, 29}, 1, 0, false},
		{l, counts{10, 19, 29}, 1, Minute, true},
		{l, counts{10, 20, 29}, 1, Day, true}, // the minute's end would not help
		{l, counts{10, 20, 30}, 1, Month, true},
		{l, counts{0, 20, 0}, 1, Day, true},
		{l, counts{8, 0, 0}, 3, Minute, true},
		{l, counts{12, 0, 0}, 1, Minute, true}, // the plan was made smaller
		{Limits{NoLimit, 20, NoLimit}, counts{1e9, 19, 1e9}, 1, 0, false},
	} {
		if w, full := c.limits.full(c.used, c.cost); w != c.want || full != c.full {
			t.Errorf("%v of %v and %d more: %v, %v", c.used, c.limits, c.cost, w, full)
		}
	}
}

func TestQuotaHeaders(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 58, 0, time.UTC)
	reset := "1798761600" // 2027-01-01T00:00:00Z, of both
	for name, c := range map[string]struct {
		quota Quota
		want  http.Header
	}{
		"nothing counted": {Quota{}, http.Header{}},
		"three limits": {Quota{Limits{10, 500, 5000}, [windows]int64{1, 41, 4000}, at}, http.Header{
			"X-RateLimit-Limit-Minute": {"10"}, "X-RateLimit-Remaining-Minute": {"9"}, "X-RateLimit-Reset-Minute": {reset},
			"X-RateLimit-Limit-Day": {"500"}, "X-RateLimit-Remaining-Day": {"459"}, "X-RateLimit-Reset-Day": {reset}}},
		"no limit": {Quota{Limits{NoLimit, NoLimit, NoLimit}, [windows]int64{1, 1, 1}, at}, http.Header{}},
		"one limit, overdrawn": {Quota{Limits{NoLimit, 5, NoLimit}, [windows]int64{9, 9, 9}, at}, http.Header{
			"X-RateLimit-Limit-Day": {"5"}, "X-RateLimit-Remaining-Day": {"0"}, "X-RateLimit-Reset-Day": {reset}}},
	} {
		got := http.Header{}
		c.quota.SetHeaders(got)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRefusalOfAQuota(t *testing.T) {
	q := Quota{Limits{10, 500, NoLimit}, [windows]int64{10, 11, 12}, time.Date(2026, 11, 21, 10, 5, 17, 1, time.UTC)}
	for _, c := range []struct {
		w     Window
		cost  int64
		after time.Duration
		says  []string
	}{
		{Minute, 1, 43*time.Second - 1, []string{"minute", "10 of 10", "43 s", "2026-11-21T10:06:00Z"}},
		{Day, 1, 13*time.Hour + 54*time.Minute + 43*time.Second - 1, []string{"day", "11 of 500"}},
		{Minute, 3, 43*time.Second - 1, []string{"minute", "3 requests", "10 of 10"}},
		{Minute, 11, 43*time.Second - 1, []string{"11 requests", "the 10 that a minute takes"}},
	} {
		e := q.refusal(c.w, c.cost).(*flight.Error)
		if e.Code != flight.CodeQuotaExceeded || e.Window != c.w.String() || e.RetryAfter != c.after {
			t.Errorf("%+v", e)
		}
		for _, s := range c.says {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%q does not say %q", e.Message, s)
			}
		}
	}
}
