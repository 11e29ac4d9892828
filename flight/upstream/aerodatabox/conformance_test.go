package aerodatabox

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
		upstreamtest.FarAhead:   f.Case("2026-11-10 12:00", dir+"scheduled.json"),
		upstreamtest.Boarding:   f.Case("2026-11-21 22:30", dir+"boarding.json"),
		upstreamtest.Taxiing:    f.Case("2026-11-21 23:15", dir+"taxiing.json"),
		upstreamtest.Airborne:   f.Case("2026-11-22 02:00", dir+"airborne.json"),
		upstreamtest.Landed:     f.Case("2026-11-22 05:50", dir+"landed.json"),
		upstreamtest.Arrived:    f.Case("2026-11-22 06:10", dir+"arrived.json"),
		upstreamtest.Early:      f.Case("2026-11-22 06:10", dir+"early.json"),
		upstreamtest.Cancelled:  f.Case("2026-11-21 18:30", dir+"cancelled.json"),
		upstreamtest.Reinstated: f.Case("2026-11-21 18:30", dir+"cancelled.json", "2026-11-21 19:30", dir+"reinstated.json"),
		upstreamtest.Diverted: f.Case("2026-11-22 04:30", dir+"diverted.json", "2026-11-22 05:30", dir+"diverted.json").
			But("the provider does not say where a diverted flight goes"),
		upstreamtest.TwoLegs:   f.Case("2026-11-21 12:00", dir+"two_legs.json"),
		upstreamtest.Codeshare: f.Of("AA", "6145", "2026-11-21").Case("2026-11-21 12:00", dir+"codeshare.json"),
	})
}

func TestFailures(t *testing.T) {
	const noSense = `[{"number":"BA 178","status":"Expected","departure":{"airport":{"iata":"JFK"},"scheduledTime":{"utc":"SECRET"}},"arrival":{"airport":{"iata":"LHR"}}}]`
	upstreamtest.Fail(t, upstreamtest.Provider{
		New: func(base string, timeout time.Duration) upstream.Source {
			return New(Config{BaseURL: base, Key: key, Timeout: timeout})
		},
		Key: ba178, Now: upstreamtest.At(t, "2026-11-21 12:00"), Secrets: []string{key},
		Replies: map[upstreamtest.Failure]upstreamtest.Reply{
			upstreamtest.NotFound:       upstreamtest.Says(204, "", ""),
			upstreamtest.BadCredentials: upstreamtest.Says(401, `{"message":"Invalid API key SECRET"}`, "Invalid API key"),
			upstreamtest.OverLimit:      upstreamtest.Says(429, `{"message":"Too many requests with SECRET"}`, "Too many", "Retry-After", "17"),
			upstreamtest.Unavailable:    upstreamtest.Says(503, "", "503"),
			upstreamtest.FaultIn200:     upstreamtest.Says(200, `{"message":"something broke at SECRET"}`, "something broke"),
			upstreamtest.Unintelligible: upstreamtest.Says(200, `{"flights":[]}`, "no JSON array"),
			upstreamtest.NoSense:        upstreamtest.Says(200, noSense, "[0]: departure.scheduledTime"),
		},
		Row:  `{"number":"BA 178","departure":{"airport":{"iata":"JFK"},"scheduledTime":{"utc":"2026-11-21 23:00Z"}},"arrival":{"airport":{"iata":"LHR"}}}`,
		Rows: [2]string{`[`, `]`},
	})
}
