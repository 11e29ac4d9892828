package access

import "github.com/prometheus/client_golang/prometheus"

// What /metrics says of quotas.
var (
	degraded = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flightwire_quota_degraded", Help: "1 while Redis does not answer and keys have a small local allowance, else 0.",
	})
	admissions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flightwire_quota_requests_total", Help: "Metered requests with a valid key: counted, over the quota (refused), let through uncounted by Redis (allowance), or turned away because Redis does not answer (unavailable).",
	}, []string{"result"})
	admitted     = admissions.WithLabelValues("counted")
	refused      = admissions.WithLabelValues("refused")
	allowedBlind = admissions.WithLabelValues("allowance")
	unavailable  = admissions.WithLabelValues("unavailable")
)

// Collectors returns what this package counts, for the process's registry.
func Collectors() []prometheus.Collector { return []prometheus.Collector{degraded, admissions} }
