package upstream_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestRefusalOf(t *testing.T) {
	for status, want := range map[int]upstream.Refusal{
		204: upstream.NoFlight, 404: upstream.NoFlight, 401: upstream.BadCredentials, 403: upstream.BadCredentials, 429: upstream.OverLimit,
		500: upstream.Down, 502: upstream.Down, 503: upstream.Down, 599: upstream.Down, 400: upstream.BadRequest, 451: upstream.BadRequest,
		201: upstream.Senseless, 206: upstream.Senseless, 301: upstream.Senseless, 304: upstream.Senseless,
	} {
		if got := upstream.RefusalOf(status); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
}

// TestRetryAfter has every form of the header.
func TestRetryAfter(t *testing.T) {
	key := flight.Key{Carrier: "AA", Number: "1", Date: "2026-01-01"}
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "30": 30 * time.Second, "7200": time.Hour, "99999999999": time.Hour, "later": 0,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):     0,
		time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat): time.Hour,
	} {
		c := upstream.NewClient(upstream.ClientConfig{Name: "p", BaseURL: upstreamtest.Serve(t, 429, nil, "Retry-After", value)})
		ans, err := c.Get(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Refuse(key, ans, upstream.OverLimit).RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
		if got := c.Refuse(key, ans, upstream.BadCredentials).RetryAfter; got != 0 {
			t.Errorf("%q of wrong credentials: %v", value, got)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"B36"`: "B36", `" B36 "`: "B36", `"\u00e9\n"`: "é", `"é"`: "é", `7`: "7", `-7.5`: "-7.5", `true`: "", `null`: "", `{"a":"b"}`: "", `["a"]`: "", `""`: "",
		`"` + strings.Repeat("é", 150) + `"`: strings.Repeat("é", 100) + "…",
	} {
		var v struct{ T upstream.Text }
		if err := json.Unmarshal([]byte(`{"T":`+in+`}`), &v); err != nil || string(v.T) != want {
			t.Errorf("%s: %q, %v, want %q", in, v.T, err, want)
		}
	}
}

func TestDecode(t *testing.T) {
	var v struct {
		A int
		B string
	}
	if wrong, err := upstream.Decode([]byte(` {"A":"one","B":"two"} `), '{', &v); err != nil || wrong == nil || v.B != "two" || v.A != 0 {
		t.Errorf("%+v, %v, %v", v, wrong, err)
	}
	for _, body := range []string{"", "[]", "7", `{"A":1`, `{"A":1}}`, "<html>"} {
		if _, err := upstream.Decode([]byte(body), '{', &v); err == nil {
			t.Errorf("%s is an object", body)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]string{"178": "178", "0178": "178", "000": "000", "0": "0", "12a": "12A", "00A": "00A", "": "", "7NW": "7NW"} {
		if got := upstream.Number(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	const board = "2006-01-02 15:04Z07:00"
	for in, want := range map[string]string{
		"2023-08-01 17:00Z": "2023-08-01T17:00:00Z", "2023-08-01 19:00+02:00": "2023-08-01T17:00:00Z", "2023-08-01T17:00:00Z": "2023-08-01T17:00:00Z",
		"1970-01-01T00:00:00Z": "", "2200-01-01T00:00:00Z": "", "0001-01-01T00:00:00Z": "", "soon": "", "": "",
	} {
		got, err := upstream.ParseTime(in, board, time.RFC3339)
		if (err == nil) != (want != "") || err == nil && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}

func TestCompare(t *testing.T) {
	leg := func(to, gate string, out, minutes int) *flight.Snapshot {
		s := &flight.Snapshot{CarrierCode: "BA", FlightNumber: "178", Date: "2026-11-21"}
		s.Departure.Airport.IATA, s.Arrival.Airport.IATA, s.Departure.Gate = "JFK", to, gate
		s.Status.Code, s.Status.Phase = flight.StatusScheduled, flight.PhaseScheduled
		s.Departure.Times.ScheduledGate = &flight.FlightTime{UTC: flight.Time(out)}
		s.Departure.DelayMinutes = &minutes
		return s
	}
	const noon = 1795262400_000
	got := upstream.Compare([]upstream.Said{
		{Provider: "a", Legs: flight.Legs{leg("LHR", "7", noon, 0)}},
		{Provider: "b", Err: flight.NotFound(flight.Key{})},
		{Provider: "c", Legs: flight.Legs{leg("BOS", "", noon, 0), leg("LHR", "", noon+59_999, 5)}},
	})
	if len(got) != 2 || got[0].Route != "JFK-LHR" || got[1].Route != "JFK-BOS" {
		t.Fatalf("%+v", got)
	}
	rows := map[string]upstream.FieldOf{}
	for _, r := range got[0].Rows {
		rows[r.Name] = r
	}
	for name, want := range map[string]struct {
		values  string
		differs bool
	}{
		"departure.gate":                {"7||", false}, // only one says so
		"departure.times.scheduledGate": {"2026-11-21 12:00Z||2026-11-21 12:00Z", false},
		"departure.delayMinutes":        {"0||5", true},
		"status.phase":                  {"scheduled||scheduled", false},
	} {
		if r := rows[name]; strings.Join(r.Values, "|") != want.values || r.Differs != want.differs {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
	if _, ok := rows["arrival.gate"]; ok {
		t.Error("a row that nobody says anything in")
	}
	if upstream.Compare(nil) != nil {
		t.Error("legs of nobody")
	}
}
