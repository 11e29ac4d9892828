package graph

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/flight"
)

// maxMessage bounds the messages of the parser and the validator, which quote
// the document.
const maxMessage = 500

// errInternal is all that is said of our own faults.
var errInternal = &flight.Error{Code: flight.CodeInternal, Message: "Something went wrong on our side. Try again; if it stays, tell us when it happened."}

// errTooSlow is said of what a query or a mutation had no time for.
var errTooSlow = &gqlerror.Error{
	Message:    "The operation took longer than it may. Ask for less, or try again later.",
	Extensions: map[string]any{"code": "TIMEOUT"},
}

// present is the one mapping of errors to GraphQL: a [flight.Error] has its
// message and, as extensions, its code in upper case and what it adds;
// messages about the document itself stay; anything else is internal, which is
// logged and says nothing.
func present(ctx context.Context, err error) *gqlerror.Error {
	located, _ := errors.AsType[*gqlerror.Error](err)
	e, known := errors.AsType[*flight.Error](err)
	switch {
	case known:
	case context.Cause(ctx) == error(errTooSlow):
		return &gqlerror.Error{Err: err, Message: errTooSlow.Message, Path: graphql.GetPath(ctx), Extensions: errTooSlow.Extensions}
	case located != nil && located.Err == nil: // of the parser or the validator
		located.Message = bounded(discreet(located.Message))
		return located
	default:
		if ctx.Err() == nil { // else the client left, and hears nothing
			slog.ErrorContext(ctx, "a GraphQL operation failed", "error", err)
		}
		e = errInternal
	}
	out := &gqlerror.Error{Err: err, Message: e.Message, Path: graphql.GetPath(ctx), Extensions: extensions(e)}
	if located != nil {
		out.Locations = located.Locations
		if located.Path != nil {
			out.Path = located.Path
		}
	}
	return out
}

// extensions returns what an error adds to its message.
func extensions(e *flight.Error) map[string]any {
	x := map[string]any{"code": strings.ToUpper(string(e.Code))}
	if len(e.Fields) > 0 {
		x["fields"] = e.Fields
	}
	if len(e.Legs) > 0 {
		x["legs"] = e.Legs
	}
	if e.Status != "" {
		x["status"] = strings.ToUpper(string(e.Status))
	}
	if w := e.Watched; w != nil {
		x["limit"], x["used"], x["resetsAt"] = w.Limit, w.Used, w.ResetsAt
	}
	if e.Window != "" {
		x["window"] = e.Window
	}
	if s := RetryAfterSeconds(e); s > 0 {
		x["retryAfterSeconds"] = s
	}
	return x
}

// defaultRetryAfter is said when nobody knows when it is worth trying again.
const defaultRetryAfter = 10 * time.Second

// RetryAfterSeconds returns after how many whole seconds the caller should try
// again; 0 when the error has nothing to do with time. Of an upstream and of a quota there is
// always an answer.
func RetryAfterSeconds(e *flight.Error) int {
	wait := max(e.RetryAfter, 0)
	switch e.Code {
	case flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout, flight.CodeQuotaExceeded, flight.CodeQuotaUnavailable:
		wait = cmp.Or(wait, defaultRetryAfter)
	}
	return int(math.Ceil(wait.Seconds()))
}

// repeated finds the values of a document that the validator and the parser
// repeat.
var repeated = regexp.MustCompile(`(?s)(cannot represent [^:]* value): .*|^(Expected value of type "[^"]*"), found .*|((?:found|Unexpected) (?:Block)?String) ".*`)

// discreet takes such values out of a message: a secret may stand where it
// does not belong. The locations say what is meant.
func discreet(message string) string { return repeated.ReplaceAllString(message, "$1$2$3") }

// bounded cuts a message that quotes more of the input than anyone reads.
func bounded(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}

// recovered turns a panic into an internal error and logs where it was.
func recovered(ctx context.Context, v any) error {
	slog.ErrorContext(ctx, "panic in a GraphQL operation", "panic", v, "stack", string(debug.Stack()))
	return errInternal
}
