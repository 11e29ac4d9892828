package cirium

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

var provider = upstreamtest.Vendor{
	New: func(base string, timeout time.Duration) upstream.Source {
		return New(Config{BaseURL: base, AppID: appID, AppKey: appKey, FlagBase: flagBase, Timeout: timeout})
	},
	Secrets: []string{appID, appKey},
	Decode: func(body []byte, key flight.Key, _ flight.Time) (flight.Legs, error) {
		ans, err := parse(body)
		if err != nil {
			return nil, err
		}
		return ans.legs(key, flagBase)
	},
}

func TestConformance(t *testing.T) {
	const dir = upstreamtest.Synthetic
	f := provider.Fixtures(t)
	cases := f.Story()
	cases[upstreamtest.Boarding] = f.Case("2026-11-21 22:30", dir+"scheduled.json").But("the provider does not report boarding")
	cases[upstreamtest.Early] = f.Case("2026-11-22 06:10", dir+"early.json")
	cases[upstreamtest.Diverted] = f.Case("2026-11-22 04:30", dir+"redirected.json", "2026-11-22 05:30", dir+"diverted.json")
	cases[upstreamtest.Codeshare] = f.Of("AS", "1359", "2015-04-29").Case("2015-04-29 12:00", "recorded/by_flight_AA1113_en_route.json")
	upstreamtest.Run(t, cases)
}

func TestFailures(t *testing.T) {
	const (
		refused = `{"error":{"httpStatusCode":403,"errorCode":"AUTH_FAILURE","errorMessage":"application with id=\"SECRET\" and key \"SECRET\" was not found"},"flightStatuses":[]}`
		noSense = `{"flightStatuses":[{"carrierFsCode":"AA","flightNumber":"1113","departureAirportFsCode":"DFW","arrivalAirportFsCode":"LAX","status":"S","departureDate":{"dateUtc":"SECRET"}}]}`
	)
	upstreamtest.Fail(t, upstreamtest.Provider{
		Vendor: provider, Key: aa1113, Now: worldNow,
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
