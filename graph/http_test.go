package graph

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

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
