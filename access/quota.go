package access

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Window is one of the stretches of UTC time in which requests are counted.
type Window int

// The windows, shortest first.
const (
	Minute Window = iota
	Day
	Month
	windows
)

// String returns the window's name, as errors give it.
func (w Window) String() string { return [...]string{"minute", "day", "month"}[w] }

// Start returns when the window began that t lies in.
func (w Window) Start(t time.Time) time.Time {
	t = t.UTC()
	switch w {
	case Minute:
		return t.Truncate(time.Minute) // no UTC offset has seconds, and UTC has none at all
	case Day:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	return db.MonthStart(t)
}

// End returns when the window ends that t lies in, which is when the next one
// begins: it does not belong to the window.
func (w Window) End(t time.Time) time.Time {
	start := w.Start(t)
	switch w {
	case Minute:
		return start.Add(time.Minute)
	case Day:
		return start.AddDate(0, 0, 1)
	}
	return db.MonthEnd(t)
}

// period names the window that t lies in: "2026-11-21T10:05", "2026-11-21" or
// "2026-11". It stands in Redis keys and in SQL.
func (w Window) period(t time.Time) string {
	return t.UTC().Format([...]string{"2006-01-02T15:04", "2006-01-02", "2006-01"}[w])
}

// NoLimit is the limit of a window that has none.
const NoLimit int64 = -1

// Limits are how many requests each window takes; NoLimit where it takes any
// number.
type Limits [windows]int64

// counts are how many requests each window has had.
type counts [windows]int64

// left returns how many requests fit into every window.
func (l Limits) left(used counts) int64 {
	left := int64(math.MaxInt64)
	for w, limit := range l {
		if limit >= 0 {
			left = min(left, max(0, limit-used[w]))
		}
	}
	return left
}

// run is a number of requests of one cost each, in the order of their coming.
type run struct{ n, cost int64 }

// grant decides which requests pass: each in its turn, when all of its cost
// fits into every window. It returns how many of each run do; what is refused
// takes nothing. quotaScript decides in the same way, and a test compares them.
func grant(left int64, runs []run) []int64 {
	passed := make([]int64, len(runs))
	for i, r := range runs {
		passed[i] = r.n
		if r.cost > 0 {
			passed[i] = min(r.n, left/r.cost)
		}
		left -= passed[i] * r.cost
	}
	return passed
}

// full returns which window has no room for cost; of several the one that
// takes longest to end, because before that nothing passes. ok is false when
// there is room.
func (l Limits) full(used counts, cost int64) (w Window, ok bool) {
	for w := Month; w >= Minute; w-- {
		if l[w] >= 0 && cost > l[w]-used[w] {
			return w, true
		}
	}
	return 0, false
}

// Quota is where a key stands after a request: the limits of its windows and
// what has been used of them. The zero Quota says that nothing was counted.
type Quota struct {
	Limits Limits
	Used   [windows]int64
	At     time.Time // when it was counted
}

// Remaining returns what is left of a window; NoLimit where it has no limit.
func (q Quota) Remaining(w Window) int64 {
	if q.Limits[w] < 0 {
		return NoLimit
	}
	return max(0, q.Limits[w]-q.Used[w])
}

// The headers as the contract spells them, which is not how Go would.
var quotaHeaders = [...][3]string{
	Minute: {"X-RateLimit-Limit-Minute", "X-RateLimit-Remaining-Minute", "X-RateLimit-Reset-Minute"},
	Day:    {"X-RateLimit-Limit-Day", "X-RateLimit-Remaining-Day", "X-RateLimit-Reset-Day"},
}

// SetHeaders sets the headers of the minute and the day, where they have a
// limit: the limit, what remains, and the Unix second in which the window ends.
func (q Quota) SetHeaders(h http.Header) {
	if q.At.IsZero() {
		return
	}
	var values [6]string
	for w, names := range quotaHeaders {
		if q.Limits[w] < 0 {
			continue
		}
		v := values[3*w : 3*w+3]
		v[0] = strconv.FormatInt(q.Limits[w], 10)
		v[1] = strconv.FormatInt(q.Remaining(Window(w)), 10)
		v[2] = strconv.FormatInt(Window(w).End(q.At).Unix(), 10)
		for i, name := range names {
			h[name] = v[i : i+1 : i+1]
		}
	}
}

// refusal is the error of a request whose cost does not fit into w.
func (q Quota) refusal(w Window, cost int64) error {
	end := w.End(q.At)
	e := &flight.Error{Code: flight.CodeQuotaExceeded, Window: w.String(), RetryAfter: end.Sub(q.At)}
	seconds := int64(math.Ceil(e.RetryAfter.Seconds()))
	if cost > q.Limits[w] {
		e.Message = fmt.Sprintf("This costs %d requests, more than the %d that a %s takes in all: ask for fewer flights at once, or move to a larger plan.", cost, q.Limits[w], w)
		return e
	}
	e.Message = fmt.Sprintf("The %s window has no room: %d of %d requests are used. Try again in %d s, at %s, or move to a larger plan.",
		w, q.Used[w], q.Limits[w], seconds, end.Format(time.RFC3339))
	if cost > 1 {
		e.Message = fmt.Sprintf("The %s window has no room for the %d requests that this costs: %d of %d are used. Try again in %d s, at %s, or ask for fewer flights at once.",
			w, cost, q.Used[w], q.Limits[w], seconds, end.Format(time.RFC3339))
	}
	return e
}
