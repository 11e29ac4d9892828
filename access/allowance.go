package access

import (
	"log/slog"
	"sync"
	"time"

	"github.com/flightwire/flightwire/flight"
)

const allowanceMax = 60 // requests of a key in a minute, on each process

// allowanceOf is how many requests a plan may make in a minute on one process
// whose Redis does not answer: a quarter of its minute, at least one, at most
// allowanceMax; the latter for every plan without a limit, because each of them
// is a read of SQL.
func allowanceOf(l Limits) int64 {
	if l[Minute] < 0 {
		return allowanceMax
	}
	return min(allowanceMax, max(1, (l[Minute]+3)/4))
}

// allowance counts the requests of this minute that were let through without
// Redis.
type allowance struct {
	grace time.Duration // how long after Redis failed anything is let through

	mu     sync.Mutex
	minute time.Time
	used   map[string]int64 // by key id
	over   bool             // the end of the grace has been told
}

// take lets a request of that cost through, or says CodeQuotaUnavailable. down
// is how long Redis has not answered.
func (a *allowance) take(id string, l Limits, cost int64, now time.Time, down time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if down >= a.grace {
		if !a.over {
			a.over = true
			slog.Error("Redis has not answered for too long: metered requests are refused", "for", down)
		}
		return unavailableIn(5 * time.Second)
	}
	a.over = false
	if m := Minute.Start(now); !m.Equal(a.minute) {
		a.minute, a.used = m, map[string]int64{}
	}
	if a.used[id]+cost > allowanceOf(l) {
		return unavailableIn(Minute.End(now).Sub(now))
	}
	a.used[id] += cost
	return nil
}

func unavailableIn(d time.Duration) error {
	return &flight.Error{Code: flight.CodeQuotaUnavailable, RetryAfter: max(d, time.Second),
		Message: "Requests cannot be counted just now, so only a few are let through. Try again later."}
}
