package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/rest/resttest"
)

var legs = []flight.LegRef{
	{ProviderFlightID: "201", Carrier: "AA", DepartureIATA: "DFW", ArrivalIATA: "MSY", ScheduledDepartureLocal: "09:00", ScheduledArrivalLocal: "10:30"},
	{DepartureIATA: "MSY", ArrivalIATA: "MIA"},
}

// failing is one error for every code, and those that are none of ours.
var failing = []struct {
	name string
	err  error
}{
	{"invalid_request", &flight.Error{Code: flight.CodeInvalid, Message: "date: must be a calendar date (and 1 more, see fields)", Fields: []flight.FieldError{
		{Field: "date", Message: "must be a calendar date"}, {Field: "limit", Message: "must be a whole number from 1 to 200"}}}},
	{"missing_api_key", flight.Errorf(flight.CodeMissingAPIKey, "Send an API key.")},
	{"invalid_api_key", flight.Errorf(flight.CodeInvalidAPIKey, "The API key is not valid.")},
	{"account_disabled", flight.Errorf(flight.CodeAccountDisabled, "The account is disabled.")},
	{"api_key_required", flight.Errorf(flight.CodeAPIKeyRequired, "This takes an API key.")},
	{"account_token_required", flight.Errorf(flight.CodeAccountTokenRequired, "This takes the account token.")},
	{"flight_not_found", flight.Errorf(flight.CodeFlightNotFound, "No flight AA1 departs on 2026-11-21.")},
	{"leg_not_found", &flight.Error{Code: flight.CodeLegNotFound, Message: "No leg matches <the selector>.", Legs: legs}},
	{"origin_required", fmt.Errorf("wrapped: %w", &flight.Error{Code: flight.CodeOriginRequired, Message: "Name the origin.", Legs: legs})},
	{"subscription_not_found", flight.Errorf(flight.CodeSubscriptionMissing, "There is no such subscription.")},
	{"event_not_found", flight.Errorf(flight.CodeEventMissing, "There is no such event.")},
	{"event_gone", flight.Errorf(flight.CodeEventGone, "It is not kept any more.")},
	{"country_not_found", flight.Errorf(flight.CodeCountryNotFound, "There is no such country.")},
	{"flag_not_found", flight.Errorf(codeFlagNotFound, "There is no such flag.")},
	{"not_found", flight.Errorf(flight.CodeNotFound, "There is no such thing.")},
	{"invalid_state", &flight.Error{Code: flight.CodeInvalidState, Message: "The subscription is completed.", Status: flight.SubscriptionCompleted}},
	{"conflict", flight.Errorf(flight.CodeConflict, "The flight changed. Try again.")},
	{"watched_flight_limit", &flight.Error{Code: flight.CodeWatchedFlightLimit, Message: "The plan allows no more.",
		Watched: &flight.WatchedLimit{Limit: 3, Used: 3, ResetsAt: flight.TimeOf(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))}}},
	{"idempotency_key_reused", flight.Errorf(flight.CodeIdempotencyReused, "Send a new key.")},
	{"quota_exceeded", &flight.Error{Code: flight.CodeQuotaExceeded, Message: "The minute window has no room: 10 of 10 requests are used.", Window: "minute", RetryAfter: 22*time.Second + 1}},
	{"quota_unavailable", &flight.Error{Code: flight.CodeQuotaUnavailable, Message: "Requests cannot be counted just now.", RetryAfter: 5 * time.Second}},
	{"upstream_error", &flight.Error{Code: flight.CodeUpstream, Message: "The upstream refused.", Cause: errors.New("hush")}},
	{"upstream_unavailable", &flight.Error{Code: flight.CodeUpstreamUnavailable, Message: "The upstream is down.", RetryAfter: 90*time.Second + time.Millisecond}},
	{"upstream_timeout", flight.Errorf(flight.CodeUpstreamTimeout, "The upstream was too slow.")},
	{"starting", &flight.Error{Code: codeStarting, Message: "The service is not ready yet.", RetryAfter: 2 * time.Second}},
	{"payload_too_large", flight.Errorf(codePayloadTooLarge, "The body is too large.")},
	{"method_not_allowed", flight.Errorf(codeMethodNotAllowed, "The method is not allowed.")},
	{"route_not_found", flight.Errorf(codeRouteNotFound, "There is nothing here.")},
	{"internal", &flight.Error{Code: flight.CodeInternal, Message: "hush", Cause: errors.New("hush"), Fields: []flight.FieldError{{Field: "hush"}}}},
	{"unknown", errors.New("hush: dial tcp 10.0.0.1:5432")},
	{"unheard_of", flight.Errorf("unheard_of", "hush")},
}

func TestErrorBodies(t *testing.T) {
	documented, err := resttest.New(encode(document("https://fw.example", "legacy")))
	if err != nil {
		t.Fatal(err)
	}
	named := map[flight.Code]bool{}
	for _, c := range failing {
		named[flight.Code(c.name)] = true
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			a := &api{log: slog.New(slog.NewTextHandler(&log, nil))}
			w := httptest.NewRecorder()
			w.Header().Set("X-Request-Id", "req-7")
			a.fail(w, httptest.NewRequest("GET", "/v1/a%20b?key=secret", nil), c.err)

			var head strings.Builder
			fmt.Fprintf(&head, "%d\n", w.Code)
			if err := w.Header().Write(&head); err != nil {
				t.Fatal(err)
			}
			Golden(t, "errors/"+c.name, head.String(), w.Body.Bytes())
			if err := documented.Failure(w.Code, w.Header(), w.Body.Bytes()); err != nil {
				t.Error(err)
			}
			if strings.Contains(w.Body.String(), "hush") {
				t.Errorf("the cause is told: %s", w.Body)
			}
			if logged := log.Len() > 0; logged != (w.Code == 500) {
				t.Errorf("logged: %q", &log)
			}
			if w.Code == 500 && (!strings.Contains(log.String(), "req-7") || !strings.Contains(log.String(), "hush")) {
				t.Errorf("the log does not help: %q", &log)
			}
		})
	}
	for code := range statuses {
		if !named[code] {
			t.Errorf("no test of %s", code)
		}
	}
}

// A client that went away makes no noise; what fails for it all the same does.
func TestGoneClientIsNotLogged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		err    error
		logged bool
	}{
		{fmt.Errorf("db: %w", context.Canceled), false},
		{errors.New("disk full"), true},
	} {
		var log strings.Builder
		a := &api{log: slog.New(slog.NewTextHandler(&log, nil))}
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "req-7")
		a.fail(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/x", nil), c.err)
		if (log.Len() > 0) != c.logged {
			t.Errorf("%v: logged %q", c.err, &log)
		}
	}
	var log strings.Builder
	a := &api{log: slog.New(slog.NewTextHandler(&log, nil))}
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "req-7")
	a.fail(w, httptest.NewRequest("GET", "/v1/x", nil), context.Canceled)
	if log.Len() == 0 {
		t.Error("a cancellation that the client did not make is not logged")
	}
}
