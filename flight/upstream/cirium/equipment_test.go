package cirium

import "testing"

func TestEquipment(t *testing.T) {
	b := newBook(&appendix{Equipments: []wireEquipment{{"B738", "??"}, {"73H", "Boeing 737-800 (winglets) Passenger"}}}, "")
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
