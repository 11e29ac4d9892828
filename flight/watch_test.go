package flight_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

const (
	arrivedReason = "The flight arrived."
	landedReason  = "The flight landed; no gate arrival was reported within an hour."
	dateReason    = "The flight's date passed."
	unseenReason  = "The flight's date passed without the flight being found."
)

// TestWatchEnded follows "Completed when …" of decisions.md.
func TestWatchEnded(t *testing.T) {
	active := status(flight.StatusActive, flight.PhaseEnRoute)
	landed := status(flight.StatusLanded, flight.PhaseLanded)
	arrived := status(flight.StatusLanded, flight.PhaseArrived)
	cancelled := status(flight.StatusCancelled, flight.PhaseCancelled)
	redirected := status(flight.StatusRedirected, flight.PhaseRedirected)
	diverted := status(flight.StatusDiverted, flight.PhaseDiverted)
	onAt := func(s *flight.Snapshot) { s.Arrival.Times.ActualRunway = on(scheduledIn, london) }
	noTimes := func(s *flight.Snapshot) {
		s.Departure.Times, s.Arrival.Times = flight.EndpointTimes{}, flight.EndpointTimes{}
	}
	zone := func(name string) func(*flight.Snapshot) {
		return func(s *flight.Snapshot) { s.Departure.Airport.Timezone = name }
	}
	date := func(d string) func(*flight.Snapshot) { return func(s *flight.Snapshot) { s.Date = d } }
	estimated := func(end func(*flight.Snapshot) *flight.EndpointTimes, runway bool, at string) func(*flight.Snapshot) {
		return func(s *flight.Snapshot) {
			if runway {
				end(s).EstimatedRunway = on(utc(at), london)
			} else {
				end(s).EstimatedGate = on(utc(at), london)
			}
		}
	}
	departure := func(s *flight.Snapshot) *flight.EndpointTimes { return &s.Departure.Times }
	arrival := func(s *flight.Snapshot) *flight.EndpointTimes { return &s.Arrival.Times }
	diversion := func(s *flight.Snapshot) *flight.EndpointTimes { return &s.Diverted.Times }
	// The base flight's date ends in New York, at UTC-4, at 04:00 on the 11th.
	const beforeEnd, end = "2026-03-12 03:59:59.999", "2026-03-12 04:00"
	for _, c := range []struct {
		name string
		s    *flight.Snapshot
		now  string
		want string // the reason; "" goes on
	}{
		{"arrived", base(arrived), "2026-03-11 05:00", arrivedReason},
		{"landed within the hour", base(landed, onAt), "2026-03-11 07:09:59.999", ""},
		{"landed for an hour", base(landed, onAt), "2026-03-11 07:10", landedReason},
		{"landed, the runway time is unknown: the estimate stands for it", base(landed, late(0, 20)), "2026-03-11 07:29", ""},
		{"landed, an hour after the estimate", base(landed, late(0, 20)), "2026-03-11 07:30", landedReason},
		{"landed, no time known: the date decides", base(landed, noTimes), beforeEnd, ""},
		{"landed, no time known, the date passed", base(landed, noTimes), end, dateReason},

		{"never departed, within 24 h of the date", base(), beforeEnd, ""},
		{"never departed, 24 h past the date", base(), end, dateReason},
		{"cancelled is watched on", base(cancelled), "2026-03-10 22:00", ""},
		{"cancelled, within 24 h of the date", base(cancelled), beforeEnd, ""},
		{"cancelled, 24 h past the date", base(cancelled), end, dateReason},
		{"diverted is watched on", base(diverted, divertedTo("SNN")), beforeEnd, ""},
		{"diverted, 24 h past the date", base(diverted, divertedTo("SNN")), end, dateReason},
		{"lost", base(status(flight.StatusUnknown, flight.PhaseUnknown)), end, dateReason},

		{"in the air past the date", base(active, late(26*60, 26*60)), "2026-03-12 05:00", ""},
		{"in the air, overdue", base(active), "2026-03-12 12:00", ""},
		{"off the gate past the date", base(status(flight.StatusActive, flight.PhaseDeparted)), end, ""},
		{"on the way elsewhere past the date", base(redirected), end, ""},
		{"in the air for two days over: the record was abandoned", base(active), "2026-03-13 06:10:00.001", dateReason},
		{"in the air, no arrival known", base(active, noTimes), "2026-03-13 04:00", ""},
		{"in the air, no arrival known, for days", base(active, noTimes), "2026-03-13 04:00:00.001", dateReason},

		{"its estimated departure is ahead", base(estimated(departure, false, "2026-03-12 08:00")), "2026-03-12 07:59", ""},
		{"its estimated departure is past", base(estimated(departure, false, "2026-03-12 08:00")), "2026-03-12 08:00", dateReason},
		{"its estimated wheels-off is ahead", base(estimated(departure, true, "2026-03-12 08:00")), "2026-03-12 07:59", ""},
		{"its estimated arrival is ahead", base(estimated(arrival, false, "2026-03-12 08:00")), "2026-03-12 07:59", ""},
		{"its estimated wheels-on is ahead", base(estimated(arrival, true, "2026-03-12 08:00")), "2026-03-12 07:59", ""},
		{"its estimated arrival elsewhere is ahead", base(diverted, divertedTo("SNN"), estimated(diversion, false, "2026-03-12 08:00")), "2026-03-12 07:59", ""},
		{"its estimated arrival elsewhere is past", base(diverted, divertedTo("SNN"), estimated(diversion, false, "2026-03-12 08:00")), "2026-03-12 08:00", dateReason},

		{"the first zone to end a date", base(zone("Pacific/Kiritimati")), "2026-03-11 09:59", ""},
		{"the first zone, 24 h on", base(zone("Pacific/Kiritimati")), "2026-03-11 10:00", dateReason},
		{"half an hour off", base(zone("Asia/Kolkata")), "2026-03-11 18:29", ""},
		{"half an hour off, 24 h on", base(zone("Asia/Kolkata")), "2026-03-11 18:30", dateReason},
		{"no zone known: UTC-12", base(zone("")), "2026-03-12 11:59", ""},
		{"no zone known, 24 h on", base(zone("")), "2026-03-12 12:00", dateReason},
		{"a zone that does not exist: UTC-12", base(zone("Mars/Olympus")), "2026-03-12 11:59", ""},
		{"a day of 23 hours", base(date("2026-03-08")), "2026-03-10 03:59", ""},
		{"a day of 23 hours, 24 h on", base(date("2026-03-08")), "2026-03-10 04:00", dateReason},
		{"a day of 25 hours", base(date("2026-11-01")), "2026-11-03 04:59", ""},
		{"a day of 25 hours, 24 h on", base(date("2026-11-01")), "2026-11-03 05:00", dateReason},
	} {
		reason, ended := flight.WatchEnded(c.s, utc(c.now))
		if reason != c.want || ended != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, reason, ended, c.want)
		}
	}
}

func TestSearchEnded(t *testing.T) {
	for now, want := range map[string]string{
		"2026-03-10 12:00":        "",
		"2026-03-12 11:59:59.999": "",
		"2026-03-12 12:00":        unseenReason, // 24 h after the date is over in UTC-12
		"2026-04-01 00:00":        unseenReason,
	} {
		if reason, ended := flight.SearchEnded("2026-03-10", utc(now)); reason != want || ended != (want != "") {
			t.Errorf("at %s: %q, %v", now, reason, ended)
		}
	}
}

// TestWatchGoesOnWhileInTheAir holds the phases that count as in the air.
func TestWatchGoesOnWhileInTheAir(t *testing.T) {
	in := map[flight.Phase]bool{"departed": true, "en_route": true, "redirected": true}
	for _, p := range flight.Phases {
		if p.InAir() != in[p] {
			t.Errorf("%s in the air: %v", p, p.InAir())
		}
		_, ended := flight.WatchEnded(base(status("", p)), plus(scheduledIn, 47*time.Hour))
		if ended == in[p] {
			t.Errorf("%s, long past its date: ended %v", p, ended)
		}
	}
}
