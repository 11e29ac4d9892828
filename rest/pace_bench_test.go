package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

const (
	benchAccounts = 100
	benchFlights  = 200
	benchAtOnce   = 16
)

// benchDate is the date of one of the flights that the upstream of these tests
// knows under one number.
func benchDate(n int) string { return epoch.AddDate(0, 0, n).Format(time.DateOnly) }

// knowFlights has the flights looked up once, as if others watched them.
func (r *rig) knowFlights(t testing.TB) {
	t.Helper()
	for n := range benchFlights {
		r.do(t, request{path: "/v1/flights/AA/" + oneLeg + "/" + benchDate(n)}).want(t, 200, "")
	}
}

// benchKeys makes accounts and returns a key of each.
func (r *rig) benchKeys(t testing.TB, plan string) []string {
	t.Helper()
	keys := make([]string, benchAccounts)
	for n := range keys {
		issued, err := access.NewKeys(r.DB, r.Redis).Create(t.Context(), fmt.Sprint(plan, n), plan)
		if err != nil {
			t.Fatal(err)
		}
		keys[n] = issued.Key
	}
	return keys
}

// TestBenchCreate measures how many subscriptions a second are made, 16 at a
// time over 100 accounts without a cap, of flights that are known already: the
// whole handler chain with the check of the key, but for the network.
func TestBenchCreate(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("set FLIGHTWIRE_BENCH=1 to measure")
	}
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		r.knowFlights(t)
		keys := r.benchKeys(t, "unlimited")
		for _, c := range []struct {
			name           string
			keys           []string
			flights        int
			idempotencyKey bool
		}{
			{"200 flights", keys, benchFlights, false},
			{"200 flights, with an Idempotency-Key", keys, benchFlights, true},
			{"one flight", keys, 1, false},
			{"200 flights, one account", keys[:1], benchFlights, false},
		} {
			made, took := r.createFor(t, c.keys, c.flights, c.idempotencyKey, 3*time.Second)
			t.Logf("creates, %s, %d accounts, %s: %.0f/s", m.Name, len(c.keys), c.name, float64(made)/took.Seconds())
		}
	})
}

// createFor makes subscriptions for some time and returns how many in what time.
func (r *rig) createFor(t testing.TB, keys []string, flights int, idempotencyKey bool, span time.Duration) (int64, time.Duration) {
	t.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range benchAtOnce {
		all.Go(func() {
			for time.Since(start) < span && !t.Failed() {
				n := int(next.Add(1))
				req := httptest.NewRequest("POST", "/v1/subscriptions", strings.NewReader(createBody("date", benchDate(n%flights))))
				req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {keys[n%len(keys)]}}
				if idempotencyKey {
					req.Header["Idempotency-Key"] = []string{fmt.Sprint("bench-", n)}
				}
				w := httptest.NewRecorder()
				if r.handler.ServeHTTP(w, req); w.Code != http.StatusCreated {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
	return next.Load(), time.Since(start)
}

const benchList = 100_000

// TestBenchList measures lists of 50 subscriptions of an account that has
// 100,000, by offset and as a connection: the whole handler chain with the check of the key, but for the
// network.
func TestBenchList(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("set FLIGHTWIRE_BENCH=1 to measure")
	}
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		r.knowFlights(t)
		r.fill(t, benchList)
		last := benchList - 50
		for _, c := range []struct {
			name, query string
			total       int
		}{
			{"first page", "offset=0", benchList},
			{"last page", fmt.Sprint("offset=", last), benchList},
			{"middle page", fmt.Sprint("offset=", benchList/2), benchList},
			{"first page by status", "status=active&offset=0", benchList},
			{"last page by status", fmt.Sprint("status=active&offset=", last), benchList},
			{"a status that none has", "status=paused", 0},
			{"one flight", "carrier=AA&flightNumber=100&date=" + benchDate(7), benchList / benchFlights},
			{"first page by carrier, all have it", "carrier=AA", benchList},
			{"last page by carrier, all have it", fmt.Sprint("carrier=AA&offset=", last), benchList},
			{"first page by date", "date=" + benchDate(7), benchList / benchFlights},
		} {
			times := r.timeList(t, c.query, c.total)
			t.Logf("list of 50 of %d, %s, %s: median %.1f ms, slowest of %d %.1f ms",
				benchList, m.Name, c.name, times[len(times)/2], len(times), times[len(times)-1])
		}
		r.benchConnections(t)
	})
}

// fill gives the rig's account subscriptions, as many of each flight.
func (r *rig) fill(t testing.TB, count int) {
	t.Helper()
	who, err := r.guard.Authenticate(t.Context(), r.key)
	if err != nil {
		t.Fatal(err)
	}
	legs := make([]string, benchFlights)
	for n := range legs {
		s, err := r.DB.Standing(t.Context(), flight.Key{Carrier: "AA", Number: oneLeg, Date: benchDate(n)})
		if err != nil || len(s.IDs) != 1 {
			t.Fatal(s, err)
		}
		legs[n] = s.IDs[0]
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range 4 * benchAtOnce {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < count && !t.Failed(); n = int(next.Add(1)) - 1 {
				_, err := r.DB.CreateSubscription(t.Context(), db.NewSubscription{
					Account: who.Account, FlightID: legs[n%len(legs)], WebhookURL: "https://example.com/hook", Secret: "0123456789abcdef",
					Events: flight.AllChanges, DelayThreshold: 5, Now: flight.TimeOf(epoch),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if r.Name == "postgres" { // as it does by itself within a minute
		conn, err := sqlx.Open("postgres", r.Config.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.ExecContext(t.Context(), `VACUUM ANALYZE`); err != nil {
			t.Fatal(err)
		}
	}
}

// timeList asks for a list again and again and returns how long it took, in
// milliseconds, the shortest first.
func (r *rig) timeList(t testing.TB, query string, total int) []float64 {
	t.Helper()
	times := make([]float64, 0, 101)
	for range cap(times) {
		req := httptest.NewRequest("GET", "/v1/subscriptions?"+query, nil)
		req.Header.Set("X-Api-Key", r.key)
		w := httptest.NewRecorder()
		start := time.Now()
		r.handler.ServeHTTP(w, req)
		times = append(times, float64(time.Since(start).Microseconds())/1000)
		var page struct{ Count, Total int }
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 || page.Total != total || page.Count != min(50, total) {
			t.Fatalf("%s: %d %.300s", query, w.Code, w.Body)
		}
	}
	slices.Sort(times)
	return times
}
