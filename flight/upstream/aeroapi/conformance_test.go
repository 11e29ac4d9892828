package aeroapi

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

const (
	flagBase = upstreamtest.FlagBase
	key      = "key-of-the-test"
	dir      = upstreamtest.Synthetic
)

var ba178 = upstreamtest.BA178

var provider = upstreamtest.Vendor{
	New: func(base string, timeout time.Duration) upstream.Source {
		return New(Config{BaseURL: base, Key: key, FlagBase: flagBase, Timeout: timeout})
	},
	Secrets: []string{key},
	Decode: func(body []byte, k flight.Key, now flight.Time) (flight.Legs, error) {
		p, err := parse(body)
		if p != nil {
			p.cursor()
			p.isFault()
		}
		if err != nil {
			return nil, err
		}
		return decode(p.rows(), k, now, flagBase)
	},
}

func TestConformance(t *testing.T) {
	f := provider.Fixtures(t)
	cases := f.Story()
	cases[upstreamtest.FarAhead] = f.Case("2026-11-10 12:00", dir+"schedule.json")
	cases[upstreamtest.Boarding] = f.Case("2026-11-21 22:30", dir+"scheduled.json").But("the provider does not report boarding")
	cases[upstreamtest.Early] = f.Of("AR", "1545", "2024-10-10").Case("2024-10-11 01:00", early)
	cases[upstreamtest.Diverted] = f.Case("2026-11-22 04:30", dir+"redirected.json", "2026-11-22 05:30", dir+"diverted.json")
	cases[upstreamtest.Codeshare] = f.Of("AC", "8838", "2023-03-20").Case("2023-03-20 12:00", regional)
	upstreamtest.Run(t, cases)
}

func TestFailures(t *testing.T) {
	const (
		refused = `{"title":"Unauthorized","reason":"INVALID_KEY","detail":"the key SECRET is not valid","status":401}`
		fault   = `{"title":"Service unavailable","reason":"BACKEND","detail":"for SECRET","status":503}`
		noSense = `{"links":null,"num_pages":1,"flights":[{"ident":"BAW178","origin":{"code_iata":"JFK"},"scheduled_out":"SECRET"}]}`
	)
	upstreamtest.Fail(t, upstreamtest.Provider{
		Vendor: provider, Key: ba178, Now: upstreamtest.At(t, "2026-11-21 12:00"),
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
