package cirium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flightwire/flightwire/flight"
)

// maxRetryAfter bounds what an answer may ask us to wait.
const maxRetryAfter = time.Hour

// refusal returns the error that an answer is, or nil when it is none. The
// error object of the body is looked at first: it can come with a 200.
func (s *Source) refusal(key flight.Key, resp *http.Response, ans *answer) *flight.Error {
	status, detail := resp.StatusCode, wireError{}
	if ans != nil && ans.Error != nil {
		detail = *ans.Error
		if n := int(detail.Status); n >= 400 {
			status = n
		} else if status < 400 {
			status = http.StatusBadGateway // an error that does not say which
		}
	}
	if status == http.StatusOK {
		return nil
	}
	err := judge(key, status, detail)
	if err.Code == flight.CodeUpstreamUnavailable {
		err.RetryAfter = retryAfter(resp.Header, time.Now())
	}
	if err.Code != flight.CodeFlightNotFound {
		err.Cause = s.cause(resp.StatusCode, detail)
	}
	return err
}

// judge says what a refusal means to a caller.
func judge(key flight.Key, status int, e wireError) *flight.Error {
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden || e.Code == "AUTH_FAILURE"
	switch {
	case status == http.StatusNoContent, status == http.StatusNotFound, noSuchFlight(status, e):
		return flight.NotFound(key)
	case status == http.StatusTooManyRequests, refused && overLimit(e):
		return flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider allows no more requests at present. Try again later.")
	case refused:
		return flight.Errorf(flight.CodeUpstream, "The flight data provider refused this service's credentials. The operator has to check them.")
	case status >= 500:
		return flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider is not available at present. Try again later.")
	case status < 400: // other success, or a redirect, which is not followed
		return flight.Errorf(flight.CodeUpstream, "The flight data provider gave an answer that makes no sense.")
	}
	return flight.Errorf(flight.CodeUpstream, "The flight data provider refused the request.")
}

// noSuchFlight reports whether a bad request says that there can be no such
// flight: a carrier that the provider does not know, or a date beyond the days
// that it has status for, which may come into its reach later.
func noSuchFlight(status int, e wireError) bool {
	return status == http.StatusBadRequest &&
		(strings.Contains(e.Code, "AIRLINE_CODE") || strings.Contains(e.Code, "DATE_OUT_OF_RANGE"))
}

// overLimit reports whether an authorization failure is a used up allowance,
// which the provider's gateway reports in the same way as a wrong key.
func overLimit(e wireError) bool {
	m := strings.ToLower(e.Message)
	return strings.Contains(m, "limits_exceeded") || strings.Contains(m, "limits are exceeded")
}

// unintelligible returns the error for an answer that cannot be used.
func (s *Source) unintelligible(cause error) *flight.Error {
	err := flight.Errorf(flight.CodeUpstream, "The flight data provider gave an answer that makes no sense.")
	err.Cause = errors.New("cirium: " + s.redact(cause.Error()))
	return err
}

// unreachable returns the error for a call without an answer.
func (s *Source) unreachable(ctx context.Context, err error) *flight.Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	var network net.Error
	if ctx.Err() != nil || errors.As(err, &network) && network.Timeout() {
		timeout := flight.Errorf(flight.CodeUpstreamTimeout, "The flight data provider did not answer in time. Try again.")
		timeout.Cause = fmt.Errorf("cirium: %w", cmp.Or(ctx.Err(), err))
		return timeout
	}
	down := flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider cannot be reached at present. Try again later.")
	down.Cause = errors.New("cirium: " + s.redact(err.Error()))
	return down
}

// cause is what the operator reads in the log of a refusal.
func (s *Source) cause(status int, e wireError) error {
	text := "cirium: status " + strconv.Itoa(status)
	for _, part := range []struct{ name, value string }{{"code", e.Code}, {"id", e.ID}, {"message", e.Message}} {
		if part.value != "" {
			text += fmt.Sprintf(", %s %q", part.name, clip(s.redact(part.value), 300))
		}
	}
	return errors.New(text)
}

// redact strikes the credentials out of a text: the provider repeats them.
func (s *Source) redact(text string) string {
	for _, secret := range []string{s.appKey, s.appID} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

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
