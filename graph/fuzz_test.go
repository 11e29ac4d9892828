package graph

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

// fuzzHandler is the endpoint over an embedded database and one flight.
func fuzzHandler(f *testing.F) http.Handler {
	d, redis := dbtest.SQLite(f), dbtest.EmbeddedRedis(f)
	source := new(script)
	source.say(leg("100", "JFK", "LHR"))
	client := jobs.NewClient(redis)
	intake := jobs.NewIntake(jobs.IntakeConfig{DB: d, Client: client, Providers: []jobs.Provider{{Source: source}}})
	r := New(ResolverConfig{DB: d, Intake: intake, Client: client, Process: "test", LegacyPrefix: "legacy"})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	f.Cleanup(func() { stop(); running.Wait() })
	k, err := d.CreateKey(f.Context(), db.Operator, "acme", "unlimited", "k1", strings.Repeat("0", 64))
	if err != nil {
		f.Fatal(err)
	}
	return NewHandler(r, HandlerConfig{Auth: keyring{k.Account}})
}

// answered fails the test unless a body is a GraphQL response without a fault
// of ours.
func answered(t *testing.T, status int, body []byte) {
	t.Helper()
	if !utf8.Valid(body) || status >= 500 {
		t.Fatalf("%d %q", status, body)
	}
	responses := [][]byte{body}
	if strings.HasPrefix(string(body), "event: ") || strings.HasPrefix(string(body), ":") { // a stream
		responses = nil
		for line := range strings.SplitSeq(string(body), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
				responses = append(responses, []byte(data))
			}
		}
	}
	for _, text := range responses {
		var resp struct {
			Data   json.RawMessage
			Errors []struct {
				Message    string
				Extensions struct{ Code string }
			}
		}
		if err := json.Unmarshal(text, &resp); err != nil || resp.Data == nil && resp.Errors == nil || len(resp.Errors) > maxErrors {
			t.Fatalf("%d %v: %s", status, err, text)
		}
		for _, e := range resp.Errors {
			if e.Extensions.Code == "INTERNAL" || e.Message == "" {
				t.Errorf("%d: %s", status, text)
			}
		}
	}
}

var operations = []string{
	`{ __typename }`, `query Q { a: __typename ...F } fragment F on Query { b: __typename }`, `query A { __typename } query B { __typename }`, `{`, `{ nothing }`, "",
	`query($leg: LegInput!) { flight(leg: $leg, refresh: false) { flightKey status { phase } departure { times { scheduledGate { utc } } } } }`,
	`{ flight(leg: {carrier: "AA", flightNumber: "100", date: "2026-11-21", origin: "JFK"}) { timeline { title } } }`,
	`{ subscriptions(filter: {status: ACTIVE, carrier: "aa"}, offset: 0, limit: 50) { total data { id secret metadata headers } } }`,
	`mutation { createSubscription(input: {carrier: "AA", flightNumber: "7", date: "2027-01-01", webhookUrl: "https://example.com", headers: {A: "b"}, metadata: {a: [1, 2.5, null]}, events: [STATUS_CHANGED]}) { id } }`,
	`mutation { deleteSubscription(id: "sub_1") a: pauseSubscription(id: "sub_\u0000") { id } }`,
	`subscription { flightChanged(leg: {carrier: "AA", flightNumber: "100", date: "2026-11-21"}, after: "!!") { cursor } }`,
	`{ countries(lang: "de") { code name } country(code: "is") { emoji } }`, `{ __schema { types { name fields { name } } } }`,
	`query($a: Int = 99999999999) { subscriptions(offset: $a, limit: -1) { total } }`, `{ __type(name: "\ud800") { name } }`,
}

var variables = []string{``, `{"leg":{"carrier":"AA","flightNumber":"100","date":"2026-11-21"}}`, `{"leg":null}`, `{"leg":{"carrier":1e400}}`, `[]`, `{"leg":{"carrier":["AA"],"x":{}}}`}

// Whatever body is posted, the answer is a GraphQL response.
func FuzzPost(f *testing.F) {
	for i, query := range operations {
		body, err := json.Marshal(map[string]any{"query": query, "variables": json.RawMessage(or(variables[i%len(variables)], "null"))})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, s := range []string{`[]`, `null`, `{"query":1}`, `{"query":"{ __typename }"}{}`, `{"query":"{ __typename }","operationName":null,"extensions":{"a":1}}`, "\xff"} {
		f.Add([]byte(s))
	}
	h := fuzzHandler(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		req := httptest.NewRequest("POST", "/graphql", strings.NewReader(string(body)))
		req.Header = http.Header{"X-Api-Key": {goodKey}, "Content-Type": {"application/json"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		answered(t, w.Code, w.Body.Bytes())
	})
}

// Whatever stands in the URL of a GET, and whatever is accepted, the answer is
// a GraphQL response, and nothing has been changed.
func FuzzGet(f *testing.F) {
	for i, query := range operations {
		f.Add("query="+strings.NewReplacer(" ", "+", "&", "%26", "#", "%23").Replace(query)+"&variables="+variables[i%len(variables)], "application/graphql-response+json, */*;q=0.1")
	}
	f.Add("query=%zz", "application/json")
	f.Add("query=%ff&operationName=%00", ";;;")
	f.Add("query={__typename}&extensions=1", "application/graphql-response+json;q=0")
	h := fuzzHandler(f)
	f.Fuzz(func(t *testing.T, raw, accept string) {
		if strings.Contains(accept, "html") || strings.Contains(strings.ToLower(accept), "event-stream") { // the explorer, and what does not end
			return
		}
		req := httptest.NewRequest("GET", "/graphql", nil)
		req.URL.RawQuery = raw
		req.Header = http.Header{"X-Api-Key": {goodKey}, "Accept": {accept}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		answered(t, w.Code, w.Body.Bytes())
		if strings.Contains(w.Body.String(), `"createSubscription":{`) {
			t.Errorf("a GET made a subscription: %s", w.Body)
		}
	})
}

// Whatever messages come over a websocket, each line one, it goes on or is
// closed with a code of the protocol.
func FuzzSocket(f *testing.F) {
	init := `{"type":"connection_init","payload":{"x-api-key":"` + goodKey + `"}}`
	for _, query := range operations {
		payload, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(init + "\n" + `{"id":"1","type":"subscribe","payload":` + string(payload) + `}`)
	}
	for _, s := range []string{
		init + "\n" + init, `{"type":"connection_init"}`, `{"type":"connection_init","payload":{"Authorization":"Bearer x"}}`, `{"type":"ping","payload":{"n":1}}`, `{"type":"pong"}`,
		`{"id":"1","type":"subscribe"}`, init + "\n" + `{"id":"","type":"subscribe","payload":{}}`, init + "\n" + `{"id":"1","type":"complete"}`, `[]`, `{"type":"x"}`, "\x00",
		init + "\n" + `{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":[]}}`, `{"type":"connection_init","payload":{"\r\n":"a","x-api-key":"` + goodKey + `"}}`,
	} {
		f.Add(s)
	}
	s := httptest.NewServer(fuzzHandler(f))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, lines string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		conn, _, err := websocket.Dial(ctx, s.URL, &websocket.DialOptions{Subprotocols: []string{subprotocol}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(8 << 20)
		for line := range strings.SplitSeq(lines, "\n") {
			if conn.Write(ctx, websocket.MessageText, []byte(line)) != nil {
				break // closed meanwhile: the reader says why
			}
		}
		_ = conn.Write(ctx, websocket.MessageText, []byte(`{"type":"ping","payload":{"end":true}}`))
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				if code := websocket.CloseStatus(err); ctx.Err() != nil || code != websocket.StatusInvalidFramePayloadData && (code < 4400 || code > 4499) {
					t.Errorf("closed with %d, %v", code, err)
				}
				return
			}
			var m message
			if json.Unmarshal(text, &m) != nil {
				t.Fatalf("%s", text)
			}
			if m.Type == "next" {
				answered(t, 200, m.Payload)
			}
			if m.Type == "pong" && string(m.Payload) == `{"end":true}` {
				return
			}
		}
	})
}

// Whatever scalars come in as variables, they are taken or refused: a value of
// another type is never made into one that was not meant.
func FuzzScalars(f *testing.F) {
	for _, s := range []string{`"2026-11-21"`, `1`, `-1.5`, `1e400`, `true`, `null`, `[]`, `{"a":"b"}`, `"STATUS_CHANGED"`, `99999999999`, `"\ud800"`, `{"a":1}`, `"completed"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if !decode(text, &v) {
			return
		}
		if n, err := UnmarshalInt(v); err == nil && (int64(n) > 1<<31-1 || int64(n) < -1<<31) {
			t.Errorf("%s is the Int %d", text, n)
		}
		if s, err := UnmarshalString(t.Context(), v); err == nil && v != nil && s != v {
			t.Errorf("%s is the String %q", text, s)
		}
		if s, err := UnmarshalDate(v); err == nil && v != nil && s != v {
			t.Errorf("%s is the Date %q", text, s)
		}
		if raw, err := UnmarshalRawJSON(v); err == nil && v != nil && !json.Valid(raw) {
			t.Errorf("%s is the JSON %q", text, raw)
		}
		var at flight.Time
		if err := at.UnmarshalGQL(v); err == nil && at.Known() && len(at.String()) != len("2026-11-21T00:00:00.000Z") {
			t.Errorf("%s is the time %s", text, at)
		}
	})
}
