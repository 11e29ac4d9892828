package cirium

import (
	"net/http"
	"strings"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// refusal returns the error that an answer is, or nil when it is none. The
// error object of the body is looked at first: it can come with a 200.
func (s *Source) refusal(key flight.Key, got *upstream.Answer, ans *answer) *flight.Error {
	status, detail := got.Status, wireError{}
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
	return s.client.Refuse(key, got, judge(status, detail),
		upstream.Detail{Name: "code", Value: detail.Code}, upstream.Detail{Name: "id", Value: detail.ID}, upstream.Detail{Name: "message", Value: detail.Message})
}

// judge says what a refusal means.
func judge(status int, e wireError) upstream.Refusal {
	r := upstream.RefusalOf(status)
	if e.Code == "AUTH_FAILURE" && r != upstream.NoFlight && r != upstream.OverLimit {
		r = upstream.BadCredentials
	}
	switch {
	case noSuchFlight(status, e):
		return upstream.NoFlight
	case r == upstream.BadCredentials && overLimit(e):
		return upstream.OverLimit
	}
	return r
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
