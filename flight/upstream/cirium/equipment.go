package cirium

import (
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// equipment returns the aircraft: the actual one where it is known, else the
// scheduled one. An actual one that is reported by its ICAO designator keeps
// the scheduled IATA code where that names the same type, or the aircraft
// would seem to change (738 to B738) when its flight plan is filed.
func (b *book) equipment(rec *record) flight.EquipmentInfo {
	info := flight.EquipmentInfo{TailNumber: string(rec.Equipment.TailNumber)}
	scheduled, actual := string(rec.Equipment.Scheduled), string(rec.Equipment.Actual)
	switch {
	case actual != "":
		info.IATA, info.Source = places.AircraftCode(actual, scheduled), "actual"
	case scheduled != "":
		info.IATA, info.Source = scheduled, "scheduled"
	}
	info.Name = b.aircraftName(info.IATA)
	return info
}

// aircraftName returns the name of a type by its code: the provider's, else
// ours.
func (b *book) aircraftName(code string) string {
	if name := b.equipments[code]; name != "" || code == "" {
		return name
	}
	return places.AircraftName(code)
}
