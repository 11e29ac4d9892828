package places

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
)

func TestCompleteAirport(t *testing.T) {
	const base = "https://flights.example"
	heathrow, _ := FindAirport("LHR")
	full := heathrow.Ref(base)
	for _, tt := range []struct {
		name string
		in   flight.AirportRef
		want flight.AirportRef
	}{
		{"by IATA", flight.AirportRef{IATA: "LHR"}, full},
		{"by ICAO", flight.AirportRef{ICAO: "EGLL", Name: "London"}, full},
		{"by upstream code", flight.AirportRef{Code: "EGLL"}, func() flight.AirportRef { f := full; f.Code = "EGLL"; return f }()},
		{"its own zone", flight.AirportRef{IATA: "LHR", Timezone: "Europe/Jersey"}, func() flight.AirportRef { f := full; f.Timezone = "Europe/Jersey"; return f }()},
		{"no zone", flight.AirportRef{IATA: "LHR", Timezone: "Local"}, full},
		{"unknown, in a zone", flight.AirportRef{ICAO: "XXX9", Name: "A strip", City: "Smalltown", Timezone: "America/Chicago"},
			flight.AirportRef{IATA: "XXX9", ICAO: "XXX9", Name: "A strip", City: "Smalltown", Timezone: "America/Chicago", Country: CountryRef("US", base)}},
		{"unknown, with a country", flight.AirportRef{Code: "Q1", Country: flight.CountryRef{Code: "is"}, Timezone: "America/Chicago"},
			flight.AirportRef{IATA: "Q1", Code: "Q1", Name: "Q1", Timezone: "America/Chicago", Country: CountryRef("IS", base)}},
		{"nowhere", flight.AirportRef{Code: "Q1"}, flight.AirportRef{IATA: "Q1", Code: "Q1", Name: "Q1", Country: CountryRef("ZZ", base)}},
	} {
		if got := CompleteAirport(tt.in, base); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got := CompleteAirport(flight.AirportRef{Name: "Somewhere"}, base); got.IATA != "" {
		t.Errorf("an airport without a code got %q", got.IATA)
	}
}

func TestCompleteCarrier(t *testing.T) {
	for _, tt := range []struct{ in, want flight.CarrierRef }{
		{flight.CarrierRef{IATA: "KL"}, flight.CarrierRef{IATA: "KL", ICAO: "KLM", Name: "KLM Royal Dutch Airlines"}},
		{flight.CarrierRef{ICAO: "KLM", Name: "KLM Royal"}, flight.CarrierRef{IATA: "KL", ICAO: "KLM", Name: "KLM Royal Dutch Airlines"}},
		{flight.CarrierRef{IATA: "ZZ", ICAO: "KLM", Name: "Other"}, flight.CarrierRef{IATA: "ZZ", ICAO: "KLM", Name: "Other"}}, // the code has a new holder
		{flight.CarrierRef{ICAO: "XQZ"}, flight.CarrierRef{IATA: "XQZ", ICAO: "XQZ", Name: "XQZ"}},
		{flight.CarrierRef{IATA: "Q1", Name: "Small Air"}, flight.CarrierRef{IATA: "Q1", Name: "Small Air"}},
		{flight.CarrierRef{}, flight.CarrierRef{}},
	} {
		if got := CompleteCarrier(tt.in); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

func TestCountryInZone(t *testing.T) {
	for zone, want := range map[string]string{"America/Chicago": "US", "Europe/Dublin": "IE", "": "ZZ", "Mars/Olympus": "ZZ"} {
		if got := CountryInZone(zone, ""); got.Code != want || got.Name == "" || got.FlagSVG == "" {
			t.Errorf("%q: %+v, want %s", zone, got, want)
		}
	}
	several := map[string]map[string]bool{}
	for a := range Airports() {
		if several[a.Timezone] == nil {
			several[a.Timezone] = map[string]bool{}
		}
		several[a.Timezone][a.Country] = true
	}
	for zone, countries := range several {
		if got := CountryInZone(zone, "").Code; len(countries) == 1 != countries[got] {
			t.Errorf("%s is in %v, and said to be in %s", zone, countries, got)
		}
	}
}
