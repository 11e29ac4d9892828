package jobs

import (
	"math"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// CallLimits are how many calls a provider's contract allows. The zero
// CallLimits has no limits.
type CallLimits struct {
	PerMinute int64 // in any minute; 0: no limit
	Burst     int64 // of them at once; 0: a fifth of PerMinute, at least two
	PerMonth  int64 // in a UTC month; 0: no limit
}

// None reports whether there is no limit.
func (l CallLimits) None() bool { return l.PerMinute == 0 && l.PerMonth == 0 }

// burst is how many calls may be made at once.
func (l CallLimits) burst() int64 {
	if l.Burst > 0 {
		return min(l.Burst, l.PerMinute)
	}
	return min(l.PerMinute, max(2, l.PerMinute/5))
}

// interval is the time in µs in which one call comes back to the bucket; 0
// without a rate. A whole burst and what comes back within a minute after it
// are PerMinute together, so no minute ever has more.
func (l CallLimits) interval() int64 {
	if l.PerMinute == 0 {
		return 0
	}
	n := l.PerMinute - l.burst() + 1
	return (time.Minute.Microseconds() + n - 1) / n
}

// room are the limits as they hold for one rank at one moment.
type room struct {
	interval int64 // µs; 0: no rate
	depth    int64 // µs that a bucket takes to fill from empty
	reserve  int64 // µs of it that the rank leaves to others
	month    int64 // the month's calls that the rank may use; -1: no limit
}

// roomFor returns the limits for a rank when a share of the month has passed.
func (l CallLimits) roomFor(r flight.Rank, passed float64) room {
	m := room{interval: l.interval(), month: -1}
	m.depth = l.burst() * m.interval
	m.reserve = int64(r.Reserve() * float64(m.depth-m.interval))
	if l.PerMonth > 0 {
		m.month = int64(math.Floor(float64(l.PerMonth) * (1 - r.MonthReserve(passed))))
	}
	return m
}

// counts are where a provider's calls stand.
type counts struct {
	full int64 // Unix µs at which the bucket is full again
	used int64 // calls of the month
}

// verdict is what became of the wish to call.
type verdict int64

const (
	passed verdict = iota
	overRate
	overMonth
)

// take takes one call at now, in Unix µs, or nothing. takeScript decides in the
// same way, and a test compares them.
func (m room) take(c counts, now int64) (counts, verdict) {
	c.full = min(max(c.full, now), now+m.depth)
	switch {
	case m.month >= 0 && c.used >= m.month:
		return c, overMonth
	case c.full+m.interval-now > m.depth-m.reserve:
		return c, overRate
	}
	c.full += m.interval
	c.used++
	return c, passed
}

// wait returns how long the bucket will not have a call for the rank.
func (m room) wait(c counts, now int64) time.Duration {
	return time.Duration(max(0, c.full+m.interval-now-m.depth+m.reserve)) * time.Microsecond
}

// calls says where the calls stand, for the load.
func (l CallLimits) calls(c counts, now time.Time) flight.Calls {
	f := flight.Calls{Used: c.used, Limit: l.PerMonth, Passed: monthPassed(now)}
	if i := l.interval(); i > 0 {
		f.Burst = float64(l.burst())
		f.Left = max(0, f.Burst-float64(max(0, c.full-now.UnixMicro()))/float64(i))
	}
	return f
}

// monthPassed returns which share of its month has passed at t.
func monthPassed(t time.Time) float64 {
	start := db.MonthStart(t)
	return float64(t.Sub(start)) / float64(db.MonthEnd(t).Sub(start))
}
