package graph

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flightwire/flightwire/access"
)

// A query of a cached flight that is asked again has the same answer to the
// byte, and another one as soon as the flight has changed, also by another
// process.
func TestRepeats(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		id, _ := access.From(g.ctx)
		h := NewHandler(g.r, HandlerConfig{Auth: keyring{id.Account}}).(*handler)
		s := httptest.NewServer(h)
		defer s.Close()
		ask := func(query string, more ...any) *reply {
			t.Helper()
			v := legVariable()
			for i := 0; i < len(more); i += 2 {
				v[more[i].(string)] = more[i+1]
			}
			return post(t, s.URL, query, v)
		}
		kept := func() int { h.repeats.answers.CleanUp(); return h.repeats.answers.EstimatedSize() }
		first := ask(everyField)
		if len(first.Errors) > 0 {
			t.Fatal(first.body)
		}
		// The bell of its own change may make it be looked up once more.
		eventually(t, "an answer is kept", func() bool { return ask(everyField).body == first.body && kept() > 0 })
		calls := g.source.calls.Load()
		if again := ask(everyField); again.body != first.body || g.source.calls.Load() != calls {
			t.Errorf("again:\n%s\n%s", first.body, again.body)
		}
		if other := ask(flightQuery); other.body == first.body || other.Data["flight"] == nil {
			t.Error(other.body)
		}
		for _, gate := range []string{"C1", "C2"} {
			g.source.say(atGate(gate))
			g.poll() // as a worker elsewhere does
			eventually(t, "the change is in the answer", func() bool { return strings.Contains(ask(everyField).body, `"gate":"`+gate+`"`) })
		}
		if n := kept(); n > 8 {
			t.Errorf("%d answers are kept", n)
		}
		g.source.say(atGate("C3"))
		if r := ask(`query($leg: LegInput!) { flight(leg: $leg, refresh: true) { departure { gate } } }`); !strings.Contains(r.body, "C3") {
			t.Error("refresh:", r.body)
		}
	})
}

// What goes by more than the flight is executed each time.
func TestNotRepeated(t *testing.T) {
	g := sqliteRig(t, nil)
	h := NewHandler(g.r, HandlerConfig{}).(*handler)
	g.flight(aa100, false)
	for query, repeated := range map[string]bool{
		`query($leg: LegInput!) { flight(leg: $leg) { flightKey } }`:                                                           true,
		`query($leg: LegInput!) { f: flight(leg: $leg) { ...F ... { __typename } } } fragment F on FlightSnapshot { g: date }`: true,
		`query($leg: LegInput!) { flight(leg: $leg) { flightKey @skip(if: false) } }`:                                          false,
		`query($leg: LegInput!) { flight(leg: $leg) @include(if: true) { flightKey } }`:                                        false,
		`query($leg: LegInput!) { flight(leg: $leg) { ... @include(if: true) { date } } }`:                                     false,
		`query($leg: LegInput!) { flight(leg: $leg) { ...F @skip(if: false) } } fragment F on FlightSnapshot { date }`:         false,
		`query($leg: LegInput!) { flight(leg: $leg) { history { totalCount } } }`:                                              false,
		`query($leg: LegInput!) { flight(leg: $leg, refresh: true) { date } }`:                                                 false,
		`query($leg: LegInput!) { flight(leg: $leg) { date } subscriptionsConnection { totalCount } }`:                         false,
		`query($leg: LegInput!) { flights(legs: [$leg]) { flight { date } } }`:                                                 false,
		`query($leg: LegInput!) { ...Q } fragment Q on Query { flight(leg: $leg) { date } }`:                                   false,
		fmt.Sprintf(`query($leg: LegInput!) { flight(leg: $leg) { %s } }`, strings.Repeat("date ", cachedDocumentMax/5)):       false,
	} {
		get := func(ctx context.Context, leg any) (data []byte, body string) {
			ctx = graphql.StartOperationTrace(ctx)
			op, errs := h.exec.CreateOperationContext(ctx, (&params{Query: query, Variables: map[string]any{"leg": leg}}).raw(nil))
			if errs != nil {
				t.Fatal(query, errs)
			}
			data, keep := h.repeats.answer(ctx, op)
			if data == nil {
				responses, ctx := h.exec.DispatchOperation(ctx, op)
				resp := responses(ctx)
				if body = string(resp.Data); keep != nil {
					keep(resp)
				}
			}
			return data, body
		}
		leg := legVariable()["leg"]
		_, body := get(g.ctx, leg)
		data, _ := get(g.ctx, leg)
		if repeated && data == nil { // the bell of its own change may make it be looked up once more
			eventually(t, "the answer to "+query+" is kept", func() bool { data, _ = get(g.ctx, leg); return data != nil })
		}
		if (data != nil) != repeated || repeated && string(data) != body {
			t.Errorf("%.120s: repeated %v: %s", query, data != nil, data)
		}
		// Nobody without a key, no other leg, and none that is not there.
		for name, other := range map[string]any{"wrong": map[string]any{"carrier": "?", "flightNumber": "9", "date": today}, "another": map[string]any{"carrier": "AA", "flightNumber": "9", "date": today}} {
			if data, _ := get(g.ctx, other); data != nil && !strings.Contains(query, "refresh") {
				t.Errorf("%s: %.80s", name, data)
			}
		}
		if data, _ := get(t.Context(), leg); data != nil {
			t.Errorf("without a key: %s", data)
		}
		token := access.With(t.Context(), access.Identity{Account: "acc", Token: true})
		if data, _ := get(token, leg); data != nil {
			t.Errorf("with an account token: %s", data)
		}
	}
}
