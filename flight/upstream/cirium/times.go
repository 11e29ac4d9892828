package cirium

import (
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

const localLayout = "2006-01-02T15:04:05.000"

// at reads a moment at an airport in the zone tz: nil when it is absent. The
// provider's local time stands where it is given. The zone's abbreviation is
// added when the zone's clock shows that time.
func (s *stamp) at(tz string) (*flight.FlightTime, error) {
	if s == nil || s.UTC == "" && s.Local == "" {
		return nil, nil
	}
	utc, err := s.moment(tz)
	if err != nil {
		return nil, err
	}
	ft := places.FlightTime(utc, tz)
	if s.Local == "" {
		return ft, nil
	}
	local, err := parseLocal(s.Local)
	if err != nil {
		return nil, err
	}
	if ahead := local.Sub(utc); ahead < -13*time.Hour || ahead > 15*time.Hour {
		return nil, fmt.Errorf("%q is not the local time of %q in any zone", s.Local, s.UTC)
	}
	if given := local.Format(localLayout); given != ft.Local {
		ft.Local, ft.Timezone = given, ""
	}
	return ft, nil
}

// moment returns the stamp in UTC, worked out from the local time where the
// provider says nothing else.
func (s *stamp) moment(tz string) (time.Time, error) {
	if s.UTC != "" {
		return parseUTC(s.UTC)
	}
	local, err := parseLocal(s.Local)
	if err != nil {
		return time.Time{}, err
	}
	loc, err := places.Location(tz)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q has no UTC time", s.Local)
	}
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), loc).UTC(), nil
}

func parseUTC(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	return plausible(t.UTC(), s, err)
}

func parseLocal(s string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05", s) // takes a fraction too
	return plausible(t, s, err)
}

func plausible(t time.Time, s string, err error) (time.Time, error) {
	if err != nil || t.Year() <= 1970 || t.Year() >= 2200 {
		return time.Time{}, fmt.Errorf("%q is no time", clip(s, 40))
	}
	return t, nil
}

// onClocksOf returns a moment on the clocks of an airport.
func onClocksOf(a *flight.AirportRef, t *flight.FlightTime) *flight.FlightTime {
	if moved := places.FlightTime(t.UTC.Std(), a.Timezone); moved.Local != "" {
		return moved
	}
	return t // its zone is unknown
}
