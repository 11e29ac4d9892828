package aeroapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestDefaults(t *testing.T) {
	if s := New(Config{}); s.Name() != "aeroapi" || s.Floor() != time.Minute {
		t.Errorf("%s, %v", s.Name(), s.Floor())
	}
}

// recorder serves each path with a body and notes what was asked.
func recorder(t *testing.T, bodies map[string]string) (s *Source, asked func() []*http.Request) {
	var got []*http.Request
	base := upstreamtest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r) // one call at a time
		for prefix, body := range bodies {
			if strings.HasPrefix(r.URL.Path, "/aeroapi"+prefix) {
				_, _ = w.Write([]byte(body))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	})
	return New(Config{BaseURL: base + "/aeroapi/", Key: key, FlagBase: flagBase}), func() []*http.Request { return got }
}

func TestRequest(t *testing.T) {
	s, asked := recorder(t, map[string]string{"/flights/": string(upstreamtest.Fixture(t, dir+"scheduled.json"))})
	if _, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00")); err != nil {
		t.Fatal(err)
	}
	r := asked()[0]
	const want = "/aeroapi/flights/BAW178?end=2026-11-22T12%3A00%3A00Z&ident_type=designator&start=2026-11-20T10%3A00%3A00Z"
	if len(asked()) != 1 || r.Method != http.MethodGet || r.RequestURI != want || r.Header.Get("x-apikey") != key {
		t.Errorf("asked %d times, %s %s with %q", len(asked()), r.Method, r.RequestURI, r.Header.Get("x-apikey"))
	}
}

func TestPlan(t *testing.T) {
	const now = "2026-11-21 12:00"
	for _, tt := range []struct {
		date string
		want []string // collection, from, to
	}{
		{"2020-01-01", []string{"/history/flights/BAW178 2019-12-31T10:00:00Z 2020-01-02T12:00:00Z"}},
		{"2026-11-11", []string{"/history/flights/BAW178 2026-11-10T10:00:00Z 2026-11-11T12:15:00Z", "/flights/BAW178 2026-11-11T12:15:00Z 2026-11-12T12:00:00Z"}},
		{"2026-11-12", []string{"/history/flights/BAW178 2026-11-11T10:00:00Z 2026-11-11T12:15:00Z", "/flights/BAW178 2026-11-11T12:15:00Z 2026-11-13T12:00:00Z"}},
		{"2026-11-13", []string{"/flights/BAW178 2026-11-12T10:00:00Z 2026-11-14T12:00:00Z"}},
		{"2026-11-21", []string{"/flights/BAW178 2026-11-20T10:00:00Z 2026-11-22T12:00:00Z"}},
		{"2026-11-22", []string{"/flights/BAW178 2026-11-21T10:00:00Z 2026-11-23T11:45:00Z", "/schedules/2026-11-23T11:45:00Z/2026-11-23T12:00:00Z BAW 178"}},
		{"2026-11-23", []string{"/flights/BAW178 2026-11-22T10:00:00Z 2026-11-23T11:45:00Z", "/schedules/2026-11-23T11:45:00Z/2026-11-24T12:00:00Z BAW 178"}},
		{"2026-11-25", []string{"/schedules/2026-11-24T10:00:00Z/2026-11-26T12:00:00Z BAW 178"}},
		{"2027-11-21", []string{"/schedules/2027-11-20T10:00:00Z/2027-11-21T12:00:00Z BAW 178"}},
		{"2028-01-01", nil},
	} {
		calls, err := plan(flight.Key{Carrier: "BA", Number: "178", Date: tt.date}, upstreamtest.At(t, now))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range calls {
			line := c.path
			for _, name := range []string{"start", "end", "airline", "flight_number"} {
				if v := c.query.Get(name); v != "" {
					line += " " + v
				}
			}
			got = append(got, line)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%q, want\n%q", tt.date, got, tt.want)
		}
	}
	calls, _ := plan(flight.Key{Carrier: "XQ9", Number: "12A", Date: "2026-12-24"}, upstreamtest.At(t, now))
	if q := calls[0].query; q.Get("airline") != "XQ9" || q.Get("flight_number") != "12" {
		t.Errorf("an unknown airline and a letter: %v", q)
	}
}

// TestBorder has a flight whose legs lie on both sides of what /flights has.
func TestBorder(t *testing.T) {
	s, asked := recorder(t, map[string]string{
		"/flights/":   strings.ReplaceAll(string(upstreamtest.Fixture(t, dir+"scheduled.json")), `"LHR"`, `"BOS"`),
		"/schedules/": string(upstreamtest.Fixture(t, dir+"schedule.json")),
	})
	legs, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-20 12:00"))
	if err != nil || len(legs) != 2 || len(asked()) != 2 {
		t.Fatalf("%d legs of %d calls, %v", len(legs), len(asked()), err)
	}
	upstreamtest.CheckLegs(t, legs, ba178)

	// What both have is one leg, and the one with an id stays.
	s, _ = recorder(t, map[string]string{
		"/flights/": string(upstreamtest.Fixture(t, dir+"scheduled.json")), "/schedules/": string(upstreamtest.Fixture(t, dir+"schedule.json")),
	})
	legs, err = s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-20 12:00"))
	if err != nil || len(legs) != 1 || legs[0].ProviderFlightID == "" {
		t.Fatalf("%d legs, %v", len(legs), err)
	}

	// A collection that knows no such flight leaves the other's.
	s, _ = recorder(t, map[string]string{"/schedules/": string(upstreamtest.Fixture(t, dir+"schedule.json"))})
	legs, err = s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-20 12:00"))
	if err != nil || len(legs) != 1 || legs[0].ProviderFlightID != "" {
		t.Fatalf("%d legs, %v", len(legs), err)
	}
}

func TestPages(t *testing.T) {
	first := string(upstreamtest.Fixture(t, dir+"scheduled.json"))
	evil := "http://elsewhere.example/aeroapi/flights/BAW178?max_pages=9&cursor=%2Fab%3D1"
	for _, next := range []string{evil, "/flights/BAW178?cursor=%2Fab%3D1", "?cursor=/ab%3D1"} {
		var asked []url.Values
		base := upstreamtest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Query())
			if r.URL.Query().Get("cursor") == "" {
				_, _ = fmt.Fprintf(w, `{"flights":[],"links":{"next":%q},"num_pages":1}`, next)
				return
			}
			_, _ = w.Write([]byte(first))
		})
		legs, err := New(Config{BaseURL: base, Key: key}).Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
		if err != nil || len(legs) != 1 || len(asked) != 2 {
			t.Fatalf("%s: %d legs of %d pages, %v", next, len(legs), len(asked), err)
		}
		if q := asked[1]; q.Get("cursor") != "/ab=1" || q.Get("start") == "" || q.Get("max_pages") != "" {
			t.Errorf("%s: the second page is asked for by %v", next, q)
		}
	}

	pages := 0
	base := upstreamtest.ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		pages++
		_, _ = fmt.Fprintf(w, `{"flights":[],"links":{"next":"?cursor=%d"},"num_pages":1}`, pages)
	})
	_, err := New(Config{BaseURL: base}).Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
	if flight.CodeOf(err) != flight.CodeUpstream || pages != maxPages {
		t.Errorf("%d pages without an end: %v", pages, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   flight.Code
	}{
		{404, `{"title":"Not found","reason":"NO_DATA","detail":"","status":404}`, flight.CodeFlightNotFound},
		{200, `{"title":"Not found","reason":"NO_DATA","detail":"","status":404}`, flight.CodeFlightNotFound},
		{400, `{"title":"Bad","reason":"INVALID_ARGUMENT","detail":"start","status":400}`, flight.CodeUpstream},
		{402, `{"title":"Payment required"}`, flight.CodeUpstreamUnavailable},
		{403, ``, flight.CodeUpstream},
		{200, `{"title":"Oops"}`, flight.CodeUpstreamUnavailable},
		{200, `{"title":"Oops","status":"seven"}`, flight.CodeUpstreamUnavailable},
		{200, `{"flights":"none"}`, flight.CodeUpstream},
		{200, `{"flights":null}`, flight.CodeUpstream},
		{206, `{"flights":[]}`, flight.CodeUpstream},
	} {
		s := New(Config{BaseURL: upstreamtest.Serve(t, tt.status, []byte(tt.body)), Key: key})
		legs, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
		if flight.CodeOf(err) != tt.want || legs != nil {
			t.Errorf("%d %s: %v, want %s", tt.status, tt.body, err, tt.want)
		}
	}
}
