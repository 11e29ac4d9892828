package simulator

import (
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight/places"
)

// TestTables: what the tables name exists, once.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range airportCodes {
		if a, ok := places.FindAirport(code); !ok || a.Timezone == "" || seen[code] {
			t.Errorf("airport %s: known %t, listed before %t", code, ok, seen[code])
		}
		seen[code] = true
	}
	for carrier, codes := range bases {
		if a, ok := places.FindAirline(carrier); !ok || a.IATA != carrier {
			t.Errorf("the base of %s is known, its name is not", carrier)
		}
		for _, code := range strings.Fields(codes) {
			if !slices.Contains(airportCodes, code) {
				t.Errorf("%s is based at %s, which is not in this world", carrier, code)
			}
		}
	}
	for _, alliance := range alliances {
		for _, carrier := range alliance {
			if _, ok := places.FindAirline(carrier); !ok {
				t.Errorf("%s sells flights and has no name", carrier)
			}
		}
	}
}

func TestEveryAirportHasSomewhereToGo(t *testing.T) {
	w := New(Config{})
	for _, code := range airportCodes {
		from := w.ports[code]
		near := w.nearest(from, 300)
		if near == nil || near.km(from) > 3000 {
			t.Errorf("from %s the nearest airport is %v", code, near)
		}
		if away := w.nearest(from, nearestDiversion); away == from {
			t.Errorf("%s is diverted to itself", code)
		}
	}
}
