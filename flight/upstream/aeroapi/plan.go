package aeroapi

import (
	"net/url"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// call is one question to the provider.
type call struct {
	path  string
	query url.Values
}

// The collections, by how far their departures may lie from now. The borders
// are a little narrower than the provider's, which judges by its own clock.
const (
	back   = 10*24*time.Hour - 15*time.Minute // of /flights; what lies before is in /history/flights
	ahead  = 2*24*time.Hour - 15*time.Minute  // of /flights; what lies after is in /schedules
	latest = 365 * 24 * time.Hour             // of /schedules
)

// A date lasts from the moment at which UTC+14 begins it until the one at which
// UTC-12 ends it.
const (
	beginsBefore = 14 * time.Hour
	endsAfter    = 36 * time.Hour
)

// plan returns the calls that together have every departure which may be on the
// key's date somewhere on earth: the current flights, before them the history,
// and after them the schedules. Each part of the time is asked for once, at the
// collection that knows most of it.
func plan(key flight.Key, now flight.Time) ([]call, error) {
	d, err := time.Parse(time.DateOnly, key.Date)
	if err != nil {
		return nil, flight.Errorf(flight.CodeInvalid, "date: must be a calendar date in the form YYYY-MM-DD")
	}
	from, to := d.Add(-beginsBefore), d.Add(endsAfter)
	oldest := now.Std().Truncate(time.Minute).Add(-back)
	newest := now.Std().Truncate(time.Minute).Add(ahead)
	end := now.Std().Truncate(time.Minute).Add(latest)
	var calls []call
	if from.Before(oldest) {
		calls = append(calls, flights("/history/flights/", key, from, earlier(to, oldest)))
	}
	if a, b := later(from, oldest), earlier(to, newest); a.Before(b) {
		calls = append(calls, flights("/flights/", key, a, b))
	}
	if a, b := later(from, newest), earlier(to, end); a.Before(b) {
		calls = append(calls, schedules(key, a, b))
	}
	return calls, nil
}

func flights(path string, key flight.Key, from, to time.Time) call {
	return call{path + url.PathEscape(icao(key.Carrier)+key.Number), url.Values{
		"ident_type": {"designator"}, "start": {from.Format(time.RFC3339)}, "end": {to.Format(time.RFC3339)},
	}}
}

// schedules asks by number without its letter, as the provider takes digits
// only; the rows of other letters are left out later.
func schedules(key flight.Key, from, to time.Time) call {
	return call{"/schedules/" + from.Format(time.RFC3339) + "/" + to.Format(time.RFC3339), url.Values{
		"airline": {icao(key.Carrier)}, "flight_number": {strings.TrimRight(key.Number, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
	}}
}

// icao returns the ICAO code of an airline, which the provider would rather
// have: IATA codes are shared. An airline that we do not know keeps its code.
func icao(carrier string) string {
	if a, ok := places.FindAirline(carrier); ok && a.ICAO != "" {
		return a.ICAO
	}
	return carrier
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
