package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/rest"
)

// endpoints is every row of the interface, with a call that works and calls
// that do not. "ID" in a path stands for a fresh subscription.
var endpoints = []struct {
	route  string
	path   string
	body   string
	status int
	bad    []badCall
}{
	{"GET /v1/countries", "/v1/countries?lang=de-AT", "", 200, []badCall{
		{"lang", "/v1/countries?lang=not%20a%20tag", 400, "invalid_request"},
		{"repeated", "/v1/countries?lang=de&lang=en", 400, "invalid_request"},
		{"malformed", "/v1/countries?lang=%zz", 400, "invalid_request"},
	}},
	{"GET /v1/countries/{code}", "/v1/countries/is?lang=de", "", 200, []badCall{
		{"lang", "/v1/countries/is?lang=en_US", 400, "invalid_request"},
		{"repeated", "/v1/countries/is?lang=de&lang=de", 400, "invalid_request"},
		{"unknown", "/v1/countries/zz", 404, "country_not_found"},
		{"alpha-3", "/v1/countries/ISL", 404, "country_not_found"},
		{"not in the standard", "/v1/countries/XK", 404, "country_not_found"},
		{"strange", "/v1/countries/%00%ff'--", 404, "country_not_found"},
	}},
	{"GET /v1/flags/{file}", "/v1/flags/is.svg?shape=1x1", "", 200, []badCall{
		{"shape", "/v1/flags/is.svg?shape=3x4", 400, "invalid_request"},
		{"shape of an unknown one", "/v1/flags/qq.svg?shape=3x4", 400, "invalid_request"},
		{"repeated", "/v1/flags/is.svg?shape=4x3&shape=1x1", 400, "invalid_request"},
		{"malformed", "/v1/flags/is.svg?shape=%zz", 400, "invalid_request"},
		{"unknown", "/v1/flags/qq.svg", 404, "flag_not_found"},
		{"no name", "/v1/flags/.svg", 404, "flag_not_found"},
		{"no SVG", "/v1/flags/is.png", 404, "flag_not_found"},
		{"bare", "/v1/flags/is", 404, "flag_not_found"},
		{"a path", "/v1/flags/4x3%2fis.svg", 404, "flag_not_found"},
		{"out of it", "/v1/flags/..%2f4x3%2fis.svg", 404, "route_not_found"},
		{"Kelvin's sign", "/v1/flags/%e2%84%aae.svg", 404, "flag_not_found"},
	}},
	{"GET /v1/flights/search", "/v1/flights/search?carrier=AA&flightNumber=100&date=" + today, "", 200, []badCall{
		{"nothing asked", "/v1/flights/search", 400, "invalid_request"},
		{"no number", "/v1/flights/search?carrier=AA&date=" + today, 400, "invalid_request"},
		{"date", "/v1/flights/search?carrier=AA&flightNumber=100&date=2026-02-30", 400, "invalid_request"},
		{"too far ahead", "/v1/flights/search?carrier=AA&flightNumber=100&date=2028-01-01", 400, "invalid_request"},
		{"refresh", "/v1/flights/search?carrier=AA&flightNumber=100&refresh=maybe&date=" + today, 400, "invalid_request"},
		{"repeated", "/v1/flights/search?carrier=AA&carrier=BA&flightNumber=100&date=" + today, 400, "invalid_request"},
		{"malformed", "/v1/flights/search?carrier=%zz&flightNumber=100&date=" + today, 400, "invalid_request"},
		{"semicolon", "/v1/flights/search?carrier=AA;flightNumber=100", 400, "invalid_request"},
		{"unknown", "/v1/flights/search?carrier=AA&flightNumber=9&date=" + today, 404, "flight_not_found"},
		{"other leg", "/v1/flights/search?carrier=AA&flightNumber=200&origin=LAX&date=" + today, 404, "leg_not_found"},
		{"other id", "/v1/flights/search?carrier=AA&flightNumber=200&flightId=7&date=" + today, 404, "leg_not_found"},
		{"refused", "/v1/flights/search?carrier=AA&flightNumber=502&date=" + today, 502, "upstream_error"},
		{"down", "/v1/flights/search?carrier=AA&flightNumber=503&date=" + today, 503, "upstream_unavailable"},
		{"slow", "/v1/flights/search?carrier=AA&flightNumber=504&date=" + today, 504, "upstream_timeout"},
		{"broken", "/v1/flights/search?carrier=AA&flightNumber=500&date=" + today, 500, "internal"},
	}},
	{"GET /v1/flights/{carrier}/{flightNumber}/{date}", "/v1/flights/AA/100/" + today, "", 200, []badCall{
		{"date", "/v1/flights/AA/100/today", 400, "invalid_request"},
		{"carrier", "/v1/flights/%20/100/" + today, 400, "invalid_request"},
		{"refresh", "/v1/flights/AA/100/" + today + "?refresh=maybe", 400, "invalid_request"},
		{"unknown", "/v1/flights/AA/9/" + today, 404, "flight_not_found"},
		{"other leg", "/v1/flights/AA/200/" + today + "?destination=LAX", 404, "leg_not_found"},
	}},
	{"GET /v1/flights/{carrier}/{flightNumber}/{date}/timeline", "/v1/flights/AA/100/" + today + "/timeline", "", 200, []badCall{
		{"number", "/v1/flights/AA/12345/" + today + "/timeline", 400, "invalid_request"},
		{"unknown", "/v1/flights/AA/9/" + today + "/timeline", 404, "flight_not_found"},
		{"other leg", "/v1/flights/AA/200/" + today + "/timeline?origin=LAX", 404, "leg_not_found"},
	}},
	{"POST /v1/subscriptions", "/v1/subscriptions", createBody(), 201, nil}, // see TestCreate
	{"GET /v1/subscriptions", "/v1/subscriptions?status=active&carrier=aal&flightNumber=0100&date=" + today + "&offset=0&limit=200", "", 200, []badCall{
		{"status", "/v1/subscriptions?status=gone", 400, "invalid_request"},
		{"limit too large", "/v1/subscriptions?limit=201", 400, "invalid_request"},
		{"limit too small", "/v1/subscriptions?limit=0", 400, "invalid_request"},
		{"limit no number", "/v1/subscriptions?limit=ten", 400, "invalid_request"},
		{"offset negative", "/v1/subscriptions?offset=-1", 400, "invalid_request"},
		{"offset no number", "/v1/subscriptions?offset=1.5", 400, "invalid_request"},
		{"offset beyond numbers", "/v1/subscriptions?offset=99999999999999999999", 400, "invalid_request"},
		{"date", "/v1/subscriptions?date=tomorrow", 400, "invalid_request"},
		{"repeated", "/v1/subscriptions?limit=1&limit=2", 400, "invalid_request"},
	}},
	{"GET /v1/subscriptions/{id}", "/v1/subscriptions/ID", "", 200, noSubscription("/v1/subscriptions/", "")},
	{"PATCH /v1/subscriptions/{id}", "/v1/subscriptions/ID", `{"delayThresholdMinutes": 7}`, 200, noSubscription("/v1/subscriptions/", "")}, // see TestUpdate
	{"DELETE /v1/subscriptions/{id}", "/v1/subscriptions/ID", "", 204, noSubscription("/v1/subscriptions/", "")},
	{"POST /v1/subscriptions/{id}/pause", "/v1/subscriptions/ID/pause", "", 201, noSubscription("/v1/subscriptions/", "/pause")},
	{"POST /v1/subscriptions/{id}/resume", "/v1/subscriptions/ID/resume", "", 201, noSubscription("/v1/subscriptions/", "/resume")},
	{"POST /v1/subscriptions/{id}/test", "/v1/subscriptions/ID/test", "", 200, noSubscription("/v1/subscriptions/", "/test")},
	{"POST /v1/subscriptions/{id}/replay", "/v1/subscriptions/ID/replay", `{"since": "2020-01-01T00:00:00Z"}`, 202, noSubscription("/v1/subscriptions/", "/replay")}, // see TestReplayIsStrict
	{"POST /v1/subscriptions/{id}/events/{eventId}/redeliver", "/v1/subscriptions/ID/events/FIRST/redeliver", "", 202, append(
		noSubscription("/v1/subscriptions/", "/events/evt_0/redeliver"),
		badCall{"unknown event", "/v1/subscriptions/ID/events/evt_00000000000000000000000000000000/redeliver", 404, "event_not_found"},
		badCall{"no event", "/v1/subscriptions/ID/events/7/redeliver", 404, "event_not_found"},
		badCall{"strange event", "/v1/subscriptions/ID/events/evt_%00%ff'--/redeliver", 404, "event_not_found"})},
	{"GET /v1/subscriptions/{id}/deliveries", "/v1/subscriptions/ID/deliveries?limit=200", "", 200, badLimits("/deliveries")},
	{"GET /v1/subscriptions/{id}/events", "/v1/subscriptions/ID/events?limit=200&offset=7", "", 200, badLimits("/events")},
	{"GET /v1/subscriptions/{id}/secret", "/v1/subscriptions/ID/secret", "", 200, noSubscription("/v1/subscriptions/", "/secret")},
	{"POST /v1/subscriptions/{id}/secret/rotate", "/v1/subscriptions/ID/secret/rotate", "", 201, noSubscription("/v1/subscriptions/", "/secret/rotate")},
	{"GET /v1/openapi.json", "/v1/openapi.json", "", 200, nil},
	{"GET /v1/docs", "/v1/docs", "", 200, nil},
}

// open are the routes for everybody.
var open = []string{"GET /v1/flags/{file}", "GET /v1/openapi.json", "GET /v1/docs"}

type badCall struct {
	name, path string
	status     int
	code       string
}

func noSubscription(before, after string) []badCall {
	return []badCall{
		{"unknown id", before + "sub_00000000000000000000000000000000" + after, 404, "subscription_not_found"},
		{"no id", before + "7" + after, 404, "subscription_not_found"},
		{"strange id", before + "sub_%00%ff'--" + after, 404, "subscription_not_found"},
	}
}

func badLimits(log string) []badCall {
	calls := noSubscription("/v1/subscriptions/", log)
	for _, limit := range []string{"0", "201", "-1", "ten", "1.5", "1&limit=2", "99999999999999999999"} {
		calls = append(calls, badCall{"limit " + limit, "/v1/subscriptions/ID" + log + "?limit=" + limit, 400, "invalid_request"})
	}
	return calls
}

func TestEveryEndpoint(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		for _, e := range endpoints {
			t.Run(e.route, func(t *testing.T) {
				method, _, _ := strings.Cut(e.route, " ")
				fresh := func(path string) string {
					if strings.Contains(path, "/ID") {
						id := r.subscribe(t, oneLeg)
						path = strings.Replace(path, "/ID", "/"+id, 1)
						if before, after, ok := strings.Cut(path, "/FIRST"); ok {
							path = before + "/" + r.firstEvent(t, id) + after
						}
					}
					return path
				}
				path := func() string { return fresh(e.path) }
				call := func(path, key string) reply {
					return r.do(t, request{method: method, path: path, body: e.body, key: key})
				}
				call(path(), "").want(t, e.status, "")
				for _, bad := range e.bad {
					t.Run(bad.name, func(t *testing.T) { call(fresh(bad.path), "").want(t, bad.status, bad.code) })
				}
				t.Run("keys", func(t *testing.T) {
					p := path()
					if slices.Contains(open, e.route) {
						for _, key := range []string{"-", madeUpKey} {
							call(p, key).want(t, e.status, "")
						}
						return
					}
					for key, code := range map[string]string{"-": "missing_api_key", madeUpKey: "invalid_api_key", r.key + "x": "invalid_api_key"} {
						got := call(p, key)
						got.want(t, 401, code)
						if got.header.Get("WWW-Authenticate") != "Bearer" {
							t.Error("no WWW-Authenticate")
						}
					}
					if strings.Contains(e.path, "/ID") {
						call(p, r.other).want(t, 404, "subscription_not_found")
						call(p, "").want(t, e.status, "") // and it was not touched
					}
				})
				t.Run("bearer", func(t *testing.T) {
					r.do(t, request{method: method, path: path(), body: e.body, key: "-",
						header: http.Header{"Authorization": {"Bearer " + r.key}}}).want(t, e.status, "")
				})
			})
		}
		for n := range strings.SplitSeq(r.log.String(), "\n") {
			if n != "" && !strings.Contains(n, "flightNumber=500") && !strings.Contains(n, "no such host") {
				t.Errorf("logged: %s", n)
			}
		}
	})
}

// The table above is the whole interface.
func TestEveryRouteIsTested(t *testing.T) {
	var tested []string
	for _, e := range endpoints {
		tested = append(tested, e.route)
	}
	for _, route := range rest.Routes() {
		if !slices.Contains(tested, route) {
			t.Errorf("no test of %s", route)
		}
	}
	if len(tested) != len(rest.Routes()) {
		t.Errorf("%d routes, %d tested", len(rest.Routes()), len(tested))
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v2/flights/search", "/v1/flights", "/v1/flights/search/", "/v1/flights/AA/100",
		"/v1/flights/AA/100/" + today + "/", "/v1/flights//100/" + today, "/v1/subscriptions/", "/v1/subscriptions//pause",
		"/v1/subscriptions/../subscriptions", "/v1/./subscriptions", "//v1/subscriptions", "/v1/subscriptions/a/b", "/v1/subscriptions/a/secret/", "/v1/subscriptions/a/rotate", "/V1/subscriptions",
		"/v1/flights/AA/100/" + today + "%2f", "/v1/subscriptions/%2e%2e/flights",
	} {
		for _, key := range []string{"", "-"} {
			r.do(t, request{path: path, key: key}).want(t, 404, "route_not_found")
		}
	}
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/v1/flights/search", "GET, HEAD, OPTIONS"},
		{"DELETE", "/v1/flights/AA/100/" + today, "GET, HEAD, OPTIONS"},
		{"PUT", "/v1/flights/AA/100/" + today + "/timeline", "GET, HEAD, OPTIONS"},
		{"DELETE", "/v1/subscriptions", "GET, HEAD, OPTIONS, POST"},
		{"PUT", "/v1/subscriptions/sub_1", "DELETE, GET, HEAD, OPTIONS, PATCH"},
		{"GET", "/v1/subscriptions/sub_1/test", "OPTIONS, POST"},
		{"DELETE", "/v1/subscriptions/sub_1/deliveries", "GET, HEAD, OPTIONS"},
		{"POST", "/v1/subscriptions/sub_1/events", "GET, HEAD, OPTIONS"},
		{"PUT", "/v1/subscriptions/sub_1/secret", "GET, HEAD, OPTIONS"},
		{"GET", "/v1/subscriptions/sub_1/secret/rotate", "OPTIONS, POST"},
		{"GET", "/v1/subscriptions/sub_1/pause", "OPTIONS, POST"},
		{"GET", "/v1/subscriptions/sub_1/replay", "OPTIONS, POST"},
		{"GET", "/v1/subscriptions/sub_1/events/evt_1/redeliver", "OPTIONS, POST"},
		{"HEAD", "/v1/subscriptions/sub_1/resume", "OPTIONS, POST"},
		{"get", "/v1/subscriptions", "GET, HEAD, OPTIONS, POST"},
		{"BREW", "/v1/subscriptions", "GET, HEAD, OPTIONS, POST"},
	} {
		got := r.do(t, request{method: c.method, path: c.path, key: "-"})
		code := "method_not_allowed"
		if c.method == "HEAD" {
			code = "" // no body
		}
		got.want(t, 405, code)
		if allow := got.header.Get("Allow"); allow != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, allow, c.allow)
		}
	}
}

func TestRequestID(t *testing.T) {
	r := newRig(t, sqlite(t))
	seen := map[string]bool{}
	for _, c := range []struct {
		name   string
		given  []string
		echoed bool
	}{
		{"given", []string{"3f2a b-~!"}, true},
		{"longest", []string{strings.Repeat("x", 128)}, true},
		{"none", nil, false},
		{"empty", []string{""}, false},
		{"too long", []string{strings.Repeat("x", 129)}, false},
		{"not ASCII", []string{"é"}, false},
		{"tab", []string{"a\tb"}, false},
		{"two", []string{"a", "b"}, false},
	} {
		for _, path := range []string{"/v1/flights/AA/100/" + today, "/v1/flights/AA/9/" + today, "/nowhere"} {
			got := r.do(t, request{path: path, header: http.Header{"X-Request-Id": c.given}})
			ids := got.header["X-Request-Id"]
			if len(ids) != 1 || ids[0] == "" || seen[ids[0]] {
				t.Fatalf("%s: %q", c.name, ids)
			}
			if echoed := len(c.given) > 0 && ids[0] == c.given[0]; echoed != c.echoed {
				t.Errorf("%s: answered %q", c.name, ids)
			}
			if !c.echoed {
				seen[ids[0]] = true
				if len(ids[0]) > 128 || !strings.HasPrefix(ids[0], "req_") {
					t.Errorf("%s: made %q", c.name, ids[0])
				}
			}
		}
	}
}

func TestHead(t *testing.T) {
	r := newRig(t, sqlite(t))
	id := r.subscribe(t, oneLeg)
	for _, path := range []string{
		"/v1/flights/search?carrier=AA&flightNumber=100&date=" + today, "/v1/flights/AA/100/" + today,
		"/v1/flights/AA/100/" + today + "/timeline", "/v1/subscriptions", "/v1/subscriptions/" + id,
		"/v1/subscriptions/" + id + "/deliveries", "/v1/subscriptions/" + id + "/events", "/v1/subscriptions/" + id + "/secret",
		"/v1/flights/AA/9/" + today,
	} {
		get, head := r.do(t, request{path: path}), r.do(t, request{method: "HEAD", path: path})
		if head.status != get.status || len(head.body) != 0 || head.header.Get("Content-Length") != get.header.Get("Content-Length") ||
			head.header.Get("Content-Length") == "" || head.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v, want as GET %d %v", path, head.status, head.header, get.status, get.header)
		}
	}
	if got := r.do(t, request{method: "HEAD", path: "/v1/subscriptions", key: "-"}); got.status != 401 {
		t.Errorf("without a key: %d", got.status)
	}
}

// panics is a guard with a defect.
type panics struct{}

func (panics) Admit(context.Context, string, int) (access.Identity, access.Quota, error) {
	panic("hush")
}

// A handler that panics is a 500 like any other, and the log says where.
func TestPanic(t *testing.T) {
	r := newRig(t, sqlite(t))
	h := r.serve(t, panics{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/subscriptions", nil))
	got := reply{w.Code, w.Header(), w.Body.Bytes()}
	got.want(t, 500, "internal")
	if strings.Contains(w.Body.String(), "hush") {
		t.Errorf("the cause is told: %s", w.Body)
	}
	if log := r.log.String(); !strings.Contains(log, "hush") || !strings.Contains(log, w.Header().Get("X-Request-Id")) || !strings.Contains(log, "endpoints_test.go") {
		t.Errorf("logged: %s", log)
	}
}
