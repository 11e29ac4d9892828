package flight_test

import (
	"math"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"pgregory.net/rapid"
)

// even is a schedule without jitter: half of the range either way is none.
var even = flight.Schedule{Floor: time.Minute, Jitter: 0.5}

// TestNextFollowsTheTable has a row for each of the table of intervals, at both
// of its edges.
func TestNextFollowsTheTable(t *testing.T) {
	const h, m, s = time.Hour, time.Minute, time.Second
	scheduled := status(flight.StatusScheduled, flight.PhaseScheduled)
	active := status(flight.StatusActive, flight.PhaseEnRoute)
	redirected := status(flight.StatusRedirected, flight.PhaseRedirected)
	diverted := status(flight.StatusDiverted, flight.PhaseDiverted)
	cancelled := status(flight.StatusCancelled, flight.PhaseCancelled)
	landed := status(flight.StatusLanded, flight.PhaseLanded)
	noTimes := func(s *flight.Snapshot) {
		s.Departure.Times, s.Arrival.Times = flight.EndpointTimes{}, flight.EndpointTimes{}
	}
	outAt := func(s *flight.Snapshot) { s.Departure.Times.ActualGate = on(scheduledOut, newYork) }
	onAt := func(s *flight.Snapshot) { s.Arrival.Times.ActualRunway = on(scheduledIn, london) }
	divertedIn := func(s *flight.Snapshot) {
		divertedTo("SNN")(s)
		s.Diverted.Times.ActualGate = on(scheduledIn, london)
	}
	for _, c := range []struct {
		name  string
		s     *flight.Snapshot
		from  flight.Time
		after time.Duration
		want  time.Duration
	}{
		{"10 days before", base(scheduled), scheduledOut, -240 * h, 24 * h},
		{"more than 72 h before", base(scheduled), scheduledOut, -97 * h, 24 * h},
		{"more than 72 h before, the next row is near", base(scheduled), scheduledOut, -80 * h, 8 * h},
		{"72 h before", base(scheduled), scheduledOut, -72 * h, 6 * h},
		{"24 h and a bit before", base(scheduled), scheduledOut, -24*h - m, 4 * h},
		{"24 h before", base(scheduled), scheduledOut, -24 * h, 4 * h},
		{"12 h before: a third of it, the most", base(scheduled), scheduledOut, -12 * h, 4 * h},
		{"6 h before: a third of it", base(scheduled), scheduledOut, -6 * h, 2 * h},
		{"3 h before: a third of it", base(scheduled), scheduledOut, -3 * h, h},
		{"93 min before: a third of it, into the next row", base(scheduled), scheduledOut, -93 * m, 31 * m},
		{"90 min before", base(scheduled), scheduledOut, -90 * m, 9 * m},
		{"60 min before", base(scheduled), scheduledOut, -60 * m, 9 * m},
		{"18 min before, the next row is near", base(scheduled), scheduledOut, -18 * m, 6 * m},
		{"13 min before", base(scheduled), scheduledOut, -13 * m, 170 * s},
		{"12 min before", base(scheduled), scheduledOut, -12 * m, 170 * s},
		{"at departure", base(scheduled), scheduledOut, 0, 170 * s},
		{"59 min late, still at the gate", base(scheduled), scheduledOut, 59 * m, 170 * s},
		{"the estimate counts, not the schedule", base(scheduled, late(300, 300)), scheduledOut, 0, 100 * m},
		{"boarding is before departure", base(status(flight.StatusScheduled, flight.PhaseBoarding)), scheduledOut, -10 * m, 170 * s},
		{"overdue for an hour", base(scheduled), scheduledOut, 60 * m, 10 * m},
		{"overdue for three hours", base(scheduled), scheduledOut, 3 * h, 30 * m},
		{"overdue for six hours", base(scheduled), scheduledOut, 6 * h, h},
		{"unknown, before departure", base(status(flight.StatusUnknown, flight.PhaseUnknown)), scheduledOut, -4 * h, 80 * m},
		{"unknown, overdue", base(status(flight.StatusUnknown, flight.PhaseUnknown)), scheduledOut, 2 * h, 10 * m},
		{"no time known", base(scheduled, noTimes), scheduledOut, -10 * h, 15 * m},
		{"off the gate, not off the ground", base(status(flight.StatusActive, flight.PhaseDeparted), outAt), scheduledOut, 60 * m, 170 * s},
		{"off the gate for an hour, off the ground or not", base(status(flight.StatusActive, flight.PhaseDeparted), outAt), scheduledOut, 61 * m, 20 * m},
		{"airborne, hours to go", base(active), scheduledIn, -5 * h, 20 * m},
		{"airborne, 31 min to go, the next row is near", base(active), scheduledIn, -31 * m, 6 * m},
		{"airborne, 25 min to go", base(active), scheduledIn, -25 * m, 170 * s},
		{"airborne, an hour over", base(active), scheduledIn, h, 170 * s},
		{"airborne, two hours over", base(active), scheduledIn, 2 * h, 15 * m},
		{"airborne, six hours over", base(active), scheduledIn, 6 * h, h},
		{"airborne, no arrival known", base(active, noTimes), scheduledIn, 0, 15 * m},
		{"landed", base(landed, onAt), scheduledIn, m, 170 * s},
		{"landed half an hour ago", base(landed, onAt), scheduledIn, 30 * m, 5 * m},
		{"landed an hour ago", base(landed, onAt), scheduledIn, 60 * m, h},
		{"landed, nobody knows when", base(landed, noTimes), scheduledIn, 0, 170 * s},
		{"arrived, looked at by a viewer", base(status(flight.StatusLanded, flight.PhaseArrived), onAt), scheduledIn, 10 * m, 5 * m},
		{"arrived long ago", base(status(flight.StatusLanded, flight.PhaseArrived), onAt), scheduledIn, 2 * h, h},
		{"redirected", base(redirected), scheduledIn, 0, 5 * m},
		{"redirected, 6 h over", base(redirected), scheduledIn, 6 * h, h},
		{"diverted", base(diverted, divertedIn), scheduledIn, m, 15 * m},
		{"diverted 2 h ago", base(diverted, divertedIn), scheduledIn, 2 * h, h},
		{"diverted 12 h ago", base(diverted, divertedIn), scheduledIn, 12 * h, 6 * h},
		{"diverted, nobody knows when", base(diverted, noTimes), scheduledIn, 0, 15 * m},
		{"cancelled, days ahead", base(cancelled), scheduledOut, -240 * h, h},
		{"cancelled, just under 6 h past", base(cancelled), scheduledOut, 6*h - m, h},
		{"cancelled, 6 h past", base(cancelled), scheduledOut, 6 * h, 6 * h},
		{"cancelled, the runway schedule is all there is", base(cancelled, noTimes, func(s *flight.Snapshot) { s.Departure.Times.ScheduledRunway = on(scheduledOut, newYork) }), scheduledOut, 7 * h, 6 * h},
		{"cancelled, nobody knows when it was to leave", base(cancelled, noTimes), scheduledOut, 7 * h, h},
	} {
		now := plus(c.from, c.after)
		p := even.Next(c.s, now)
		if got := p.At.Std().Sub(now.Std()); got != c.want || p.Reason == "" {
			t.Errorf("%s: %v (%s), want %v", c.name, got, p.Reason, c.want)
		}
	}
}

// TestNextWakesForTheEnd: a watch that ends by its date does so on time.
func TestNextWakesForTheEnd(t *testing.T) {
	cancelled := base(status(flight.StatusCancelled, flight.PhaseCancelled))
	end := utc("2026-03-12 04:00") // 24 h after midnight in New York, at UTC-4
	p := even.Next(cancelled, plus(end, -2*time.Hour))
	if after := p.At.Std().Sub(end.Std()); after < 0 || after > 10*time.Minute {
		t.Errorf("looked at again %v after the end: %s", after, p.Reason)
	}
	if reason, ended := flight.WatchEnded(cancelled, p.At); !ended {
		t.Errorf("at %v it has not ended: %s", p.At, reason)
	}
	spread := flight.Schedule{Jitter: 0}.Next(cancelled, plus(end, -2*time.Hour))
	if spread.At == p.At {
		t.Error("every flight of a date is looked at in one second")
	}
	fixed := flight.Schedule{Fixed: 6 * time.Hour}
	if p := fixed.Next(cancelled, plus(end, -2*time.Hour)); p.At != plus(end, 4*time.Hour) {
		t.Errorf("a fixed interval is not kept: %v", p)
	}
	if p := even.Next(cancelled, plus(end, time.Hour)); p.At != plus(end, 7*time.Hour) {
		t.Errorf("past the end: %v", p)
	}
}

func TestNextLookup(t *testing.T) {
	for _, c := range []struct {
		now  string
		want time.Duration
	}{
		{"2026-03-01 00:00", 6 * time.Hour},
		{"2026-03-06 23:59", 6 * time.Hour},
		{"2026-03-07 00:00", time.Hour}, // 72 h before the date begins in UTC
		{"2026-03-08 23:59", time.Hour},
		{"2026-03-09 00:00", 15 * time.Minute},
		{"2026-03-10 12:00", 15 * time.Minute},
		{"2026-03-12 11:00", 15 * time.Minute},
	} {
		now := utc(c.now)
		if got := even.NextLookup("2026-03-10", now).At; got != plus(now, c.want) {
			t.Errorf("at %s: %v, want %v", c.now, got.Std().Sub(now.Std()), c.want)
		}
	}
}

func TestAfterError(t *testing.T) {
	now := scheduledOut
	for _, c := range []struct {
		failures int
		asked    time.Duration
		want     time.Duration
	}{
		{1, 0, time.Minute}, {2, 0, 2 * time.Minute}, {3, 0, 4 * time.Minute}, {4, 0, 8 * time.Minute}, {5, 0, 16 * time.Minute},
		{6, 0, 32 * time.Minute}, {7, 0, 32 * time.Minute}, {1000, 0, 32 * time.Minute}, {0, 0, time.Minute},
		{1, 30 * time.Second, time.Minute}, {1, 10 * time.Minute, 10 * time.Minute}, {6, 2 * time.Hour, 2 * time.Hour},
	} {
		if got := even.AfterError(now, c.failures, c.asked).At; got != plus(now, c.want) {
			t.Errorf("%d failures, asked %v: %v, want %v", c.failures, c.asked, got.Std().Sub(now.Std()), c.want)
		}
	}
	if got := (flight.Schedule{Jitter: 0}).AfterError(now, 1, 10*time.Minute).At; got < plus(now, 10*time.Minute) {
		t.Errorf("sooner than the upstream asked: %v", got.Std().Sub(now.Std()))
	}
	if got := (flight.Schedule{Fixed: time.Second}).AfterError(now, 3, 0).At; got != plus(now, time.Second) {
		t.Errorf("fixed: %v", got)
	}
	if got := (flight.Schedule{Fixed: time.Second}).AfterError(now, 3, time.Minute).At; got != plus(now, time.Minute) {
		t.Errorf("fixed, asked for a minute: %v", got)
	}
}

// anyFlight generates a snapshot and a moment within days of it.
func anyFlight(t *rapid.T) (*flight.Snapshot, flight.Time) {
	s := snapshots().Draw(t, "s")
	return s, plus(scheduledOut, time.Duration(rapid.IntRange(-10*24*60, 5*24*60).Draw(t, "minutes"))*time.Minute)
}

func TestFixedIntervalIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := anyFlight(t)
		every := time.Duration(rapid.IntRange(1, 3600).Draw(t, "seconds")) * time.Second
		c := flight.Schedule{Fixed: every, Floor: 5 * time.Minute, Jitter: rapid.Float64Range(0, 0.999).Draw(t, "jitter")}
		for _, p := range []flight.Poll{c.Next(s, now), c.NextLookup(s.Date, now)} {
			if p.At != plus(now, every) || p.Reason != "fixed interval" {
				t.Fatalf("%v after %v, want %v", p, now, every)
			}
		}
	})
}

func TestNeverBeforeTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := anyFlight(t)
		c := flight.Schedule{
			Floor:  time.Duration(rapid.IntRange(0, 3600).Draw(t, "floor")) * time.Second,
			Jitter: rapid.Float64Range(0, 0.999).Draw(t, "jitter"),
		}
		for _, p := range []flight.Poll{c.Next(s, now), c.NextLookup(s.Date, now), c.AfterError(now, rapid.IntRange(1, 9).Draw(t, "failures"), 0)} {
			if wait := p.At.Std().Sub(now.Std()); wait < c.Floor || wait < 50*time.Second {
				t.Fatalf("%v (%s) under the floor of %v", wait, p.Reason, c.Floor)
			}
		}
	})
}

func TestJitterIsATenthEitherWay(t *testing.T) {
	now := plus(scheduledOut, -30*time.Minute) // every 9 minutes
	for jitter, want := range map[float64]time.Duration{0: 486 * time.Second, 0.25: 513 * time.Second, 0.5: 540 * time.Second, 0.75: 567 * time.Second} {
		if got := (flight.Schedule{Jitter: jitter}).Next(base(), now).At.Std().Sub(now.Std()); got != want {
			t.Errorf("jitter %v: %v, want %v", jitter, got, want)
		}
	}
	most := flight.Schedule{Jitter: math.Nextafter(1, 0)}.Next(base(), now).At.Std().Sub(now.Std())
	if most > 594*time.Second || most < 593*time.Second {
		t.Errorf("the most: %v", most)
	}
}

// TestNoPhaseIsSleptThrough: from days ahead to the gate, every row of the table
// that a flight comes through is polled in, however short the budget.
func TestNoPhaseIsSleptThrough(t *testing.T) {
	rows := []time.Duration{72 * time.Hour, 24 * time.Hour, 90 * time.Minute, 12 * time.Minute, -time.Hour}
	air := []time.Duration{25 * time.Minute, -2 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		start := plus(scheduledOut, -time.Duration(rapid.IntRange(73*60, 400*60).Draw(t, "minutes before"))*time.Minute)
		walk := func(s *flight.Snapshot, now, to flight.Time, rows []time.Duration) {
			in := func() int {
				left, i := to.Std().Sub(now.Std()), 0
				for i < len(rows) && left <= rows[i] {
					i++
				}
				return i
			}
			for row := in(); row < len(rows); {
				c := flight.Schedule{Floor: time.Minute, Jitter: rapid.Float64Range(0, 0.999).Draw(t, "jitter"), Load: rapid.Float64Range(0, 1).Draw(t, "load")}
				now = c.Next(s, now).At
				if next := in(); next > row+1 {
					t.Fatalf("from row %d to %d of %v at %v", row, next, rows, now)
				} else {
					row = next
				}
			}
		}
		walk(base(), start, scheduledOut, rows)
		walk(base(status(flight.StatusActive, flight.PhaseEnRoute)), plus(scheduledIn, -8*time.Hour), scheduledIn, air)
	})
}

// TestLoadStretchesWhatIsFarFirst: a short budget is taken from flights far from
// departure and arrival, then from those under way, and at last from those
// whose departure or arrival is at hand.
func TestLoadStretchesWhatIsFarFirst(t *testing.T) {
	const h, m, s = time.Hour, time.Minute, time.Second
	active := base(status(flight.StatusActive, flight.PhaseEnRoute))
	cancelled := base(status(flight.StatusCancelled, flight.PhaseCancelled))
	for _, c := range []struct {
		name string
		s    *flight.Snapshot
		from flight.Time
		at   time.Duration
		want map[float64]time.Duration // by load
	}{
		{"days ahead", base(), scheduledOut, -400 * h, map[float64]time.Duration{0: 24 * h, 0.5: 60 * h, 1: 96 * h}},
		{"hours ahead: half of what is left at most", base(), scheduledOut, -6 * h, map[float64]time.Duration{0: 2 * h, 1. / 12: 150 * m, 0.5: 3 * h, 1: 3 * h}},
		{"cancelled", cancelled, scheduledOut, 0, map[float64]time.Duration{0: h, 0.5: 150 * m, 1: 4 * h}},
		{"an hour ahead", base(), scheduledOut, -h, map[float64]time.Duration{0: 9 * m, 1. / 3: 9 * m, 2. / 3: 18 * m, 1: 27 * m}},
		{"in the air", active, scheduledIn, -5 * h, map[float64]time.Duration{0: 20 * m, 1. / 3: 20 * m, 2. / 3: 40 * m, 1: h}},
		{"in the air, the arrival is near", active, scheduledIn, -35 * m, map[float64]time.Duration{0: 10 * m, 1: 10 * m}},
		{"about to depart", base(), scheduledOut, 0, map[float64]time.Duration{0: 170 * s, 2. / 3: 170 * s, 1: 340 * s}},
		{"about to arrive", active, scheduledIn, 0, map[float64]time.Duration{0: 170 * s, 2. / 3: 170 * s, 1: 340 * s}},
		{"out of range counts as its edge", base(), scheduledOut, 0, map[float64]time.Duration{-5: 170 * s, 7: 340 * s, math.NaN(): 170 * s}},
	} {
		for load, want := range c.want {
			now := plus(c.from, c.at)
			got := flight.Schedule{Jitter: 0.5, Load: load}.Next(c.s, now).At.Std().Sub(now.Std())
			if (got - want).Abs() > time.Second {
				t.Errorf("%s, load %.2f: %v, want %v", c.name, load, got, want)
			}
		}
	}
	for load, want := range map[float64]time.Duration{0: h, 0.5: 150 * m, 1: 4 * h} {
		c, now := flight.Schedule{Jitter: 0.5, Load: load}, utc("2026-03-08 12:00")
		if got := c.NextLookup("2026-03-10", now).At; got != plus(now, want) {
			t.Errorf("unresolved, load %v: %v, want %v", load, got.Std().Sub(now.Std()), want)
		}
		if got, want := c.AfterError(now, 3, 0).At, even.AfterError(now, 3, 0).At; got != want {
			t.Errorf("after an error, load %v: %v, want %v", load, got, want)
		}
	}
}

// TestLoadNeverHurries: more load never makes a poll sooner, and Fixed is kept
// to whatever the load.
func TestLoadNeverHurries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := anyFlight(t)
		low := rapid.Float64Range(0, 1).Draw(t, "low")
		high := rapid.Float64Range(low, 1).Draw(t, "high")
		c := flight.Schedule{Jitter: rapid.Float64Range(0, 0.999).Draw(t, "jitter"), Load: low}
		sooner := c.Next(s, now)
		c.Load = high
		if later := c.Next(s, now); later.At < sooner.At {
			t.Fatalf("load %v: %v (%s), load %v: %v (%s)", low, sooner.At, sooner.Reason, high, later.At, later.Reason)
		}
		c.Fixed = time.Minute
		if got := c.Next(s, now); got.At != plus(now, time.Minute) {
			t.Fatalf("fixed: %v after %v", got.At, now)
		}
	})
}

// TestFreshness follows decisions.md: 60 s within three hours of departure or
// arrival and in the air, 5 min within a day, 30 min beyond, 10 min after
// arrival.
func TestFreshness(t *testing.T) {
	const h = time.Hour
	scheduled := base()
	active := status(flight.StatusActive, flight.PhaseEnRoute)
	for _, c := range []struct {
		name string
		legs flight.Legs
		from flight.Time
		at   time.Duration
		want time.Duration
	}{
		{"days ahead", flight.Legs{scheduled}, scheduledOut, -48 * h, 30 * time.Minute},
		{"a day and a bit ahead", flight.Legs{scheduled}, scheduledOut, -24*h - time.Second, 30 * time.Minute},
		{"a day ahead", flight.Legs{scheduled}, scheduledOut, -24 * h, 5 * time.Minute},
		{"three hours and a bit ahead", flight.Legs{scheduled}, scheduledOut, -3*h - time.Second, 5 * time.Minute},
		{"three hours ahead", flight.Legs{scheduled}, scheduledOut, -3 * h, time.Minute},
		{"three hours past departure", flight.Legs{scheduled}, scheduledOut, 3 * h, time.Minute},
		{"three hours before arrival", flight.Legs{scheduled}, scheduledIn, -3 * h, time.Minute},
		{"between, not off the ground", flight.Legs{scheduled}, scheduledOut, 4 * h, 5 * time.Minute},
		{"between, in the air", flight.Legs{base(active)}, scheduledOut, 4 * h, time.Minute},
		{"on the way elsewhere", flight.Legs{base(status(flight.StatusRedirected, flight.PhaseRedirected))}, scheduledOut, 4 * h, time.Minute},
		{"landed", flight.Legs{base(status(flight.StatusLanded, flight.PhaseLanded))}, scheduledIn, 0, time.Minute},
		{"arrived", flight.Legs{base(status(flight.StatusLanded, flight.PhaseArrived))}, scheduledIn, time.Minute, 10 * time.Minute},
		{"arrived days ago", flight.Legs{base(status(flight.StatusLanded, flight.PhaseArrived))}, scheduledIn, 72 * h, 10 * time.Minute},
		{"cancelled, near", flight.Legs{base(status(flight.StatusCancelled, flight.PhaseCancelled))}, scheduledOut, -h, time.Minute},
		{"cancelled, far", flight.Legs{base(status(flight.StatusCancelled, flight.PhaseCancelled))}, scheduledOut, -40 * h, 30 * time.Minute},
		{"the estimate counts", flight.Legs{base(late(600, 600))}, scheduledOut, 0, 5 * time.Minute},
		{"the leg that moves most", flight.Legs{base(status(flight.StatusLanded, flight.PhaseArrived)), base(active)}, scheduledOut, 4 * h, time.Minute},
	} {
		if got := c.legs.Freshness(plus(c.from, c.at)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if flight.NotFoundFreshness != 30*time.Second {
		t.Errorf("no such flight: %v", flight.NotFoundFreshness)
	}
}
