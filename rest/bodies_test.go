package rest_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/db/dbtest"
)

// sqlite is the embedded mode, for what does not depend on the database.
func sqlite(t testing.TB) dbtest.Mode {
	return dbtest.Mode{Name: "sqlite", DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}
}

const ownSecret = "a secret of my own 0001"

// fullBody has every field, and metadata whose bytes an encoder would change.
const fullBody = `{"carrier": "aal", "flightNumber": "0100", "date": "` + today + `", "webhookUrl": "https://example.com/hook?a=1&b=<2>",
	"origin": "kjfk", "destination": "LHR", "flightId": "1", "secret": "` + ownSecret + `",
	"events": ["flight.departed", "departure.gate.changed", "flight.departed"], "delayThresholdMinutes": 15.0,
	"headers": {"X-Tenant": "a & b", "authorization": "Bearer x"}, "metadata": ` + metadata + `}`

const metadata = `{"b": 1.0,  "a":[1e2, 12345678901234567890, "\u00e9<&>"], "b": null}`

// Every body, as it is on the wire.
func TestBodies(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		created := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: fullBody})
		created.want(t, 201, "")
		created.golden(t, "create")
		var s struct{ ID string }
		created.decode(t, &s)

		get := r.do(t, request{path: "/v1/subscriptions/" + s.ID})
		get.golden(t, "subscription")
		for _, b := range [][]byte{created.body, get.body} {
			if !bytes.Contains(b, []byte(`"metadata":`+metadata)) {
				t.Errorf("the bytes of the metadata are not kept: %s", b)
			}
		}
		pending := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody("flightNumber", unfindable, "secret", ownSecret)})
		pending.want(t, 201, "")
		pending.golden(t, "create_pending")

		r.do(t, request{path: "/v1/subscriptions"}).golden(t, "list")
		r.do(t, request{path: "/v1/subscriptions?limit=1&offset=2"}).golden(t, "list_beyond")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/pause"}).golden(t, "pause")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/resume"}).golden(t, "resume")
		updated := r.do(t, request{method: "PATCH", path: "/v1/subscriptions/" + s.ID, body: `{"webhookUrl": " https://example.com/other?a=1&b=<2>", "headers": null,
			"events": ["flight.departed", "departure.gate.changed"], "delayThresholdMinutes": 240, "metadata": ` + metadata + `}`})
		if updated.golden(t, "update"); !bytes.Contains(updated.body, []byte(`"metadata":`+metadata)) {
			t.Errorf("the bytes of the metadata are not kept: %s", updated.body)
		}
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/test"}).golden(t, "test")
		r.do(t, request{path: "/v1/subscriptions/" + s.ID + "/secret"}).golden(t, "secret")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/secret/rotate"}).golden(t, "rotate")
		r.do(t, request{path: "/v1/subscriptions/" + s.ID + "/deliveries"}).golden(t, "deliveries_none")
		p := &pair{rig: r}
		log := p.prepare(t, fields{"id": logged})["id"].(string)
		r.do(t, request{path: "/v1/subscriptions/" + log + "/deliveries"}).golden(t, "deliveries")
		r.do(t, request{path: "/v1/subscriptions/" + log + "/events"}).golden(t, "events")
		r.do(t, request{path: "/v1/subscriptions/" + log + "/events?limit=1"}).golden(t, "events_last")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + log + "/events/" + r.firstEvent(t, log) + "/redeliver"}).golden(t, "redeliver")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + log + "/replay", body: `{"since": "2026-11-21T00:00:00+01:00", "includeFailed": true}`}).golden(t, "replay")
		gone := r.do(t, request{method: "DELETE", path: "/v1/subscriptions/" + s.ID})
		if gone.want(t, 204, ""); len(gone.body) != 0 || gone.header.Get("Content-Type") != "" {
			t.Errorf("DELETE has a body: %q %v", gone.body, gone.header)
		}
		r.do(t, request{method: "DELETE", path: "/v1/subscriptions/" + s.ID}).want(t, 404, "subscription_not_found")

		for _, c := range []struct{ path, golden string }{
			{"/v1/flights/AA/100/" + today, "flight"},
			{"/v1/flights/AA/100/" + today + "/timeline", "timeline"},
			{"/v1/flights/AA/200/" + today, "flight_two_legs"},
			{"/v1/flights/AA/200/" + today + "/timeline?origin=MSY", "timeline_empty"},
			{"/v1/flights/AA/9/" + today, "flight_not_found"},
			{"/v1/flights/AA/200/" + today + "?origin=LAX", "leg_not_found"},
			{"/v1/flights/AA/503/" + today, "upstream_unavailable"},
			{"/v1/flights/search?flightNumber=x&date=2026-13-01&refresh=maybe&flightId=%20a%20b", "search_invalid"},
		} {
			r.do(t, request{path: c.path}).golden(t, c.golden)
		}
	})
}

// The spellings of one flight are one flight, and every way to select a leg
// gives that leg.
func TestOneFlightManyNames(t *testing.T) {
	r := newRig(t, sqlite(t))
	same := func(want string, paths ...string) {
		t.Helper()
		first := r.do(t, request{path: want})
		first.want(t, 200, "")
		for _, p := range paths {
			got := r.do(t, request{path: p})
			if got.want(t, 200, ""); !bytes.Equal(got.body, first.body) {
				t.Errorf("%s is not %s: %s", p, want, got.body)
			}
		}
	}
	same("/v1/flights/AA/100/"+today,
		"/v1/flights/search?carrier=AA&flightNumber=100&date="+today,
		"/v1/flights/search?carrier=aal&flightNumber=0100&date="+today+"&origin=&destination=&flightId=",
		"/v1/flights/aAl/0100/"+today+"?colour=blue&colour=red",
		"/v1/flights/AA/100/"+today+"?refresh", "/v1/flights/AA/100/"+today+"?refresh=True", "/v1/flights/AA/100/"+today+"?refresh=0",
		"/v1/flights/AA/100/"+today+"?refresh=yes", "/v1/flights/AA/100/"+today+"?refresh=Off",
		"/v1/flights/AA/100/"+today+"?origin=jfk&destination=KLHR&flightId=1")
	same("/v1/flights/AA/200/"+today+"?origin=MSY",
		"/v1/flights/AA/200/"+today+"?destination=MIA",
		"/v1/flights/AA/200/"+today+"?flightId="+legFlightID,
		"/v1/flights/search?carrier=AA&flightNumber=200&origin=kmsy&destination=mia&date="+today)
}

func TestCreate(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		for _, c := range []struct {
			name   string
			body   string
			status int
			code   string
			part   string // of the body
		}{
			{"active", createBody(), 201, "", `"status":"active"`},
			{"nulls", createBody("origin", nil, "secret", nil, "events", nil, "headers", nil, "metadata", nil, "delayThresholdMinutes", nil), 201, "", `"delayThresholdMinutes":5`},
			{"pending", createBody("flightNumber", unfindable), 201, "", `"status":"pending"`},
			{"pending yesterday", createBody("flightNumber", unfindable, "date", yesterday), 201, "", `"flightResolved":false`},
			{"date passed", createBody("flightNumber", unfindable, "date", past), 404, "flight_not_found", ""},
			{"too far ahead", createBody("date", "2028-01-01"), 400, "invalid_request", `"field":"date"`},
			{"leg", createBody("flightNumber", twoLegs, "origin", "MSY"), 201, "", `"status":"active"`},
			{"leg by id", createBody("flightNumber", twoLegs, "flightId", legFlightID), 201, "", `"status":"active"`},
			{"no origin", createBody("flightNumber", twoLegs), 422, "origin_required", `"departureIata":"MSY"`},
			{"other origin", createBody("flightNumber", twoLegs, "origin", "LAX"), 404, "leg_not_found", `"departureIata":"DFW"`},
			{"other id", createBody("flightNumber", twoLegs, "flightId", "7"), 404, "leg_not_found", `"legs":[`},
			{"refused upstream", createBody("flightNumber", refused), 502, "upstream_error", `"retryAfterSeconds":10`},
			{"upstream down", createBody("flightNumber", down), 503, "upstream_unavailable", `"retryAfterSeconds":90`},
			{"upstream slow", createBody("flightNumber", slow), 504, "upstream_timeout", `"retryAfterSeconds":10`},
			{"private address", createBody("webhookUrl", "http://127.0.0.1/"), 400, "invalid_request", `"field":"webhookUrl"`},
			{"no events", createBody("events", []string{}), 400, "invalid_request", `"field":"events"`},
			{"reserved header", createBody("headers", map[string]string{"X-Legacy-Signature": "a"}), 400, "invalid_request", `"field":"headers.X-Legacy-Signature"`},
			{"short secret", createBody("secret", "short"), 400, "invalid_request", `"field":"secret"`},
			{"empty secret", createBody("secret", ""), 400, "invalid_request", `"field":"secret"`},
			{"large metadata", createBody("metadata", map[string]string{"a": strings.Repeat("x", 17<<10)}), 400, "invalid_request", `"field":"metadata"`},
		} {
			t.Run(c.name, func(t *testing.T) {
				got := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: c.body})
				got.want(t, c.status, c.code)
				if !strings.Contains(string(got.body), c.part) {
					t.Errorf("no %s in %s", c.part, got.body)
				}
			})
		}
	})
}

// The secret is whole in the answer to create and nowhere else.
func TestSecretIsMasked(t *testing.T) {
	r := newRig(t, sqlite(t))
	got := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody()})
	var s struct{ ID, Secret string }
	got.decode(t, &s)
	if !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=$`).MatchString(s.Secret) {
		t.Fatalf("made secret %q", s.Secret)
	}
	for _, q := range []request{
		{path: "/v1/subscriptions/" + s.ID}, {path: "/v1/subscriptions"},
		{method: "PATCH", path: "/v1/subscriptions/" + s.ID, body: `{"delayThresholdMinutes": 7}`}, {method: "PATCH", path: "/v1/subscriptions/" + s.ID, body: `{}`},
		{method: "POST", path: "/v1/subscriptions/" + s.ID + "/pause"}, {method: "POST", path: "/v1/subscriptions/" + s.ID + "/resume"},
	} {
		got := r.do(t, q)
		if masked := "whsec_****" + s.Secret[len(s.Secret)-4:]; !bytes.Contains(got.body, []byte(`"secret":"`+masked+`"`)) || bytes.Contains(got.body, []byte(s.Secret)) {
			t.Errorf("%s: %s", q.path, got.body)
		}
	}
}

// Lists page through an account's own subscriptions, newest first.
func TestList(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		var ids []string
		for _, number := range []string{oneLeg, unfindable, oneLeg} {
			ids = append([]string{r.subscribe(t, number)}, ids...)
		}
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + ids[0] + "/pause"}).want(t, 201, "")
		for _, c := range []struct {
			query         string
			key           string
			total         int
			offset, limit int
			ids           []string
		}{
			{"", "", 3, 0, 50, ids},
			{"?limit=2", "", 3, 0, 2, ids[:2]},
			{"?offset=2&limit=2", "", 3, 2, 2, ids[2:]},
			{"?offset=9", "", 3, 9, 50, nil},
			{"?status=paused", "", 1, 0, 50, ids[:1]},
			{"?status=pending", "", 1, 0, 50, ids[1:2]},
			{"?carrier=aal&flightNumber=0100&date=" + today, "", 2, 0, 50, []string{ids[0], ids[2]}},
			{"?date=" + yesterday, "", 0, 0, 50, nil},
			{"", r.other, 0, 0, 50, nil},
		} {
			var page struct {
				Count, Total, Offset, Limit int
				Data                        []struct{ ID string }
			}
			got := r.do(t, request{path: "/v1/subscriptions" + c.query, key: c.key})
			got.want(t, 200, "")
			got.decode(t, &page)
			var have []string
			for _, s := range page.Data {
				have = append(have, s.ID)
			}
			if page.Count != len(c.ids) || page.Total != c.total || page.Offset != c.offset || page.Limit != c.limit || fmt.Sprint(have) != fmt.Sprint(c.ids) || page.Data == nil {
				t.Errorf("%q: %s", c.query, got.body)
			}
		}
	})
}

// Pausing and resuming what is completed is a conflict that names the state.
func TestCompletedIsAConflict(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		id := r.subscribe(t, arriving)
		r.world.arrived.Store(true)
		r.do(t, request{path: "/v1/flights/AA/" + arriving + "/" + today + "?refresh"}).want(t, 200, "")
		for _, action := range []string{"/pause", "/resume"} {
			got := r.do(t, request{method: "POST", path: "/v1/subscriptions/" + id + action})
			got.want(t, 409, "invalid_state")
			if !bytes.Contains(got.body, []byte(`"status":"completed"`)) {
				t.Errorf("%s", got.body)
			}
		}
	})
}

// What is answered is for nobody else to keep, and a look-up says how long it
// is.
func TestHeaders(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, path := range []string{"/v1/flights/AA/100/" + today, "/v1/subscriptions", "/v1/nowhere"} {
		h := r.do(t, request{path: path}).header
		if h.Get("Cache-Control") != "no-store" || h.Get("Content-Type") != "application/json" || h.Get("Content-Length") == "" {
			t.Errorf("%s: %v", path, h)
		}
	}
	got := r.do(t, request{path: "/v1/flights/AA/503/" + today})
	if got.header.Get("Retry-After") != "90" {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
}
