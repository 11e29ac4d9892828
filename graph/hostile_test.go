package graph

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/99designs/gqlgen/graphql"
)

// introspectionQuery is the one that tools send (graphql-js 16,
// getIntrospectionQuery).
const introspectionQuery = `query IntrospectionQuery { __schema {
	queryType { name } mutationType { name } subscriptionType { name }
	types { ...FullType } directives { name description isRepeatable locations args { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL
	fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
	inputFields { ...InputValue } interfaces { ...TypeRef }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } }`

// hostileTime is what one document may take on a machine that is busy with
// other tests, under the race detector. Alone each takes a small part of it.
const hostileTime = 20 * time.Second

// bomb is a chain of fragments each of which spreads the next one twice: the
// last one stands for 2^n fields.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(`{ flight(leg: {carrier: "AA", flightNumber: "100", date: "` + today + `"}) { ...F0 } }`)
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on FlightSnapshot { ...F%d ...F%d }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on FlightSnapshot { date }", n)
	return b.String()
}

// deepFields nests fields n deep, in the one place where the schema goes round.
func deepFields(n int) string {
	fields := []string{`flight(leg: {carrier: "AA", flightNumber: "100", date: "` + today + `"})`}
	for len(fields) < n-1 {
		fields = append(fields, "history(first: 1)", "edges", "node", "flight")
	}
	return "{ " + strings.Join(fields[:n-1], " { ") + " { __typename " + strings.Repeat("}", n)
}

// deepFragments is deep by fragments, each of which is not.
func deepFragments(n int) string {
	var b strings.Builder
	b.WriteString(`{ flight(leg: {carrier: "AA", flightNumber: "100", date: "` + today + `"}) { ...F0 } }`)
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on FlightSnapshot { history(first: 1) { edges { node { flight { ...F%d } } } } }", i, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on FlightSnapshot { date }", n)
	return b.String()
}

// overlapping is n fragments that are all to be merged with each other, and
// cannot be.
func overlapping(n int) string {
	var b strings.Builder
	b.WriteString("{ ")
	for i := range n {
		fmt.Fprintf(&b, "...F%d ", i)
	}
	b.WriteString("}")
	for i := range n {
		fmt.Fprintf(&b, ` fragment F%d on Query { a: subscription(id: "%d") { id b: status } }`, i, i)
	}
	return b.String()
}

// TestHostile: each is refused in bounded time, with a code.
func TestHostile(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	aliases := func(n int, field string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d: %s ", i, field)
		}
		return "{ " + b.String() + "}"
	}
	oneFlight := `flight(leg: {carrier: "AA", flightNumber: "100", date: "` + today + `"}) { timeline { title source } codeshares { name } alternates { carrier departureIata } }`
	for _, c := range []struct{ name, query, code string }{
		{"fragment bomb", bomb(60), "COST_LIMIT_EXCEEDED"},
		{"longer fragment bomb", bomb(120), "COST_LIMIT_EXCEEDED"},
		{"fragment cycle", `{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }`, "GRAPHQL_VALIDATION_FAILED"},
		{"tokens", aliases(1000, "__typename"), "GRAPHQL_PARSE_FAILED"},
		{"deep nesting", strings.Repeat("{a", 3000), "GRAPHQL_PARSE_FAILED"},
		{"deep list value", `{ flight(leg: ` + strings.Repeat("[", 1900) + `) { date } }`, "GRAPHQL_PARSE_FAILED"},
		{"schema aliases", aliases(60, `__schema { types { fields { args { type { name } } type { name } } } }`), "COST_LIMIT_EXCEEDED"},
		{"deep introspection", `{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }`, "GRAPHQL_VALIDATION_FAILED"},
		{"subscription aliases", aliases(8, `subscriptions(limit: 200) { data { `+strings.Repeat("id ", 20)+`} }`), "COST_LIMIT_EXCEEDED"},
		{"two streams", `subscription { a: flightChanged(leg: {carrier:"AA",flightNumber:"1",date:"2026-01-01"}) { cursor } b: flightChanged(leg: {carrier:"AA",flightNumber:"1",date:"2026-01-01"}) { cursor } }`, "GRAPHQL_VALIDATION_FAILED"},
		{"stream of nothing", `subscription { __typename }`, "GRAPHQL_VALIDATION_FAILED"},
		{"deep fields", deepFields(21), "DEPTH_LIMIT_EXCEEDED"},
		{"deep fragments", deepFragments(30), "DEPTH_LIMIT_EXCEEDED"},
		{"one name twice", `query A { __typename } query A { __typename }`, "GRAPHQL_VALIDATION_FAILED"},
		{"many operations", strings.Repeat("query A { __typename } ", 390), "GRAPHQL_VALIDATION_FAILED"},
		{"many directives", `{ __typename ` + strings.Repeat(`@skip(if: false) `, 280) + `}`, "GRAPHQL_VALIDATION_FAILED"},
		{"many variables", `query(` + strings.Repeat(`$a: Int `, 490) + `) { __typename }`, "GRAPHQL_VALIDATION_FAILED"},
		{"fields that overlap", "{ " + strings.Repeat(`subscription(id: "x") { id } `, 150) + strings.Repeat(`subscription(id: "y") { id } `, 30) + "}", "GRAPHQL_VALIDATION_FAILED"},
		{"fragments that overlap", overlapping(60), "GRAPHQL_VALIDATION_FAILED"},
		{"deferred", `{ ... @defer { __typename } }`, "GRAPHQL_VALIDATION_FAILED"},
		{"long names", `{ ` + strings.Repeat("x", 20_000) + ` }`, "GRAPHQL_VALIDATION_FAILED"},
	} {
		start := time.Now()
		r := post(t, s.URL, c.query, nil)
		if took := time.Since(start); took > hostileTime {
			t.Errorf("%s took %v", c.name, took)
		}
		if r.code() != c.code || len(r.body) > 20_000 || r.Data != nil {
			t.Errorf("%s: %d %.400s", c.name, r.status, r.body)
		}
	}
	if n := g.source.calls.Load(); n != 0 {
		t.Errorf("%d upstream calls", n)
	}
	// What a dashboard asks is well within.
	if r := post(t, s.URL, aliases(30, oneFlight), nil); len(r.Errors) > 0 || g.source.calls.Load() != 1 {
		t.Error(r.body)
	}
}

// TestHostileBodies: what is no document, or is wrong in its variables, is
// refused in bounded time, in a few words.
func TestHostileBodies(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	const create = `"query":"mutation($in: CreateSubscriptionInput!) { createSubscription(input: $in) { id } }"`
	input := func(more string) string {
		return `{` + create + `,"variables":{"in":{"carrier":"AA","flightNumber":"100","date":"` + today + `","webhookUrl":"https://example.com",` + more + `}}}`
	}
	for _, c := range []struct {
		name, body, code string
		status           int
	}{
		{"malformed UTF-8", "{\"query\":\"{ \xff\xfe }\"}", "GRAPHQL_PARSE_FAILED", 200},
		{"malformed UTF-8 in a string", "{\"query\":\"{ subscription(id: \\\"\xc0\xaf\\\") { id } }\"}", "SUBSCRIPTION_NOT_FOUND", 200},
		{"half a surrogate", `{"query":"{ subscription(id: \"\ud800\") { id } }"}`, "SUBSCRIPTION_NOT_FOUND", 200},
		{"NUL", "{\"query\":\"{\\u0000}\"}", "GRAPHQL_PARSE_FAILED", 200},
		{"deep variables", `{"query":"query($x: JSON) { __typename }","variables":{"x":` + strings.Repeat("[", 15_000), "INVALID_REQUEST", 400},
		{"deep variables, closed", `{"query":"{ __typename }","variables":{"x":` + strings.Repeat("[", 15_000) + strings.Repeat("]", 15_000) + `}}`, "INVALID_REQUEST", 400},
		{"deep metadata", input(`"metadata":` + strings.Repeat(`{"a":`, 9_000) + `1` + strings.Repeat("}", 9_000)), "INVALID_REQUEST", 200},
		{"a huge list", input(`"events":[` + strings.Repeat(`"FLIGHT_DEPARTED",`, 3_000) + `"X"]`), "GRAPHQL_VALIDATION_FAILED", 200},
		{"a huge number", `{"query":"query($n: Int!) { subscriptions(limit: $n) { total } }","variables":{"n":1` + strings.Repeat("0", 50_000) + `}}`, "GRAPHQL_VALIDATION_FAILED", 200},
		{"many variables", `{"query":"{ __typename }","variables":{` + strings.Repeat(`"a":1,`, 9_000) + `"a":1}}`, "", 200},
		{"a giant id", `{"query":"query($id: ID!) { subscription(id: $id) { id } }","variables":{"id":"` + strings.Repeat("x", 60_000) + `"}}`, "SUBSCRIPTION_NOT_FOUND", 200},
		{"a batch", "[" + strings.Repeat(`{"query":"{ __typename }"},`, 1_000) + `{"query":"{ __typename }"}]`, "INVALID_REQUEST", 400},
		{"a bomb in a batch of one", `[{"query":"{ __typename }"}]`, "INVALID_REQUEST", 400},
	} {
		start := time.Now()
		r := do(t, request(t, "POST", s.URL, c.body))
		if took := time.Since(start); took > hostileTime {
			t.Errorf("%s took %v", c.name, took)
		}
		got, _ := r.code().(string)
		if r.status != c.status || got != c.code || len(r.body) > 2_000 {
			t.Errorf("%s: %d %.400s", c.name, r.status, r.body)
		}
	}
}

// TestTimeout: a query that takes too long is answered, with what it has and
// why the rest is missing.
func TestTimeout(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.Timeout = 50 * time.Millisecond })
	gate, came := make(chan struct{}), make(chan struct{}, 10)
	g.source.mu.Lock()
	g.source.gate, g.source.came = gate, came
	g.source.mu.Unlock()
	defer close(gate)
	r := post(t, s.URL, `query($leg: LegInput!) { quick: __typename flight(leg: $leg) { date } }`, legVariable())
	<-came
	if r.status != 200 || r.code() != "TIMEOUT" || len(r.Errors) != 1 || len(r.Errors[0].Path) != 1 {
		t.Error(r.status, r.body)
	}
}

func reckon(t *testing.T, query string, variables map[string]any) (int, time.Duration) {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(schema(), query, nil)
	if errs != nil {
		t.Fatal(errs)
	}
	c := newCostLimit(schema(), -1) // refuses everything, and says the price
	start := time.Now()
	err := c.MutateOperationContext(t.Context(), &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0], Variables: variables})
	return err.Extensions["cost"].(int), time.Since(start)
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		query     string
		variables map[string]any
		cost      int
	}{
		{`{ __typename }`, nil, 1},
		{`{ flight(leg: {carrier: "AA", flightNumber: "1", date: "2026-11-21"}) { history(first: 7) { totalCount edges { cursor node { held } } } } }`, nil, 50 + 20 + 7*(1+1+1+1+1)},
		{`{ subscriptions { total } }`, nil, 20 + 50},
		{`{ subscriptions(limit: 200) { data { id status } } }`, nil, 20 + 200*(1+2)},
		{`query($n: Int!) { subscriptions(limit: $n) { data { id } } }`, map[string]any{"n": int64(10)}, 20 + 10*2},
		{`{ subscriptions(limit: -5) { total } }`, nil, 20 + 1},
		{`{ subscription(id: "x") { events } }`, nil, 10 + 1},
		{`{ subscriptionsConnection { totalCount } }`, nil, 20 + 50},
		{`{ subscriptionsConnection(last: 7, first: null) { edges { node { id } } } }`, nil, 20 + 7*(1+1+1)},
		{`query($n: Int) { subscriptionsConnection(first: $n) { edges { cursor } } }`, map[string]any{"n": int64(900)}, 20 + 200*(1+1)},
		{`query($l: [LegInput!]!) { flights(legs: $l) { flight { date } error { code } } }`, map[string]any{"l": []any{1, 2, 3}}, 10 + 3*(50+1+1+1)},
		{`{ flights(legs: {carrier: "AA", flightNumber: "1", date: "2026-11-21"}) { error { code } } }`, nil, 10 + 2},
		{`{ a: __schema { description } b: __schema { description } }`, nil, 202},
		{`{ subscription(id: "x") { ...F ... on FlightSubscription { id } } } fragment F on FlightSubscription { id status }`, nil, 10 + 3},
	} {
		if got, _ := reckon(t, c.query, c.variables); got != c.cost {
			t.Errorf("%s costs %d, want %d", c.query, got, c.cost)
		}
	}
	if got, _ := reckon(t, introspectionQuery, nil); got > 20_000 {
		t.Errorf("tools' introspection costs %d", got)
	}
}

// TestCostIsLinear: a chain of n fragments stands for 2^n fields and is priced
// in n steps, at the greatest integer once that is passed.
func TestCostIsLinear(t *testing.T) {
	if got, _ := reckon(t, bomb(10), nil); got != 50+1024 {
		t.Errorf("2^10 fields cost %d", got)
	}
	cost, took := reckon(t, bomb(400), nil)
	if cost != int(^uint(0)>>1) || took > time.Second {
		t.Errorf("2^400 fields cost %d, reckoned in %v", cost, took)
	}
}

// TestPricesAreOfFields: a price of something that is not in the schema is a
// mistake.
func TestPricesAreOfFields(t *testing.T) {
	for name := range prices {
		typ, field, _ := strings.Cut(name, ".")
		d := schema().Types[typ]
		if d == nil || d.Fields.ForName(field) == nil && !strings.HasPrefix(field, "__") {
			t.Errorf("there is no %s", name)
		}
	}
	for _, d := range schema().Types {
		for _, f := range d.Fields {
			if d.Kind == ast.Object && d == schema().Query && !strings.HasPrefix(f.Name, "__") && prices[d.Name+"."+f.Name].own < 10 {
				t.Errorf("%s.%s has no price", d.Name, f.Name)
			}
		}
	}
}
