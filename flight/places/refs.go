package places

import (
	"cmp"

	"github.com/flightwire/flightwire/flight"
)

// CompleteAirport returns the airport that an upstream names in part, with all
// that the table knows of it. Codes and the zone are the upstream's where it
// has them; name, city, state and country are the table's, so that they are
// the same whichever upstream names the airport. Where there is no IATA code,
// its ICAO or upstream code stands in. Of an airport that no table has, ref is
// all, and the country that of its zone. A ref without any code stays without.
func CompleteAirport(ref flight.AirportRef, base string) flight.AirportRef {
	var known flight.AirportRef
	for _, code := range [...]string{ref.IATA, ref.ICAO, ref.Code} {
		if a, ok := FindAirport(code); ok {
			known = a.Ref(base)
			break
		}
	}
	full := flight.AirportRef{
		ICAO: cmp.Or(ref.ICAO, known.ICAO), Code: ref.Code,
		City: cmp.Or(known.City, ref.City), State: cmp.Or(known.State, ref.State),
		Timezone: known.Timezone,
	}
	full.IATA = cmp.Or(ref.IATA, known.IATA, full.ICAO, ref.Code)
	full.Name = cmp.Or(known.Name, ref.Name, full.IATA)
	if _, err := Location(ref.Timezone); err == nil {
		full.Timezone = ref.Timezone
	}
	full.Country = known.Country
	if full.Country.Code == "" {
		full.Country = CountryRef(ref.Country.Code, base)
	}
	if full.Country.FlagSVG == "" { // none, or in a notation of the upstream's own
		full.Country = CountryInZone(full.Timezone, base)
	}
	return full
}

// CompleteCarrier returns the airline that an upstream names in part, with all
// that the table knows of it. Codes are the upstream's where it has them, the
// name is the table's. Where there is no IATA code, the ICAO code stands in;
// without a name, the code does. A ref without any code stays without.
func CompleteCarrier(ref flight.CarrierRef) flight.CarrierRef {
	known, ok := FindAirline(ref.ICAO)
	if !ok {
		known, ok = FindAirline(ref.IATA)
	}
	if ok && ref.IATA != "" && ref.ICAO != "" && known.IATA != ref.IATA && known.IATA != "" {
		known = Airline{} // another airline's
	}
	full := flight.CarrierRef{ICAO: cmp.Or(ref.ICAO, known.ICAO)}
	full.IATA = cmp.Or(ref.IATA, known.IATA, full.ICAO)
	full.Name = cmp.Or(known.Name, ref.Name, full.IATA)
	return full
}
