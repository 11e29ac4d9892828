package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// pair is both interfaces over the same use cases.
type pair struct {
	*rig
	graph  http.Handler
	days   int // after the epoch, of the latest flight that arrived
	schema *ast.Schema
}

// outcome is what an interface has answered.
type outcome struct {
	code  string // of a failure
	facts any    // of the answer, or what the failure carries
}

func (o outcome) String() string {
	text, _ := json.MarshalIndent(o.facts, "", "  ") // of decoded JSON
	return o.code + " " + string(text)
}

// prepare returns the fields with ids that are what they ask for.
func (p *pair) prepare(t *testing.T, in fields) fields {
	t.Helper()
	in = p.subscription(t, in)
	for _, name := range []string{"eventId", "after"} {
		if in[name] == first {
			in = in.with(name, p.firstEvent(t, in["id"].(string)))
		}
	}
	return in
}

// subscription returns the fields with the id of a subscription.
func (p *pair) subscription(t *testing.T, in fields) fields {
	t.Helper()
	create := func(key string, pairs ...any) string {
		got := p.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(append(pairs, "secret", ownSecret)...), key: key})
		got.want(t, 201, "")
		var s struct{ ID string }
		got.decode(t, &s)
		return s.ID
	}
	switch in["id"] {
	case fresh:
		return in.with("id", create(""))
	case alien:
		return in.with("id", create(p.other))
	case paused:
		id := create("")
		p.do(t, request{method: "POST", path: "/v1/subscriptions/" + id + "/pause"}).want(t, 201, "")
		return in.with("id", id)
	case trimmed:
		return in.with("id", p.trimmed(t))
	case completed, logged:
		p.days++
		date := epoch.AddDate(0, 0, p.days).Format(time.DateOnly)
		p.world.arrived.Store(false)
		id := create("", "flightNumber", arriving, "date", date)
		p.world.arrived.Store(true)
		p.do(t, request{path: "/v1/flights/AA/" + arriving + "/" + date + "?refresh"}).want(t, 200, "")
		if in["id"] == logged {
			p.attempt(t, id)
		}
		return in.with("id", id)
	}
	return in
}

// attempt delivers what waits for a subscription: the first event at the
// second attempt, the next one not at all, and the third is under way.
func (p *pair) attempt(t *testing.T, id string) {
	t.Helper()
	verdicts := []flight.DeliveryStatus{flight.DeliveryRetrying, flight.DeliverySucceeded, flight.DeliveryFailed}
	for len(verdicts) > 0 {
		attempts, err := dbtest.ClaimEvents(t.Context(), p.DB, 100, time.Nanosecond)
		if err != nil || len(attempts) == 0 {
			t.Fatal("nothing to deliver", err)
		}
		// A retry and the next in line are due at the same moment.
		slices.SortFunc(attempts, func(a, b db.Attempt) int { return strings.Compare(a.EventID, b.EventID) })
		var results []db.Result
		for _, a := range attempts {
			r := db.Result{Attempt: a, Status: flight.DeliverySucceeded, StatusCode: 200, AttemptedAt: p.DB.Now()}
			if a.SubscriptionID == id {
				r.Status, verdicts = verdicts[0], verdicts[1:]
				if r.Latency = 20 * time.Millisecond; r.Status == flight.DeliveryRetrying {
					r.StatusCode, r.Error = 0, "no answer in time <&>"
				} else {
					r.ResponseBody = "thanks <&>"
				}
			}
			results = append(results, r)
		}
		if _, err := p.DB.RecordResults(t.Context(), results); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the first of them dies
		if _, err := dbtest.ClaimEvents(t.Context(), p.DB, 100, time.Nanosecond); err != nil {
			t.Fatal(err)
		}
	}
}

// overREST makes the call of an operation.
func (p *pair) overREST(t *testing.T, op operation, in fields, key string) outcome {
	t.Helper()
	method, path, _ := strings.Cut(op.route, " ")
	left := in
	for name, v := range in {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(v)))
			left, _ = left.apart(name)
		}
	}
	q := request{method: method, path: path, key: key}
	if k, ok := left["idempotencyKey"].(string); ok {
		left, _ = left.apart("idempotencyKey")
		q.header = http.Header{"Idempotency-Key": {k}}
	}
	if op.body {
		q.body = string(encode(t, left))
	} else {
		q.path += "?" + left.query()
	}
	got := p.do(t, q)
	if got.status == http.StatusNoContent {
		return outcome{facts: "ID"} // of the one that is gone
	}
	var body map[string]any
	decode(t, got.body, in, &body)
	if got.status < 300 {
		return outcome{facts: body}
	}
	code, _ := body["code"].(string)
	return failure(code, body["message"], body)
}

// overGraphQL makes the same call with everything selected, and returns the
// outcome as REST would spell it.
func (p *pair) overGraphQL(t *testing.T, op operation, in fields, key string) outcome {
	t.Helper()
	body := encode(t, map[string]any{"query": p.document(op), "variables": toGraphQL("", op.variables(in))})
	req := httptest.NewRequest("POST", "/", bytes.NewReader(body)).WithContext(t.Context())
	req.Header.Set("Content-Type", "application/json")
	switch key {
	case "":
		req.Header.Set("X-Api-Key", p.key)
	case "-":
	default:
		req.Header.Set("X-Api-Key", key)
	}
	w := httptest.NewRecorder()
	p.graph.ServeHTTP(w, req)
	var got struct {
		Data   map[string]any
		Errors []struct {
			Message    string
			Extensions map[string]any
		}
	}
	decode(t, w.Body.Bytes(), in, &got)
	switch {
	case len(got.Errors) == 0:
		return outcome{facts: toREST("", got.Data[op.field])}
	case len(got.Errors) > 1:
		t.Fatalf("several errors: %s", w.Body)
	}
	x, _ := toREST("", got.Errors[0].Extensions).(map[string]any)
	code, _ := x["code"].(string)
	return failure(strings.ToLower(code), got.Errors[0].Message, x)
}

// failure is the outcome of what has failed. Our own faults are told in other
// words, because only REST has the request's id in the body.
func failure(code string, message any, body map[string]any) outcome {
	facts := map[string]any{"message": message}
	for _, name := range []string{"fields", "legs", "status", "retryAfterSeconds", "limit", "used", "resetsAt"} {
		if v := body[name]; v != nil {
			facts[name] = v
		}
	}
	if code == string(flight.CodeInternal) {
		delete(facts, "message")
	}
	return outcome{code, facts}
}

// document is an operation on a field of Query or Mutation, with every
// argument a variable, and everything selected but what has arguments itself.
func (p *pair) document(op operation) string {
	kind, f := "query", p.schema.Query.Fields.ForName(op.field)
	if f == nil {
		kind, f = "mutation", p.schema.Mutation.Fields.ForName(op.field)
	}
	var variables []string
	call := func(f *ast.FieldDefinition, selected string) string {
		var arguments []string
		for _, a := range f.Arguments {
			v := "$" + a.Name + ": " + a.Type.String()
			if a.DefaultValue != nil {
				v += " = " + a.DefaultValue.String()
			}
			variables, arguments = append(variables, v), append(arguments, a.Name+": $"+a.Name)
		}
		return fmt.Sprintf("%s(%s) %s", f.Name, strings.Join(arguments, ", "), selected)
	}
	selected := p.everything(f.Type)
	if op.below != "" {
		below := p.schema.Types[f.Type.Name()].Fields.ForName(op.below)
		selected = "{ " + call(below, p.everything(below.Type)) + " }"
	}
	body := call(f, selected)
	return fmt.Sprintf("%s(%s) { %s }", kind, strings.Join(variables, ", "), body)
}

func (p *pair) everything(t *ast.Type) string {
	var names []string
	for _, f := range p.schema.Types[t.Name()].Fields {
		if provenance := t.Name() == "FlightSnapshot" && (f.Name == "stale" || f.Name == "source"); len(f.Arguments) == 0 && !provenance { // of that, REST has fetchedAt
			names = append(names, f.Name+" "+p.everything(f.Type))
		}
	}
	if names == nil {
		return ""
	}
	return "{ " + strings.Join(names, " ") + " }"
}

// toGraphQL spells enums as GraphQL does.
func toGraphQL(name string, v any) any {
	switch v := v.(type) {
	case fields:
		out := fields{}
		for name, v := range v {
			out[name] = toGraphQL(name, v)
		}
		return out
	case []string: // events
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = strings.ReplaceAll(strings.ToUpper(s), ".", "_")
		}
		return out
	case string:
		if name == "status" {
			return strings.ToUpper(v)
		}
	}
	return v
}

// toREST spells enums as REST does, and leaves out what is null.
func toREST(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if name == "metadata" || name == "headers" { // the client's own
			return v
		}
		out := map[string]any{}
		for name, v := range v {
			if v != nil {
				out[name] = toREST(name, v)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = toREST(name, v[i])
		}
		return out
	case string:
		dotted := flight.ChangeType(strings.ReplaceAll(strings.ToLower(v), "_", "."))
		switch {
		case name == "phase" || name == "status":
			return strings.ToLower(v)
		case name == "type" || name == "eventType":
			return string(dotted)
		case name == "events" && slices.Contains(flight.ChangeTypes, dotted) && v == strings.ToUpper(v):
			return string(dotted)
		}
	}
	return v
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode reads an answer to a call. The id that was asked for is ID in it.
func decode(t *testing.T, text []byte, in fields, into any) {
	t.Helper()
	if id, _ := in["id"].(string); strings.HasPrefix(id, "sub_") {
		text = bytes.ReplaceAll(text, []byte(id), []byte("ID"))
	}
	if id, _ := in["eventId"].(string); strings.HasPrefix(id, "evt_") {
		text = bytes.ReplaceAll(text, []byte(id), []byte("EVENT"))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
