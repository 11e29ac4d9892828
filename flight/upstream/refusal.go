package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flightwire/flightwire/flight"
)

// Refusal is what an answer without flights means.
type Refusal int

// The refusals that there are.
const (
	NoFlight       Refusal = iota // there is no such flight
	BadCredentials                // the key is wrong, or has no right to this
	OverLimit                     // the allowance is used up; Retry-After may say until when
	Down                          // the provider has a fault of its own
	Senseless                     // the answer cannot be used
	BadRequest                    // the provider does not take the question
)

// RefusalOf returns what an HTTP status other than 200 means, where the body
// says nothing else.
func RefusalOf(status int) Refusal {
	switch {
	case status == http.StatusNoContent, status == http.StatusNotFound:
		return NoFlight
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return BadCredentials
	case status == http.StatusTooManyRequests:
		return OverLimit
	case status >= 500:
		return Down
	case status < 400: // other success, or a redirect, which is not followed
		return Senseless
	}
	return BadRequest
}

// Detail is something that a refusal's body says, for the log.
type Detail struct{ Name, Value string }

// Refuse returns the error of an answer that is a refusal: CodeFlightNotFound,
// CodeUpstream, or CodeUpstreamUnavailable with RetryAfter where the answer
// has one. Its cause is the answer's status with the details.
func (c *Client) Refuse(key flight.Key, ans *Answer, r Refusal, details ...Detail) *flight.Error {
	if r == NoFlight {
		return flight.NotFound(key)
	}
	err := refusalError(r)
	if err.Code == flight.CodeUpstreamUnavailable {
		err.RetryAfter = retryAfter(ans.Header, time.Now())
	}
	text := c.name + ": status " + strconv.Itoa(ans.Status)
	for _, d := range details {
		if d.Value != "" {
			text += fmt.Sprintf(", %s %q", d.Name, Clip(c.redact(d.Value), 300))
		}
	}
	err.Cause = errors.New(text)
	return err
}

// refusalError says what a refusal means to a caller.
func refusalError(r Refusal) *flight.Error {
	switch r {
	case OverLimit:
		return flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider allows no more requests at present. Try again later.")
	case Down:
		return flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider is not available at present. Try again later.")
	case BadCredentials:
		return flight.Errorf(flight.CodeUpstream, "The flight data provider refused this service's credentials. The operator has to check them.")
	case BadRequest:
		return flight.Errorf(flight.CodeUpstream, "The flight data provider refused the request.")
	}
	return flight.Errorf(flight.CodeUpstream, "The flight data provider gave an answer that makes no sense.")
}

// maxRetryAfter bounds what an answer may ask us to wait.
const maxRetryAfter = time.Hour

// retryAfter returns the wait of a Retry-After header, in seconds or as an
// HTTP date, at most an hour; 0 when there is none that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	var wait time.Duration
	if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	} else if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		wait = time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Clip cuts a text down to n bytes, between characters, and marks it.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
