package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// What /metrics says of the work in the background. A result is "ok" or the
// code of the error; of a poll for which there was no call, "put_off".
var (
	pollsDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flightwire_polls_total", Help: "Polls of watched legs, by result.",
	}, []string{"result"})
	upstreamCalls = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "flightwire_upstream_call_seconds", Help: "Calls to the upstream, look-ups and polls, by source and result.",
		Buckets: []float64{.001, .01, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"source", "result"})
	callsTaken = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flightwire_call_budget_total", Help: "Calls that were to be made to a source with limits, by use (lookup or poll) and result: made, over_rate or month_used.",
	}, []string{"source", "use", "result"})
	callsLeft = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_calls_left", Help: "Calls to a source with a rate that may be made at once now.",
	}, []string{"source"})
	monthCalls = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_month_calls_used", Help: "Calls made to a source with limits in this UTC month, by all processes.",
	}, []string{"source"})
	monthLimit = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_month_calls_limit", Help: "Calls that may be made to a source in a UTC month.",
	}, []string{"source"})
	callLoad = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_call_load", Help: "How short the calls to a source run: 0 not at all, 1 that only look-ups have any.",
	}, []string{"source"})
	callsAlone = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_call_budget_degraded", Help: "1 while Redis does not answer and each process has a small share of a source's calls, else 0.",
	}, []string{"source"})
	breakerOpen = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_upstream_resting", Help: "1 while a source has failed so often in a row that this process leaves it alone, else 0.",
	}, []string{"source"})
	changesAccepted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flightwire_updates_total", Help: "New versions of legs that were accepted.",
	})
	attemptsMade = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "flightwire_delivery_attempt_seconds", Help: "Webhook attempts, by what came of them and the lane they waited in.",
		Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10},
	}, []string{"status", "lane"})
	attemptErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flightwire_delivery_errors_total", Help: "Webhook attempts that were not delivered, by class of error.",
	}, []string{"class"})
	attemptsUnderWay = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flightwire_deliveries_under_way", Help: "Webhook attempts that this process is making.",
	})
	lanePlaces = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_delivery_lane_places_used", Help: "Places of this process's lanes that are taken: claimed or under way.",
	}, []string{"lane"})
	queueDepth = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_delivery_queue_events", Help: "Events that are due and not under way, of all processes, counted up to 10,000.",
	}, []string{"lane"})
	queueAge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flightwire_delivery_queue_age_seconds", Help: "For how long the first of the events that are due has been waiting.",
	}, []string{"lane"})
)

// laneNames are the labels of the lanes.
var laneNames = [db.Lanes]string{db.Prompt: "prompt", db.Slow: "slow"}

// Collectors returns what this package counts, for the process's registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		pollsDone, upstreamCalls, callsTaken, callsLeft, monthCalls, monthLimit, callLoad, callsAlone, breakerOpen,
		changesAccepted, attemptsMade, attemptErrors, attemptsUnderWay, lanePlaces, queueDepth, queueAge,
	}
}

// result is the label of err.
func result(err error) string {
	if err == nil {
		return "ok"
	}
	return string(flight.CodeOf(err))
}

// observeCall notes one call to the upstream.
func observeCall(source string, began time.Time, err error) {
	upstreamCalls.WithLabelValues(source, result(err)).Observe(time.Since(began).Seconds())
}

// observeBreaker shows whether a source is asked.
func observeBreaker(source string, closed bool) {
	open := 1.0
	if closed {
		open = 0
	}
	breakerOpen.WithLabelValues(source).Set(open)
}

// observeTake notes what became of the wish to make a call.
func observeTake(source string, r flight.Rank, v verdict) {
	use := "poll"
	if r == flight.RankLookup {
		use = "lookup"
	}
	callsTaken.WithLabelValues(source, use, [...]string{passed: "made", overRate: "over_rate", overMonth: "month_used"}[v]).Inc()
}

// observeCalls shows where the calls to a source stand.
func observeCalls(source string, c flight.Calls, alone bool) {
	if c.Burst > 0 {
		callsLeft.WithLabelValues(source).Set(c.Left)
	}
	if c.Limit > 0 {
		monthLimit.WithLabelValues(source).Set(float64(c.Limit))
	}
	monthCalls.WithLabelValues(source).Set(float64(c.Used))
	callLoad.WithLabelValues(source).Set(c.Load())
	down := 0.0
	if alone {
		down = 1
	}
	callsAlone.WithLabelValues(source).Set(down)
}

// observeAttempt counts an attempt and writes its line in the log: what it was,
// and nothing that is secret or that the receiver sent.
func observeAttempt(ctx context.Context, r *db.Result, class string) {
	a := &r.Attempt
	attemptsMade.WithLabelValues(string(r.Status), laneNames[a.Lane]).Observe(r.Latency.Seconds())
	level := slog.LevelDebug
	if class != "" {
		attemptErrors.WithLabelValues(class).Inc()
		level = slog.LevelInfo
	}
	slog.LogAttrs(ctx, level, "delivery attempt", slog.String("event", a.EventID), slog.String("type", string(a.EventType)),
		slog.String("subscription", a.SubscriptionID), slog.Int("attempt", a.Number), slog.String("status", string(r.Status)),
		slog.Int("code", r.StatusCode), slog.String("class", class), slog.String("lane", laneNames[a.Lane]),
		slog.Int64("latency_ms", r.Latency.Milliseconds()), slog.Duration("retry_after", r.RetryAfter))
}
