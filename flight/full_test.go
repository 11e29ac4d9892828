package flight_test

import (
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// full is a snapshot in which every field of the contract has a value: a
// redirected flight with its whole history.
func full() *flight.Snapshot {
	country := func(code, name, emoji string) flight.CountryRef {
		url := "http://127.0.0.1:8080/v1/flags/" + code + ".svg"
		return flight.CountryRef{Code: code, Name: name, Emoji: emoji, FlagSVG: url, FlagSVGSquare: url + "?shape=1x1"}
	}
	times := func(from flight.Time, zone string, minutes ...int) flight.EndpointTimes {
		at := func(i int) *flight.FlightTime { return on(plus(from, time.Duration(minutes[i])*time.Minute), zone) }
		return flight.EndpointTimes{
			ScheduledGate: at(0), EstimatedGate: at(1), ActualGate: at(2), ScheduledRunway: at(3), EstimatedRunway: at(4), ActualRunway: at(5),
		}
	}
	number := func(n int) *int { return &n }
	s := &flight.Snapshot{
		CarrierCode: "AA", FlightNumber: "100", Date: "2026-03-10", ProviderFlightID: "1234567890",
		FetchedAt:  utc("2026-03-11 03:04:05.006"),
		Carrier:    flight.CarrierRef{IATA: "AA", ICAO: "AAL", Name: "American Airlines"},
		OperatedBy: "Envoy Air",
		Codeshares: []flight.CodeshareRef{
			{Carrier: "IB", Name: "Iberia", FlightNumber: "4218"}, {Carrier: "BA", Name: "British Airways", FlightNumber: "1511"},
			{Carrier: "AY", Name: "Finnair", FlightNumber: "4012"}, {Carrier: "GF", Name: "Gulf Air", FlightNumber: "6654"},
		},
		Departure: flight.Endpoint{
			Airport: flight.AirportRef{
				IATA: "JFK", ICAO: "KJFK", Code: "NYK", Name: "John F Kennedy International", City: "New York", State: "NY",
				Country: country("US", "United States", "🇺🇸"), Timezone: newYork,
			},
			Terminal: "8", Gate: "B12", Times: times(scheduledOut, newYork, 0, 10, 12, 15, 27, 30),
		},
		Arrival: flight.Endpoint{
			Airport: flight.AirportRef{
				IATA: "LHR", ICAO: "EGLL", Code: "LHR", Name: "London Heathrow", City: "London", State: "EN",
				Country: country("GB", "United Kingdom", "🇬🇧"), Timezone: london,
			},
			Terminal: "3", Gate: "22", Baggage: "9",
			Times: times(scheduledIn, london, 0, 25, 0, -15, 12, 0),
		},
		Status:    flight.StatusInfo{Code: flight.StatusRedirected, Phase: flight.PhaseRedirected, Description: "Fog at LHR"},
		Equipment: flight.EquipmentInfo{TailNumber: "N721AN", IATA: "77W", Name: "Boeing 777-300ER", Source: "actual"},
		Duration:  flight.DurationInfo{ScheduledMinutes: number(430), EstimatedMinutes: number(425), ActualMinutes: number(420)},
	}
	s.Diverted = &flight.Endpoint{
		Airport: flight.AirportRef{
			IATA: "SNN", ICAO: "EINN", Code: "SNN", Name: "Shannon", City: "Shannon", Country: country("IE", "Ireland", "🇮🇪"), Timezone: "Europe/Dublin",
		},
		Terminal: "1", Gate: "4", Baggage: "2", Times: times(scheduledIn, "Europe/Dublin", 0, -40, -38, -15, -50, -48),
	}
	for i := range 20 {
		s.Timeline = append(s.Timeline, flight.TimelineEntry{
			OccurredAt: plus(s.FetchedAt, -time.Duration(i)*7*time.Minute), Title: "Times adjusted", Source: "Airline",
			Events: []string{fmt.Sprintf("Estimated gate arrival changed from %d min late to %d min late", i+1, i), `Remark: "fog" <LHR> & wind`},
		})
	}
	legs := flight.Legs{s, base(func(o *flight.Snapshot) { o.ProviderFlightID, o.Departure.Airport.IATA = "1234567891", "BOS" })}
	s.Alternates = legs.Refs(0)
	s.Complete()
	return s
}
