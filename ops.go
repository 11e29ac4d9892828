package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/jobs"
	"github.com/flightwire/flightwire/rest"
)

// front is what every request meets first: the operator's addresses, which
// answer from the first moment on, and behind them the service once it is
// ready. None of the operator's needs a key.
type front struct {
	ops      *http.ServeMux
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	stores   atomic.Pointer[stores]
	service  atomic.Pointer[http.Handler]
	shutting atomic.Bool
	tracer   trace.Tracer // nil: none
}

// stores are what readiness depends on.
type stores struct {
	db      *db.DB
	redis   redis.UniversalClient
	current atomic.Bool // migrations are never undone, so true is final
}

func newFront(tracer trace.Tracer) *front {
	f := &front{
		tracer: tracer,
		ops:    http.NewServeMux(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flightwire_http_requests_total", Help: "Answered HTTP requests by class of route, method and status.",
		}, []string{"class", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "flightwire_http_request_duration_seconds", Help: "Time to the end of the answer, streams left out.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"class"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.requests, f.seconds, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	registry.MustRegister(jobs.Collectors()...)
	registry.MustRegister(access.Collectors()...)
	f.ops.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "alive"})
	})
	f.ops.HandleFunc("GET /readyz", f.ready)
	f.ops.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return f
}

func buildInfo() prometheus.Collector {
	version, revision := build()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flightwire_build_info", Help: "1, with what this binary was built from.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision},
	})
	g.Set(1)
	return g
}

// watch makes readiness depend on the database and Redis.
func (f *front) watch(d *db.DB, r redis.UniversalClient) { f.stores.Store(&stores{db: d, redis: r}) }

// open lets requests through to the service.
func (f *front) open(h http.Handler) { f.service.Store(&h) }

// shut makes the process not ready, so that nobody sends it anything new.
func (f *front) shut() { f.shutting.Store(true) }

// ServeHTTP answers, and counts the answer.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	class := classOf(r.URL.Path)
	if class == "ops" {
		f.ops.ServeHTTP(w, r)
		return
	}
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	r, traced := traceRequest(f.tracer, r, class)
	defer func() {
		traced(rec.status)
		f.requests.WithLabelValues(class, methodOf(r.Method), strconv.Itoa(rec.status)).Inc()
		if !streaming(r) {
			f.seconds.WithLabelValues(class).Observe(time.Since(start).Seconds())
		}
	}()
	if h := f.service.Load(); h != nil {
		(*h).ServeHTTP(rec, r)
		return
	}
	starting.ServeHTTP(rec, r)
}

// classOf returns the class of a path; a path itself may hold anything.
func classOf(path string) string {
	switch {
	case path == "/healthz" || path == "/readyz" || path == "/metrics":
		return "ops"
	case path == "/graphql":
		return "graphql"
	case strings.HasPrefix(path, "/v1/"):
		return "rest"
	case strings.HasPrefix(path, "/dev/"):
		return "dev"
	}
	return "other"
}

func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// What answers in place of the interface, before it is there and where it never
// is.
var (
	starting = rest.Starting()
	noAPI    = rest.NotHere("This process has the role worker and serves /healthz, /readyz and /metrics only.")
)

// readyTimeout bounds each check of readiness.
const readyTimeout = 2 * time.Second

func (f *front) ready(w http.ResponseWriter, r *http.Request) {
	if f.shutting.Load() {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "reason": "The process is stopping."})
		return
	}
	s := f.stores.Load()
	if s == nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "reason": "The process is starting."})
		return
	}
	checks, reason := s.check(r.Context())
	if reason == "" && f.service.Load() == nil {
		reason = "The process is starting."
	}
	if reason != "" {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"status": "unavailable", "reason": reason, "checks": checks})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"status": "ready", "checks": checks})
}

// check looks at everything; reason is "" when all is well. What went wrong in
// detail is for the log.
func (s *stores) check(ctx context.Context) (checks map[string]string, reason string) {
	checks = map[string]string{}
	for _, c := range []struct {
		name, reason string
		look         func(context.Context) error
	}{
		{"database", "The database cannot be reached.", s.db.Ping},
		{"migrations", "The database's schema is not current: run `flightwire migrate up`.", s.migrated},
		{"redis", "Redis cannot be reached.", func(ctx context.Context) error { return s.redis.Ping(ctx).Err() }},
	} {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		err := c.look(ctx)
		cancel()
		checks[c.name] = "ok"
		if err != nil {
			slog.Warn("not ready", "check", c.name, "error", err)
			checks[c.name] = "failed"
			if reason == "" {
				reason = c.reason
			}
		}
	}
	return checks, reason
}

func (s *stores) migrated(ctx context.Context) error {
	if s.current.Load() {
		return nil
	}
	current, err := s.db.Current(ctx)
	if err != nil {
		return err
	}
	if !current {
		return errNotCurrent
	}
	s.current.Store(true)
	return nil
}

var errNotCurrent = errors.New("the database's schema is not current: run `flightwire migrate up`")

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		slog.Debug("an answer could not be written", "error", err)
	}
}
