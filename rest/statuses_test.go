package rest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/rest"
)

// statusCall is one call of a route. In its path ID stands for a fresh
// subscription, DONE for one that is completed, STOPPED for one that is paused,
// TRIMMED for one whose first snapshot has been deleted, NONE for one that there
// is not, and FIRST for the first event.
type statusCall struct {
	want   string // the status and, of an error, the code
	path   string
	body   string
	header http.Header
	free   bool // by an account whose watched flights are used up
}

func callOf(want, path string) statusCall { return statusCall{want: want, path: path} }
func sendOf(want, path, body string) statusCall {
	return statusCall{want: want, path: path, body: body}
}
func flightOf(number string) string { return "/v1/flights/AA/" + number + "/" + today }
func createOf(want string, pairs ...any) statusCall {
	return sendOf(want, "/v1/subscriptions", createBody(pairs...))
}
func subOf(want, rest string) statusCall       { return callOf(want, "/v1/subscriptions/"+rest) }
func patchOf(want, id, body string) statusCall { return sendOf(want, "/v1/subscriptions/"+id, body) }
func searchOf(want, number, more string) statusCall {
	return callOf(want, "/v1/flights/search?carrier=AA&flightNumber="+number+"&date="+today+more)
}

// lookups are the statuses of what looks a flight up at a path.
func lookups(below string) []statusCall {
	return []statusCall{
		callOf("200", flightOf(oneLeg)+below), callOf("400 invalid_request", flightOf("x")+below), callOf("400 invalid_request", flightOf(oneLeg)+below+"?refresh=maybe"),
		callOf("404 flight_not_found", flightOf(unfindable)+below), callOf("404 leg_not_found", flightOf(twoLegs)+below+"?origin=LAX"),
		callOf("500 internal", flightOf(broken)+below), callOf("502 upstream_error", flightOf(refused)+below),
		callOf("503 upstream_unavailable", flightOf(down)+below), callOf("504 upstream_timeout", flightOf(slow)+below),
	}
}

var tooLong = strings.Repeat(" ", 64<<10) + createBody()

// statuses are the statuses that the contract and its decisions name for each
// route, but for those that every route, or every one with a key, shares.
var statuses = map[string][]statusCall{
	"GET /v1/countries":        {callOf("200", "/v1/countries?lang=de"), callOf("400 invalid_request", "/v1/countries?lang=en_US")},
	"GET /v1/countries/{code}": {callOf("200", "/v1/countries/is"), callOf("400 invalid_request", "/v1/countries/is?lang=en_US"), callOf("404 country_not_found", "/v1/countries/zz")},
	"GET /v1/flags/{file}": {
		callOf("200", "/v1/flags/is.svg?shape=1x1"), {want: "304", path: "/v1/flags/is.svg", header: http.Header{"If-None-Match": {"*"}}},
		callOf("400 invalid_request", "/v1/flags/is.svg?shape=2x1"), callOf("404 flag_not_found", "/v1/flags/zz.svg"),
	},
	"GET /v1/flights/search": {
		searchOf("200", oneLeg, ""), callOf("400 invalid_request", "/v1/flights/search"), searchOf("404 flight_not_found", unfindable, ""),
		searchOf("404 leg_not_found", twoLegs, "&flightId=7"), searchOf("500 internal", broken, ""), searchOf("502 upstream_error", refused, ""),
		searchOf("503 upstream_unavailable", down, ""), searchOf("504 upstream_timeout", slow, ""),
	},
	"GET /v1/flights/{carrier}/{flightNumber}/{date}":          lookups(""),
	"GET /v1/flights/{carrier}/{flightNumber}/{date}/timeline": lookups("/timeline"),
	"POST /v1/subscriptions": {
		createOf("201"), createOf("201", "flightNumber", unfindable), createOf("400 invalid_request", "colour", "blue"), createOf("400 invalid_request", "date", 7),
		createOf("400 invalid_request", "delayThresholdMinutes", 0), {want: "402 watched_flight_limit", path: "/v1/subscriptions", body: createBody(), free: true},
		createOf("404 flight_not_found", "flightNumber", unfindable, "date", past), createOf("404 leg_not_found", "flightId", "7"),
		sendOf("413 payload_too_large", "/v1/subscriptions", tooLong), createOf("422 origin_required", "flightNumber", twoLegs),
		{want: "422 idempotency_key_reused", path: "/v1/subscriptions", body: createBody(), header: http.Header{"Idempotency-Key": {"used"}}},
		createOf("500 internal", "flightNumber", broken), createOf("502 upstream_error", "flightNumber", refused),
		createOf("503 upstream_unavailable", "flightNumber", down), createOf("504 upstream_timeout", "flightNumber", slow),
	},
	"GET /v1/subscriptions":      {callOf("200", "/v1/subscriptions?status=suspended"), callOf("400 invalid_request", "/v1/subscriptions?limit=201")},
	"GET /v1/subscriptions/{id}": {subOf("200", "ID"), subOf("404 subscription_not_found", "NONE")},
	"PATCH /v1/subscriptions/{id}": {
		patchOf("200", "ID", `{"delayThresholdMinutes": 7}`), patchOf("200", "DONE", `{}`), patchOf("400 invalid_request", "ID", `{"events": []}`),
		patchOf("404 subscription_not_found", "NONE", `{}`), patchOf("413 payload_too_large", "ID", tooLong),
	},
	"DELETE /v1/subscriptions/{id}": {subOf("204", "ID"), subOf("204", "DONE"), subOf("404 subscription_not_found", "NONE")},
	"POST /v1/subscriptions/{id}/pause": {
		subOf("201", "ID/pause"), subOf("404 subscription_not_found", "NONE/pause"), subOf("409 invalid_state", "DONE/pause"),
	},
	"POST /v1/subscriptions/{id}/resume": {
		subOf("201", "ID/resume"), subOf("404 subscription_not_found", "NONE/resume"), subOf("409 invalid_state", "DONE/resume"),
	},
	"POST /v1/subscriptions/{id}/test": {subOf("200", "ID/test"), subOf("200", "DONE/test"), subOf("404 subscription_not_found", "NONE/test")},
	"POST /v1/subscriptions/{id}/replay": {
		sendOf("202", "/v1/subscriptions/ID/replay", `{"since": "2026-11-21T20:00:00Z"}`), sendOf("202", "/v1/subscriptions/DONE/replay", `{"since": "2026-11-21T20:00:00Z"}`),
		sendOf("400 invalid_request", "/v1/subscriptions/ID/replay", `{}`), sendOf("404 subscription_not_found", "/v1/subscriptions/NONE/replay", `{"after": "evt_1"}`),
		sendOf("404 event_not_found", "/v1/subscriptions/ID/replay", `{"after": "evt_1"}`), sendOf("409 invalid_state", "/v1/subscriptions/STOPPED/replay", `{"since": "2026-11-21T20:00:00Z"}`),
		sendOf("413 payload_too_large", "/v1/subscriptions/ID/replay", tooLong),
	},
	"POST /v1/subscriptions/{id}/events/{eventId}/redeliver": {
		subOf("202", "ID/events/FIRST/redeliver"), subOf("404 subscription_not_found", "NONE/events/evt_1/redeliver"), subOf("404 event_not_found", "ID/events/evt_1/redeliver"),
		subOf("409 invalid_state", "STOPPED/events/FIRST/redeliver"), subOf("410 event_gone", "TRIMMED/events/FIRST/redeliver"),
	},
	"GET /v1/subscriptions/{id}/deliveries": {
		subOf("200", "ID/deliveries?limit=1"), subOf("400 invalid_request", "ID/deliveries?limit=0"), subOf("404 subscription_not_found", "NONE/deliveries"),
	},
	"GET /v1/subscriptions/{id}/events": {
		subOf("200", "ID/events?limit=200"), subOf("400 invalid_request", "ID/events?limit=201"), subOf("404 subscription_not_found", "NONE/events"),
	},
	"GET /v1/subscriptions/{id}/secret":         {subOf("200", "ID/secret"), subOf("404 subscription_not_found", "NONE/secret")},
	"POST /v1/subscriptions/{id}/secret/rotate": {subOf("201", "ID/secret/rotate"), subOf("404 subscription_not_found", "NONE/secret/rotate")},
}

// keyless are the routes that anybody may call.
var keyless = []string{"GET /v1/flags/{file}", "GET /v1/openapi.json", "GET /v1/docs"}

// Every route gives every status that is promised of it.
func TestStatuses(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		p := &pair{rig: r}
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody("delayThresholdMinutes", 7), header: http.Header{"Idempotency-Key": {"used"}}}).want(t, 201, "")
		free, err := access.NewKeys(m.DB, m.Redis).Create(t.Context(), "thrifty", "free")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: free.Key}).want(t, 201, "")
		}
		for route, calls := range statuses {
			for _, c := range calls {
				t.Run(route+" "+c.want, func(t *testing.T) {
					q := request{path: strings.Replace(c.path, "NONE", noneSuch, 1), body: c.body, header: c.header}
					q.method, _, _ = strings.Cut(route, " ")
					if c.free {
						q.key = free.Key
					}
					for name, make := range map[string]func() string{
						"ID":      func() string { return r.subscribe(t, oneLeg) },
						"DONE":    func() string { return p.prepare(t, fields{"id": completed})["id"].(string) },
						"STOPPED": func() string { return p.prepare(t, fields{"id": paused})["id"].(string) },
						"TRIMMED": func() string { return p.trimmed(t) },
					} {
						if before, after, ok := strings.Cut(q.path, "/"+name); ok {
							id := make()
							q.path = before + "/" + id + after
							if strings.Contains(after, "FIRST") {
								q.path = strings.Replace(q.path, "FIRST", r.firstEvent(t, id), 1)
							}
						}
					}
					if got := patternOf(t, q); got != route {
						t.Fatalf("this calls %s", got)
					}
					wantStatus(t, r.do(t, q), c.want)
				})
			}
		}
	})
}

// trimmed is a subscription whose first snapshot is not kept any more.
func (p *pair) trimmed(t *testing.T) string {
	t.Helper()
	id := p.prepare(t, fields{"id": logged})["id"].(string)
	if _, err := p.DB.ExecContext(t.Context(), `DELETE FROM updates WHERE version = 1 AND flight_id = (SELECT flight_id FROM subscriptions WHERE id = $1)`, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// patternOf returns the route that a request goes to.
func patternOf(t *testing.T, q request) string {
	t.Helper()
	mux := http.NewServeMux()
	for _, route := range rest.Routes() {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
	}
	req, err := http.NewRequest(q.method, q.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, pattern := mux.Handler(req)
	return pattern
}

// wantStatus takes "404 flight_not_found", or "200".
func wantStatus(t *testing.T, got reply, want string) {
	t.Helper()
	status, code, _ := strings.Cut(want, " ")
	n, err := strconv.Atoi(status)
	if err != nil {
		t.Fatal(err)
	}
	got.want(t, n, code)
}

// refusal is a guard that lets nobody in.
type refusal struct{ err error }

func (r refusal) Admit(context.Context, string, int) (access.Identity, access.Quota, error) {
	return access.Identity{}, access.Quota{}, r.err
}

// Every route with a key gives the statuses that come with one, and every path
// a 405 that names its methods; those without a key give none of the former.
func TestStatusesOfEveryRoute(t *testing.T) {
	r := newRig(t, sqlite(t))
	for want, err := range map[string]error{
		"401 missing_api_key":   flight.Errorf(flight.CodeMissingAPIKey, "Send a key."),
		"401 invalid_api_key":   flight.Errorf(flight.CodeInvalidAPIKey, "Send another key."),
		"429 quota_exceeded":    &flight.Error{Code: flight.CodeQuotaExceeded, Message: "The minute is full.", Window: "minute", RetryAfter: time.Second},
		"503 quota_unavailable": &flight.Error{Code: flight.CodeQuotaUnavailable, Message: "Nobody counts.", RetryAfter: time.Second},
		"500 internal":          errors.New("disk full"),
	} {
		h := r.serve(t, refusal{err})
		for _, route := range rest.Routes() {
			method, path, _ := strings.Cut(route, " ")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, strings.NewReplacer("{file}", "is.svg", "{", "", "}", "").Replace(path), nil))
			if slices.Contains(keyless, route) {
				if w.Code != 200 {
					t.Errorf("%s needs a key: %d", route, w.Code)
				}
				continue
			}
			wantStatus(t, reply{w.Code, w.Header(), w.Body.Bytes()}, want)
		}
	}
	for _, route := range rest.Routes() {
		method, path, _ := strings.Cut(route, " ")
		got := r.do(t, request{method: "BREW", path: strings.NewReplacer("{", "", "}", "").Replace(path), key: "-"})
		got.want(t, 405, "method_not_allowed")
		allow := strings.Split(got.header.Get("Allow"), ", ")
		if !slices.Contains(allow, method) || slices.Contains(allow, "GET") != slices.Contains(allow, "HEAD") || slices.Contains(allow, "BREW") {
			t.Errorf("%s: Allow %q", route, allow)
		}
	}
}

// The table above has every route, and every route is of version 1.
func TestStatusesAreWhole(t *testing.T) {
	for _, route := range rest.Routes() {
		if len(statuses[route]) < 2 && !slices.Contains(keyless, route) {
			t.Errorf("no statuses of %s", route)
		}
		if _, path, _ := strings.Cut(route, " "); !strings.HasPrefix(path, "/v1/") {
			t.Errorf("%s is not under /v1", route)
		}
	}
	if len(rest.Routes()) < 18 {
		t.Errorf("%d routes", len(rest.Routes()))
	}
}
