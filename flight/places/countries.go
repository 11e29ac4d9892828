package places

import (
	"cmp"
	"strings"
	"sync"

	"github.com/flightwire/flightwire/flight"
)

// Country is a country or territory of ISO 3166-1.
type Country struct {
	Code string // alpha-2, upper case
	Name string // short English name
}

var countries = sync.OnceValue(func() *table { return newTable(countriesCSV, 1) })

// kosovo is no entry of ISO 3166-1, but airports lie in it, and XK, of the
// codes that the standard leaves to its users, is what everyone has for it.
var kosovo = Country{Code: "XK", Name: "Kosovo"}

// nowhere is the country of an airport of which nobody says where it is: ZZ is
// CLDR's code for that, of those that ISO 3166-1 leaves to its users.
var nowhere = Country{Code: "ZZ", Name: "Unknown"}

// FindCountry returns the country of an alpha-2 code of ISO 3166-1.
func FindCountry(code string) (Country, bool) {
	if len(code) != 2 {
		return Country{}, false
	}
	row, ok := countries().find(code)
	if !ok {
		return Country{}, false
	}
	var c Country
	c.Code, row = nextField(row)
	c.Name, _ = nextField(row)
	return c, true
}

// Countries returns the 249 codes of ISO 3166-1 in alphabetical order. The
// slice is the caller's.
func Countries() []string {
	t := countries()
	codes := make([]string, 0, len(t.index))
	for _, entry := range t.index {
		code, _ := nextField(t.csv[uint32(entry):])
		codes = append(codes, code)
	}
	return codes
}

// Emoji returns the country's flag as an emoji.
func (c Country) Emoji() string { return emoji(c.Code) }

// Ref returns the country as answers show it. base is the service's public
// address; a slash at its end is not doubled.
func (c Country) Ref(base string) flight.CountryRef {
	const square = "?shape=1x1"
	url := strings.TrimSuffix(base, "/") + "/v1/flags/" + strings.ToLower(c.Code) + ".svg" + square
	return flight.CountryRef{
		Code: c.Code, Name: c.Name, Emoji: emoji(c.Code),
		FlagSVG: url[:len(url)-len(square)], FlagSVGSquare: url,
	}
}

// CountryRef returns [Country.Ref] of the code an airport has, which need not
// be one of ISO 3166-1: Kosovo's XK has its name and flag, any other code
// stands for its own name. Without a code the result is empty.
func CountryRef(code, base string) flight.CountryRef {
	if c, ok := FindCountry(code); ok {
		return c.Ref(base)
	}
	code = strings.ToUpper(code)
	switch {
	case code == "":
		return flight.CountryRef{}
	case code == kosovo.Code:
		return kosovo.Ref(base)
	case code == nowhere.Code:
		return nowhere.Ref(base)
	case emoji(code) == "": // upstream's own notation: no flag can be named by it
		return flight.CountryRef{Code: code, Name: code}
	}
	return Country{Code: code, Name: code}.Ref(base)
}

// CountryInZone returns the country whose clocks an IANA zone is: that of all
// airports which go by it, where it is one. Else it is the country ZZ, "Unknown".
func CountryInZone(tz, base string) flight.CountryRef {
	return CountryRef(cmp.Or(zones()[tz], nowhere.Code), base)
}

// zones has the country of each zone of the airports; "" where there are
// several.
var zones = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for a := range Airports() {
		if country, seen := of[a.Timezone]; !seen {
			of[a.Timezone] = a.Country
		} else if country != a.Country {
			of[a.Timezone] = ""
		}
	}
	return of
})

// emoji writes two letters in regional indicators, which are shown as a flag.
func emoji(code string) string {
	if len(code) != 2 || !isUpper(code[0]) || !isUpper(code[1]) {
		return ""
	}
	const a = '\U0001F1E6'
	return string([]rune{a + rune(code[0]-'A'), a + rune(code[1]-'A')})
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
