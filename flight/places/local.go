package places

import (
	"errors"
	"sync"
	"time"

	"github.com/flightwire/flightwire/flight"
)

var errNoZone = errors.New("no such time zone")

var locations sync.Map // zone name -> *time.Location

// Location returns the IANA zone of that name and keeps it, as loading one
// takes a while. The empty name and "Local", which mean something else to
// [time.LoadLocation], are errors like any other that is no zone; errors are
// not kept. The zones come from the system or from time/tzdata, which package
// main has to import.
func Location(tz string) (*time.Location, error) {
	if loc, ok := locations.Load(tz); ok {
		return loc.(*time.Location), nil
	}
	if tz == "" || tz == "Local" {
		return nil, errNoZone
	}
	loc, err := time.LoadLocation(tz)
	if err != nil {
		return nil, err
	}
	kept, _ := locations.LoadOrStore(tz, loc)
	return kept.(*time.Location), nil
}

const localLayout = "2006-01-02T15:04:05.000"

// Local returns what the clocks of the zone show at t, without offset, and the
// zone's abbreviation at that time, such as EDT, or +03 where it has no
// letters. Both are empty when t is zero or tz is no zone.
func Local(tz string, t time.Time) (local, abbreviation string) {
	if t.IsZero() {
		return "", ""
	}
	loc, err := Location(tz)
	if err != nil {
		return "", ""
	}
	t = t.In(loc)
	abbreviation, _ = t.Zone()
	return t.Format(localLayout), abbreviation
}

// FlightTime returns the moment t at an airport in the zone tz. It is nil when
// t is zero, and has UTC alone when tz is no zone.
func FlightTime(t time.Time, tz string) *flight.FlightTime {
	if t.IsZero() {
		return nil
	}
	ft := &flight.FlightTime{UTC: flight.TimeOf(t)}
	ft.Local, ft.Timezone = Local(tz, t)
	return ft
}
