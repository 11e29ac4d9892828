package aeroapi

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

var look = provider.Look

const (
	early    = "recorded/flights_AR1545_arrived-early_2024-10-10.json"
	regional = "recorded/flights_QK8838_regional-codeshare_scheduled_2023-03-20.json"
)

// Each golden file was compared with its record field by field by hand once.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, file, now string
		key             flight.Key
	}{
		{"AR1545", early, "2024-10-11 01:00", flight.Key{Carrier: "AR", Number: "1545", Date: "2024-10-10"}},
		{"AF3985", early, "2024-10-11 01:00", flight.Key{Carrier: "AF", Number: "3985", Date: "2024-10-10"}},
		{"QK8838", regional, "2023-03-20 12:00", flight.Key{Carrier: "QK", Number: "8838", Date: "2023-03-20"}},
		{"AC8838", regional, "2023-03-20 12:00", flight.Key{Carrier: "AC", Number: "8838", Date: "2023-03-20"}},
		{"synthetic_diverted", dir + "diverted.json", "2026-11-22 05:30", ba178},
		{"synthetic_schedule_codeshare", dir + "schedule_codeshare.json", "2026-11-10 12:00", flight.Key{Carrier: "AA", Number: "6145", Date: "2026-11-21"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			legs := look(t, upstreamtest.Fixture(t, tt.file), tt.key, tt.now)
			if len(legs) != 1 {
				t.Fatalf("%d legs", len(legs))
			}
			upstreamtest.CheckRefs(t, legs[0])
			upstreamtest.Golden(t, tt.name, legs[0])
		})
	}
}

// TestSpellings asks for one flight by both codes of its airline.
func TestSpellings(t *testing.T) {
	body := upstreamtest.Fixture(t, early)
	for _, k := range []flight.Key{{Carrier: "AR", Number: "1545", Date: "2024-10-10"}, {Carrier: "ARG", Number: "1545", Date: "2024-10-10"}} {
		if s := look(t, body, k, "2024-10-11 01:00")[0]; s.CarrierCode != "AR" || s.OperatedBy != "" || len(s.Codeshares) != 3 {
			t.Errorf("%s: %s, operated by %q, codeshares %+v", k, s.FlightKey, s.OperatedBy, s.Codeshares)
		}
	}
}
