package graph

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// keyring is a Guard for tests: it knows one key.
type keyring struct{ account string }

const goodKey = "fw_good_key"

func (k keyring) Authenticate(_ context.Context, presented string) (access.Identity, error) {
	switch presented {
	case goodKey:
		return access.Identity{Account: k.account, KeyID: "good", Plan: "unlimited"}, nil
	case "":
		return access.Identity{}, flight.Errorf(flight.CodeMissingAPIKey, "Send a key.")
	case "broken":
		return access.Identity{}, errors.New("connect to 10.0.0.7: refused")
	}
	return access.Identity{}, flight.Errorf(flight.CodeInvalidAPIKey, "Send a valid key.")
}

func (k keyring) Admit(ctx context.Context, presented string, _ int) (access.Identity, access.Quota, error) {
	id, err := k.Authenticate(ctx, presented)
	return id, access.Quota{}, err
}

func (k keyring) Recent(string) bool { return false }

// serve puts a rig behind the endpoint.
func (g *rig) serve(change func(*HandlerConfig)) *httptest.Server {
	id, _ := access.From(g.ctx)
	c := HandlerConfig{Auth: keyring{id.Account}}
	if change != nil {
		change(&c)
	}
	s := httptest.NewServer(NewHandler(g.r, c))
	g.t.Cleanup(s.Close)
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
	Data   map[string]any
	Errors []struct {
		Message    string
		Path       []any
		Locations  []any
		Extensions map[string]any
	}
}

func (r *reply) code() any {
	if len(r.Errors) == 0 {
		return nil
	}
	return r.Errors[0].Extensions["code"]
}

func do(t *testing.T, req *http.Request) *reply {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{status: resp.StatusCode, header: resp.Header, body: string(body)}
	if err := json.Unmarshal(body, r); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	return r
}

func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", goodKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return req
}

func post(t *testing.T, url, query string, variables map[string]any, header ...string) *reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return do(t, request(t, "POST", url, string(body), header...))
}

func legVariable() map[string]any {
	return map[string]any{"leg": map[string]any{"carrier": "AA", "flightNumber": "100", "date": today}}
}

const flightQuery = `query($leg: LegInput!) { flight(leg: $leg) {
	flightKey operatedBy providerFlightId diverted { gate }
	departure { gate terminal bestTimeUtc airport { iata icao country { code } } }
	status { phase label description } timeline { title source events } alternates { selected } } }`

func TestPost(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	r := post(t, s.URL, flightQuery, legVariable())
	f, _ := r.Data["flight"].(map[string]any)
	if r.status != 200 || len(r.Errors) > 0 || f == nil {
		t.Fatal(r.status, r.body)
	}
	dep := f["departure"].(map[string]any)
	if f["flightKey"] != "AA100:"+today || dep["gate"] != "B1" || f["status"].(map[string]any)["phase"] != "SCHEDULED" {
		t.Error(r.body)
	}
	// Unknown is null, and "" stays where null may not be.
	if f["operatedBy"] != nil || dep["terminal"] != nil || f["diverted"] != nil || !strings.Contains(r.body, `"events":["gate assigned",""]`) {
		t.Error(r.body)
	}
	if got := r.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Error(got)
	}
	r = post(t, s.URL, flightQuery, legVariable(), "Accept", "application/graphql-response+json, application/json;q=0.9")
	if got := r.header.Get("Content-Type"); r.status != 200 || got != "application/graphql-response+json; charset=utf-8" {
		t.Error(r.status, got)
	}
}

// OPTIONS says what there is, without a key, and executes nothing.
func TestOptions(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	req, err := http.NewRequestWithContext(t.Context(), "OPTIONS", s.URL+"?query={__typename}", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 204 || resp.Header.Get("Allow") != "GET, OPTIONS, POST" || len(body) > 0 {
		t.Errorf("%d, Allow %q: %s %v", resp.StatusCode, resp.Header.Get("Allow"), body, err)
	}
}

// A browser that opens the endpoint gets the page, without a key; whoever can
// take GraphQL's answers gets those.
func TestPageForPeople(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":{"page":true}}`) })
	g := sqliteRig(t, nil)
	s, without := g.serve(func(c *HandlerConfig) { c.Explorer = page }), g.serve(nil)
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	for _, c := range []struct {
		url, method, accept string
		page                bool
	}{
		{s.URL, "GET", browser, true},
		{s.URL + "?query={__typename}", "GET", browser, true},
		{s.URL, "GET", "*/*", false},
		{s.URL, "GET", "application/json, text/html", false},
		{s.URL, "GET", "text/html, text/event-stream", false},
		{s.URL, "GET", "application/graphql-response+json, text/html;q=0.1", false},
		{s.URL, "POST", browser, false},
		{without.URL, "GET", browser, false},
	} {
		r := do(t, request(t, c.method, c.url, `{"query":"{ __typename }"}`, "Accept", c.accept, "X-Api-Key", ""))
		if got := r.Data["page"] == true; got != c.page || !c.page && r.status != 401 {
			t.Errorf("%s %s, Accept %s: %d %s", c.method, c.url, c.accept, r.status, r.body)
		}
	}
}

// SDL is the file itself.
func TestSDL(t *testing.T) {
	text, err := os.ReadFile("../schema.graphqls")
	if err != nil || SDL() != string(text) {
		t.Error("the schema that is built in is not schema.graphqls; run make generate", err)
	}
}

func TestMutations(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	r := post(t, s.URL, `mutation($in: CreateSubscriptionInput!) { createSubscription(input: $in) { id secret status events metadata headers } }`,
		map[string]any{"in": map[string]any{"carrier": "AA", "flightNumber": "100", "date": today, "webhookUrl": "https://example.com",
			"events": []string{"FLIGHT_DEPARTED"}, "metadata": map[string]any{"n": 12345678901234567}, "headers": map[string]any{"X-A": "b"}}})
	made, _ := r.Data["createSubscription"].(map[string]any)
	if made == nil || made["status"] != "ACTIVE" || !strings.Contains(r.body, `"events":["FLIGHT_DEPARTED"],"metadata":{"n":12345678901234567},"headers":{"X-A":"b"}`) {
		t.Fatal(r.body)
	}
	id := made["id"]
	r = post(t, s.URL, `mutation($id: ID!) { a: pauseSubscription(id: $id) { status secret } b: resumeSubscription(id: $id) { status } }`, map[string]any{"id": id})
	if !strings.Contains(r.body, `"status":"PAUSED","secret":"whsec_****`) || !strings.Contains(r.body, `"b":{"status":"ACTIVE"}`) {
		t.Error(r.body)
	}
	r = post(t, s.URL, `query { subscriptions(filter: {status: ACTIVE}) { count total offset limit data { id } } }`, nil)
	if !strings.Contains(r.body, `"count":1,"total":1,"offset":0,"limit":50`) {
		t.Error(r.body)
	}
	r = post(t, s.URL, `mutation($id: ID!) { deleteSubscription(id: $id) }`, map[string]any{"id": id})
	if r.Data["deleteSubscription"] != id {
		t.Error(r.body)
	}
	r = post(t, s.URL, `query($id: ID!) { subscription(id: $id) { id } }`, map[string]any{"id": id})
	if r.code() != "SUBSCRIPTION_NOT_FOUND" || r.Errors[0].Path[0] != "subscription" || len(r.Errors[0].Locations) != 1 {
		t.Error(r.body)
	}
}

func TestErrorsOverHTTP(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say(leg("100", "JFK", "ORD"), leg("100", "ORD", "LAX"))
	s := g.serve(nil)
	in := map[string]any{"carrier": "AA", "flightNumber": "100", "date": today, "webhookUrl": "https://example.com"}
	create := `mutation($in: CreateSubscriptionInput!) { createSubscription(input: $in) { id } }`
	r := post(t, s.URL, create, map[string]any{"in": in})
	if legs, _ := r.Errors[0].Extensions["legs"].([]any); r.code() != "ORIGIN_REQUIRED" || len(legs) != 2 {
		t.Error(r.body)
	}
	in["carrier"], in["webhookUrl"] = "?", "nonsense"
	r = post(t, s.URL, create, map[string]any{"in": in})
	if fields, _ := r.Errors[0].Extensions["fields"].([]any); r.code() != "INVALID_REQUEST" || len(fields) != 2 {
		t.Error(r.body)
	}
	for _, headers := range []any{map[string]any{"X-A": 5, "X-B": nil, "Host": "a", "X-C": "right"}, []any{"X-A"}} {
		in["headers"] = headers
		r = post(t, s.URL, create, map[string]any{"in": in})
		got, _ := json.Marshal(r.Errors[0].Extensions["fields"])
		want := []string{`"headers"`, `"carrier"`, `"webhookUrl"`}
		if _, object := headers.(map[string]any); object {
			want = []string{`"headers.X-A"`, `"headers.X-B"`, `"carrier"`, `"webhookUrl"`, `"headers.Host"`}
		}
		if r.code() != "INVALID_REQUEST" || strings.Count(string(got), `"field"`) != len(want) {
			t.Error(r.body)
		}
		for _, field := range want {
			if !strings.Contains(string(got), `"field":`+field) {
				t.Errorf("no fault of %s: %s", field, r.body)
			}
		}
	}
	in["faults"] = []any{} // only Go can set them
	if r = post(t, s.URL, create, map[string]any{"in": in}); r.code() != "GRAPHQL_VALIDATION_FAILED" || !strings.Contains(r.body, `"path":["variable","in","faults"]`) {
		t.Error(r.body)
	}
	g.source.fail(&flight.Error{Code: flight.CodeUpstreamUnavailable, Message: "Down.", RetryAfter: 1500 * time.Millisecond})
	v := legVariable()
	v["leg"].(map[string]any)["flightNumber"] = "7"
	r = post(t, s.URL, flightQuery, v)
	if r.status != 200 || r.code() != "UPSTREAM_UNAVAILABLE" || r.Errors[0].Extensions["retryAfterSeconds"] != 2.0 || !strings.Contains(r.body, `"data":null`) {
		t.Error(r.body)
	}
}

// TestInternalError: what is no flight.Error says nothing of its cause.
func TestInternalError(t *testing.T) {
	g := sqliteRig(t, nil)
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	g.source.fail(errors.New("dial tcp 10.0.0.7:443: secret"))
	r := post(t, g.serve(nil).URL, flightQuery, legVariable())
	if r.code() != "INTERNAL" || strings.Contains(r.body, "secret") || strings.Contains(r.body, "10.0") {
		t.Error(r.body)
	}
	if !strings.Contains(log.String(), "10.0.0.7:443: secret") {
		t.Error("not logged:", log.String())
	}
}

func TestAuthentication(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	for _, c := range []struct {
		header []string
		status int
		code   any
	}{
		{[]string{"X-Api-Key", ""}, 401, "MISSING_API_KEY"},
		{[]string{"X-Api-Key", "wrong"}, 401, "INVALID_API_KEY"},
		{[]string{"X-Api-Key", "broken"}, 500, "INTERNAL"},
		{[]string{"X-Api-Key", "", "Authorization", "Bearer " + goodKey}, 200, nil},
	} {
		r := post(t, s.URL, `{ __typename }`, nil, c.header...)
		if r.status != c.status || r.code() != c.code || strings.Contains(r.body, "10.0.0.7") {
			t.Errorf("%v: %d %s", c.header, r.status, r.body)
		}
		if (r.header.Get("WWW-Authenticate") == "Bearer") != (c.status == 401) {
			t.Errorf("%v: %v", c.header, r.header)
		}
	}
}

func TestGet(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	v, _ := json.Marshal(legVariable())
	get := func(query string, header ...string) *reply {
		return do(t, request(t, "GET", s.URL+"?"+url.Values{"query": {query}, "variables": {string(v)}}.Encode(), "", header...))
	}
	if r := get(flightQuery); r.status != 200 || r.Data["flight"] == nil {
		t.Error(r.body)
	}
	if r := get(`mutation { deleteSubscription(id: "x") }`); r.status != 405 || r.header.Get("Allow") != "POST" {
		t.Error(r.status, r.body)
	}
	if r := get(`mutation { deleteSubscription(id: "x") }`, "Accept", "text/event-stream"); r.status != 405 {
		t.Error(r.status, r.body)
	}
	for _, raw := range []string{"", "?query=", "?query=%FF", "?query={__typename}&variables=[1]", "?query={__typename}&variables={}x", "?query=%zz"} {
		if r := do(t, request(t, "GET", s.URL+raw, "")); r.status != 400 || r.code() != "INVALID_REQUEST" {
			t.Error(raw, r.status, r.body)
		}
	}
}

func TestBadRequests(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	secret := "c4n4ry"
	for _, c := range []struct {
		name, method, body string
		header             []string
		status             int
	}{
		{"malformed", "POST", `{"query": "` + secret, nil, 400},
		{"empty", "POST", ``, nil, 400},
		{"batch", "POST", `[{"query":"{__typename}"}]`, nil, 400},
		{"no query", "POST", `{"query":null}`, nil, 400},
		{"a number", "POST", `{"query":7}`, nil, 400},
		{"variables", "POST", `{"query":"{__typename}","variables":"` + secret + `"}`, nil, 400},
		{"two values", "POST", `{"query":"{__typename}"} {}`, nil, 400},
		{"form", "POST", `query={__typename}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"no type", "POST", `{"query":"{__typename}"}`, []string{"Content-Type", ""}, 415},
		{"charset", "POST", `{"query":"{__typename}"}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415},
		{"method", "PUT", `{"query":"{__typename}"}`, nil, 405},
		{"huge", "POST", `{"query":"{__typename}","x":"` + strings.Repeat(secret, 20_000) + `"}`, nil, 413},
		{"stream", "POST", `{"query": "` + secret, []string{"Accept", "text/event-stream"}, 400},
		{"live", "POST", `{"query":"subscription { flightChanged(leg: {carrier: \"AA\", flightNumber: \"100\", date: \"` + today + `\"}) { cursor } }"}`, nil, 400},
	} {
		r := do(t, request(t, c.method, s.URL, c.body, c.header...))
		if r.status != c.status || len(r.Errors) != 1 || r.code() == nil || strings.Contains(r.body, secret) || strings.Contains(r.body, `"data"`) {
			t.Errorf("%s: %d %.300s", c.name, r.status, r.body)
		}
	}
	// The document's own faults: by media type.
	for _, query := range []string{`{`, `{ nosuch }`, `query($x: Int!) { __typename }`, `query A { __typename } query B { __typename }`} {
		for accept, status := range map[string]int{"application/json": 200, "application/graphql-response+json": 400} {
			if r := post(t, s.URL, query, nil, "Accept", accept); r.status != status || len(r.Errors) == 0 || strings.Contains(r.body, `"data"`) {
				t.Errorf("%s, %s: %d %s", query, accept, r.status, r.body)
			}
		}
	}
}

func TestIntrospection(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	r := post(t, s.URL, introspectionQuery, nil)
	if r.status != 200 || len(r.Errors) > 0 || !strings.Contains(r.body, "FlightSnapshot") || !strings.Contains(r.body, "Stopped by its owner.") {
		t.Fatal(r.status, r.body[:300])
	}
}

func TestStream(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.PingInterval = 20 * time.Millisecond })
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor flight { departure { gate } } changes { type to } } }`, "variables": legVariable()})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Fatal(got)
	}
	lines := bufio.NewScanner(resp.Body)
	pings := 0
	nextEvent := func() (event, data string) {
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == ":":
				pings++
			case strings.HasPrefix(line, "event: "):
				event = line[7:]
			case strings.HasPrefix(line, "data:"):
				return event, strings.TrimSpace(line[5:])
			}
		}
		t.Fatal("the stream ended:", lines.Err())
		return "", ""
	}
	if event, data := nextEvent(); event != "next" || !strings.Contains(data, `"gate":"B1"`) || !strings.Contains(data, `"changes":[]`) {
		t.Error(event, data)
	}
	for pings < 3 {
		lines.Scan()
		pings += len(lines.Text())
	}
	g.move("C1")
	if event, data := nextEvent(); event != "next" || !strings.Contains(data, `{"type":"DEPARTURE_GATE_CHANGED","to":"C1"}`) {
		t.Error(event, data)
	}
	leave()
	eventually(t, "the end of the stream", func() bool {
		return len(g.r.live.legs.ids()) == 0
	})

	// A query, and a document that is wrong, come and complete.
	for query, want := range map[string]string{`{ __typename }`: `{"data":{"__typename":"Query"}}`, `{ nosuch }`: `GRAPHQL_VALIDATION_FAILED`} {
		body, _ := json.Marshal(map[string]any{"query": query})
		resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(all), want) || !strings.HasSuffix(string(all), "event: complete\ndata:\n\n") {
			t.Errorf("%s: %s %v", query, all, err)
		}
	}
}

// Changes that come at once are events of their own, each whole: the executor
// writes one response over the other.
func TestStreamOfMany(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	first := next(t, g.follow(g.ctx, nil))
	var want []string
	for i := range 30 {
		gate := strings.Repeat("X", i%3) + "Y" + strconv.Itoa(i)
		g.move(gate)
		want = append(want, gate)
	}
	variables := legVariable()
	variables["after"] = first.Cursor
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!, $after: String) { flightChanged(leg: $leg, after: $after) { changes { to } } }`, "variables": variables})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got []string
	for lines := bufio.NewScanner(resp.Body); len(got) < len(want) && lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var event struct {
			Data struct {
				FlightChanged struct{ Changes []struct{ To string } }
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil || len(event.Data.FlightChanged.Changes) != 1 {
			t.Fatal(data, err)
		}
		got = append(got, event.Data.FlightChanged.Changes[0].To)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestStop: streams end when the process wants to.
func TestStop(t *testing.T) {
	g := sqliteRig(t, nil)
	stop, stopNow := context.WithCancel(t.Context())
	s := g.serve(func(c *HandlerConfig) { c.Context = stop })
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor } }`, "variables": legVariable()})
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	stopNow()
	all, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(all), "complete") {
		t.Errorf("%s %v", all, err)
	}
}
