package jobs_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/aeroapi"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
	"github.com/flightwire/flightwire/jobs"
)

// paged is AeroAPI with an answer of three pages to every look-up, each of
// which is a call.
func paged(t *testing.T, m dbtest.Mode, b *jobs.Budget) (r *rig, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	base := upstreamtest.ServeFunc(t, func(w http.ResponseWriter, req *http.Request) {
		calls.Add(1)
		next := map[string]string{"": "2", "2": "3"}[req.URL.Query().Get("cursor")]
		links := "null"
		if next != "" {
			links = fmt.Sprintf(`{"next": "/flights/AAL100?cursor=%s"}`, next)
		}
		_, _ = fmt.Fprintf(w, `{"links": %s, "num_pages": 1, "flights": []}`, links)
	})
	return rigWith(t, m, func(s *setup) {
		limited(t, m, b)(s)
		s.Providers[0].Source = aeroapi.New(aeroapi.Config{BaseURL: base, Key: "key"})
	}), calls
}

// today is a key whose date lies in one of the provider's collections.
func today() flight.Key {
	k := key
	k.Date = time.Now().UTC().Format(time.DateOnly)
	return k
}

// Every call of a look-up counts: of ten calls of a month three look-ups of
// three are answered, and the fourth is cut off after the tenth.
func TestFurtherCallsCount(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		c := newClock()
		b := c.budget(t, m, jobs.CallLimits{PerMonth: 10})
		r, calls := paged(t, m, b)
		for i := range 5 {
			want := flight.CodeFlightNotFound
			if i >= 3 {
				want = flight.CodeUpstreamUnavailable
			}
			if _, err := r.intake.Ask(t.Context(), today(), true); flight.CodeOf(err) != want {
				t.Errorf("look-up %d: %v, want %s", i, err, want)
			}
		}
		b.Close() // writes what was counted
		if counted := one[int](t, r, `SELECT coalesce(sum(calls), 0) FROM provider_calls`); calls.Load() != 10 || counted != 10 {
			t.Errorf("%d calls were made and %d counted, of 10", calls.Load(), counted)
		}
	})
}

// A further call waits for the bucket within the look-up's time. That it is not
// to be had is no failure of the provider: its breaker stays closed.
func TestFurtherCallsWait(t *testing.T) {
	m := dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
	b := jobs.NewBudget(jobs.BudgetConfig{DB: m.DB, Redis: m.Redis, Provider: "aeroapi", Limits: jobs.CallLimits{PerMinute: 120, Burst: 2}})
	t.Cleanup(b.Close)
	r, calls := paged(t, m, b)
	began := time.Now()
	if _, err := r.intake.Ask(t.Context(), today(), true); flight.CodeOf(err) != flight.CodeFlightNotFound || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if took := time.Since(began); took < 400*time.Millisecond { // two at once, and one that comes back in half a second
		t.Errorf("the third call was made after %v", took)
	}

	c := newClock()
	r, calls = paged(t, m, c.budget(t, m, jobs.CallLimits{PerMinute: 3, Burst: 2}))
	for i := range 10 { // more often than a breaker bears
		if _, err := r.intake.Ask(t.Context(), today(), true); flight.CodeOf(err) != flight.CodeUpstreamUnavailable {
			t.Errorf("look-up %d: %v", i, err)
		}
		c.forward(time.Minute)
	}
	if calls.Load() != 20 {
		t.Errorf("%d calls, two a minute in ten", calls.Load())
	}
}
