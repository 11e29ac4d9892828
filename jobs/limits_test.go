package jobs

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func anyLimits(t *rapid.T) CallLimits {
	l := CallLimits{PerMinute: rapid.Int64Range(0, 5000).Draw(t, "per minute"), PerMonth: rapid.Int64Range(0, 100).Draw(t, "per month")}
	l.Burst = rapid.Int64Range(0, l.PerMinute).Draw(t, "burst")
	return l
}

// No minute has more calls than the limit, whenever they are made; and whoever
// calls as soon as it is possible makes all of them in the first.
func TestNoMinuteHasMore(t *testing.T) {
	minute := time.Minute.Microseconds()
	rapid.Check(t, func(t *rapid.T) {
		l := CallLimits{PerMinute: rapid.Int64Range(1, 60).Draw(t, "per minute")}
		l.Burst = rapid.Int64Range(0, l.PerMinute).Draw(t, "burst")
		m, c, now := l.roomFor(flight.RankLookup, 0), counts{}, int64(0)
		if l.burst() < 1 || l.burst() > l.PerMinute {
			t.Fatalf("%d at once", l.burst())
		}
		var made []int64
		for range 300 {
			now += rapid.Int64Range(0, minute/10).Draw(t, "later")
			var v verdict
			if c, v = m.take(c, now); v == passed {
				made = append(made, now)
			}
		}
		for i := range made {
			if j := i + int(l.PerMinute); j < len(made) && made[j]-made[i] < minute {
				t.Fatalf("%d calls between %d and %d", l.PerMinute+1, made[i], made[j])
			}
		}
		greedy, c := int64(0), counts{}
		for now := int64(0); now < minute; now += max(m.wait(c, now).Microseconds(), 1) {
			for v := passed; v == passed; {
				if c, v = m.take(c, now); v == passed {
					greedy++
				}
			}
		}
		if greedy != l.PerMinute {
			t.Fatalf("%d calls in a minute by whoever waits as told, of %d", greedy, l.PerMinute)
		}
	})
}

// Who waits as told passes, not before, whatever the rank.
func TestWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := CallLimits{PerMinute: rapid.Int64Range(1, 1000).Draw(t, "per minute")}
		m := l.roomFor(flight.Rank(rapid.IntRange(0, 3).Draw(t, "rank")), 0)
		now := int64(1e15)
		c := counts{full: now + rapid.Int64Range(0, m.depth).Draw(t, "full")}
		wait := m.wait(c, now).Microseconds()
		if _, v := m.take(c, now+wait); v != passed {
			t.Fatalf("after %d µs of waiting: %d", wait, v)
		}
		if _, v := m.take(c, now+wait-1); wait > 0 && v != overRate {
			t.Fatalf("a µs before the %d are over: %d", wait, v)
		}
	})
}

func TestRoomFor(t *testing.T) {
	l := CallLimits{PerMinute: 100, PerMonth: 1000}
	if l.burst() != 20 || l.interval() != 740741 {
		t.Errorf("%d at once, one more in %d µs", l.burst(), l.interval())
	}
	for rank, month := range map[flight.Rank][2]int64{flight.RankLookup: {1000, 1000}, flight.RankAtHand: {950, 975}, flight.RankSoon: {900, 950}, flight.RankFar: {800, 900}} {
		for i, part := range []float64{0, 0.5} {
			m := l.roomFor(rank, part)
			if m.month != month[i] || m.depth != 20*m.interval {
				t.Errorf("rank %d when %v of the month has passed: %+v", rank, part, m)
			}
		}
		if m := (CallLimits{PerMinute: 60}).roomFor(rank, 0); m.month != -1 {
			t.Errorf("without a limit of the month: %+v", m)
		}
		if m := (CallLimits{PerMinute: 1}).roomFor(rank, 0); m.reserve != 0 {
			t.Errorf("a burst of one keeps a reserve: %+v", m)
		}
	}
	if at := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC); monthPassed(at) != 0.5 || db.MonthOf(at.Add(-16*24*time.Hour)) != "2026-10" {
		t.Errorf("%v of %s has passed", monthPassed(at), db.MonthOf(at))
	}
}

// takeScript decides as room.take does, on both kinds of Redis.
func TestTakeScript(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		rapid.Check(t, func(rt *rapid.T) {
			if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
				rt.Fatal(err)
			}
			l := anyLimits(rt)
			now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
			var stored, seen counts // in Redis, and as this process last saw it
			for counted := false; now.Second() < 30; now = now.Add(time.Duration(rapid.Int64Range(1, 3e6).Draw(rt, "µs")) * time.Microsecond) {
				r := l.roomFor(flight.Rank(rapid.IntRange(0, 3).Draw(rt, "rank")), monthPassed(now))
				if rapid.IntRange(0, 9).Draw(rt, "it saw something else") == 0 {
					seen = counts{full: now.UnixMicro() + rapid.Int64Range(0, 2*r.depth).Draw(rt, "full"), used: rapid.Int64Range(0, 100).Draw(rt, "used")}
				}
				if !counted {
					if _, _, err := runTake(t.Context(), m.Redis, "x", r, seen, false, now); !errors.Is(err, errLost) {
						rt.Fatalf("an empty Redis has a count: %v", err)
					}
				}
				got, v, err := runTake(t.Context(), m.Redis, "x", r, seen, !counted, now)
				want, wantV := r.take(counts{full: max(stored.full, seen.full), used: max(stored.used, seen.used)}, now.UnixMicro())
				if err != nil || got != want || v != wantV {
					rt.Fatalf("%+v at %d: %+v %d, %v, want %+v %d", r, now.UnixMicro(), got, v, err, want, wantV)
				}
				if seen = got; v == passed {
					counted, stored.used = true, got.used
					if r.interval > 0 {
						stored.full = got.full
					}
				}
			}
		})
	})
}

func TestMoodOf(t *testing.T) {
	for _, c := range []struct {
		calls   flight.Calls
		refused int
		want    mood
	}{
		{flight.Calls{}, 0, enough},
		{flight.Calls{}, 1, short},
		{flight.Calls{Left: 9, Burst: 10}, 0, enough},
		{flight.Calls{Left: 4, Burst: 10}, 0, short},
		{flight.Calls{Used: 99, Limit: 100, Passed: 0.5}, 0, short},
		{flight.Calls{Used: 100, Limit: 100, Passed: 0.5}, 0, usedUp},
	} {
		if got := moodOf(c.calls, c.refused); got != c.want {
			t.Errorf("%+v, %d refused: %d, want %d", c.calls, c.refused, got, c.want)
		}
	}
}
