package graph

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flightwire/flightwire/flight"
)

// maxLegs is how many legs one field may name.
const maxLegs = 50

// codeTimeout is that of a look-up that the operation had no time for.
const codeTimeout flight.Code = "timeout"

// FlightResult is what came of one of several look-ups: a flight, or an error.
type FlightResult struct {
	Flight *flight.Snapshot
	Error  *FlightError
}

// FlightError says why a leg could not be looked up.
type FlightError struct {
	Code              flight.Code
	Message           string
	Fields            []flight.FieldError
	Legs              []flight.LegRef
	RetryAfterSeconds *int
}

// Flights looks several legs up at the same time, and returns what came of each
// in their order. The snapshots are shared: they must not be changed. The error
// is CodeInvalid when there are none or more than 50; those of Query.Flight
// stand in the results.
func (q *queries) Flights(ctx context.Context, legs []LegInput) ([]FlightResult, error) {
	if _, err := account(ctx); err != nil {
		return nil, err
	}
	var v flight.Invalid
	if n := len(legs); n < 1 || n > maxLegs {
		v.Add("legs", "must be 1 to %d legs", maxLegs)
		return nil, v.Err()
	}
	out := make([]FlightResult, len(legs))
	var all sync.WaitGroup
	for i := range legs {
		all.Go(func() {
			defer func() { // nothing else catches it in this goroutine
				if p := recover(); p != nil {
					out[i] = FlightResult{Error: lookupError(ctx, recovered(ctx, p))}
				}
			}()
			s, err := q.Flight(ctx, legs[i], false)
			if err != nil {
				out[i].Error = lookupError(ctx, err)
				return
			}
			out[i].Flight = s
		})
	}
	all.Wait()
	return out, nil
}

// lookupError is present for one of several look-ups: what is not in the enum is
// internal.
func lookupError(ctx context.Context, err error) *FlightError {
	e, known := errors.AsType[*flight.Error](err)
	if known {
		_, known = lookupCodes.quoted[e.Code]
	}
	switch {
	case known:
	case context.Cause(ctx) == error(errTooSlow):
		e = &flight.Error{Code: codeTimeout, Message: errTooSlow.Message}
	default:
		if ctx.Err() == nil { // else the client left, and hears nothing
			slog.ErrorContext(ctx, "one of several look-ups failed", "error", err)
		}
		e = errInternal
	}
	out := &FlightError{Code: e.Code, Message: e.Message, Fields: []flight.FieldError{}, Legs: []flight.LegRef{}}
	out.Fields, out.Legs = append(out.Fields, e.Fields...), append(out.Legs, e.Legs...)
	if s := RetryAfterSeconds(e); s > 0 {
		out.RetryAfterSeconds = &s
	}
	return out
}

var lookupCodes = newNames(flight.CodeInvalid, flight.CodeFlightNotFound, flight.CodeLegNotFound,
	flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout, codeTimeout, flight.CodeInternal)

// MarshalFlightErrorCode writes the enum FlightErrorCode.
func MarshalFlightErrorCode(v flight.Code) graphql.Marshaler { return lookupCodes.marshal(v) }

// UnmarshalFlightErrorCode reads the enum FlightErrorCode.
func UnmarshalFlightErrorCode(v any) (flight.Code, error) { return lookupCodes.unmarshal(v) }
