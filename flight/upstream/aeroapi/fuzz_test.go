package aeroapi

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

var (
	ar1545 = flight.Key{Carrier: "AR", Number: "1545", Date: "2024-10-10"}
	ac8838 = flight.Key{Carrier: "AC", Number: "8838", Date: "2023-03-20"}
)

func FuzzDecode(f *testing.F) { provider.Fuzz(f, []flight.Key{ba178, ar1545, ac8838}, nil) }

func BenchmarkDecode(b *testing.B) {
	provider.BenchDecode(b,
		upstreamtest.Answer{Name: "arrived", Body: upstreamtest.Fixture(b, early), Key: ar1545},
		upstreamtest.Answer{Name: "two_legs", Body: upstreamtest.Fixture(b, dir+"two_legs.json"), Key: ba178},
	)
}
