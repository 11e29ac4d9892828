package aerodatabox

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func FuzzDecode(f *testing.F) {
	provider.Fuzz(f, []flight.Key{ba178}, nil,
		upstreamtest.Answer{Body: answer(f, board(f)[1:3]...), Key: flight.Key{Carrier: "BA", Number: "2107", Date: "2023-08-01"}},
		upstreamtest.Answer{Body: answer(f, registration(f)[1:4]...), Key: flight.Key{Carrier: "GA", Number: "9768", Date: "2023-01-10"}},
	)
}

func BenchmarkDecode(b *testing.B) {
	provider.BenchDecode(b,
		upstreamtest.Answer{Name: "arrived", Body: answer(b, board(b)[0]), Key: flight.Key{Carrier: "FR", Number: "7157", Date: "2023-08-01"}},
		upstreamtest.Answer{Name: "codeshare", Body: upstreamtest.Fixture(b, dir+"codeshare.json"), Key: flight.Key{Carrier: "AA", Number: "6145", Date: "2026-11-21"}},
	)
}
