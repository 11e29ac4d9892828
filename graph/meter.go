package graph

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// legArguments are the fields that look legs up or watch them live, with the
// argument that names one or a list.
var legArguments = map[string]string{
	"Query.flight":                "leg",
	"Query.flights":               "legs",
	"Mutation.createSubscription": "input",
	"Subscription.flightChanged":  "leg",
}

// requests returns how many requests an operation costs: one, and one for each
// further distinct leg that it looks up or watches live, however it names them.
// What @skip leaves out and what is no leg costs nothing.
func (r *Resolver) requests(ctx context.Context, op *graphql.OperationContext) int {
	root := rootOf(op.Operation.Operation)
	named := map[flight.Key]map[flight.Selector]bool{}
	for _, f := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{root}) {
		argument := legArguments[root+"."+f.Name]
		if argument == "" {
			continue
		}
		for _, values := range legsNamed(f.ArgumentMap(op.Variables)[argument]) {
			var v flight.Invalid
			key, sel := r.parseLeg(&v, legInput(values))
			if len(v) > 0 {
				continue
			}
			if named[key] == nil {
				named[key] = map[flight.Selector]bool{}
			}
			named[key][sel] = true
		}
	}
	legs := 0
	for key, selectors := range named {
		legs += r.distinct(ctx, key, selectors)
	}
	return max(1, legs)
}

// legInput reads the values of a leg as they stand in an operation.
func legInput(values map[string]any) LegInput {
	text := func(name string) string { s, _ := values[name].(string); return s }
	return LegInput{
		Carrier: text("carrier"), FlightNumber: text("flightNumber"), Date: text("date"),
		Origin: text("origin"), Destination: text("destination"), FlightID: text("flightId"),
	}
}

// legsNamed returns the legs of an argument. A list that is too long is refused,
// so it names none.
func legsNamed(argument any) (legs []map[string]any) {
	switch v := argument.(type) {
	case map[string]any: // one, which may stand for a list of one
		legs = append(legs, v)
	case []map[string]any: // the same in a variable
		legs = v
	case []any:
		for _, leg := range v {
			if values, ok := leg.(map[string]any); ok {
				legs = append(legs, values)
			}
		}
	}
	if len(legs) > maxLegs {
		return nil
	}
	return legs
}

func rootOf(op ast.Operation) string {
	switch op {
	case ast.Mutation:
		return "Mutation"
	case ast.Subscription:
		return "Subscription"
	}
	return "Query"
}

// distinct returns how many legs of a flight the selectors mean. What stands of
// the flight tells names of one leg apart from two legs; of a flight that has
// never been looked up every name counts, because an operation that may yet be
// refused asks no upstream.
func (r *Resolver) distinct(ctx context.Context, key flight.Key, selectors map[flight.Selector]bool) int {
	if len(selectors) == 1 {
		return 1
	}
	known, err := r.lookups.known(ctx, key)
	if err != nil || len(known.Legs) == 0 {
		return len(selectors)
	}
	legs := map[*flight.Snapshot]bool{}
	for sel := range selectors {
		if leg, err := known.Legs.Select(sel); err == nil {
			legs[leg] = true
		}
	}
	return len(legs)
}

// charge takes what an operation costs from the windows of a key, and checks
// the key, in one round trip. The context it returns says whose key it is, and
// the id that the request's header has. Without a key nothing is taken: whoever
// put the identity into the context has seen to it.
func (h *handler) charge(ctx context.Context, key string, header http.Header, cost int) (context.Context, access.Quota, error) {
	if key == "" {
		return ctx, access.Quota{}, nil
	}
	who, quota, err := h.Auth.Admit(ctx, key, cost)
	who.Request = requestID(header)
	return access.With(ctx, who), quota, err
}

const maxRequestID = 128

// requestID returns the id that the caller gave the request; "" when there is
// none, or it is not fit to be repeated.
func requestID(h http.Header) string {
	id := h.Get("X-Request-Id")
	if len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
		return ""
	}
	return id
}

// admit reads a request over HTTP and charges for it; one that is malformed
// costs one request too. ok is false when it has been answered. op is not
// executable when there are errs; ctx says who is asking.
func (h *handler) admit(w http.ResponseWriter, r *http.Request) (ctx context.Context, op *graphql.OperationContext, errs gqlerror.List, ok bool) {
	ctx = r.Context()
	cost := 1
	raw, bad := h.read(w, r)
	if bad == nil {
		if op, errs = h.exec.CreateOperationContext(ctx, raw); errs == nil {
			cost = h.resolver.requests(ctx, op)
		}
	}
	ctx, quota, err := h.charge(ctx, access.Presented(r), r.Header, cost)
	quota.SetHeaders(w.Header())
	switch {
	case err != nil:
		refuse(w, r, refusal(ctx, err, r.URL.Path, r.Header))
		return ctx, nil, nil, false
	case bad != nil:
		write(w, r, bad.status, &graphql.Response{Errors: gqlerror.List{bad.graphQL()}})
		return ctx, nil, nil, false
	}
	return ctx, op, errs, true
}

// refusal is the error of an operation that was not let in. Of a quota it has,
// besides the code, the fields of REST's body.
func refusal(ctx context.Context, err error, path string, header http.Header) *gqlerror.Error {
	out := present(ctx, err)
	out.Path = nil
	status := statusOf(flight.CodeOf(err))
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return out
	}
	id := requestID(header)
	if id == "" {
		id = "req_" + strings.ToLower(rand.Text())
	}
	x := out.Extensions
	x["statusCode"] = status
	x["error"] = strings.ReplaceAll(http.StatusText(status), " ", "")
	x["path"] = path
	x["timestamp"] = flight.TimeOf(time.Now())
	x["requestId"] = id
	return out
}

func (s *socket) refusal(ctx context.Context, err error) *gqlerror.Error {
	return refusal(ctx, err, s.path, s.header)
}

// known returns what stands of a flight without asking the upstream.
func (l *lookups) known(ctx context.Context, key flight.Key) (db.Standing, error) {
	if a, ok := l.cache.GetIfPresent(key); ok {
		return a.Standing, nil
	}
	return l.standing(ctx, key)
}
