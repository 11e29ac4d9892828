package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// route is one row of the interface. handle decodes, calls and encodes; what
// it returns is written, or made an error body, in one place.
type route struct {
	method string
	path   string // as http.ServeMux has it; GET answers HEAD too
	access entry
	handle func(*api, context.Context, *http.Request) (answer, error)
}

// entry says who gets in.
type entry bool

const (
	keyed entry = false // needs an API key, and counts against its quota
	open  entry = true  // needs none, and costs nothing
)

// routes is the whole interface, in the order of the contract's endpoint table,
// and its documentation.
var routes = []route{
	{"GET", "/v1/countries", keyed, (*api).listCountries},
	{"GET", "/v1/countries/{code}", keyed, (*api).getCountry},
	{"GET", "/v1/flags/{file}", open, (*api).getFlag},

	{"GET", "/v1/flights/search", keyed, (*api).searchFlight},
	{"GET", "/v1/flights/{carrier}/{flightNumber}/{date}", keyed, (*api).getFlight},
	{"GET", "/v1/flights/{carrier}/{flightNumber}/{date}/timeline", keyed, (*api).getTimeline},

	{"POST", "/v1/subscriptions", keyed, (*api).createSubscription},
	{"GET", "/v1/subscriptions", keyed, (*api).listSubscriptions},
	{"GET", "/v1/subscriptions/{id}", keyed, (*api).getSubscription},
	{"PATCH", "/v1/subscriptions/{id}", keyed, (*api).updateSubscription},
	{"DELETE", "/v1/subscriptions/{id}", keyed, (*api).deleteSubscription},
	{"POST", "/v1/subscriptions/{id}/pause", keyed, (*api).pauseSubscription},
	{"POST", "/v1/subscriptions/{id}/resume", keyed, (*api).resumeSubscription},
	{"POST", "/v1/subscriptions/{id}/test", keyed, (*api).testSubscription},
	{"POST", "/v1/subscriptions/{id}/replay", keyed, (*api).replayEvents},
	{"GET", "/v1/subscriptions/{id}/deliveries", keyed, (*api).listDeliveries},
	{"GET", "/v1/subscriptions/{id}/events", keyed, (*api).listEvents},
	{"POST", "/v1/subscriptions/{id}/events/{eventId}/redeliver", keyed, (*api).redeliverEvent},
	{"GET", "/v1/subscriptions/{id}/secret", keyed, (*api).revealSecret},
	{"POST", "/v1/subscriptions/{id}/secret/rotate", keyed, (*api).rotateSecret},

	{"GET", "/v1/openapi.json", open, (*api).getOpenAPI},
	{"GET", "/v1/docs", open, (*api).getDocs},
}

// allowed returns the Allow header of each path. OPTIONS is answered
// everywhere.
func allowed(routes []route) map[string]string {
	methods := map[string][]string{}
	for _, rt := range routes {
		methods[rt.path] = append(methods[rt.path], rt.method)
		if rt.method == "GET" {
			methods[rt.path] = append(methods[rt.path], "HEAD")
		}
	}
	allow := make(map[string]string, len(methods))
	for path, m := range methods {
		m = append(m, "OPTIONS")
		slices.Sort(m)
		allow[path] = strings.Join(m, ", ")
	}
	return allow
}
