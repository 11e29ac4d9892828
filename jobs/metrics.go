package jobs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flightwire/flightwire/flight"
)

// What /metrics says of the work in the background. A result is "ok" or the
// code of the error.
var (
	pollsDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flightwire_polls_total", Help: "Polls of watched legs, by result.",
	}, []string{"result"})
	upstreamCalls = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "flightwire_upstream_call_seconds", Help: "Calls to the upstream, look-ups and polls, by source and result.",
		Buckets: []float64{.001, .01, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"source", "result"})
	changesAccepted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flightwire_updates_total", Help: "New versions of legs that were accepted.",
	})
	attemptsMade = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "flightwire_delivery_attempt_seconds", Help: "Webhook attempts, by outcome.",
		Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10},
	}, []string{"status"})
	deliveriesUnderWay = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flightwire_deliveries_under_way", Help: "Webhook attempts that this process has claimed and not recorded.",
	})
)

// Collectors returns what this package counts, for the process's registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{pollsDone, upstreamCalls, changesAccepted, attemptsMade, deliveriesUnderWay}
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
