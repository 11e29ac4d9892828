package cirium

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

func TestEquipment(t *testing.T) {
	b := newBook(&appendix{Equipments: list[wireEquipment]{{"B738", "??"}, {"73H", "Boeing 737-800 (winglets) Passenger"}}}, "")
	for _, tt := range []struct{ scheduled, actual, iata, name, source string }{
		{"73H", "B738", "73H", "Boeing 737-800 (winglets) Passenger", "actual"}, // the same type in another code
		{"738", "B738", "738", "Boeing 737-800", "actual"},
		{"738", "A320", "320", "Airbus A320", "actual"}, // another type
		{"", "B738", "738", "Boeing 737-800", "actual"},
		{"738", "73H", "73H", "Boeing 737-800 (winglets) Passenger", "actual"},
		{"738", "", "738", "Boeing 737-800", "scheduled"},
		{"M1F", "", "M1F", "McDonnell Douglas MD-11", "scheduled"},
		{"ERJ", "E145", "ERJ", "Embraer ERJ-135/140/145", "actual"},
		{"", "ZZZZ", "ZZZZ", "", "actual"}, // nobody's type stays as it is
		{"", "", "", "", ""},
	} {
		var rec record
		rec.Equipment.Scheduled, rec.Equipment.Actual = text(tt.scheduled), text(tt.actual)
		got := b.equipment(&rec)
		if got.IATA != tt.iata || got.Name != tt.name || got.Source != tt.source {
			t.Errorf("scheduled %q, actual %q: %+v, want %+v", tt.scheduled, tt.actual, got, tt)
		}
	}
}
