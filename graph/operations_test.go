package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

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
