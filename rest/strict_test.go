package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What is wrong with a body is said field by field, all of it at once, and
// nothing is made of it.
func TestBodyIsStrict(t *testing.T) {
	r := newRig(t, sqlite(t))
	with := func(more string) string { return strings.TrimSuffix(createBody(), "}") + "," + more + "}" }
	for _, c := range []struct {
		name, body string
		fields     []string // "field: message", or how it begins
	}{
		{"syntax", `{"carrier": "AA",}`, []string{"body: is not JSON: invalid character '}'"}},
		{"cut off", `{"carrier": "AA"`, []string{"body: is not JSON: unexpected end of JSON input at byte 16"}},
		{"trailing", createBody() + "{}", []string{"body: is not JSON: invalid character '{' after top-level value"}},
		{"blank", " \n", []string{"body: must be a JSON object; there is none"}},
		{"not UTF-8", with("\"metadata\":{\"a\":\"\xff\"}"), []string{"body: must be UTF-8"}},
		{"list", `[]`, []string{"body: must be a JSON object"}},
		{"null", `null`, []string{"body: must be a JSON object"}},
		{"nothing in it", `{}`, []string{"carrier: is required", "flightNumber: is required", "date: is required", "webhookUrl: is required"}},
		{"required are null", `{"carrier":null,"flightNumber":null,"date":null,"webhookUrl":null}`,
			[]string{"carrier: is required", "flightNumber: is required", "date: is required", "webhookUrl: is required"}},
		{"unknown", with(`"colour":1,"Events":[],"status":"active"`),
			[]string{"colour: is not a field", "Events: is not a field", "status: is not a field"}},
		{"unknown, long", with(`"` + strings.Repeat("é", 90) + `":1`), []string{strings.Repeat("é", 50) + "…: is not a field"}},
		{"nameless", with(`"":1,"headers":{"":1}`), []string{"headers: has a field without a name", "body: has a field without a name"}},
		{"repeated", with(`"date":"2026-11-22","d\u0061te":"2026-11-23"`), []string{"date: must not be repeated", "date: must not be repeated"}},
		{"wrong types", `{"carrier":1,"flightNumber":100,"date":{},"webhookUrl":[],"origin":true,"destination":0,"flightId":1,"secret":7,
			"events":"all","delayThresholdMinutes":"5","headers":[],"metadata":"x"}`, []string{
			"carrier: must be a string", "flightNumber: must be a string", "date: must be a string", "origin: must be a string",
			"destination: must be a string", "flightId: must be a string", "webhookUrl: must be a string", "secret: must be a string",
			"events: must be a list of strings", "delayThresholdMinutes: must be a whole number",
			"headers: must be an object whose values are strings", "metadata: must be an object"}},
		{"wrong elements", with(`"events":["status.changed",null,7],"headers":{"A":1,"B":null,"C":"c","C":"d"}`), []string{
			"events[1]: must be a string", "events[2]: must be a string",
			"headers.C: must not be repeated", "headers.A: must be a string", "headers.B: must be a string"}},
		{"no whole number", with(`"delayThresholdMinutes":5.5`), []string{"delayThresholdMinutes: must be a whole number"}},
		{"no number to count with", with(`"delayThresholdMinutes":1e99`), []string{"delayThresholdMinutes: must be a whole number"}},
		{"metadata is a list", with(`"metadata":[1]`), []string{"metadata: must be an object"}},
		{"form and content", `{"carrier":"*","flightNumber":"x","date":"soon","webhookUrl":7,"origin":"-"}`, []string{
			"webhookUrl: must be a string", "carrier: must be an airline", "flightNumber: must be one to four", "date: must be a calendar", "origin: must be an airport"}},
		{"form and all that the resolver judges", createBody("carrier", 7, "date", "2028-01-01", "webhookUrl", "http://10.0.0.1/", "secret", "x",
			"events", []any{"gone.wrong", 7, "status.changed"}, "delayThresholdMinutes", 0, "headers", map[string]any{"Host": "a", "X-A": 1, "b c": "d"},
			"metadata", map[string]string{"a": strings.Repeat("x", 16<<10)}, "colour", "blue"), []string{
			"carrier: must be a string", "events[1]: must be a string", "headers.X-A: must be a string", "colour: is not a field",
			"date: must be at most 365 days ahead", "webhookUrl: must have a public address", "secret: must have 16 to 256",
			`events: "gone.wrong" is not a change type`, "delayThresholdMinutes: must be 1 to 240",
			"headers.Host: is set by the service", "headers.b c: is not a valid header name", "metadata: must be at most"}},
		{"nothing right in a list", with(`"events":[7,null],"headers":{"Host":1},"metadata":7,"delayThresholdMinutes":"0","secret":""`), []string{
			"secret: must not be empty", "events[0]: must be a string", "events[1]: must be a string",
			"delayThresholdMinutes: must be a whole number", "headers.Host: must be a string", "metadata: must be an object"}},
		{"content", createBody("carrier", "*", "webhookUrl", "ftp://x", "events", []string{"gone.wrong"}, "delayThresholdMinutes", 241, "secret", "x", "headers", map[string]string{"Host": "a"}), []string{
			"carrier: must be an airline", "webhookUrl: must begin with http", "secret: must have 16 to 256",
			`events: "gone.wrong" is not a change type`, "delayThresholdMinutes: must be 1 to 240", "headers.Host: is set by the service"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: c.body})
			got.want(t, 400, "invalid_request")
			var e struct {
				Fields []struct{ Field, Message string }
			}
			got.decode(t, &e)
			ok := len(e.Fields) == len(c.fields)
			for i, f := range e.Fields {
				ok = ok && strings.HasPrefix(f.Field+": "+f.Message, c.fields[i])
			}
			if !ok {
				t.Errorf("got %q\nwant %q", e.Fields, c.fields)
			}
		})
	}
	var page struct{ Total int }
	r.do(t, request{path: "/v1/subscriptions"}).decode(t, &page)
	if page.Total != 0 {
		t.Errorf("%d subscriptions were made", page.Total)
	}
}

func TestBodyMustBeSentAsJSON(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, c := range []struct {
		given  []string
		status int
	}{
		{[]string{"application/json"}, 201},
		{[]string{"Application/JSON; charset=utf-8"}, 201},
		{nil, 400},
		{[]string{"text/plain"}, 400},
		{[]string{"application/x-www-form-urlencoded"}, 400},
		{[]string{"application/json;;"}, 400},
	} {
		got := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), header: http.Header{"Content-Type": c.given}})
		if got.status != c.status || got.status == 400 && !bytes.Contains(got.body, []byte(`[{"field":"Content-Type","message":"must be application/json"}]`)) {
			t.Errorf("%q: %d %s", c.given, got.status, got.body)
		}
	}
}

func TestBodyIsBounded(t *testing.T) {
	r := newRig(t, sqlite(t))
	body := func(size int) string {
		b := createBody()
		return b + strings.Repeat(" ", size-len(b))
	}
	r.do(t, request{method: "POST", path: "/v1/subscriptions", body: body(64 << 10)}).want(t, 201, "")
	r.do(t, request{method: "POST", path: "/v1/subscriptions", body: body(64<<10 + 1)}).want(t, 413, "payload_too_large")

	for _, c := range []struct {
		name   string
		key    string
		length int64
		status int
		atMost int
	}{
		{"no more is read than shows that it is too much", r.key, -1, 413, 128 << 10},
		{"one that says that it is too long is not read", r.key, 64<<10 + 1, 413, 0},
		{"a key is asked for before a body is read", "", -1, 401, 0},
	} {
		endless := new(counted)
		req := httptest.NewRequest("POST", "/v1/subscriptions", endless)
		req.ContentLength = c.length
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {c.key}}
		w := httptest.NewRecorder()
		if r.handler.ServeHTTP(w, req); w.Code != c.status || endless.read > c.atMost {
			t.Errorf("%s: %d after %d bytes", c.name, w.Code, endless.read)
		}
	}
}

// counted is a body without end.
type counted struct{ read int }

func (c *counted) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.read += len(p)
	return len(p), nil
}

// What is put into a query is refused with every fault, under its name.
func TestQueryIsStrict(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, c := range []struct {
		path   string
		fields []string
	}{
		{"/v1/flights/search", []string{"carrier", "flightNumber", "date"}},
		{"/v1/flights/search?carrier=AA&carrier=AA&refresh=2", []string{"carrier", "refresh", "flightNumber", "date"}},
		{"/v1/flights/AA/x/y?origin=!&refresh=&refresh=", []string{"refresh", "flightNumber", "date", "origin"}},
		{"/v1/subscriptions?limit=0&offset=-1&status=x&carrier=*&flightNumber=x&date=x", []string{"carrier", "date", "flightNumber", "limit", "offset", "status"}},
		{"/v1/subscriptions?limit=a&offset=b", []string{"offset", "limit"}},
		{"/v1/subscriptions?limit=a&status=x&offset=-1", []string{"limit", "offset", "status"}},
		{"/v1/subscriptions?date=x&date=y&carrier=*&limit=201", []string{"carrier", "date", "limit"}},
		{"/v1/flights/AA/100/2028-01-01?refresh=maybe", []string{"date", "refresh"}},
		{"/v1/subscriptions?%", []string{"query"}},
	} {
		got := r.do(t, request{path: c.path})
		got.want(t, 400, "invalid_request")
		var e struct{ Fields []struct{ Field string } }
		got.decode(t, &e)
		var fields []string
		for _, f := range e.Fields {
			fields = append(fields, f.Field)
		}
		slices.Sort(fields)
		slices.Sort(c.fields)
		if !slices.Equal(fields, c.fields) {
			t.Errorf("%s: %q, want %q", c.path, fields, c.fields)
		}
	}
}

// Whatever is sent, the answer is a documented one: never a 500, never a panic,
// and what was made is what was asked for.
func FuzzCreateBody(f *testing.F) {
	for _, seed := range []string{
		createBody(), fullBody, createBody("flightNumber", twoLegs), createBody("date", past, "flightNumber", unfindable), `{}`, `[]`, ``, `null`, `{"carrier":`,
		`{"carrier":"AA","carrier":"BA"}`, `{"headers":{"a":"b","a":"c"}}`, `{"events":[null]}`, `{"delayThresholdMinutes":1e400}`,
		`{"metadata":{"\u0000":"\ud800"}}`, "{\"metadata\":{\"a\":\"\xff\"}}", `{"":"","a":{"b":[[[[]]]]}}`,
		createBody("metadata", map[string]any{"\x00": "\x00"}, "headers", map[string]string{"X-A": "é"}, "delayThresholdMinutes", 240),
		createBody("webhookUrl", "http://[::ffff:127.0.0.1]/", "secret", strings.Repeat("s", 256), "origin", "ＪＦＫ"),
	} {
		f.Add([]byte(seed))
	}
	r := newRig(f, sqlite(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequest("POST", "/v1/subscriptions", bytes.NewReader(body))
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {r.key}}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		var got struct {
			Code     string
			Fields   []json.RawMessage
			Metadata json.RawMessage
			ID       string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		switch w.Code {
		case 201:
			if len(got.Metadata) > 0 && !bytes.Contains(body, got.Metadata) {
				t.Errorf("the metadata became %s", got.Metadata)
			}
			req := httptest.NewRequest("DELETE", "/v1/subscriptions/"+got.ID, nil)
			req.Header.Set("X-Api-Key", r.key)
			w := httptest.NewRecorder()
			if r.handler.ServeHTTP(w, req); w.Code != 204 {
				t.Errorf("delete: %d %s", w.Code, w.Body)
			}
		case 400:
			if len(got.Fields) == 0 {
				t.Errorf("no fields: %s", w.Body)
			}
		case 404, 413, 422, 502, 503, 504: // of the upstream of these tests too
			if got.Code == "" {
				t.Errorf("no code: %s", w.Body)
			}
		case 500:
			if !brokenUpstream(body) {
				t.Errorf("%s", w.Body)
			}
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// brokenUpstream reports whether a body asks for the flight at which the
// upstream of these tests fails with an error that is none of ours.
func brokenUpstream(body []byte) bool {
	var in struct{ Carrier, FlightNumber string }
	err := json.Unmarshal(body, &in)
	return err == nil && strings.Contains(fmt.Sprint(in.FlightNumber), broken)
}

// What is wrong with a replay is said field by field, and nothing is sent.
func TestReplayIsStrict(t *testing.T) {
	r := newRig(t, sqlite(t))
	id := r.subscribe(t, oneLeg)
	for _, c := range []struct {
		body   string
		fields []string
	}{
		{`{}`, []string{"since: must be given, or after"}},
		{`{"since": null, "after": "", "includeFailed": null}`, []string{"since: must be given, or after"}},
		{`{"since": "2026-11-21T20:00:00Z", "after": "evt_1"}`, []string{"after: must be left out where since is given"}},
		{`{"since": "2026-11-21 20:00"}`, []string{"since: must be a time in ISO 8601"}},
		{`{"since": "2026-11-21T20:00:00"}`, []string{"since: must be a time in ISO 8601"}},
		{`{"since": 1795290000, "includeFailed": "yes", "until": "evt_1"}`, []string{"since: must be a string", "includeFailed: must be true or false", "until: is not a field"}},
		{`[]`, []string{"body: must be a JSON object"}},
		{``, []string{"body: must be a JSON object; there is none"}},
	} {
		got := r.do(t, request{method: "POST", path: "/v1/subscriptions/" + id + "/replay", body: c.body, header: http.Header{"Content-Type": {"application/json"}}})
		got.want(t, 400, "invalid_request")
		var body struct {
			Fields []struct{ Field, Message string }
		}
		got.decode(t, &body)
		if len(body.Fields) != len(c.fields) {
			t.Errorf("%s: %s", c.body, got.body)
			continue
		}
		for i, f := range body.Fields {
			if !strings.HasPrefix(f.Field+": "+f.Message, c.fields[i]) {
				t.Errorf("%s: %s, want %s", c.body, got.body, c.fields[i])
			}
		}
	}
}
