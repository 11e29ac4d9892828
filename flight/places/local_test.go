package places

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/flightwire/flightwire/flight"
)

func TestLocal(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ tz, utc, local, abbreviation string }{
		{"America/New_York", "2013-07-10T22:45:00Z", "2013-07-10T18:45:00.000", "EDT"},
		{"America/New_York", "2013-02-08T10:00:00Z", "2013-02-08T05:00:00.000", "EST"},
		{"America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T01:30:00.000", "EDT"}, // the hour that comes twice
		{"America/New_York", "2026-11-01T06:30:00Z", "2026-11-01T01:30:00.000", "EST"},
		{"America/Costa_Rica", "2026-01-01T05:59:59.9996Z", "2025-12-31T23:59:59.999", "CST"},
		{"Europe/Istanbul", "2026-06-01T21:30:00Z", "2026-06-02T00:30:00.000", "+03"},
		{"Asia/Kolkata", "2026-06-01T00:00:00Z", "2026-06-01T05:30:00.000", "IST"},
		{"UTC", "2026-06-01T00:00:00+02:00", "2026-05-31T22:00:00.000", "UTC"},
		{"", "2026-06-01T00:00:00Z", "", ""},
		{"Local", "2026-06-01T00:00:00Z", "", ""},
		{"Mars/Olympus", "2026-06-01T00:00:00Z", "", ""},
		{"../../etc/passwd", "2026-06-01T00:00:00Z", "", ""},
	} {
		local, abbreviation := Local(c.tz, at(c.utc))
		if local != c.local || abbreviation != c.abbreviation {
			t.Errorf("%s in %s: %q %q, want %q %q", c.utc, c.tz, local, abbreviation, c.local, c.abbreviation)
		}
		ft := FlightTime(at(c.utc), c.tz)
		want := flight.FlightTime{UTC: flight.TimeOf(at(c.utc)), Local: c.local, Timezone: c.abbreviation}
		if ft == nil || *ft != want {
			t.Errorf("%s in %s: %+v, want %+v", c.utc, c.tz, ft, want)
		}
	}
	if local, abbreviation := Local("UTC", time.Time{}); local != "" || abbreviation != "" {
		t.Errorf("the zero time is %q %q", local, abbreviation)
	}
	if ft := FlightTime(time.Time{}, "UTC"); ft != nil {
		t.Errorf("the zero time is %+v", ft)
	}
}

func TestLocationIsKept(t *testing.T) {
	a, err := Location("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Location("Europe/Vienna")
	if err != nil || a != b {
		t.Errorf("loaded twice: %p, %p, %v", a, b, err)
	}
	for _, tz := range []string{"", "Local", "Nowhere/Here"} {
		if loc, err := Location(tz); err == nil {
			t.Errorf("%q is %v", tz, loc)
		}
		if _, kept := locations.Load(tz); kept {
			t.Errorf("%q is kept", tz)
		}
	}
}

func BenchmarkFlightTime(b *testing.B) {
	b.ReportAllocs()
	t := time.Date(2026, 7, 10, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		FlightTime(t, "America/New_York")
	}
}
