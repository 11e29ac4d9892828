package flight

import (
	"strings"
	"time"
)

// Key names a flight: every leg that one carrier flies under one number on one
// local departure date. Its fields are in normal form; see [ParseKey].
type Key struct {
	Carrier string // IATA where it has one, in upper case
	Number  string // without leading zeros, perhaps with a suffix letter
	Date    string // local departure date at the origin, YYYY-MM-DD
}

// String returns "<carrier><number>:<date>", the flightKey of the contract.
func (k Key) String() string { return k.Carrier + k.Number + ":" + k.Date }

// Leg returns the flightKey with the leg suffix "@<origin>-<destination>", or
// without one when the airports are unknown.
func (k Key) Leg(origin, destination string) string {
	if origin == "" || destination == "" {
		return k.String()
	}
	return k.String() + "@" + origin + "-" + destination
}

// Key returns the key of the flight that s is a leg of.
func (s *Snapshot) Key() Key { return Key{s.CarrierCode, s.FlightNumber, s.Date} }

// LegKey returns the flightKey of s with its leg suffix.
func (s *Snapshot) LegKey() string {
	return s.Key().Leg(s.Departure.Airport.IATA, s.Arrival.Airport.IATA)
}

// Selector picks one leg of a flight. Empty fields match every leg.
type Selector struct {
	Origin      string // IATA, ICAO or upstream code of the departure airport
	Destination string // the same of the arrival airport
	FlightID    string // an upstream's id of the leg, exactly
}

// ParseKey brings a carrier, a flight number and a date into normal form. It
// records every fault in v under the contract's field names. A carrier is two
// or three letters or digits (IATA or ICAO), or an upstream code such as RV*; a
// number is one to four digits and at most one letter.
func ParseKey(v *Invalid, carrier, number, date string) Key {
	k := Key{strings.ToUpper(strings.TrimSpace(carrier)), strings.ToUpper(strings.TrimSpace(number)), strings.TrimSpace(date)}
	if !validCarrier(k.Carrier) {
		v.Add("carrier", "must be an airline's IATA or ICAO code, such as AA or AAL")
	}
	if n, ok := normalNumber(k.Number); ok {
		k.Number = n
	} else {
		v.Add("flightNumber", "must be one to four digits and at most one letter, such as 100 or 100A")
	}
	if !validDate(k.Date) {
		v.Add("date", "must be a calendar date in the form YYYY-MM-DD")
	}
	return k
}

// ParseSelector brings the selectors of a leg into normal form and records
// every fault in v.
func ParseSelector(v *Invalid, origin, destination, flightID string) Selector {
	s := Selector{strings.ToUpper(strings.TrimSpace(origin)), strings.ToUpper(strings.TrimSpace(destination)), strings.TrimSpace(flightID)}
	for _, f := range [...]struct{ field, code string }{{"origin", s.Origin}, {"destination", s.Destination}} {
		if f.code != "" && (len(f.code) < 2 || len(f.code) > 5 || !all(f.code, isCodeChar)) {
			v.Add(f.field, "must be an airport's IATA, ICAO or upstream code, such as JFK")
		}
	}
	if len(s.FlightID) > 128 || !all(s.FlightID, func(c byte) bool { return c > ' ' && c < 0x7f }) {
		v.Add("flightId", "must be an id from an alternates entry, at most 128 printable characters")
	}
	return s
}

// CheckAhead records a fault when date is more than 365 days after now.
func CheckAhead(v *Invalid, date string, now Time) {
	if d, err := time.Parse(time.DateOnly, date); err == nil && d.Sub(now.Std()) > 365*24*time.Hour {
		v.Add("date", "must be at most 365 days ahead")
	}
}

// DateEndedEverywhere reports whether date is over in every zone on earth.
func DateEndedEverywhere(date string, now Time) bool {
	d, err := time.Parse(time.DateOnly, date)
	return err == nil && !now.Std().Before(d.Add(36*time.Hour)) // UTC-12 is the last to end it
}

func validCarrier(s string) bool {
	code := strings.TrimSuffix(s, "*")
	return len(code) >= 2 && len(code) <= 3 && all(code, isCodeChar)
}

func normalNumber(s string) (string, bool) {
	digits := s
	if n := len(s); n > 0 && s[n-1] >= 'A' && s[n-1] <= 'Z' {
		digits = s[:n-1]
	}
	if len(digits) == 0 || len(digits) > 4 || !all(digits, func(c byte) bool { return c >= '0' && c <= '9' }) {
		return "", false
	}
	trimmed := strings.TrimLeft(digits, "0")
	if trimmed == "" {
		trimmed = "0"
	}
	return trimmed + s[len(digits):], true
}

func validDate(s string) bool {
	d, err := time.Parse(time.DateOnly, s)
	return err == nil && d.Year() >= 1970 && d.Year() < 2200
}

func isCodeChar(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// NotFound returns the error for a flight that no upstream knows.
func NotFound(k Key) *Error {
	return Errorf(CodeFlightNotFound, "No flight %s%s departs on %s. Check the carrier, the number and the local departure date at the origin.", k.Carrier, k.Number, k.Date)
}
