package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A month's calls are counted over restarts, which take the embedded Redis with
// them; when they are used up look-ups say so, and so do log and metrics.
func TestCallLimits(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		const limit = "FLIGHTWIRE_SIMULATOR_CALLS_PER_MONTH=3"
		path := "/v1/flights/AA/100/" + time.Now().UTC().Format(time.DateOnly) + "?refresh=true"
		s := m.serve(t, limit)
		for range 3 {
			if a := ask(t, s.client.base, path, s.key); a.status != http.StatusOK {
				t.Fatalf("within the limit: %d %v", a.status, a.body)
			}
		}
		refused := func(s *service) {
			t.Helper()
			a := ask(t, s.client.base, path, s.key)
			if a.status != http.StatusServiceUnavailable || a.body["code"] != "upstream_unavailable" || a.header.Get("Retry-After") == "" {
				t.Errorf("over the limit: %d %v %v", a.status, a.header, a.body)
			}
		}
		refused(s)
		if a := ask(t, s.client.base, strings.TrimSuffix(path, "?refresh=true"), s.key); a.status != http.StatusOK {
			t.Errorf("what is known already: %d %v", a.status, a.body)
		}
		eventually(t, "the log says so", func() bool { return strings.Contains(s.out.String(), "are used up") })
		for name, want := range map[string]string{"flightwire_month_calls_used": "3", "flightwire_month_calls_limit": "3", "flightwire_call_budget_total": "4"} {
			if got := s.metric(name); got != want {
				t.Errorf("%s is %s, not %s", name, got, want)
			}
		}
		s.stop()
		refused(m.serve(t, limit))
	})
}
