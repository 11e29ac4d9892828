package aerodatabox

import (
	"net/http"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestDefaults(t *testing.T) {
	if s := New(Config{}); s.Name() != "aerodatabox" || s.Floor() != 5*time.Minute {
		t.Errorf("%s, %v", s.Name(), s.Floor())
	}
}

func TestRequest(t *testing.T) {
	got := make(chan *http.Request, 1)
	body := upstreamtest.Fixture(t, dir+"scheduled.json")
	base := upstreamtest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r
		_, _ = w.Write(body)
	})
	s := New(Config{BaseURL: base + "/api/", Key: key})
	if _, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00")); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if want := "/api/flights/number/BA178/2026-11-21?dateLocalRole=Departure"; r.Method != http.MethodGet || r.RequestURI != want {
		t.Errorf("asked %s %s, want %s", r.Method, r.RequestURI, want)
	}
	if r.Header.Get("X-RapidAPI-Key") != key || r.Header.Get("X-RapidAPI-Host") != "127.0.0.1" || r.Header.Get("x-api-market-key") != "" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestCredentials(t *testing.T) {
	for base, want := range map[string]string{
		PublicBase: "X-Rapidapi-Key",
		"https://prod.api.market/api/v1/aedbx/aerodatabox": "X-Api-Market-Key",
		"https://notapi.market/":                           "X-Rapidapi-Key",
		"http://[broken":                                   "X-Rapidapi-Key",
	} {
		h := credentials(base, key)
		if h.Get(want) != key || (want == "X-Rapidapi-Key") != (h["X-Rapidapi-Host"] != nil) {
			t.Errorf("%s: %v", base, h)
		}
	}
	if h := credentials(PublicBase, key); h.Get("X-RapidAPI-Host") != "aerodatabox.p.rapidapi.com" {
		t.Errorf("host %q", h.Get("X-RapidAPI-Host"))
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   flight.Code
	}{
		{200, `[]`, flight.CodeFlightNotFound},
		{404, `{"message":"no such"}`, flight.CodeFlightNotFound},
		{400, `{"message":"bad date"}`, flight.CodeUpstream},
		{403, `{"message":"You are not subscribed to this API."}`, flight.CodeUpstream},
		{451, `{"message":"not here"}`, flight.CodeUpstream},
		{500, `{"message":"oops"}`, flight.CodeUpstreamUnavailable},
		{200, `{}`, flight.CodeUpstream},
		{200, `[7]`, flight.CodeUpstream},
	} {
		s := New(Config{BaseURL: upstreamtest.Serve(t, tt.status, []byte(tt.body)), Key: key})
		legs, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
		if flight.CodeOf(err) != tt.want || legs != nil {
			t.Errorf("%d %s: %v, want %s", tt.status, tt.body, err, tt.want)
		}
	}
}

// TestDateBeyondPlan has the 400 of a date that the provider has nothing of: it
// is a flight that is not there yet, or not any more.
func TestDateBeyondPlan(t *testing.T) {
	s := New(Config{BaseURL: upstreamtest.Serve(t, 400, []byte(`{"message":"The date is out of range"}`)), Key: key})
	for date, want := range map[string]flight.Code{
		"2026-11-20": flight.CodeUpstream, "2026-11-21": flight.CodeUpstream, "2026-11-23": flight.CodeUpstream,
		"2026-11-18": flight.CodeFlightNotFound, "2026-11-24": flight.CodeFlightNotFound, "2027-11-20": flight.CodeFlightNotFound,
	} {
		_, err := s.Legs(t.Context(), flight.Key{Carrier: "BA", Number: "178", Date: date}, upstreamtest.At(t, "2026-11-21 12:00"))
		if flight.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", date, err, want)
		}
	}
}
