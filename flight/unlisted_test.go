package flight_test

import (
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// A leg that is missing in one answer, or for less than half an hour, still
// counts; then it is not operational. Before its window ends it is looked for
// again.
func TestUnlistedLeg(t *testing.T) {
	start := utc("2026-03-10 21:00")
	other := flight.Held{Path: "departure.gate", Text: "B1", Since: start}
	for window, least := range map[time.Duration]time.Duration{0: 30 * time.Minute, time.Minute: 30 * time.Minute, 2 * time.Hour: 2 * time.Hour} {
		last, held := informed(), []flight.Held{other}
		for _, after := range []time.Duration{0, time.Minute, least - time.Millisecond} {
			counts, holds, until := flight.Unlist(last, held, plus(start, after), window)
			if counts != last || until != plus(start, least) || !slices.Equal(flight.Listed(holds), []flight.Held{other}) || len(holds) != 2 {
				t.Errorf("%v after it vanished: %s, until %v, holds %+v", after, counts.Status.Code, until, holds)
			}
			held = holds
		}
		now := plus(start, least)
		gone, holds, until := flight.Unlist(last, held, now, window)
		if gone.Status.Code != flight.StatusNotOperational || gone.Status.Phase != flight.PhaseUnknown || gone.Status.Label != "Not operational" ||
			gone.Status.Description == "" || gone.FetchedAt != now || holds != nil || until != 0 {
			t.Errorf("gone: %+v at %v, holds %+v, until %v", gone.Status, gone.FetchedAt, holds, until)
		}
		changes := flight.Diff(last, gone)
		if len(changes) != 1 || changes[0].Message != "Status changed from Scheduled to Not operational" {
			t.Errorf("told %+v", changes)
		}
		if again, holds, _ := flight.Unlist(gone, nil, plus(now, time.Hour), window); again != gone || len(holds) > 0 {
			t.Errorf("told again: %+v", again.Status)
		}
	}
}

// The further away its departure is, the longer a leg may be missing, but never
// for longer than a day.
func TestUnlistedLegFarAhead(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{
		time.Hour: 30 * time.Minute, 8 * time.Hour: 2 * time.Hour, 48 * time.Hour: 12 * time.Hour, 60 * 24 * time.Hour: 24 * time.Hour,
	} {
		now := plus(scheduledOut, -ahead)
		_, held, until := flight.Unlist(base(), nil, now, flight.DefaultHold)
		if until != plus(now, want) || flight.UnlistedUntil(base(), held, flight.DefaultHold) != until {
			t.Errorf("%v ahead: until %v, want %v", ahead, until.Std().Sub(now.Std()), want)
		}
	}
	if until := flight.UnlistedUntil(base(), nil, 0); until != 0 {
		t.Errorf("a leg that is not missing: until %v", until)
	}
}

// What left, was cancelled or should have left stays as it was.
func TestUnlistedLegThatDoesNotWait(t *testing.T) {
	status := func(code string, phase flight.Phase) *flight.Snapshot {
		return base(func(s *flight.Snapshot) { s.Status.Code, s.Status.Phase = code, phase })
	}
	for name, last := range map[string]*flight.Snapshot{
		"cancelled": status(flight.StatusCancelled, flight.PhaseCancelled),
		"taxiing":   status(flight.StatusActive, flight.PhaseDeparted),
		"in flight": status(flight.StatusActive, flight.PhaseEnRoute),
		"arrived":   status(flight.StatusLanded, flight.PhaseArrived),
		"diverted":  status(flight.StatusDiverted, flight.PhaseDiverted),
		"unknown":   status(flight.StatusUnknown, flight.PhaseUnknown),
		"overdue":   base(),
	} {
		now := scheduledOut
		for range 3 {
			counts, holds, until := flight.Unlist(last, nil, now, flight.DefaultHold)
			if counts != last || len(holds) > 0 || until != 0 {
				t.Errorf("%s: %+v, holds %+v, until %v", name, counts.Status, holds, until)
			}
			now = plus(now, time.Hour)
		}
	}
	// It vanished a minute before its departure: what was to be is over.
	vanished := plus(scheduledOut, -time.Minute)
	_, held, _ := flight.Unlist(base(), nil, vanished, 0)
	if counts, _, _ := flight.Unlist(base(), held, plus(vanished, time.Hour), 0); counts.Status.Code != flight.StatusNotOperational {
		t.Errorf("vanished just before its departure: %+v", counts.Status)
	}
}

// A leg that vanished days ahead is looked for in half an hour, not tomorrow,
// but never under the upstream's floor.
func TestNextUnlisted(t *testing.T) {
	now := utc("2026-03-01 12:00")
	for _, c := range []struct {
		schedule flight.Schedule
		until    time.Duration
		want     time.Duration
	}{
		{flight.Schedule{Jitter: .5}, 30 * time.Minute, 30 * time.Minute},
		{flight.Schedule{Jitter: .5, Floor: time.Hour}, 30 * time.Minute, time.Hour},
		{flight.Schedule{Jitter: .5}, 48 * time.Hour, 24 * time.Hour},
		{flight.Schedule{Fixed: time.Minute}, 30 * time.Second, time.Minute},
	} {
		if p := c.schedule.NextUnlisted(base(), now, plus(now, c.until)); p.At != plus(now, c.want) || p.Reason == "" {
			t.Errorf("%+v until %v: %+v, want %v", c.schedule, c.until, p, c.want)
		}
	}
}
