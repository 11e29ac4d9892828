package cirium

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

var aa1113 = flight.Key{Carrier: "AA", Number: "1113", Date: "2015-04-29"}

func TestRequest(t *testing.T) {
	got := make(chan *http.Request, 1)
	body := fixture(t, "recorded/by_flight_AA1113_en_route.json")
	s := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r
		_, _ = w.Write(body)
	})
	if _, err := s.Legs(t.Context(), aa1113, worldNow); err != nil {
		t.Fatal(err)
	}
	r := <-got
	const want = "/flex/flightstatus/rest/v2/json/flight/status/AA/1113/dep/2015/4/29?utc=false&extendedOptions=useHttpErrors+includeDeltas+includeNewFields+languageCode:en"
	if r.Method != http.MethodGet || r.RequestURI != want {
		t.Errorf("asked %s %s, want %s", r.Method, r.RequestURI, want)
	}
	if r.Header.Get("appId") != appID || r.Header.Get("appKey") != appKey {
		t.Errorf("headers %v", r.Header)
	}
	if strings.Contains(r.RequestURI, appKey) || strings.Contains(r.RequestURI, appID) {
		t.Error("a credential stands in the URL")
	}

	// An Fs code with a star stays one path element.
	if _, err := s.Legs(t.Context(), flight.Key{Carrier: "RV*", Number: "1806", Date: "2018-11-30"}, worldNow); flight.CodeOf(err) != flight.CodeFlightNotFound {
		t.Errorf("another day's flight: %v", err)
	}
	if r := <-got; !strings.Contains(r.URL.Path, "/status/RV*/1806/dep/2018/11/30") {
		t.Errorf("path %s", r.URL.Path)
	}
}

func TestDefaults(t *testing.T) {
	if s := New(Config{}); s.Name() != "cirium" || s.Floor() != time.Minute {
		t.Errorf("%+v", s)
	}
}

func TestRefusals(t *testing.T) {
	refusal := func(status int, code, message string) []byte {
		return []byte(`{"appendix":{},"error":{"httpStatusCode":` + strconv.Itoa(status) + `,"errorCode":"` + code + `","errorId":"x","errorMessage":"` + message + `"},"flightStatuses":[]}`)
	}
	auth := fixture(t, "recorded/error_403_auth_failure.json")
	for _, tt := range []struct {
		name   string
		status int
		body   []byte
		header []string
		code   flight.Code
		after  time.Duration
	}{
		{"wrong key", 403, auth, nil, flight.CodeUpstream, 0},
		{"wrong key in a 200", 200, auth, nil, flight.CodeUpstream, 0},
		{"no body", 401, nil, nil, flight.CodeUpstream, 0},
		{"AUTH_FAILURE without its status", 200, []byte(`{"error":{"errorCode":"AUTH_FAILURE"}}`), nil, flight.CodeUpstream, 0},
		{"allowance used up", 403, refusal(403, "AUTH_FAILURE", "Authorization failed. limits_exceeded:usage limits are exceeded"), []string{"Retry-After", "90"}, flight.CodeUpstreamUnavailable, 90 * time.Second},
		{"too many", 429, []byte("slow down"), []string{"Retry-After", "17"}, flight.CodeUpstreamUnavailable, 17 * time.Second},
		{"too many, for ever", 429, nil, []string{"Retry-After", "99999999999"}, flight.CodeUpstreamUnavailable, time.Hour},
		{"too many, says nothing", 429, nil, []string{"Retry-After", "soon"}, flight.CodeUpstreamUnavailable, 0},
		{"down", 503, []byte("<html>"), []string{"Retry-After", "5"}, flight.CodeUpstreamUnavailable, 5 * time.Second},
		{"broken", 500, refusal(500, "INTERNAL", "oops"), nil, flight.CodeUpstreamUnavailable, 0},
		{"error in a 200", 200, fixture(t, "synthetic_error_in_200.json"), nil, flight.CodeUpstreamUnavailable, 0},
		{"error in a 200 without a status", 200, []byte(`{"error":{"errorMessage":"what"},"flightStatuses":[]}`), nil, flight.CodeUpstreamUnavailable, 0},
		{"404", 404, []byte("nothing"), nil, flight.CodeFlightNotFound, 0},
		{"404 in a 200", 200, refusal(404, "NOT_FOUND", ""), nil, flight.CodeFlightNotFound, 0},
		{"no content", 204, nil, nil, flight.CodeFlightNotFound, 0},
		{"no flight", 200, fixture(t, "synthetic_empty.json"), nil, flight.CodeFlightNotFound, 0},
		{"null", 200, []byte(`{"flightStatuses":null}`), nil, flight.CodeFlightNotFound, 0},
		{"unknown carrier", 400, refusal(400, "BAD_AIRLINE_CODE", "not valid"), nil, flight.CodeFlightNotFound, 0},
		{"beyond its days", 400, refusal(400, "DATE_OUT_OF_RANGE", "not valid"), nil, flight.CodeFlightNotFound, 0},
		{"bad request", 400, refusal(400, "BAD_OPTION", "not valid"), nil, flight.CodeUpstream, 0},
		{"redirect", 302, nil, []string{"Location", "/elsewhere"}, flight.CodeUpstream, 0},
		{"other success", 206, fixture(t, "synthetic_empty.json"), nil, flight.CodeUpstream, 0},
		{"no JSON", 200, []byte("<html>hello"), nil, flight.CodeUpstream, 0},
		{"half a JSON", 200, []byte(`{"flightStatuses":[{"flightId":1`), nil, flight.CodeUpstream, 0},
		{"another JSON", 200, []byte(`{"flights":[]}`), nil, flight.CodeUpstream, 0},
		{"a list", 200, []byte(`[]`), nil, flight.CodeUpstream, 0},
		{"a string for flights", 200, []byte(`{"flightStatuses":"none"}`), nil, flight.CodeUpstream, 0},
		{"too long", 200, []byte(`{"flightStatuses":[` + strings.Repeat(" ", 4<<20) + `]}`), nil, flight.CodeUpstream, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			legs, err := serve(t, tt.status, tt.body, tt.header...).Legs(t.Context(), aa1113, worldNow)
			e, ok := err.(*flight.Error)
			if !ok || legs != nil {
				t.Fatalf("%d legs, %v", len(legs), err)
			}
			if e.Code != tt.code || e.RetryAfter != tt.after {
				t.Errorf("%v, retry after %v; want %s, %v", e, e.RetryAfter, tt.code, tt.after)
			}
			if e.Code != flight.CodeFlightNotFound && e.Cause == nil {
				t.Error("no cause for the operator")
			}
			for _, leak := range []string{"http", "127.0.0.1", "AUTH", "limits_exceeded"} {
				if strings.Contains(e.Message, leak) {
					t.Errorf("the message says %q: %s", leak, e.Message)
				}
			}
		})
	}
}

// TestNoCredentialInErrors has a provider that repeats the credentials.
func TestNoCredentialInErrors(t *testing.T) {
	for _, body := range []string{
		`{"error":{"httpStatusCode":403,"errorCode":"AUTH_FAILURE ` + appKey + `","errorMessage":"application with id=\"` + appID + `\" and key ` + appKey + ` was not found"},"flightStatuses":[]}`,
		`{"flightStatuses":[{"carrierFsCode":"A","flightNumber":"1","departureAirportFsCode":"B","arrivalAirportFsCode":"C","status":"S","departureDate":{"dateUtc":"` + appKey + `"}}]}`,
	} {
		_, err := serve(t, 200, []byte(body)).Legs(t.Context(), aa1113, worldNow)
		if flight.CodeOf(err) != flight.CodeUpstream {
			t.Fatal(err)
		}
		if s := err.Error(); strings.Contains(s, appKey) || strings.Contains(s, appID) || !strings.Contains(s, "…") {
			t.Errorf("the error says %s", s)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	followed := make(chan struct{}, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed <- struct{}{} }))
	defer elsewhere.Close()
	_, err := serve(t, http.StatusFound, nil, "Location", elsewhere.URL).Legs(t.Context(), aa1113, worldNow)
	if flight.CodeOf(err) != flight.CodeUpstream {
		t.Error(err)
	}
	select {
	case <-followed:
		t.Error("the key was carried elsewhere")
	default:
	}
}

func TestTimeouts(t *testing.T) {
	release := make(chan struct{})
	for name, handle := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		},
		"half an answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"flightStatuses":[`)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-release:
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(handle)
			defer srv.Close()
			s := New(Config{BaseURL: srv.URL, Timeout: 50 * time.Millisecond})
			if _, err := s.Legs(t.Context(), aa1113, worldNow); flight.CodeOf(err) != flight.CodeUpstreamTimeout {
				t.Errorf("own time-out: %v", err)
			}
			s = New(Config{BaseURL: srv.URL})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := s.Legs(ctx, aa1113, worldNow)
			if flight.CodeOf(err) != flight.CodeUpstreamTimeout || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("the caller's: %v", err)
			}
		})
	}
	close(release)
}

func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	base := srv.URL
	srv.Close()
	s := New(Config{BaseURL: base, AppID: appID, AppKey: appKey})
	_, err := s.Legs(t.Context(), aa1113, worldNow)
	if flight.CodeOf(err) != flight.CodeUpstreamUnavailable || strings.Contains(err.Error(), "flightstatus") {
		t.Errorf("closed port: %v", err)
	}
	s = New(Config{BaseURL: "http://[broken", AppKey: appKey})
	if _, err := s.Legs(t.Context(), aa1113, worldNow); flight.CodeOf(err) != flight.CodeUpstream || strings.Contains(err.Error(), "broken") {
		t.Errorf("broken base: %v", err)
	}
	if _, err := s.Legs(t.Context(), flight.Key{Carrier: "AA", Number: "1", Date: "tomorrow"}, worldNow); flight.CodeOf(err) != flight.CodeInvalid {
		t.Errorf("broken date: %v", err)
	}
}
