package cirium

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

var sq26 = flight.Key{Carrier: "SQ", Number: "26", Date: "2026-10-09"}

func FuzzDecode(f *testing.F) {
	const divertedBeforeItLeft = `{"flightStatuses":[{"carrierFsCode":"0","flightNumber":0,"departureAirportFsCode":"0","arrivalAirportFsCode":"0","status":"D","departureDate":{"dateUtc":"2015-04-29T00:00:00Z","dateLocal":"2015-04-29T00:00:00"},"divertedAirportFsCode":"1","operationalTimes":{"actualGateArrival":{"dateLocal":"2015-04-29T00:00:00","dateUtc":"2015-04-29T00:00:00Z"}}}]}`
	keys := []flight.Key{aa1113, {Carrier: "AA", Number: "1353", Date: "2018-11-30"}, sq26, upstreamtest.BA178}
	scheduled := func(t testing.TB, legs flight.Legs) {
		for _, s := range legs {
			if s.Departure.Times.ScheduledGate == nil {
				t.Fatalf("departure %+v", s.Departure)
			}
		}
	}
	provider.Fuzz(f, keys, scheduled,
		upstreamtest.Answer{Body: []byte(divertedBeforeItLeft), Key: flight.Key{Carrier: "AA", Number: "1", Date: "2015-04-29"}})
}

func BenchmarkDecode(b *testing.B) {
	provider.BenchDecode(b,
		upstreamtest.Answer{Name: "en_route", Body: fixture(b, "recorded/by_flight_AA1113_en_route.json"), Key: aa1113},
		upstreamtest.Answer{Name: "with_history", Body: fixture(b, "synthetic_history.json"), Key: sq26},
	)
}
