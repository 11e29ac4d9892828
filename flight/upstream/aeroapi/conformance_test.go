package aeroapi

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

const (
	flagBase = "https://flights.example"
	key      = "key-of-the-test"
	dir      = "conformance/synthetic_"
)

var ba178 = flight.Key{Carrier: "BA", Number: "178", Date: "2026-11-21"}

func TestConformance(t *testing.T) {
	f := upstreamtest.Fixtures{
		T: t, Key: ba178,
		New: func(base string) upstream.Source { return New(Config{BaseURL: base, FlagBase: flagBase}) },
	}
	upstreamtest.Run(t, map[upstreamtest.Situation]upstreamtest.Case{
		upstreamtest.FarAhead:   f.Case("2026-11-10 12:00", dir+"schedule.json"),
		upstreamtest.Boarding:   f.Case("2026-11-21 22:30", dir+"scheduled.json").But("the provider does not report boarding"),
		upstreamtest.Taxiing:    f.Case("2026-11-21 23:15", dir+"taxiing.json"),
		upstreamtest.Airborne:   f.Case("2026-11-22 02:00", dir+"airborne.json"),
		upstreamtest.Landed:     f.Case("2026-11-22 05:50", dir+"landed.json"),
		upstreamtest.Arrived:    f.Case("2026-11-22 06:10", dir+"arrived.json"),
		upstreamtest.Early:      f.Of("AR", "1545", "2024-10-10").Case("2024-10-11 01:00", "recorded/flights_AR1545_arrived-early_2024-10-10.json"),
		upstreamtest.Cancelled:  f.Case("2026-11-21 18:30", dir+"cancelled.json"),
		upstreamtest.Reinstated: f.Case("2026-11-21 18:30", dir+"cancelled.json", "2026-11-21 19:30", dir+"reinstated.json"),
		upstreamtest.Diverted:   f.Case("2026-11-22 04:30", dir+"redirected.json", "2026-11-22 05:30", dir+"diverted.json"),
		upstreamtest.TwoLegs:    f.Case("2026-11-21 12:00", dir+"two_legs.json"),
		upstreamtest.Codeshare:  f.Of("AC", "8838", "2023-03-20").Case("2023-03-20 12:00", "recorded/flights_QK8838_regional-codeshare_scheduled_2023-03-20.json"),
	})
}

func TestFailures(t *testing.T) {
	const (
		refused = `{"title":"Unauthorized","reason":"INVALID_KEY","detail":"the key SECRET is not valid","status":401}`
		fault   = `{"title":"Service unavailable","reason":"BACKEND","detail":"for SECRET","status":503}`
		noSense = `{"links":null,"num_pages":1,"flights":[{"ident":"BAW178","origin":{"code_iata":"JFK"},"scheduled_out":"SECRET"}]}`
	)
	upstreamtest.Fail(t, upstreamtest.Provider{
		New: func(base string, timeout time.Duration) upstream.Source {
			return New(Config{BaseURL: base, Key: key, Timeout: timeout})
		},
		Key: ba178, Now: upstreamtest.At(t, "2026-11-21 12:00"), Secrets: []string{key},
		Replies: map[upstreamtest.Failure]upstreamtest.Reply{
			upstreamtest.NotFound:       upstreamtest.Says(200, `{"links":null,"num_pages":1,"flights":[]}`, ""),
			upstreamtest.BadCredentials: upstreamtest.Says(401, refused, "INVALID_KEY"),
			upstreamtest.OverLimit:      upstreamtest.Says(429, `{"title":"Too many","reason":"LIMIT","detail":"SECRET","status":429}`, "LIMIT", "Retry-After", "17"),
			upstreamtest.Unavailable:    upstreamtest.Says(502, "<html>", "502"),
			upstreamtest.FaultIn200:     upstreamtest.Says(200, fault, "BACKEND"),
			upstreamtest.Unintelligible: upstreamtest.Says(200, `{"flightStatuses":[]}`, "no flights"),
			upstreamtest.NoSense:        upstreamtest.Says(200, noSense, "flights[0]: scheduled_out"),
		},
		Row:  `{"ident":"BAW178","origin":{"code_iata":"JFK"},"destination":{"code_iata":"LHR"},"scheduled_out":"2026-11-21T23:00:00Z"}`,
		Rows: [2]string{`{"flights":[`, `],"links":null}`},
	})
}
