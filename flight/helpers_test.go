package flight_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/flightwire/flightwire/flight"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The zones of the base flight's ends.
const (
	newYork = "America/New_York"
	london  = "Europe/London"
)

// utc reads "2006-01-02 15:04" or the same with seconds, perhaps with
// milliseconds.
func utc(s string) flight.Time {
	layout := "2006-01-02 15:04:05"
	if len(s) == len("2006-01-02 15:04") {
		layout = "2006-01-02 15:04"
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		panic(err)
	}
	return flight.TimeOf(t)
}

// plus returns the moment d after t.
func plus(t flight.Time, d time.Duration) flight.Time {
	return t + flight.Time(d.Milliseconds())
}

// on returns the moment as the clocks of zone show it.
func on(t flight.Time, zone string) *flight.FlightTime {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	local := t.Std().In(loc)
	abbreviation, _ := local.Zone()
	return &flight.FlightTime{UTC: t, Local: local.Format("2006-01-02T15:04:05.000"), Timezone: abbreviation}
}

// The schedule of the base flight: out at 18:00 EDT, in at 06:10 GMT.
var (
	scheduledOut = utc("2026-03-10 22:00")
	scheduledIn  = utc("2026-03-11 06:10")
)

// base is a scheduled flight of which no more is known than its schedule.
func base(edits ...func(*flight.Snapshot)) *flight.Snapshot {
	s := &flight.Snapshot{
		CarrierCode: "AA", FlightNumber: "100", Date: "2026-03-10", ProviderFlightID: "p1",
		FetchedAt: utc("2026-03-10 12:00"),
		Carrier:   flight.CarrierRef{IATA: "AA", ICAO: "AAL", Name: "American Airlines"},
		Departure: flight.Endpoint{Airport: flight.AirportRef{IATA: "JFK", ICAO: "KJFK", Code: "NYK", Name: "John F Kennedy", Timezone: newYork}},
		Arrival:   flight.Endpoint{Airport: flight.AirportRef{IATA: "LHR", ICAO: "EGLL", Code: "LHR", Name: "Heathrow", Timezone: london}},
		Status:    flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
	}
	s.Departure.Times.ScheduledGate = on(scheduledOut, newYork)
	s.Arrival.Times.ScheduledGate = on(scheduledIn, london)
	return with(s, edits...)
}

// with returns a copy of s that shares nothing with it, edited and complete.
func with(s *flight.Snapshot, edits ...func(*flight.Snapshot)) *flight.Snapshot {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c, err := flight.DecodeSnapshot(b)
	if err != nil {
		panic(err)
	}
	for _, edit := range edits {
		edit(c)
	}
	c.Complete()
	return c
}

// status is an edit that sets code and phase.
func status(code string, phase flight.Phase) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) { s.Status.Code, s.Status.Phase = code, phase }
}

// late is an edit that estimates both ends at so many minutes after schedule.
func late(departure, arrival int) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) {
		s.Departure.Times.EstimatedGate = on(plus(scheduledOut, time.Duration(departure)*time.Minute), newYork)
		s.Arrival.Times.EstimatedGate = on(plus(scheduledIn, time.Duration(arrival)*time.Minute), london)
	}
}

// divertedTo is an edit that names the airport of a diversion.
func divertedTo(iata string) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) {
		s.Diverted = &flight.Endpoint{Airport: flight.AirportRef{IATA: iata, Name: iata, Timezone: london}}
	}
}

// encoded returns the JSON of v.
func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -update and look at the difference.\ngot:\n%s", path, got)
	}
}
