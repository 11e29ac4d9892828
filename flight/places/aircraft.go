package places

import "slices"

// aircraftType is a type of aircraft: its ICAO designator, its name, and the
// IATA codes that schedules use for it, the plainest first.
type aircraftType struct {
	icao, name string
	iata       []string
}

// aircraftTypes are the types of most airline flights. Schedules name them by
// IATA code, flight plans by ICAO designator.
var aircraftTypes = []aircraftType{
	{"A19N", "Airbus A319neo", []string{"31N"}},
	{"A20N", "Airbus A320neo", []string{"32N"}},
	{"A21N", "Airbus A321neo", []string{"32Q"}},
	{"A318", "Airbus A318", []string{"318"}},
	{"A319", "Airbus A319", []string{"319", "31B", "32S"}},
	{"A320", "Airbus A320", []string{"320", "32A", "32S"}},
	{"A321", "Airbus A321", []string{"321", "32B", "32S"}},
	{"A332", "Airbus A330-200", []string{"332", "330", "33X"}},
	{"A333", "Airbus A330-300", []string{"333", "330"}},
	{"A338", "Airbus A330-800neo", []string{"338"}},
	{"A339", "Airbus A330-900neo", []string{"339"}},
	{"A343", "Airbus A340-300", []string{"343", "340"}},
	{"A346", "Airbus A340-600", []string{"346", "340"}},
	{"A359", "Airbus A350-900", []string{"359", "350"}},
	{"A35K", "Airbus A350-1000", []string{"351", "350"}},
	{"A388", "Airbus A380-800", []string{"388", "380"}},
	{"AT43", "ATR 42-300", []string{"AT4", "ATR"}},
	{"AT45", "ATR 42-500", []string{"AT5", "ATR"}},
	{"AT72", "ATR 72", []string{"AT7", "ATR"}},
	{"AT75", "ATR 72", []string{"AT7", "ATR"}},
	{"AT76", "ATR 72", []string{"AT7", "ATR"}},
	{"B37M", "Boeing 737 MAX 7", []string{"7M7"}},
	{"B38M", "Boeing 737 MAX 8", []string{"7M8"}},
	{"B39M", "Boeing 737 MAX 9", []string{"7M9"}},
	{"B712", "Boeing 717-200", []string{"717"}},
	{"B733", "Boeing 737-300", []string{"733", "73C", "737"}},
	{"B734", "Boeing 737-400", []string{"734", "737"}},
	{"B735", "Boeing 737-500", []string{"735", "73E", "737"}},
	{"B736", "Boeing 737-600", []string{"736", "737"}},
	{"B737", "Boeing 737-700", []string{"73G", "73W", "737"}},
	{"B738", "Boeing 737-800", []string{"738", "73H", "737"}},
	{"B739", "Boeing 737-900", []string{"739", "73J", "737"}},
	{"B744", "Boeing 747-400", []string{"744", "747", "74E"}},
	{"B748", "Boeing 747-8", []string{"748", "74H", "747"}},
	{"B752", "Boeing 757-200", []string{"752", "75W", "757"}},
	{"B753", "Boeing 757-300", []string{"753", "75T", "757"}},
	{"B762", "Boeing 767-200", []string{"762", "767"}},
	{"B763", "Boeing 767-300", []string{"763", "76W", "767"}},
	{"B764", "Boeing 767-400", []string{"764", "767"}},
	{"B772", "Boeing 777-200", []string{"772", "777"}},
	{"B77L", "Boeing 777-200LR", []string{"77L", "777"}},
	{"B773", "Boeing 777-300", []string{"773", "777"}},
	{"B77W", "Boeing 777-300ER", []string{"77W", "773", "777"}},
	{"B788", "Boeing 787-8", []string{"788", "787"}},
	{"B789", "Boeing 787-9", []string{"789", "787"}},
	{"B78X", "Boeing 787-10", []string{"781", "787"}},
	{"BCS1", "Airbus A220-100", []string{"221", "CS1"}},
	{"BCS3", "Airbus A220-300", []string{"223", "CS3"}},
	{"CRJ1", "Bombardier CRJ100", []string{"CR1", "CRJ"}},
	{"CRJ2", "Bombardier CRJ200", []string{"CR2", "CRJ"}},
	{"CRJ7", "Bombardier CRJ700", []string{"CR7", "CRJ"}},
	{"CRJ9", "Bombardier CRJ900", []string{"CR9", "CRJ"}},
	{"CRJX", "Bombardier CRJ1000", []string{"CRK", "CRJ"}},
	{"DH8A", "De Havilland Canada Dash 8-100", []string{"DH1", "DH8"}},
	{"DH8B", "De Havilland Canada Dash 8-200", []string{"DH2", "DH8"}},
	{"DH8C", "De Havilland Canada Dash 8-300", []string{"DH3", "DH8"}},
	{"DH8D", "De Havilland Canada Dash 8-400", []string{"DH4", "DH8"}},
	{"DHC6", "De Havilland Canada Twin Otter", []string{"DHT"}},
	{"E135", "Embraer ERJ-135", []string{"ER3", "ERJ"}},
	{"E145", "Embraer ERJ-145", []string{"ER4", "ERJ"}},
	{"E45X", "Embraer ERJ-145XR", []string{"ER4", "ERJ"}},
	{"E170", "Embraer E170", []string{"E70", "EMJ"}},
	{"E75L", "Embraer E175", []string{"E75", "E7W", "EMJ"}},
	{"E75S", "Embraer E175", []string{"E75", "EMJ"}},
	{"E190", "Embraer E190", []string{"E90", "EMJ"}},
	{"E195", "Embraer E195", []string{"E95", "EMJ"}},
	{"E290", "Embraer E190-E2", []string{"290"}},
	{"E295", "Embraer E195-E2", []string{"295"}},
	{"L410", "Let L-410 Turbolet", []string{"L4T"}},
	{"MD11", "McDonnell Douglas MD-11", []string{"M11", "M1F"}},
	{"SF34", "Saab 340", []string{"SF3"}},

	// Codes of families, which no flight plan names.
	{"", "Airbus A318/A319/A320/A321", []string{"32S"}},
	{"", "Airbus A330", []string{"330"}},
	{"", "Airbus A340", []string{"340"}},
	{"", "Airbus A350", []string{"350"}},
	{"", "ATR 42/72", []string{"ATR"}},
	{"", "Boeing 737", []string{"737"}},
	{"", "Boeing 747", []string{"747"}},
	{"", "Boeing 757", []string{"757"}},
	{"", "Boeing 767", []string{"767"}},
	{"", "Boeing 777", []string{"777"}},
	{"", "Boeing 787", []string{"787"}},
	{"", "Bombardier CRJ", []string{"CRJ"}},
	{"", "De Havilland Canada Dash 8", []string{"DH8"}},
	{"", "Embraer E170/E175/E190/E195", []string{"EMJ"}},
	{"", "Embraer ERJ-135/140/145", []string{"ERJ"}},
}

// AircraftCode returns the IATA code of an aircraft type that is given by its
// ICAO designator: scheduled where that is one of the type's, else the
// plainest. Any other code is returned as it is.
func AircraftCode(code, scheduled string) string {
	i := slices.IndexFunc(aircraftTypes, func(t aircraftType) bool { return t.icao == code })
	switch {
	case code == "" || i < 0:
		return code
	case slices.Contains(aircraftTypes[i].iata, scheduled):
		return scheduled
	}
	return aircraftTypes[i].iata[0]
}

// AircraftName returns the name of the type whose ICAO designator, plainest
// IATA code or other IATA code it is, in this order; "" when there is none.
func AircraftName(code string) string {
	if code == "" {
		return ""
	}
	other := ""
	for i := range aircraftTypes {
		t := &aircraftTypes[i]
		if t.icao == code || t.iata[0] == code {
			return t.name
		}
		if slices.Contains(t.iata, code) {
			other = t.name
		}
	}
	return other
}
