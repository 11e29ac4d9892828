package cirium

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// FuzzDecode feeds the decoder anything: it must not panic, and what it makes
// of it must be whole and of the day that was asked for.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		f.Fatal(err)
	}
	synthetic, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(files, synthetic...) {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "AA", "1113", "2015-04-29")
		f.Add(body, "AA", "1353", "2018-11-30")
		f.Add(body, "SQ", "26", "2026-10-09")
		f.Add(body, "BA", "178", "2026-11-21")
	}
	f.Add([]byte(`{"flightStatuses":[{"carrierFsCode":"0","flightNumber":0,"departureAirportFsCode":"0","arrivalAirportFsCode":"0","status":"D","departureDate":{"dateUtc":"2015-04-29T00:00:00Z","dateLocal":"2015-04-29T00:00:00"},"divertedAirportFsCode":"1","operationalTimes":{"actualGateArrival":{"dateLocal":"2015-04-29T00:00:00","dateUtc":"2015-04-29T00:00:00Z"}}}]}`), "AA", "1", "2015-04-29")
	f.Fuzz(func(t *testing.T, body []byte, carrier, number, date string) {
		key := flight.Key{Carrier: carrier, Number: number, Date: date}
		ans, err := parse(body)
		if err != nil {
			return
		}
		legs, err := ans.legs(key, flagBase)
		if err != nil {
			return
		}
		legs, err = upstream.Finish(key, legs, worldNow)
		if err != nil {
			if flight.CodeOf(err) != flight.CodeFlightNotFound {
				t.Fatal(err)
			}
			return
		}
		upstreamtest.CheckLegs(t, legs, key)
		for _, s := range legs {
			if s.Departure.Times.ScheduledGate == nil {
				t.Fatalf("departure %+v", s.Departure)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range []struct {
		name, file string
		key        flight.Key
	}{
		{"en_route", "recorded/by_flight_AA1113_en_route.json", aa1113},
		{"with_history", "synthetic_history.json", flight.Key{Carrier: "SQ", Number: "26", Date: "2026-10-09"}},
	} {
		body := fixture(b, bb.file)
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				ans, err := parse(body)
				if err != nil {
					b.Fatal(err)
				}
				legs, err := ans.legs(bb.key, flagBase)
				if err != nil || len(legs) != 1 {
					b.Fatal(len(legs), err)
				}
			}
		})
	}
}
