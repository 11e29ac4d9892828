package aerodatabox

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
		rows, err := parse(body)
		if err != nil {
			return nil, err
		}
		return decode(rows, k, now, flagBase)
	},
}

func TestConformance(t *testing.T) {
	f := provider.Fixtures(t)
	cases := f.Story()
	cases[upstreamtest.Boarding] = f.Case("2026-11-21 22:30", dir+"boarding.json")
	cases[upstreamtest.Early] = f.Case("2026-11-22 06:10", dir+"early.json")
	cases[upstreamtest.Diverted] = f.Case("2026-11-22 04:30", dir+"diverted.json", "2026-11-22 05:30", dir+"diverted.json").
		But("the provider does not say where a diverted flight goes")
	cases[upstreamtest.Codeshare] = f.Of("AA", "6145", "2026-11-21").Case("2026-11-21 12:00", dir+"codeshare.json")
	upstreamtest.Run(t, cases)
}

func TestFailures(t *testing.T) {
	const noSense = `[{"number":"BA 178","status":"Expected","departure":{"airport":{"iata":"JFK"},"scheduledTime":{"utc":"SECRET"}},"arrival":{"airport":{"iata":"LHR"}}}]`
	upstreamtest.Fail(t, upstreamtest.Provider{
		Vendor: provider, Key: ba178, Now: upstreamtest.At(t, "2026-11-21 12:00"),
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
