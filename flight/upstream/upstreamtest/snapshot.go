package upstreamtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

// CheckSnapshot fails the test where a snapshot lacks a field that the contract
// requires, or contradicts itself. Fuzz targets use it too.
func CheckSnapshot(t testing.TB, s *flight.Snapshot) {
	t.Helper()
	if s.CarrierCode == "" || s.CarrierCode != s.Carrier.IATA || s.Carrier.Name == "" || s.FlightNumber == "" || s.Date == "" || s.FlightKey == "" {
		t.Fatalf("identity %+v", s)
	}
	ends := []*flight.Endpoint{&s.Departure, &s.Arrival}
	if s.Diverted != nil {
		ends = append(ends, s.Diverted)
	}
	for _, e := range ends {
		a := &e.Airport
		if a.IATA == "" || a.Name == "" || !countryCode.MatchString(a.Country.Code) || a.Country.Name == "" || a.Country.FlagSVG == "" {
			t.Fatalf("airport %+v", a)
		}
		for name, ft := range Times(e) {
			if ft != nil && !ft.UTC.Known() {
				t.Fatalf("%s is %+v", name, ft)
			}
		}
	}
	if !s.Departure.BestTimeUTC.Known() {
		t.Fatalf("nobody knows when it departs: %+v", s.Departure)
	}
	codes := []string{
		flight.StatusScheduled, flight.StatusActive, flight.StatusLanded, flight.StatusCancelled,
		flight.StatusDiverted, flight.StatusRedirected, flight.StatusUnknown, flight.StatusNotOperational,
	}
	if !slices.Contains(codes, s.Status.Code) || s.Status.Label == "" || !slices.Contains(flight.Phases, s.Status.Phase) {
		t.Fatalf("status %+v", s.Status)
	}
	for _, c := range s.Codeshares {
		if c.Carrier == "" || c.Name == "" || c.FlightNumber == "" || c.Carrier == s.CarrierCode && c.FlightNumber == s.FlightNumber {
			t.Fatalf("codeshare %+v of %s", c, s.FlightKey)
		}
	}
	for _, e := range s.Timeline {
		if !e.OccurredAt.Known() || e.Title == "" || len(e.Events) == 0 {
			t.Fatalf("timeline entry %+v", e)
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flight.DecodeSnapshot(b); err != nil {
		t.Fatal(err)
	}
}

// CheckRefs fails the test where an airport or the carrier of a snapshot lacks
// what the reference data has of every airport and airline of a real answer.
func CheckRefs(t testing.TB, s *flight.Snapshot) {
	t.Helper()
	ends := []*flight.Endpoint{&s.Departure, &s.Arrival}
	if s.Diverted != nil {
		ends = append(ends, s.Diverted)
	}
	for _, e := range ends {
		a := &e.Airport
		if len(a.IATA) != 3 || len(a.ICAO) != 4 || a.Timezone == "" || a.City == "" || a.Country.Code == "ZZ" || a.Country.Code == "US" && a.State == "" {
			t.Errorf("airport %+v", a)
		}
		for _, code := range []string{a.IATA, a.ICAO, a.Code} {
			if code != "" && !a.Is(code) {
				t.Errorf("%s is not %+v", code, a)
			}
		}
	}
	if c := s.Carrier; len(c.IATA) != 2 || len(c.ICAO) != 3 || c.Name == c.IATA {
		t.Errorf("carrier %+v", c)
	}
	for _, c := range s.Codeshares {
		if len(c.Carrier) != 2 || c.Name == c.Carrier {
			t.Errorf("codeshare %+v", c)
		}
	}
}

// Times returns the times of one end by name; unknown ones are nil.
func Times(e *flight.Endpoint) map[string]*flight.FlightTime {
	t := &e.Times
	return map[string]*flight.FlightTime{
		"scheduledGate": t.ScheduledGate, "estimatedGate": t.EstimatedGate, "actualGate": t.ActualGate,
		"scheduledRunway": t.ScheduledRunway, "estimatedRunway": t.EstimatedRunway, "actualRunway": t.ActualRunway,
	}
}
