package rest_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
)

const cachedPath = "/v1/flights/search?carrier=AA&flightNumber=" + oneLeg + "&date=" + today

// bare is the least handler that writes the same bytes.
func bare(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

// cached warms the cache and returns the bytes that a look-up answers with.
func (r *rig) cached(t testing.TB) []byte {
	t.Helper()
	got := r.do(t, request{path: cachedPath})
	got.want(t, 200, "")
	return got.body
}

// meter puts the interface behind a guard whose plan has limits that large in
// every window, and the rig's key on that plan.
func (r *rig) meter(t testing.TB, limit int64) {
	t.Helper()
	plans := access.Plans{{Name: "metered", Requests: access.Limits{limit, limit, limit}}}
	guard := access.New(access.Config{DB: r.DB, Redis: r.Redis, Plans: plans, Grace: time.Minute, Alone: r.Name == "sqlite"})
	r.handler = r.serve(t, guard)
	r.server.Close()
	r.server = httptest.NewServer(r.handler)
	server := r.server
	t.Cleanup(func() { server.Close(); guard.Close() })
	keys := access.NewKeys(r.DB, r.Redis)
	keys.Plans = plans
	issued, err := keys.Create(t.Context(), "metered", "metered")
	if err != nil {
		t.Fatal(err)
	}
	r.key = issued.Key
}

// BenchmarkCachedLookup is the whole handler chain without a network: key,
// route, parameters, cache, answer; against a bare handler.
func BenchmarkCachedLookup(b *testing.B) {
	r := newRig(b, sqlite(b))
	r.meter(b, 1e9)
	body := r.cached(b)
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{{"rest", r.handler}, {"bare", bare(body)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16) // checks of the key share round trips, as in service
			b.RunParallel(func(pb *testing.PB) {
				req := httptest.NewRequest("GET", cachedPath, nil)
				req.Header.Set("X-Api-Key", r.key)
				w := &sink{header: http.Header{}}
				for pb.Next() {
					clear(w.header)
					c.handler.ServeHTTP(w, req)
					if w.n != len(body) {
						b.Errorf("%d bytes, want %d", w.n, len(body))
						return
					}
				}
			})
		})
	}
}

// sink takes an answer and keeps its length.
type sink struct {
	header http.Header
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { s.n = len(p); return len(p), nil }

// TestBenchCachedLookup measures cached look-ups over real connections, key
// checked and three windows counted, against a bare handler that writes the
// same bytes. The two take turns, so that a noisy machine is noisy
// for both.
func TestBenchCachedLookup(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("set FLIGHTWIRE_BENCH=1 to measure")
	}
	const promised = 0.35
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		r.meter(t, 1e9)
		body := r.cached(t)
		plain := httptest.NewServer(bare(body))
		defer plain.Close()
		var ours, theirs []float64
		for range 5 {
			theirs = append(theirs, getRate(t, plain, cachedPath, "", body, 32, time.Second))
			ours = append(ours, getRate(t, r.server, cachedPath, r.key, body, 32, time.Second))
		}
		ratio := median(ours) / median(theirs)
		t.Logf("cached look-up, key checked and windows counted, %s: %.0f/s; bare net/http: %.0f/s; ratio %.2f, promised %.2f (%d bytes, 32 connections)",
			m.Name, median(ours), median(theirs), ratio, promised, len(body))
	})
}

// getRate returns how often a second the path is answered with the body, on
// that many connections that stay open. The clients do as little as they can,
// so that what is measured is the server.
func getRate(t testing.TB, server *httptest.Server, path, key string, body []byte, connections int, span time.Duration) float64 {
	t.Helper()
	addr := server.Listener.Addr().String()
	call := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\n\r\n", path, addr, key)
	var answered atomic.Int64
	var clients sync.WaitGroup
	start := time.Now()
	for range connections {
		clients.Go(func() {
			if err := getOver(addr, call, body, start.Add(span), &answered); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	return float64(answered.Load()) / time.Since(start).Seconds()
}

func getOver(addr string, call, body []byte, until time.Time, answered *atomic.Int64) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 16<<10)
	got := make([]byte, len(body))
	for first := true; time.Now().Before(until); first = false {
		if _, err := conn.Write(call); err != nil {
			return err
		}
		line, err := in.ReadSlice('\n')
		if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return cmp.Or(err, fmt.Errorf("answered %q", line))
		}
		for len(line) > 2 { // the header ends with an empty line
			if line, err = in.ReadSlice('\n'); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(in, got); err != nil {
			return err
		}
		if first && !bytes.Equal(got, body) {
			return fmt.Errorf("answered %s", got)
		}
		answered.Add(1)
	}
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
