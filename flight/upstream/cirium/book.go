package cirium

import (
	"cmp"
	"strings"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// book looks up what the codes of one answer mean: in its appendix, and in our
// own tables for what that leaves out.
type book struct {
	airlines   map[string]*wireAirline
	airports   map[string]*wireAirport
	equipments map[string]string // names
	flagBase   string
}

func newBook(a *appendix, flagBase string) *book {
	b := &book{
		airlines:   make(map[string]*wireAirline, len(a.Airlines)),
		airports:   make(map[string]*wireAirport, len(a.Airports)),
		equipments: make(map[string]string, len(a.Equipments)),
		flagBase:   flagBase,
	}
	for i := range a.Airlines {
		b.airlines[a.Airlines[i].Fs] = &a.Airlines[i]
	}
	for i := range a.Airports {
		b.airports[a.Airports[i].Fs] = &a.Airports[i]
	}
	for _, e := range a.Equipments {
		if name := strings.TrimSpace(e.Name); strings.Trim(name, "?") != "" {
			b.equipments[e.IATA] = name
		}
	}
	return b
}

// starCodes are Fs codes whose IATA code another airline had first, with the
// airline's ICAO code. An appendix names them; answers without one do not.
var starCodes = map[string]string{"RV*": "ROU"}

// carrier returns the airline of an Fs code. Its IATA is its ICAO code or the
// Fs code where it has none; its name is the code where nobody knows it.
func (b *book) carrier(fs string) flight.CarrierRef {
	known, _ := places.FindAirline(cmp.Or(starCodes[fs], fs))
	a := b.airlines[fs]
	if a == nil {
		a = &wireAirline{IATA: known.IATA}
		if len(fs) == 2 { // two characters are IATA's
			a.IATA = fs
		}
	}
	ref := flight.CarrierRef{ICAO: cmp.Or(a.ICAO, known.ICAO), Name: cmp.Or(strings.TrimSpace(a.Name), known.Name, fs)}
	ref.IATA = cmp.Or(a.IATA, ref.ICAO, fs)
	return ref
}

// isIATA reports whether an Fs code is the airline's IATA code.
func (b *book) isIATA(fs string) bool {
	if a := b.airlines[fs]; a != nil {
		return a.IATA == fs
	}
	return len(fs) == 2
}

// airport returns the airport of an Fs code. Its IATA is its ICAO code or the
// Fs code where it has none; of an airport that nobody knows, the code is all.
func (b *book) airport(fs string) flight.AirportRef {
	a := b.airports[fs]
	if a == nil {
		a = &wireAirport{}
	}
	var ref flight.AirportRef
	if known, ok := places.FindAirport(cmp.Or(a.IATA, a.ICAO, fs)); ok {
		ref = known.Ref(b.flagBase)
	}
	ref.Code = fs
	if b.airports[fs] != nil { // the provider's word is better, as it is today's
		ref.IATA = cmp.Or(a.IATA, a.ICAO, fs)
		ref.City, ref.State = cmp.Or(a.City, ref.City), cmp.Or(a.State, ref.State)
		if a.Country != "" {
			ref.Country = b.country(a)
		}
	}
	ref.IATA = cmp.Or(ref.IATA, fs)
	ref.ICAO = cmp.Or(a.ICAO, ref.ICAO)
	ref.Name = cmp.Or(strings.TrimSpace(a.Name), ref.Name, fs)
	if _, err := places.Location(a.Timezone); err == nil {
		ref.Timezone = a.Timezone
	}
	if ref.Country.FlagSVG == "" { // none, or in a notation of the provider's own
		ref.Country = places.CountryInZone(ref.Timezone, b.flagBase)
	}
	return ref
}

func (b *book) country(a *wireAirport) flight.CountryRef {
	ref := places.CountryRef(a.Country, b.flagBase)
	if ref.Name == ref.Code {
		ref.Name = cmp.Or(a.CountryName, ref.Code)
	}
	return ref
}
