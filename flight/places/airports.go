package places

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/flightwire/flightwire/flight"
)

// Airport is an airport that has an IATA code. Its strings are shared with the
// table; fields that are unknown are empty.
type Airport struct {
	IATA, ICAO string  // ICAO is unknown for small fields that have none
	Local      string  // the FAA's or Transport Canada's code of a field without ICAO
	Name       string  // as the source has it, mostly English, mostly without accents
	City       string  // the town it serves or lies in; unknown for a tenth
	Region     string  // the name of the state, province or the like
	State      string  // postal code of Region in the US and Canada, else empty
	Country    string  // ISO 3166-1 alpha-2, or XK
	Timezone   string  // IANA zone name
	Lat, Lon   float64 // degrees, north and east positive
}

var airports = sync.OnceValue(func() *table { return newTable(airportsCSV, 3) })

// FindAirport returns the airport of an IATA code, of an ICAO code or of a
// local one: no two airports have the same.
func FindAirport(code string) (Airport, bool) {
	if len(code) != 3 && len(code) != 4 {
		return Airport{}, false
	}
	row, ok := airports().find(code)
	if !ok {
		return Airport{}, false
	}
	a, _ := parseAirport(row)
	return a, true
}

// AirportByIATA is [FindAirport] for an IATA code alone.
func AirportByIATA(code string) (Airport, bool) {
	if len(code) != 3 {
		return Airport{}, false
	}
	return FindAirport(code)
}

// AirportByICAO is [FindAirport] for an ICAO code alone.
func AirportByICAO(code string) (Airport, bool) {
	a, ok := FindAirport(code)
	if !ok || !strings.EqualFold(a.ICAO, code) {
		return Airport{}, false
	}
	return a, true
}

// Airports yields every airport in the order of their IATA codes.
func Airports() iter.Seq[Airport] {
	return func(yield func(Airport) bool) {
		_, rest, _ := strings.Cut(airportsCSV, "\n")
		for rest != "" {
			var a Airport
			a, rest = parseAirport(rest)
			rest = strings.TrimPrefix(rest, "\n")
			if !yield(a) {
				return
			}
		}
	}
}

func parseAirport(row string) (a Airport, rest string) {
	var lat, lon string
	for _, field := range [...]*string{
		&a.IATA, &a.ICAO, &a.Local, &a.Name, &a.City, &a.Region, &a.State, &a.Country, &a.Timezone, &lat, &lon,
	} {
		*field, row = nextField(row)
	}
	// The tests parse every row, so an error cannot occur here.
	a.Lat, _ = strconv.ParseFloat(lat, 64)
	a.Lon, _ = strconv.ParseFloat(lon, 64)
	return a, row
}

// Ref returns the airport as answers show it. base is the service's public
// address, from which the flags' URLs are made.
// Code, the upstream's own, is left empty.
func (a Airport) Ref(base string) flight.AirportRef {
	iata := a.IATA
	if iata == "" {
		iata = a.ICAO
	}
	return flight.AirportRef{
		IATA: iata, ICAO: a.ICAO, Name: a.Name, City: a.City, State: a.State,
		Country: CountryRef(a.Country, base), Timezone: a.Timezone,
	}
}

// earthRadiusKm is the mean radius of IUGG.
const earthRadiusKm = 6371.0088

// GreatCircleKm returns the shortest way between two airports over a spherical
// earth, in kilometres; it is off by half a per cent at most.
func GreatCircleKm(a, b Airport) float64 {
	const rad = math.Pi / 180
	sinLat := math.Sin((b.Lat - a.Lat) * rad / 2)
	sinLon := math.Sin((b.Lon - a.Lon) * rad / 2)
	h := sinLat*sinLat + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*sinLon*sinLon
	return 2 * earthRadiusKm * math.Asin(math.Sqrt(min(h, 1)))
}
