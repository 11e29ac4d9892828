package places

import (
	"sync"

	"github.com/flightwire/flightwire/flight"
)

// Airline is a carrier. Codes are given again over the years: the tables have
// today's holder, and of former airlines those whose codes are free or in no
// larger use; see data/README.md. Smaller airlines are known by their ICAO codes
// alone.
type Airline struct {
	IATA, ICAO string // IATA is empty where it is shared or has gone to another
	Name       string // the name it trades under, in English
}

var (
	airlines     = sync.OnceValue(func() *table { return newTable(airlinesCSV, 2) })
	moreAirlines = sync.OnceValue(func() *table { return newTable(moreAirlinesCSV, 2) })
)

// FindAirline returns the airline of an IATA or an ICAO designator.
func FindAirline(code string) (Airline, bool) {
	if len(code) != 2 && len(code) != 3 {
		return Airline{}, false
	}
	row, ok := airlines().find(code)
	if !ok {
		row, ok = moreAirlines().find(code)
	}
	if !ok {
		return Airline{}, false
	}
	var a Airline
	for _, field := range [...]*string{&a.IATA, &a.ICAO, &a.Name} {
		*field, row = nextField(row)
	}
	return a, true
}

// Ref returns the airline as answers show it.
func (a Airline) Ref() flight.CarrierRef {
	iata := a.IATA
	if iata == "" {
		iata = a.ICAO
	}
	return flight.CarrierRef{IATA: iata, ICAO: a.ICAO, Name: a.Name}
}
