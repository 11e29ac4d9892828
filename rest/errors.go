package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/graph"
)

// Codes that only HTTP knows.
const (
	codeRouteNotFound    flight.Code = "route_not_found"
	codeFlagNotFound     flight.Code = "flag_not_found"
	codeMethodNotAllowed flight.Code = "method_not_allowed"
	codePayloadTooLarge  flight.Code = "payload_too_large"
	codeStarting         flight.Code = "starting"
)

// statuses maps what can go wrong to HTTP. What is not here is internal.
var statuses = map[flight.Code]int{
	flight.CodeInvalid:              http.StatusBadRequest,
	flight.CodeMissingAPIKey:        http.StatusUnauthorized,
	flight.CodeInvalidAPIKey:        http.StatusUnauthorized,
	flight.CodeWatchedFlightLimit:   http.StatusPaymentRequired,
	flight.CodeAccountDisabled:      http.StatusForbidden,
	flight.CodeAPIKeyRequired:       http.StatusForbidden,
	flight.CodeAccountTokenRequired: http.StatusForbidden,
	flight.CodeFlightNotFound:       http.StatusNotFound,
	flight.CodeLegNotFound:          http.StatusNotFound,
	flight.CodeSubscriptionMissing:  http.StatusNotFound,
	flight.CodeEventMissing:         http.StatusNotFound,
	flight.CodeCountryNotFound:      http.StatusNotFound,
	flight.CodeNotFound:             http.StatusNotFound,
	codeFlagNotFound:                http.StatusNotFound,
	codeRouteNotFound:               http.StatusNotFound,
	codeMethodNotAllowed:            http.StatusMethodNotAllowed,
	flight.CodeInvalidState:         http.StatusConflict,
	flight.CodeConflict:             http.StatusConflict,
	flight.CodeEventGone:            http.StatusGone,
	codePayloadTooLarge:             http.StatusRequestEntityTooLarge,
	flight.CodeOriginRequired:       http.StatusUnprocessableEntity,
	flight.CodeIdempotencyReused:    http.StatusUnprocessableEntity,
	flight.CodeQuotaExceeded:        http.StatusTooManyRequests,
	flight.CodeQuotaUnavailable:     http.StatusServiceUnavailable,
	flight.CodeUpstream:             http.StatusBadGateway,
	flight.CodeUpstreamUnavailable:  http.StatusServiceUnavailable,
	flight.CodeUpstreamTimeout:      http.StatusGatewayTimeout,
	codeStarting:                    http.StatusServiceUnavailable,
}

// reasons are the words of the error field, where they are not the status
// text run together.
var reasons = map[int]string{http.StatusRequestEntityTooLarge: "PayloadTooLarge"}

// errorBody is the body of every failure: the contract's, of its 429 table,
// with the code and what the case adds.
type errorBody struct {
	StatusCode        int                 `json:"statusCode"`
	Error             string              `json:"error"` // the status, in CamelCase
	Message           string              `json:"message"`
	Path              string              `json:"path"`
	Timestamp         flight.Time         `json:"timestamp"`
	RequestID         string              `json:"requestId"`
	Code              flight.Code         `json:"code"`
	Fields            []flight.FieldError `json:"fields,omitempty"`
	Legs              []flight.LegRef     `json:"legs,omitempty"`
	Status            flight.Status       `json:"status,omitempty"`
	Window            string              `json:"window,omitempty"`
	RetryAfterSeconds int                 `json:"retryAfterSeconds,omitempty"`
	*flight.WatchedLimit
}

const internalMessage = "Something went wrong on our side. Try again; if it stays, report the requestId."

// fail answers a request with err. An error without a code that is known here
// is our own fault: it is logged under the request's id, and nobody is told
// its text. A client that has gone is not worth a line.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	body := bodyOf(err)
	body.Path = r.URL.Path
	body.Timestamp = flight.TimeOf(time.Now())
	body.RequestID = requestIDOf(w)
	if body.StatusCode == http.StatusInternalServerError && !gone(r, err) {
		a.log.ErrorContext(r.Context(), "request failed", "requestId", body.RequestID, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if body.StatusCode == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if body.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(body.RetryAfterSeconds))
	}
	answer{status: body.StatusCode, body: encode(body)}.write(w)
}

// Starting answers while the service is not ready yet.
func Starting() http.Handler {
	return refuseAll(&flight.Error{Code: codeStarting, Message: "The service is not ready yet. Try again in a moment; /readyz says why.", RetryAfter: 2 * time.Second})
}

// NotHere answers for a process that does not serve the interface. The message
// says what it does instead.
func NotHere(message string) http.Handler {
	return refuseAll(flight.Errorf(codeRouteNotFound, "%s", message))
}

// refuseAll answers every request with one error, as the interface does.
func refuseAll(err *flight.Error) http.Handler {
	a := &api{log: slog.Default()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Request-Id"] = []string{requestID(r.Header)}
		a.fail(w, r, err)
	})
}

// gone reports whether err is there because the client went away.
func gone(r *http.Request, err error) bool {
	return r.Context().Err() != nil && errors.Is(err, context.Canceled)
}

// bodyOf returns the part of the body that follows from err alone.
func bodyOf(err error) errorBody {
	e, ok := errors.AsType[*flight.Error](err)
	if !ok {
		e = &flight.Error{}
	}
	status, ok := statuses[e.Code]
	if !ok {
		e = &flight.Error{Code: flight.CodeInternal, Message: internalMessage}
		status = http.StatusInternalServerError
	}
	return errorBody{
		StatusCode: status, Error: reason(status), Message: e.Message, Code: e.Code,
		Fields: e.Fields, Legs: e.Legs, Status: e.Status, Window: e.Window,
		RetryAfterSeconds: graph.RetryAfterSeconds(e), WatchedLimit: e.Watched,
	}
}

// reason is the status in CamelCase.
func reason(status int) string {
	return cmp.Or(reasons[status], strings.ReplaceAll(http.StatusText(status), " ", ""))
}
