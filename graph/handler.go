package graph

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// Authenticator says whose key was presented, and counts requests; see
// [access.Guard].
type Authenticator interface {
	Authenticate(ctx context.Context, presented string) (access.Identity, error)
	Admit(ctx context.Context, presented string, cost int) (access.Identity, access.Quota, error)
	Recent(presented string) bool
}

// HandlerConfig says how the endpoint behaves. Auth is required; zero elsewhere
// is the default.
type HandlerConfig struct {
	Auth Authenticator

	// Context ends streams and websockets when it ends, with a close code that
	// makes clients connect again elsewhere. nil: they end with their clients.
	Context context.Context

	// Hold is called for each websocket, which outlives its request, and what it
	// returns when the websocket has ended. nil: nobody waits for them.
	Hold func() (release func())

	// Explorer is the page that a browser's GET for text/html gets, without a
	// key. nil: there is none.
	Explorer http.Handler

	// Documents are the only ones that are executed. nil: all are.
	Documents *Documents

	MaxBody       int64         // bytes of a body or a websocket message; 64 KiB
	MaxTokens     int           // tokens of a document; 2,000
	MaxDepth      int           // of fields in one another; 20
	MaxCost       int           // price of an operation, see cost.go; 20,000
	MaxOperations int           // at once on one websocket; 100
	Timeout       time.Duration // of a query or a mutation; 30 s
	InitTimeout   time.Duration // for connection_init; 10 s
	PingInterval  time.Duration // of websockets and streams; 15 s
	KeyInterval   time.Duration // after which the key of a websocket or a stream is looked at again; 3 s
	WriteTimeout  time.Duration // for one message to a client that reads slowly; 10 s
}

func (c HandlerConfig) withDefaults() HandlerConfig {
	if c.Context == nil {
		c.Context = context.Background()
	}
	if c.Hold == nil {
		c.Hold = func() func() { return func() {} }
	}
	c.MaxBody = or(c.MaxBody, 64<<10)
	c.MaxTokens = or(c.MaxTokens, 2000)
	c.MaxDepth = or(c.MaxDepth, 20)
	c.MaxCost = or(c.MaxCost, 20_000)
	c.MaxOperations = or(c.MaxOperations, 100)
	c.Timeout = or(c.Timeout, 30*time.Second)
	c.InitTimeout = or(c.InitTimeout, 10*time.Second)
	c.PingInterval = or(c.PingInterval, 15*time.Second)
	c.KeyInterval = or(c.KeyInterval, 3*time.Second)
	c.WriteTimeout = or(c.WriteTimeout, 10*time.Second)
	return c
}

func or[T comparable](v, instead T) T {
	var zero T
	if v == zero {
		return instead
	}
	return v
}

// methods are those of the endpoint.
const methods = "GET, OPTIONS, POST"

// handler is the GraphQL endpoint.
type handler struct {
	HandlerConfig
	exec     *executor.Executor
	resolver *Resolver
	keys     *keyWatch
	repeats  *repeats
}

// An answer is one body here. The executor would leave what is deferred out of
// it, so the schema does not have what the library puts into it.
func init() { delete(parsedSchema.Directives, "defer") }

// SDL returns the schema in the schema language, as it is written.
func SDL() string { return sources[0].Input }

// NewHandler returns the GraphQL endpoint over the use cases. Every request
// needs a key; a websocket may bring it in connection_init instead.
func NewHandler(r *Resolver, c HandlerConfig) http.Handler {
	c = c.withDefaults()
	schema := NewExecutableSchema(Config{Resolvers: r})
	exec := executor.New(schema)
	exec.SetErrorPresenter(present)
	exec.SetRecoverFunc(recovered)
	exec.SetParserTokenLimit(c.MaxTokens)
	documents := newDocumentCache()
	exec.SetQueryCache(documents)
	exec.Use(readableSchema{})
	exec.Use(oneStream{})
	exec.Use(depthLimit(c.MaxDepth))
	exec.Use(newCostLimit(schema.Schema(), c.MaxCost))
	return &handler{c, exec, r, newKeyWatch(c.Auth, c.KeyInterval), newRepeats(r, documents)}
}

const (
	cachedDocuments   = 500
	cachedDocumentMax = 4 << 10 // longer ones are no client's everyday query
)

// documentCache keeps parsed and validated documents, but not huge ones.
type documentCache struct {
	c *otter.Cache[string, *ast.QueryDocument]
}

func newDocumentCache() documentCache {
	return documentCache{otter.Must(&otter.Options[string, *ast.QueryDocument]{MaximumSize: cachedDocuments})}
}

// Get implements graphql.Cache.
func (d documentCache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	return d.c.GetIfPresent(text)
}

// Add keeps a document unless it is long.
func (d documentCache) Add(_ context.Context, text string, doc *ast.QueryDocument) {
	if len(text) <= cachedDocumentMax {
		d.c.Set(text, doc)
	}
}

// readableSchema lets clients read the schema.
type readableSchema struct{}

// ExtensionName implements graphql.HandlerExtension.
func (readableSchema) ExtensionName() string { return "Introspection" }

// Validate implements graphql.HandlerExtension.
func (readableSchema) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (readableSchema) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	op.DisableIntrospection = false
	return nil
}

// oneStream refuses subscriptions to two streams, or, by @skip, to none, of
// which the validator sees only those of different fields.
type oneStream struct{}

// ExtensionName implements graphql.HandlerExtension.
func (oneStream) ExtensionName() string { return "OneStream" }

// Validate implements graphql.HandlerExtension.
func (oneStream) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (oneStream) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if op.Operation.Operation != ast.Subscription ||
		len(graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})) == 1 {
		return nil
	}
	return &gqlerror.Error{
		Message:    "A subscription must select exactly one stream. Send one operation for each.",
		Extensions: map[string]any{"code": errcode.ValidationFailed},
	}
}

// ServeHTTP answers one request, or serves a websocket until it ends. Nothing
// is read for a key that was not let in lately without asking first; for the
// others the charge, which checks the key as well, is the only question.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions { // it tells nothing, so it needs no key
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if h.Explorer != nil && forPeople(r) {
		h.Explorer.ServeHTTP(w, r)
		return
	}
	ctx := graphql.StartOperationTrace(r.Context())
	upgrade := isWebsocket(r)
	if _, known := access.From(ctx); !known {
		key := access.Presented(r)
		if (key != "" || !upgrade) && (upgrade || !h.Auth.Recent(key)) {
			id, err := h.Auth.Authenticate(ctx, key)
			if err != nil {
				refuse(w, r, present(ctx, err))
				return
			}
			ctx = access.With(ctx, id)
		}
	}
	r = r.WithContext(ctx)
	switch {
	case upgrade:
		h.serveSocket(w, r)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		h.serveStream(w, r)
	default:
		h.serveOnce(w, r)
	}
}

// forPeople reports whether a request is a browser's for a page: one that names
// HTML and nothing that GraphQL is answered in.
func forPeople(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || isWebsocket(r) {
		return false
	}
	accept := strings.Join(r.Header["Accept"], ",")
	return strings.Contains(accept, "text/html") &&
		!strings.Contains(accept, typeJSON) && !strings.Contains(accept, typeResponse) && !strings.Contains(accept, typeStream)
}

func isWebsocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// statusOf is the HTTP status of a request that was refused before GraphQL.
func statusOf(code flight.Code) int {
	switch code {
	case flight.CodeMissingAPIKey, flight.CodeInvalidAPIKey:
		return http.StatusUnauthorized
	case flight.CodeAccountDisabled:
		return http.StatusForbidden
	case flight.CodeQuotaExceeded:
		return http.StatusTooManyRequests
	case flight.CodeQuotaUnavailable:
		return http.StatusServiceUnavailable
	case flight.CodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
