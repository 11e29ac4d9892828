package cirium

import (
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
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
	t, err := upstream.ParseTime(s, time.RFC3339)
	return t.UTC(), err
}

func parseLocal(s string) (time.Time, error) {
	return upstream.ParseTime(s, "2006-01-02T15:04:05") // takes a fraction too
}

// onClocksOf returns a moment on the clocks of an airport.
func onClocksOf(a *flight.AirportRef, t *flight.FlightTime) *flight.FlightTime {
	if moved := places.FlightTime(t.UTC.Std(), a.Timezone); moved.Local != "" {
		return moved
	}
	return t // its zone is unknown
}
