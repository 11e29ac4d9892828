package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// counting is a Cirium server that takes its time and counts what it is asked
// for. It knows every number of AA, each as the flight of [provider].
type counting struct {
	*httptest.Server
	takes time.Duration

	mu    sync.Mutex
	calls map[string]int // by number
}

func newCounting(t *testing.T, takes time.Duration) *counting {
	c := &counting{takes: takes, calls: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, path, _ := strings.Cut(r.URL.Path, "/flight/status/AA/")
		number, _, _ := strings.Cut(path, "/")
		c.mu.Lock()
		c.calls[number]++
		c.mu.Unlock()
		answered := time.NewTimer(c.takes)
		defer answered.Stop()
		select {
		case <-r.Context().Done():
			return
		case <-answered.C:
		}
		body := (&provider{gate: "B1"}).answer()
		body["flightStatuses"].([]any)[0].(map[string]any)["flightNumber"] = number
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(c.Close)
	return c
}

// total is how many calls were made, and for how many flights.
func (c *counting) total() (calls, flights int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.calls {
		calls += n
	}
	return calls, len(c.calls)
}

// crowd is two processes that answer look-ups from one counting provider.
type crowd struct {
	provider  *counting
	processes [2]*process
	key       string
}

func newCrowd(t *testing.T, takes time.Duration, env ...string) *crowd {
	t.Helper()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("two processes need servers")
	}
	m := serversMode(t)
	c := &crowd{provider: newCounting(t, takes), key: m.newKey(t)}
	env = append(append(env, "FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_APP_ID=id", "CIRIUM_APP_KEY=key", "CIRIUM_BASE_URL="+c.provider.URL), m.env...)
	for i := range c.processes {
		c.processes[i] = startBinary(t, []string{"serve", "--role", "api"}, env)
	}
	return c
}

// told is what one of a crowd was answered.
type told struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

// lookUp makes n look-ups, so many at once, one half on each process; number
// names the flight of each.
func (c *crowd) lookUp(t *testing.T, n, atOnce int, number func(i int) int) []told {
	t.Helper()
	places := make(chan struct{}, atOnce)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	answers := make([]told, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			began := time.Now()
			url := fmt.Sprintf("%s/v1/flights/AA/%d/%s", c.processes[i%2].base, number(i), flightDate())
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("X-Api-Key", c.key)
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Error(err)
			}
			answers[i] = told{resp.StatusCode, resp.Header, body, time.Since(began)}
		})
	}
	all.Wait()
	return answers
}

// failedAs checks that an error is one that the OpenAPI document has, and says
// when to come again.
func (a *told) failedAs(t *testing.T, status int, code string) {
	t.Helper()
	var body struct {
		Code              string
		RetryAfterSeconds int
	}
	if err := checker().Failure(a.status, a.header, a.body); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal(a.body, &body); err != nil || a.status != status || body.Code != code {
		t.Errorf("answered %d %s, %v; want %d %s", a.status, a.body, err, status, code)
	}
	if after := a.header.Get("Retry-After"); status == http.StatusServiceUnavailable && (after == "" || after != strconv.Itoa(body.RetryAfterSeconds)) {
		t.Errorf("Retry-After %q, body %s", after, a.body)
	}
}

// TestCrowdIsOneCall: two processes, 500 identical look-ups at once on each,
// one call.
func TestCrowdIsOneCall(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, time.Second)
	for i, a := range c.lookUp(t, 1000, 1000, func(int) int { return 100 }) {
		var found struct{ FlightNumber string }
		if err := json.Unmarshal(a.body, &found); err != nil || a.status != http.StatusOK || found.FlightNumber != "100" {
			t.Fatalf("%d was answered %d %s, %v", i, a.status, a.body, err)
		}
	}
	if calls, _ := c.provider.total(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// TestDistinctCrowdKeepsTheLimits: 1,000 look-ups of as many flights, 64 at once,
// make exactly the calls that the provider's contract has, by the month and by
// the minute; the others are told so, and when to come again.
func TestDistinctCrowdKeepsTheLimits(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct {
		setting string
		at      int           // once
		every   time.Duration // in which one comes back; 0: never
	}{
		{"CIRIUM_CALLS_PER_MONTH=250", 250, 0},
		{"CIRIUM_CALLS_PER_MINUTE=100", 20, time.Minute / 81},
	} {
		t.Run(limit.setting, func(t *testing.T) {
			c := newCrowd(t, 0, limit.setting)
			began := time.Now()
			found := 0
			for _, a := range c.lookUp(t, 1000, 64, func(i int) int { return 1000 + i }) {
				if a.status == http.StatusOK {
					found++
				} else {
					a.failedAs(t, http.StatusServiceUnavailable, "upstream_unavailable")
				}
			}
			most := limit.at
			if limit.every > 0 {
				most += int(time.Since(began) / limit.every)
			}
			if calls, flights := c.provider.total(); calls != found || flights != found || found < limit.at || found > most {
				t.Errorf("%d calls for %d flights, %d were found; the limit was %d to %d", calls, flights, found, limit.at, most)
			}
		})
	}
}

// TestCrowdHasADeadline: nobody waits for a provider that does not answer for
// longer than a look-up may take, which is six seconds, and everybody is told.
func TestCrowdHasADeadline(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, time.Minute)
	for _, a := range c.lookUp(t, 200, 200, func(i int) int { return 1000 + i }) {
		if a.status == http.StatusServiceUnavailable { // who came when it had failed often
			a.failedAs(t, http.StatusServiceUnavailable, "upstream_unavailable")
		} else {
			a.failedAs(t, http.StatusGatewayTimeout, "upstream_timeout")
		}
		if a.took > 15*time.Second { // with more than as much for a busy machine
			t.Errorf("answered after %v", a.took)
		}
	}
}
