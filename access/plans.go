package access

import (
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// plans are the names that an account's plan may have, smallest first.
var plans = []string{"free", "starter", "pro", "unlimited"}

// checkPlan records a fault in v when there is no plan of that name.
func checkPlan(v *flight.Invalid, plan string) {
	if !slices.Contains(plans, plan) {
		v.Add("plan", "must be one of %s", strings.Join(plans, ", "))
	}
}

// WatchedFlights returns how many flights an account on that plan may begin to
// watch in a month; capped is false when there is no limit.
func WatchedFlights(plan string) (limit int, capped bool) {
	if plan == "free" {
		return 3, true
	}
	return 0, false
}
