package places

import (
	"slices"
	"testing"
)

func TestAircraftTypes(t *testing.T) {
	plain := map[string]string{}
	for _, at := range aircraftTypes {
		if len(at.iata) == 0 || at.name == "" {
			t.Fatalf("%+v is not complete", at)
		}
		if at.icao == "" && len(at.iata) != 1 {
			t.Errorf("%+v: a family has one code", at)
		}
		if other := plain[at.iata[0]]; other != "" && other != at.name && at.iata[0] != "ER4" {
			t.Errorf("%s is both %s and %s", at.iata[0], other, at.name)
		}
		plain[at.iata[0]] = at.name
		if n := len(slices.Compact(slices.Sorted(slices.Values(at.iata)))); n != len(at.iata) {
			t.Errorf("%+v names a code twice", at)
		}
	}
	// A code of several types must be a family, or the plainest of one of them.
	uses := map[string]int{}
	for _, at := range aircraftTypes {
		for _, code := range at.iata {
			uses[code]++
		}
	}
	for code, n := range uses {
		if n > 1 && plain[code] == "" {
			t.Errorf("%s stands for %d types and is nobody's plainest code", code, n)
		}
	}
}

func TestAircraftCode(t *testing.T) {
	for _, tt := range []struct{ code, scheduled, want, name string }{
		{"B738", "", "738", "Boeing 737-800"},
		{"B738", "73H", "73H", "Boeing 737-800"},
		{"A320", "738", "320", "Airbus A320"},
		{"738", "", "738", "Boeing 737-800"},
		{"ZZZZ", "738", "ZZZZ", ""},
		{"", "", "", ""},
	} {
		if got := AircraftCode(tt.code, tt.scheduled); got != tt.want || AircraftName(got) != tt.name {
			t.Errorf("%s, scheduled as %s: %s %q, want %s %q", tt.code, tt.scheduled, got, AircraftName(got), tt.want, tt.name)
		}
	}
}
