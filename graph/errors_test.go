package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/flight"
)

func TestPresent(t *testing.T) {
	legs := []flight.LegRef{{DepartureIATA: "JFK", ArrivalIATA: "LHR"}}
	for _, c := range []struct {
		err     error
		message string
		want    string // extensions
	}{
		{flight.Errorf(flight.CodeFlightNotFound, "None."), "None.", `{"code":"FLIGHT_NOT_FOUND"}`},
		{fmt.Errorf("wrapped: %w", flight.Errorf(flight.CodeNotFound, "None.")), "None.", `{"code":"NOT_FOUND"}`},
		{gqlerror.WrapPath(nil, flight.Errorf(flight.CodeConflict, "Twice.")), "Twice.", `{"code":"CONFLICT"}`},
		{&flight.Error{Code: flight.CodeInvalid, Message: "Bad.", Fields: []flight.FieldError{{Field: "date", Message: "no"}}}, "Bad.",
			`{"code":"INVALID_REQUEST","fields":[{"field":"date","message":"no"}]}`},
		{&flight.Error{Code: flight.CodeLegNotFound, Message: "No leg.", Legs: legs}, "No leg.",
			`{"code":"LEG_NOT_FOUND","legs":[{"departureIata":"JFK","arrivalIata":"LHR","selected":false}]}`},
		{&flight.Error{Code: flight.CodeInvalidState, Message: "Done.", Status: flight.SubscriptionCompleted}, "Done.",
			`{"code":"INVALID_STATE","status":"COMPLETED"}`},
		{&flight.Error{Code: flight.CodeUpstreamTimeout, Message: "Slow.", RetryAfter: 1100 * time.Millisecond, Cause: errors.New("secret")}, "Slow.",
			`{"code":"UPSTREAM_TIMEOUT","retryAfterSeconds":2}`},
		{&flight.Error{Code: flight.CodeWatchedFlightLimit, Message: "No more.", Watched: &flight.WatchedLimit{Limit: 3, Used: 4, ResetsAt: 1}}, "No more.",
			`{"code":"WATCHED_FLIGHT_LIMIT","limit":3,"resetsAt":"1970-01-01T00:00:00.001Z","used":4}`},
		{flight.Errorf(flight.CodeUpstream, "Refused."), "Refused.", `{"code":"UPSTREAM_ERROR","retryAfterSeconds":10}`},
		{gqlerror.Errorf("unknown field"), "unknown field", `null`},
		{errors.New("password=secret"), errInternal.Message, `{"code":"INTERNAL"}`},
		{gqlerror.WrapPath(nil, errors.New("password=secret")), errInternal.Message, `{"code":"INTERNAL"}`},
	} {
		got := present(t.Context(), c.err)
		x, err := json.Marshal(got.Extensions)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := json.Marshal(got)
		if got.Message != c.message || string(x) != c.want || strings.Contains(string(all), "secret") {
			t.Errorf("%v: %s", c.err, all)
		}
	}
	long := present(t.Context(), gqlerror.Errorf("%s", strings.Repeat("é", 5000)))
	if len(long.Message) > maxMessage+10 || !utf8.ValidString(long.Message) {
		t.Error(len(long.Message))
	}
}

// What the parser and the validator say of a document does not repeat its
// values: a secret may stand in the wrong place.
func TestDocumentsAreNotRepeated(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	const secret = "c4n4ry"
	for input, says := range map[string]string{
		`secret: ["` + secret + `"]`:                    "String cannot represent",
		`secret: {a: "` + secret + `"}`:                 `"String"`,
		`secret: ` + secret:                             "String cannot represent a non string value",
		`secret "` + secret + `"`:                       "found String",
		`secret """` + secret + `"""`:                   "found BlockString",
		`secret: "a" "` + secret + `"`:                  "found String",
		`secret: "` + secret:                            "Unexpected",
		`delayThresholdMinutes: "` + secret + `"`:       "Int cannot represent non-integer value",
		`date: {a: "` + secret + `"}`:                   "",
		`events: ["` + secret + `"]`:                    "cannot represent non-enum value",
		`events: [` + secret + `]`:                      "ChangeType",
		`secret: "` + secret + `", secret: "x"`:         "only one",
		`secret: "` + secret + `", "` + secret + `": 1`: "found String",
	} {
		r := post(t, s.URL, `mutation { createSubscription(input: {carrier: "AA", `+input+`}) { id } }`, nil)
		if strings.Contains(r.body, secret) && !strings.Contains(input, "events: ["+secret) || !strings.Contains(strings.ReplaceAll(r.body, `\"`, `"`), says) || len(r.Errors) == 0 {
			t.Errorf("%s: %s", input, r.body)
		}
	}
}

func TestRecovered(t *testing.T) {
	if err := recovered(t.Context(), "secret"); flight.CodeOf(err) != flight.CodeInternal || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{"flt_1", 7}.String())
	f.Add("!!")
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := parseCursor(s); ok {
			if again, ok := parseCursor(c.String()); !ok || again != c {
				t.Errorf("%q is %+v and then %+v", s, c, again)
			}
		}
	})
}
