package flight

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code says what kind of failure an [Error] is. It is stable: clients may
// switch on it.
type Code string

// The codes, each with what it means to a caller.
const (
	CodeInvalid              Code = "invalid_request"        // the input is wrong; Fields says where
	CodeMissingAPIKey        Code = "missing_api_key"        // no key was sent
	CodeInvalidAPIKey        Code = "invalid_api_key"        // the key is unknown, revoked or rotated away
	CodeAccountDisabled      Code = "account_disabled"       // the key is right, its account is disabled
	CodeAPIKeyRequired       Code = "api_key_required"       // an account token was sent for what takes an API key
	CodeAccountTokenRequired Code = "account_token_required" // an API key was sent for what takes the account token
	CodeFlightNotFound       Code = "flight_not_found"       // the upstream knows no such flight
	CodeLegNotFound          Code = "leg_not_found"          // the flight is there, no leg matches; Legs lists them
	CodeOriginRequired       Code = "origin_required"        // several legs and none selected; Legs lists them
	CodeSubscriptionMissing  Code = "subscription_not_found" // no such subscription in this account
	CodeEventMissing         Code = "event_not_found"        // no such event of this subscription, or none any more
	CodeEventGone            Code = "event_gone"             // the event is there; what it carried is not kept any more
	CodeCountryNotFound      Code = "country_not_found"      // no such code in ISO 3166-1
	CodeInvalidState         Code = "invalid_state"          // the subscription's state forbids it
	CodeWatchedFlightLimit   Code = "watched_flight_limit"   // the plan allows no more this month; Watched says how many
	CodeIdempotencyReused    Code = "idempotency_key_reused" // the key stood with another request
	CodeNotFound             Code = "not_found"              // anything else that is not there
	CodeConflict             Code = "conflict"               // it is there already, or changed under us
	CodeQuotaExceeded        Code = "quota_exceeded"         // a window of the key is full; Window and RetryAfter say which and when
	CodeQuotaUnavailable     Code = "quota_unavailable"      // requests cannot be counted just now, and too many were let through
	CodeLiveLegLimit         Code = "live_leg_limit"         // the account watches as many legs live as its plan has
	CodeConnectionLimit      Code = "connection_limit"       // the account has as many connections open as its plan has
	CodeStreamLimit          Code = "stream_limit"           // the account has as many live operations open as its plan has
	CodeUpstream             Code = "upstream_error"         // the upstream refused us or made no sense
	CodeUpstreamUnavailable  Code = "upstream_unavailable"   // the upstream is down or over its limit
	CodeUpstreamTimeout      Code = "upstream_timeout"       // the upstream did not answer in time
	CodeInternal             Code = "internal"               // our own fault; the message says nothing of the cause
)

// Error is the one error type that crosses package borders. Message is a
// sentence for the caller that says what to do. Whatever is not an Error is
// internal and its text is shown to nobody.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError  // with CodeInvalid: every fault, not the first
	Legs       []LegRef      // with CodeLegNotFound and CodeOriginRequired
	Status     Status        // with CodeInvalidState: the subscription's status
	Watched    *WatchedLimit // with CodeWatchedFlightLimit
	Window     string        // with CodeQuotaExceeded: "minute", "day" or "month"
	RetryAfter time.Duration // with the upstream and quota codes: when to try again, 0 if unknown
	Cause      error         // for logs only
}

// FieldError is one fault of one input field.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// WatchedLimit is a month's allowance of watched flights that is used up.
type WatchedLimit struct {
	Limit    int  `json:"limit"`
	Used     int  `json:"used"`
	ResetsAt Time `json:"resetsAt"` // when the next month begins, UTC
}

// Error returns the code, the message and, for logs, the cause where the
// message does not quote it.
func (e *Error) Error() string {
	if e.Cause != nil && !strings.Contains(e.Message, e.Cause.Error()) {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error. A %w in the format becomes its Cause as well as part
// of the message, so wrap only what a caller may read.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// CodeOf returns the code of err: "" for nil, CodeInternal for what is no Error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Invalid collects the faults of an input.
type Invalid []FieldError

// Add records a fault.
func (v *Invalid) Add(field, format string, args ...any) {
	*v = append(*v, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Err returns nil when there is no fault, else one Error that lists them all.
func (v Invalid) Err() error {
	if len(v) == 0 {
		return nil
	}
	msg := v[0].Field + ": " + v[0].Message
	if len(v) > 1 {
		msg = fmt.Sprintf("%s (and %d more, see fields)", msg, len(v)-1)
	}
	return &Error{Code: CodeInvalid, Message: msg, Fields: v}
}
