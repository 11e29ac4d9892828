package rest_test

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/graph"
	"github.com/flightwire/flightwire/rest"
)

// fields are the input of a call, under the names that both interfaces give
// them and as REST spells their values.
type fields map[string]any

// with returns the fields with others replaced or added.
func (f fields) with(pairs ...any) fields {
	f = maps.Clone(f)
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i].(string)] = pairs[i+1]
	}
	return f
}

// apart returns the fields without those that are named, and those.
func (f fields) apart(names ...string) (others, named fields) {
	others, named = fields{}, fields{}
	for name, v := range f {
		if slices.Contains(names, name) {
			named[name] = v
		} else {
			others[name] = v
		}
	}
	return others, named
}

func (f fields) query() string {
	q := url.Values{}
	for name, v := range f {
		q.Set(name, fmt.Sprint(v))
	}
	return q.Encode()
}

// operation is a thing that can be done over either interface. In the path of
// the route the fields stand for themselves; what is not there is the query,
// or the body of what has one.
type operation struct {
	route     string
	body      bool
	field     string                                   // of the GraphQL type Query or Mutation
	below     string                                   // a field of FlightSubscription that has arguments too
	variables func(in fields) fields                   // its arguments
	facts     func(overREST, overGraph any) (any, any) // what to compare; nil: all
	changes   bool                                     // either interface needs a subscription of its own
}

func asLeg(in fields) fields {
	leg, args := in.apart("refresh")
	return args.with("leg", leg)
}

func asIs(in fields) fields { return in }

// whatever leaves out what two subscriptions do not share.
func whatever(overREST, overGraph any) (any, any) {
	return without(overREST, overGraph, "id", "createdAt", "updatedAt")
}

// otherwise is whatever of subscriptions to two flights.
func otherwise(overREST, overGraph any) (any, any) {
	return without(overREST, overGraph, "id", "createdAt", "updatedAt", "date", "flightKey")
}

// otherEvents leaves out what the events of two subscriptions do not share.
func otherEvents(overREST, overGraph any) (any, any) {
	return without(overREST, overGraph, "id", "createdAt", "flightKey")
}

func without(overREST, overGraph any, names ...string) (any, any) {
	left := func(facts any) any {
		others, _ := fields(facts.(map[string]any)).apart(names...)
		return others
	}
	return left(overREST), left(overGraph)
}

// logs leaves out the offset, which is of lists in general and only in REST.
func logs(overREST, overGraph any) (any, any) {
	others, offset := fields(overREST.(map[string]any)).apart("offset")
	if fmt.Sprint(offset) != "map[offset:0]" {
		return overREST, nil
	}
	for _, log := range overGraph.(map[string]any) { // the one that was asked for
		return map[string]any(others), log
	}
	return overREST, overGraph
}

// shapes compares what is made anew by its beginning and its length.
func shapes(overREST, overGraph any) (any, any) {
	shape := func(facts any) any {
		out := map[string]any{}
		for name, v := range facts.(map[string]any) {
			text := v.(string)
			out[name] = fmt.Sprintf("%.4s… %d", text, len(text))
		}
		return out
	}
	return shape(overREST), shape(overGraph)
}

var operations = map[string]operation{
	"countries": {route: "GET /v1/countries", field: "countries", variables: asIs, facts: func(overREST, overGraph any) (any, any) {
		return overREST.(map[string]any)["data"], overGraph
	}},
	"country": {route: "GET /v1/countries/{code}", field: "country", variables: asIs},
	"search":  {route: "GET /v1/flights/search", field: "flight", variables: asLeg},
	"get":     {route: "GET /v1/flights/{carrier}/{flightNumber}/{date}", field: "flight", variables: asLeg},
	"timeline": {route: "GET /v1/flights/{carrier}/{flightNumber}/{date}/timeline", field: "flight", variables: asLeg,
		facts: func(overREST, overGraph any) (any, any) {
			return overREST.(map[string]any)["data"], overGraph.(map[string]any)["timeline"]
		}},
	"create": {route: "POST /v1/subscriptions", body: true, field: "createSubscription", changes: true, facts: whatever,
		variables: func(in fields) fields {
			input, args := in.apart("idempotencyKey")
			return args.with("input", input)
		}},
	"list": {route: "GET /v1/subscriptions", field: "subscriptions", variables: func(in fields) fields {
		filter, args := in.apart("offset", "limit")
		return args.with("filter", filter)
	}},
	"read":   {route: "GET /v1/subscriptions/{id}", field: "subscription", variables: asIs},
	"pause":  {route: "POST /v1/subscriptions/{id}/pause", field: "pauseSubscription", variables: asIs, changes: true, facts: whatever},
	"resume": {route: "POST /v1/subscriptions/{id}/resume", field: "resumeSubscription", variables: asIs, changes: true, facts: whatever},
	"update": {route: "PATCH /v1/subscriptions/{id}", body: true, field: "updateSubscription", changes: true, facts: otherwise,
		variables: func(in fields) fields {
			input, args := in.apart("id")
			return args.with("input", input)
		}},
	"redeliver": {route: "POST /v1/subscriptions/{id}/events/{eventId}/redeliver", field: "redeliverEvent", variables: asIs, changes: true, facts: otherEvents},
	"replay": {route: "POST /v1/subscriptions/{id}/replay", body: true, field: "replayEvents", changes: true, variables: func(in fields) fields {
		input, args := in.apart("id")
		return args.with("input", input)
	}},
	"test":       {route: "POST /v1/subscriptions/{id}/test", field: "testSubscription", variables: asIs, changes: true, facts: shapes},
	"deliveries": {route: "GET /v1/subscriptions/{id}/deliveries", field: "subscription", below: "deliveries", variables: asIs, facts: logs},
	"events":     {route: "GET /v1/subscriptions/{id}/events", field: "subscription", below: "eventLog", variables: asIs, facts: logs},
	"reveal":     {route: "GET /v1/subscriptions/{id}/secret", field: "revealSecret", variables: asIs},
	"rotate":     {route: "POST /v1/subscriptions/{id}/secret/rotate", field: "rotateSecret", variables: asIs, changes: true, facts: shapes},
	"delete":     {route: "DELETE /v1/subscriptions/{id}", field: "deleteSubscription", variables: asIs, changes: true},
}

var (
	aa   = fields{"carrier": "AA", "flightNumber": oneLeg, "date": today}
	two  = aa.with("flightNumber", twoLegs)
	hook = aa.with("webhookUrl", "https://example.com/hook?a=1&b=<2>", "secret", ownSecret)
)

const (
	fresh     = "a subscription of its own for either interface"
	paused    = "a paused one of its own for either interface"
	completed = "a completed one"
	logged    = "a completed one with attempts of every kind"
	alien     = "one of another account"
	first     = "the first event of the subscription"
	trimmed   = "a completed one whose first snapshot is not kept"
	noEvent   = "evt_00000000000000000000000000000000"
	noneSuch  = "sub_00000000000000000000000000000000"
)

// agreements are calls of the main job with the code of their failure; ""
// where they work.
var agreements = []struct {
	op, name string
	in       fields
	code     string
}{
	{"countries", "in English", fields{}, ""},
	{"countries", "in German", fields{"lang": "de-AT"}, ""},
	{"countries", "in nothing", fields{"lang": "en_US"}, "invalid_request"},
	{"country", "in English", fields{"code": "tr"}, ""},
	{"country", "in German", fields{"code": "CZ", "lang": "DE"}, ""},
	{"country", "none, in nothing", fields{"code": "zz", "lang": "en_US"}, "invalid_request"},
	{"country", "none", fields{"code": "zz", "lang": "de"}, "country_not_found"},
	{"search", "one leg", aa, ""},
	{"search", "refreshed, by other names", fields{"carrier": "aal", "flightNumber": "0100", "date": today, "refresh": true}, ""},
	{"search", "several legs", two, ""},
	{"search", "by origin", two.with("origin", "kmsy"), ""},
	{"search", "by destination", two.with("destination", "MIA"), ""},
	{"search", "by id", two.with("flightId", legFlightID), ""},
	{"search", "everything wrong", fields{"carrier": "*", "flightNumber": "x", "date": "soon", "origin": "!", "destination": "?", "flightId": "a b"}, "invalid_request"},
	{"search", "too far ahead", aa.with("date", "2028-01-01", "origin", "!"), "invalid_request"},
	{"search", "no flight", aa.with("flightNumber", unfindable), "flight_not_found"},
	{"search", "other origin", two.with("origin", "LAX"), "leg_not_found"},
	{"search", "other id", two.with("flightId", "7"), "leg_not_found"},
	{"search", "upstream refuses", aa.with("flightNumber", refused), "upstream_error"},
	{"search", "upstream is down", aa.with("flightNumber", down), "upstream_unavailable"},
	{"search", "upstream is slow", aa.with("flightNumber", slow), "upstream_timeout"},
	{"search", "our own fault", aa.with("flightNumber", broken), "internal"},
	{"get", "one leg", aa, ""},
	{"get", "by both airports", two.with("origin", "MSY", "destination", "KMIA", "refresh", true), ""},
	{"get", "other destination", two.with("destination", "LAX"), "leg_not_found"},
	{"timeline", "one leg", aa, ""},
	{"timeline", "empty", two.with("origin", "MSY"), ""},
	{"timeline", "no flight", aa.with("flightNumber", unfindable), "flight_not_found"},

	{"create", "least", hook, ""},
	{"create", "all", hook.with("carrier", "aal", "origin", "kjfk", "destination", "LHR", "flightId", "1",
		"events", []string{"flight.departed", "departure.gate.changed", "flight.departed"}, "delayThresholdMinutes", 15,
		"headers", map[string]string{"X-Tenant": "a & b"}, "metadata", map[string]any{"status": "ACTIVE", "a": []any{nil, 1.5}}), ""},
	{"create", "not found yet", hook.with("flightNumber", unfindable), ""},
	{"create", "never found", hook.with("flightNumber", unfindable, "date", past), "flight_not_found"},
	{"create", "leg not said", hook.with("flightNumber", twoLegs), "origin_required"},
	{"create", "other leg", hook.with("flightNumber", twoLegs, "origin", "LAX"), "leg_not_found"},
	{"create", "everything wrong", fields{"carrier": "*", "flightNumber": "x", "date": "2028-01-01", "origin": "!", "destination": "?", "flightId": "a b",
		"webhookUrl": "http://127.0.0.1/", "secret": "short", "events": []string{}, "delayThresholdMinutes": 241,
		"headers": map[string]string{"Host": "a", "b c": "d"}, "metadata": map[string]string{"a": strings.Repeat("x", 17<<10)}}, "invalid_request"},
	{"create", "wrong in form and content", hook.with("carrier", "*", "headers", map[string]any{"Host": "a", "X-A": 1, "X-B": nil}), "invalid_request"},
	{"create", "headers that are a list", hook.with("date", "soon", "headers", []any{"X-A"}, "metadata", map[string]any{"a": strings.Repeat("x", 17<<10)}), "invalid_request"},
	{"create", "no URL at all", hook.with("webhookUrl", "", "headers", map[string]string{"x-legacy-signature": "a"}), "invalid_request"},
	{"create", "upstream is down", hook.with("flightNumber", down), "upstream_unavailable"},

	{"create", "with a key", hook.with("idempotencyKey", "k 1"), ""},
	{"create", "again with the key", hook.with("idempotencyKey", "k 1", "carrier", "AAL", "flightNumber", "0100", "delayThresholdMinutes", 5), ""},
	{"create", "something else with the key", hook.with("idempotencyKey", "k 1", "secret", "another secret of mine"), "idempotency_key_reused"},
	{"create", "an empty key", hook.with("idempotencyKey", ""), ""},
	{"create", "a key that is too long, and no carrier", hook.with("idempotencyKey", strings.Repeat("k", 256), "carrier", "*"), "invalid_request"},

	{"read", "active", fields{"id": fresh}, ""},
	{"read", "completed", fields{"id": completed}, ""},
	{"read", "none", fields{"id": noneSuch}, "subscription_not_found"},
	{"read", "no id", fields{"id": "7"}, "subscription_not_found"},
	{"read", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"list", "all", fields{}, ""},
	{"list", "a page", fields{"offset": 1, "limit": 2}, ""},
	{"list", "filtered", fields{"status": "pending", "carrier": "aal", "flightNumber": "0009", "date": today}, ""},
	{"list", "everything wrong", fields{"carrier": "*", "flightNumber": "x", "date": "soon", "offset": -1, "limit": 201}, "invalid_request"},
	{"pause", "active", fields{"id": fresh}, ""},
	{"pause", "paused", fields{"id": paused}, ""},
	{"pause", "completed", fields{"id": completed}, "invalid_state"},
	{"pause", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"resume", "paused", fields{"id": paused}, ""},
	{"resume", "active", fields{"id": fresh}, ""},
	{"resume", "completed", fields{"id": completed}, "invalid_state"},
	{"resume", "none", fields{"id": noneSuch}, "subscription_not_found"},
	{"update", "all", fields{"id": fresh, "webhookUrl": "https://example.com/other?a=1&b=<2>", "events": []string{"flight.departed", "aircraft.changed"},
		"delayThresholdMinutes": 240, "headers": map[string]string{"X-Tenant": "b"}, "metadata": map[string]any{"a": []any{nil, 1.5}}}, ""},
	{"update", "nothing", fields{"id": fresh}, ""},
	{"update", "to nothing", fields{"id": fresh, "headers": map[string]any{}, "metadata": map[string]any{}}, ""},
	{"update", "away", fields{"id": paused, "headers": nil, "metadata": nil}, ""},
	{"update", "completed", fields{"id": completed, "delayThresholdMinutes": 1}, ""},
	{"update", "what cannot be taken away", fields{"id": fresh, "webhookUrl": nil, "events": nil, "delayThresholdMinutes": nil}, "invalid_request"},
	{"update", "everything wrong", fields{"id": fresh, "webhookUrl": "http://127.0.0.1/", "events": []string{}, "delayThresholdMinutes": 0,
		"headers": map[string]any{"Host": "a", "X-A": 1, "X-B": nil}, "metadata": map[string]string{"a": strings.Repeat("x", 17<<10)}}, "invalid_request"},
	{"update", "none", fields{"id": noneSuch, "delayThresholdMinutes": 1}, "subscription_not_found"},
	{"update", "another account's", fields{"id": alien, "delayThresholdMinutes": 1}, "subscription_not_found"},
	{"test", "active", fields{"id": fresh}, ""},
	{"test", "paused", fields{"id": paused}, ""},
	{"test", "completed", fields{"id": completed}, ""},
	{"test", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"redeliver", "delivered", fields{"id": logged, "eventId": first}, ""},
	{"redeliver", "pending", fields{"id": fresh, "eventId": first}, ""},
	{"redeliver", "paused", fields{"id": paused, "eventId": first}, "invalid_state"},
	{"redeliver", "not kept", fields{"id": trimmed, "eventId": first}, "event_gone"},
	{"redeliver", "no such event", fields{"id": fresh, "eventId": noEvent}, "event_not_found"},
	{"redeliver", "no event", fields{"id": fresh, "eventId": "7"}, "event_not_found"},
	{"redeliver", "none", fields{"id": noneSuch, "eventId": noEvent}, "subscription_not_found"},
	{"redeliver", "another account's", fields{"id": alien, "eventId": noEvent}, "subscription_not_found"},
	{"replay", "nothing missed", fields{"id": fresh, "since": "2020-01-01T00:00:00+01:00"}, ""},
	{"replay", "what failed", fields{"id": logged, "since": "2020-01-01T00:00:00Z", "includeFailed": true}, ""},
	{"replay", "after an event", fields{"id": logged, "after": first, "includeFailed": true}, ""},
	{"replay", "paused", fields{"id": paused, "since": "2020-01-01T00:00:00Z"}, "invalid_state"},
	{"replay", "neither", fields{"id": fresh}, "invalid_request"},
	{"replay", "both, and no time", fields{"id": fresh, "since": "yesterday", "after": noEvent}, "invalid_request"},
	{"replay", "no such event", fields{"id": fresh, "after": noEvent}, "event_not_found"},
	{"replay", "no event", fields{"id": fresh, "after": "7"}, "event_not_found"},
	{"replay", "none", fields{"id": noneSuch, "after": noEvent}, "subscription_not_found"},
	{"replay", "another account's", fields{"id": alien, "since": "2020-01-01T00:00:00Z"}, "subscription_not_found"},
	{"deliveries", "all", fields{"id": logged}, ""},
	{"deliveries", "the last", fields{"id": logged, "limit": 1}, ""},
	{"deliveries", "none yet", fields{"id": fresh}, ""},
	{"deliveries", "too many", fields{"id": fresh, "limit": 201}, "invalid_request"},
	{"deliveries", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"events", "all", fields{"id": logged}, ""},
	{"events", "the last", fields{"id": logged, "limit": 1}, ""},
	{"events", "too few", fields{"id": fresh, "limit": 0}, "invalid_request"},
	{"events", "none", fields{"id": noneSuch}, "subscription_not_found"},
	{"events", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"reveal", "active", fields{"id": fresh}, ""},
	{"reveal", "completed", fields{"id": completed}, ""},
	{"reveal", "no id", fields{"id": "7"}, "subscription_not_found"},
	{"reveal", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"rotate", "active", fields{"id": fresh}, ""},
	{"rotate", "another account's", fields{"id": alien}, "subscription_not_found"},
	{"delete", "active", fields{"id": fresh}, ""},
	{"delete", "completed", fields{"id": completed}, ""},
	{"delete", "another account's", fields{"id": alien}, "subscription_not_found"},
}

// GraphQL and REST do the same and say the same: every fact of an answer, and
// of a failure the code, the message and what belongs to it.
func TestInterfacesAgree(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		p := &pair{r, graph.NewHandler(r.resolver, graph.HandlerConfig{Auth: r.guard}), 0, graph.NewExecutableSchema(graph.Config{}).Schema()}
		for _, c := range agreements {
			t.Run(c.op+", "+c.name, func(t *testing.T) {
				op := operations[c.op]
				one := p.prepare(t, c.in)
				other := one
				if op.changes {
					other = p.prepare(t, c.in)
				}
				overREST := p.overREST(t, op, one, "")
				overGraph := p.overGraphQL(t, op, other, "")
				if overREST.code != c.code {
					t.Fatalf("%s: %v, want code %q", op.route, overREST, c.code)
				}
				if read := operations["read"]; one["id"] != nil && op.changes && c.op != "rotate" { // what one has done, the other one sees
					agree(t, p.overREST(t, read, one, ""), p.overGraphQL(t, read, one, ""))
					agree(t, p.overREST(t, read, other, ""), p.overGraphQL(t, read, other, ""))
				}
				if c.code == "" && op.facts != nil {
					overREST.facts, overGraph.facts = op.facts(overREST.facts, overGraph.facts)
				}
				agree(t, overREST, overGraph)
			})
		}
		for key, code := range map[string]string{"-": "missing_api_key", madeUpKey: "invalid_api_key"} {
			for name, op := range operations {
				in := hook.with("id", noneSuch)
				overREST := p.overREST(t, op, in, key)
				if overREST.code != code {
					t.Errorf("%s: %v, want %s", name, overREST, code)
				}
				agree(t, overREST, p.overGraphQL(t, op, in, key))
			}
		}
	})
}

// The free plan watches three flights a month. The fourth is refused, deleted
// ones and those that were refused notwithstanding.
func TestFourthWatchedFlight(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		p := &pair{r, graph.NewHandler(r.resolver, graph.HandlerConfig{Auth: r.guard}), 0, graph.NewExecutableSchema(graph.Config{}).Schema()}
		free, err := access.NewKeys(m.DB, m.Redis).Create(t.Context(), "thrifty", "free")
		if err != nil {
			t.Fatal(err)
		}
		create, keyed := operations["create"], hook.with("idempotencyKey", "first")
		first := p.overREST(t, create, keyed, free.Key)
		agree(t, first, p.overGraphQL(t, create, keyed, free.Key)) // counts once
		p.overGraphQL(t, create, hook, free.Key)
		third := p.overREST(t, create, hook, free.Key).facts.(map[string]any)
		r.do(t, request{method: "DELETE", path: "/v1/subscriptions/" + third["id"].(string), key: free.Key}).want(t, 204, "")

		agree(t, first, p.overREST(t, create, keyed, free.Key))
		for range 2 {
			fourth := p.overREST(t, create, hook, free.Key)
			agree(t, fourth, p.overGraphQL(t, create, hook, free.Key))
			now := m.DB.Now()
			facts := fourth.facts.(map[string]any)
			if fourth.code != "watched_flight_limit" || fmt.Sprintf("%v %v", facts["limit"], facts["used"]) != "3 3" ||
				facts["resetsAt"] != time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format("2006-01-02T15:04:05.000Z") {
				t.Errorf("%v", fourth)
			}
		}
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: free.Key}).want(t, 402, "watched_flight_limit")
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody()}).want(t, 201, "") // others are not concerned
	})
}

// The operations are all of both interfaces, and every code that they can give.
func TestAgreementIsWhole(t *testing.T) {
	var routes, used, known []string
	for _, op := range operations {
		routes, used = append(routes, op.route), append(used, op.field+op.below)
	}
	for _, route := range rest.Routes() {
		if !slices.Contains(routes, route) && !slices.Contains(open, route) { // GraphQL has no images and no OpenAPI
			t.Errorf("no agreement about %s", route)
		}
	}
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	onlyGraphQL := []string{
		"account", "createKey", "rotateKey", "revokeKey", // REST takes no account token
		"flights", "subscriptionsConnection", // nor many legs at once; its lists have offsets
	}
	for _, f := range slices.Concat(schema.Query.Fields, schema.Mutation.Fields) {
		if !strings.HasPrefix(f.Name, "__") && !slices.Contains(used, f.Name) && !slices.Contains(onlyGraphQL, f.Name) {
			t.Errorf("no agreement about %s", f.Name)
		}
	}
	for _, f := range schema.Types["FlightSubscription"].Fields {
		if len(f.Arguments) > 0 && !slices.Contains(used, "subscription"+f.Name) && !strings.HasSuffix(f.Name, "Connection") { // REST has no cursors
			t.Errorf("no agreement about %s", f.Name)
		}
	}
	for _, f := range schema.Types["FlightSnapshot"].Fields {
		if len(f.Arguments) > 0 && f.Name != "history" { // REST has no history
			t.Errorf("no agreement about %s", f.Name)
		}
	}
	for _, c := range agreements {
		known = append(known, c.code)
	}
	for _, code := range []flight.Code{
		flight.CodeInvalid, flight.CodeFlightNotFound, flight.CodeLegNotFound, flight.CodeOriginRequired, flight.CodeSubscriptionMissing, flight.CodeEventMissing, flight.CodeEventGone,
		flight.CodeCountryNotFound, flight.CodeInvalidState, flight.CodeIdempotencyReused, flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout, flight.CodeInternal,
	} {
		if !slices.Contains(known, string(code)) {
			t.Errorf("no agreement about %s", code)
		}
	}
}

func agree(t *testing.T, overREST, overGraph outcome) {
	t.Helper()
	if !reflect.DeepEqual(overREST, overGraph) {
		t.Errorf("REST: %v\nGraphQL: %v", overREST, overGraph)
	}
}
