package rest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path"
	"runtime/debug"
	"sync"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/graph"
)

// Guard checks the API key that a request presents, and counts the request:
// [access.Guard], or what stands before it.
type Guard interface {
	// Admit returns whose key was presented and where its quota stands, or why
	// the request is refused: CodeMissingAPIKey, CodeInvalidAPIKey,
	// CodeQuotaExceeded, CodeQuotaUnavailable, or an internal error. The Quota
	// is zero where nothing was counted.
	Admit(ctx context.Context, presented string, cost int) (access.Identity, access.Quota, error)
}

// Config says what the interface works with.
type Config struct {
	Resolver *graph.Resolver // the use cases
	Guard    Guard           // who may ask
	Flags    *places.Atlas   // images of flags; nil: those that were built in

	// BaseURL is the public address and LegacyPrefix that of the second set of
	// event headers ("": none), as the OpenAPI document says them.
	BaseURL, LegacyPrefix string

	Logger *slog.Logger // our own faults, by request id; nil: slog.Default
}

// api is the interface at work.
type api struct {
	query    graph.QueryResolver
	mutation graph.MutationResolver
	logs     graph.FlightSubscriptionResolver
	guard    Guard
	flags    *places.Atlas
	openapi  func() *page
	docs     func() *page
	log      *slog.Logger
	mux      *http.ServeMux
}

// New returns the handler of every path under /v1. It answers any other path
// with the error body of a route that does not exist, so it may also be what
// everything else falls through to.
func New(c Config) http.Handler {
	a := &api{
		query: c.Resolver.Query(), mutation: c.Resolver.Mutation(), logs: c.Resolver.FlightSubscription(),
		guard: c.Guard, flags: c.Flags, log: c.Logger, mux: http.NewServeMux(),
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.flags == nil {
		a.flags = places.BuiltIn()
	}
	doc := sync.OnceValue(func() *tree { return document(c.BaseURL, c.LegacyPrefix) })
	a.openapi = sync.OnceValue(func() *page { return newPage("application/json", encode(doc())) })
	a.docs = sync.OnceValue(func() *page { return newDocsPage(doc()) })
	for _, rt := range routes {
		a.mux.Handle(rt.method+" "+rt.path, a.serve(rt))
	}
	for path, allow := range allowed(routes) {
		a.mux.Handle(path, a.refuse(allow))
	}
	a.mux.HandleFunc("/", a.notFound)
	return a
}

// ServeHTTP gives the request its id and looks its route up. The mux would
// redirect a path that is not clean; here nothing is known by two names.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Request-Id"] = []string{requestID(r.Header)}
	defer a.recover(w, r)
	if p := r.URL.Path; p == "" || p[0] != '/' || path.Clean(p) != p {
		a.notFound(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// serve is the one path that every request of a route takes.
func (a *api) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if rt.access == keyed {
			presented := access.Presented(r)
			if access.IsToken(presented) {
				a.fail(w, r, access.ErrToken)
				return
			}
			who, quota, err := a.guard.Admit(ctx, presented, 1)
			quota.SetHeaders(w.Header())
			if err != nil {
				a.fail(w, r, err)
				return
			}
			who.Request = requestIDOf(w)
			ctx = access.With(ctx, who)
		}
		ans, err := rt.handle(a, ctx, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		ans.write(w)
	}
}

// refuse answers the methods that a path does not have, and OPTIONS, which
// asks for those that it has.
func (a *api) refuse(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			answer{status: http.StatusNoContent}.write(w)
			return
		}
		a.fail(w, r, flight.Errorf(codeMethodNotAllowed, "The method %.32q is not allowed here. Use %s.", r.Method, allow))
	}
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.fail(w, r, flight.Errorf(codeRouteNotFound, "There is nothing at this path. Check it against the documentation: no trailing slash, and /v1 in front."))
}

// recover answers a request whose handler panicked.
func (a *api) recover(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		a.log.ErrorContext(r.Context(), "panic in a handler", "panic", v, "requestId", requestIDOf(w), "stack", string(debug.Stack()))
		a.fail(w, r, &flight.Error{Code: flight.CodeInternal})
	}
}

const maxRequestID = 128

// requestID returns the id that the caller gave the request, or a new one
// where there is none or it is not fit to be repeated.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && printable(given[0]) && len(given[0]) <= maxRequestID {
		return given[0]
	}
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	id := [36]byte{'r', 'e', 'q', '_'}
	hex.Encode(id[4:], raw[:])
	return string(id[:])
}

// requestIDOf returns the id that ServeHTTP gave the request.
func requestIDOf(w http.ResponseWriter) string { return w.Header()["X-Request-Id"][0] }

// printable reports whether s is one or more visible ASCII characters and
// spaces.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
