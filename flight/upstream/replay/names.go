package replay

import (
	"math"
	"strings"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// carrierRef returns the airline of a code; the code is its name where nobody
// knows it. places knows the airlines of the shipped day that are gone.
func carrierRef(code string) flight.CarrierRef {
	if a, ok := places.FindAirline(code); ok {
		return a.Ref()
	}
	return flight.CarrierRef{IATA: code, Name: code}
}

// large are the airports of the United States that take a diverted airliner as
// a matter of course: its large and medium hubs.
var large = strings.Fields(`
	ABQ ALB ANC ATL AUS BDL BHM BNA BOI BOS BUF BUR BWI CHS CLE CLT CMH CVG DAL DCA DEN DFW DTW ELP EWR
	FAI FLL GEG GRR GSO HNL HOU IAD IAH IND JAX JFK LAS LAX LGA LIT MCI MCO MDW MEM MIA MKE MSP MSY OAK
	OGG OKC OMA ONT ORD ORF PBI PDX PHL PHX PIT PVD PWM RDU RIC RNO ROC RSW SAN SAT SAV SDF SEA SFO SJC
	SJU SLC SMF SNA STL SYR TPA TUL TUS TYS`)

// nearestDiversion is in kilometres: what is nearer lies under the same weather.
const nearestDiversion = 60

// diversionFor returns the large airport nearest to dest that is at least 60 km
// away from it and not where the leg came from.
func diversionFor(origin, dest string) string {
	to, ok := places.FindAirport(dest)
	if !ok {
		return ""
	}
	best, least := "", math.Inf(1)
	for _, code := range large {
		a, ok := places.FindAirport(code)
		if !ok || code == origin || code == dest {
			continue
		}
		if km := places.GreatCircleKm(to, a); km >= nearestDiversion && km < least {
			best, least = code, km
		}
	}
	return best
}
