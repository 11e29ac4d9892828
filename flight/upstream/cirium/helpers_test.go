package cirium

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

const (
	flagBase = upstreamtest.FlagBase
	appID    = "app-id-of-the-test"
	appKey   = "app-key-of-the-test"
)

// worldNow is what fetchedAt is in every test.
var worldNow = flight.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func fixture(t testing.TB, name string) []byte { return upstreamtest.Fixture(t, name) }

// recordedFiles are the answers with flights in them.
var recordedFiles = []string{
	"recorded/airport_arrivals.json",
	"recorded/airport_departures.json",
	"recorded/by_flight_AA1113_en_route.json",
	"recorded/historical_SJO_diverted_unknown_wetlease_downline.json",
}

// split returns a by-flight answer for each record of a recorded one, with the
// appendix that it came with, by carrier and number.
func split(t testing.TB, name string) map[string][]byte {
	t.Helper()
	var whole struct {
		Appendix json.RawMessage   `json:"appendix,omitempty"`
		Statuses []json.RawMessage `json:"flightStatuses"`
	}
	if err := json.Unmarshal(fixture(t, name), &whole); err != nil {
		t.Fatal(err)
	}
	answers := map[string][]byte{}
	for _, raw := range whole.Statuses {
		var rec struct {
			Carrier string `json:"carrierFsCode"`
			Number  string `json:"flightNumber"`
		}
		if err := json.Unmarshal(raw, &rec); err != nil {
			t.Fatal(err)
		}
		one := whole
		one.Statuses = []json.RawMessage{raw}
		body, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		answers[rec.Carrier+rec.Number] = body
	}
	return answers
}

// recordings returns every recorded flight as a by-flight answer.
func recordings(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range recordedFiles {
		for flightName, body := range split(t, name) {
			all[flightName] = body
		}
	}
	return all
}

// serve answers every request with status and body, and returns a source that
// asks there.
func serve(t testing.TB, status int, body []byte, header ...string) *Source {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}

func serveFunc(t testing.TB, handle http.HandlerFunc) *Source {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	return New(Config{BaseURL: srv.URL + "/flex/", AppID: appID, AppKey: appKey, FlagBase: flagBase, HTTPClient: srv.Client()})
}

// look asks for the legs of a flight, which must be there.
func look(t testing.TB, body []byte, carrier, number, date string) flight.Legs {
	t.Helper()
	return provider.Look(t, body, flight.Key{Carrier: carrier, Number: number, Date: date}, "2026-03-01 12:00") // worldNow
}
