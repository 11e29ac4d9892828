package cirium

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestConformance(t *testing.T) {
	f := upstreamtest.Fixtures{
		T: t, Key: flight.Key{Carrier: "BA", Number: "178", Date: "2026-11-21"},
		New: func(base string) upstream.Source { return New(Config{BaseURL: base, FlagBase: flagBase}) },
	}
	const dir = "conformance/synthetic_"
	upstreamtest.Run(t, map[upstreamtest.Situation]upstreamtest.Case{
		upstreamtest.FarAhead:   f.Case("2026-11-10 12:00", dir+"scheduled.json"),
		upstreamtest.Boarding:   f.Case("2026-11-21 22:30", dir+"scheduled.json").But("the provider does not report boarding"),
		upstreamtest.Taxiing:    f.Case("2026-11-21 23:15", dir+"taxiing.json"),
		upstreamtest.Airborne:   f.Case("2026-11-22 02:00", dir+"airborne.json"),
		upstreamtest.Landed:     f.Case("2026-11-22 05:50", dir+"landed.json"),
		upstreamtest.Arrived:    f.Case("2026-11-22 06:10", dir+"arrived.json"),
		upstreamtest.Early:      f.Case("2026-11-22 06:10", dir+"early.json"),
		upstreamtest.Cancelled:  f.Case("2026-11-21 18:30", dir+"cancelled.json"),
		upstreamtest.Reinstated: f.Case("2026-11-21 18:30", dir+"cancelled.json", "2026-11-21 19:30", dir+"reinstated.json"),
		upstreamtest.Diverted:   f.Case("2026-11-22 04:30", dir+"redirected.json", "2026-11-22 05:30", dir+"diverted.json"),
		upstreamtest.TwoLegs:    f.Case("2026-11-21 12:00", dir+"two_legs.json"),
		upstreamtest.Codeshare:  f.Of("AS", "1359", "2015-04-29").Case("2015-04-29 12:00", "recorded/by_flight_AA1113_en_route.json"),
	})
}

func TestFailures(t *testing.T) {
	const (
		refused = `{"error":{"httpStatusCode":403,"errorCode":"AUTH_FAILURE","errorMessage":"application with id=\"SECRET\" and key \"SECRET\" was not found"},"flightStatuses":[]}`
		noSense = `{"flightStatuses":[{"carrierFsCode":"AA","flightNumber":"1113","departureAirportFsCode":"DFW","arrivalAirportFsCode":"LAX","status":"S","departureDate":{"dateUtc":"SECRET"}}]}`
	)
	upstreamtest.Fail(t, upstreamtest.Provider{
		New: func(base string, timeout time.Duration) upstream.Source {
			return New(Config{BaseURL: base, AppID: appID, AppKey: appKey, Timeout: timeout})
		},
		Key: aa1113, Now: worldNow, Secrets: []string{appID, appKey},
		Replies: map[upstreamtest.Failure]upstreamtest.Reply{
			upstreamtest.NotFound:       upstreamtest.Says(200, string(fixture(t, "synthetic_empty.json")), ""),
			upstreamtest.BadCredentials: upstreamtest.Says(403, refused, "AUTH_FAILURE"),
			upstreamtest.OverLimit:      upstreamtest.Says(429, "slow down SECRET", "429", "Retry-After", "17"),
			upstreamtest.Unavailable:    upstreamtest.Says(503, "<html>", "503"),
			upstreamtest.FaultIn200:     upstreamtest.Says(200, string(fixture(t, "synthetic_error_in_200.json")), "message"),
			upstreamtest.Unintelligible: upstreamtest.Says(200, `{"flights":[]}`, "no flightStatuses"),
			upstreamtest.NoSense:        upstreamtest.Says(200, noSense, "flightStatuses[0]: departureDate"),
		},
		Row:  `{"flightId":1,"carrierFsCode":"AA","flightNumber":"1113","departureAirportFsCode":"DFW","arrivalAirportFsCode":"LAX","status":"S","departureDate":{"dateUtc":"2015-04-29T12:00:00Z"}}`,
		Rows: [2]string{`{"flightStatuses":[`, `]}`},
	})
}
