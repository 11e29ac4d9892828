package flight_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/flight"
)

func TestLoadOfCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls flight.Calls
		want  float64
	}{
		{"no limits", flight.Calls{}, 0},
		{"full burst, its last call just made", flight.Calls{Left: 9, Burst: 10}, 0},
		{"more than full", flight.Calls{Left: 10, Burst: 10}, 0},
		{"where far flights wait", flight.Calls{Left: 6.75, Burst: 10}, 1. / 3},
		{"where flights with news wait", flight.Calls{Left: 4.5, Burst: 10}, 2. / 3},
		{"where only look-ups go on", flight.Calls{Left: 2.25, Burst: 10}, 1},
		{"nothing left", flight.Calls{Left: 0, Burst: 10}, 1},
		{"a burst of one", flight.Calls{Left: 0, Burst: 1}, 0},
		{"the month begins", flight.Calls{Limit: 1000}, 0},
		{"an even pace", flight.Calls{Used: 300, Limit: 1000, Passed: 0.3}, 0},
		{"behind it", flight.Calls{Used: 100, Limit: 1000, Passed: 0.3}, 0},
		{"an hour of much use on the first day", flight.Calls{Used: 10, Limit: 1000, Passed: 0.001}, 0.018},
		{"a quarter short of an even pace", flight.Calls{Used: 625, Limit: 1000, Passed: 0.5}, 0.5},
		{"half of an even pace", flight.Calls{Used: 750, Limit: 1000, Passed: 0.5}, 1},
		{"used up", flight.Calls{Used: 1000, Limit: 1000, Passed: 0.999}, 1},
		{"over it", flight.Calls{Used: 1001, Limit: 1000, Passed: 1}, 1},
		{"the last moment, some left", flight.Calls{Used: 999, Limit: 1000, Passed: 1}, 0},
		{"the greater of both", flight.Calls{Left: 4.5, Burst: 10, Used: 625, Limit: 1000, Passed: 0.5}, 2. / 3},
	} {
		if got := c.calls.Load(); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}

// Load stays in its range and falls with nothing that is spent.
func TestLoadRisesWithUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := flight.Calls{
			Burst: rapid.Float64Range(0, 100).Draw(t, "burst"), Limit: rapid.Int64Range(0, 1000).Draw(t, "limit"),
			Used: rapid.Int64Range(0, 1100).Draw(t, "used"), Passed: rapid.Float64Range(0, 1).Draw(t, "passed"),
		}
		c.Left = rapid.Float64Range(0, 1).Draw(t, "left") * c.Burst
		more := c
		more.Used += rapid.Int64Range(0, 100).Draw(t, "more")
		more.Left *= rapid.Float64Range(0, 1).Draw(t, "less")
		low, high := c.Load(), more.Load()
		if !(low >= 0 && low <= high && high <= 1) {
			t.Fatalf("%+v is %v, %+v is %v", c, low, more, high)
		}
	})
}

func TestRanks(t *testing.T) {
	active := base(status(flight.StatusActive, flight.PhaseEnRoute))
	for _, c := range []struct {
		name string
		s    *flight.Snapshot
		now  flight.Time
		want flight.Rank
	}{
		{"days ahead", base(), plus(scheduledOut, -100*time.Hour), flight.RankFar},
		{"hours ahead", base(), plus(scheduledOut, -5*time.Hour), flight.RankFar},
		{"an hour ahead", base(), plus(scheduledOut, -time.Hour), flight.RankSoon},
		{"about to depart", base(), plus(scheduledOut, -12*time.Minute), flight.RankAtHand},
		{"late by half an hour", base(), plus(scheduledOut, 30*time.Minute), flight.RankAtHand},
		{"in the air", active, plus(scheduledIn, -3*time.Hour), flight.RankSoon},
		{"about to arrive", active, plus(scheduledIn, -20*time.Minute), flight.RankAtHand},
		{"cancelled", base(status(flight.StatusCancelled, flight.PhaseCancelled)), scheduledOut, flight.RankFar},
		{"no time known", base(func(s *flight.Snapshot) { s.Departure.Times = flight.EndpointTimes{} }), scheduledOut, flight.RankSoon},
	} {
		if got := flight.RankOf(c.s, c.now); got != c.want {
			t.Errorf("%s: rank %d, want %d", c.name, got, c.want)
		}
	}
	for date, want := range map[string]flight.Rank{"2026-03-08": flight.RankSoon, "2026-03-10": flight.RankFar, "2026-06-01": flight.RankFar} {
		if got := flight.RankOfSearch(date, utc("2026-03-08 12:00")); got != want {
			t.Errorf("unresolved on %s: rank %d, want %d", date, got, want)
		}
	}
}

// Who goes first leaves nothing, each rank behind leaves more, and at the end
// of the month nobody leaves any.
func TestReserves(t *testing.T) {
	for r := flight.RankAtHand; r <= flight.RankFar; r++ {
		if r.Reserve() <= (r-1).Reserve() || r.MonthReserve(0) <= (r-1).MonthReserve(0) || r.MonthReserve(1) != 0 {
			t.Errorf("rank %d leaves %v and %v, and %v at the month's end", r, r.Reserve(), r.MonthReserve(0), r.MonthReserve(1))
		}
	}
	if flight.RankLookup.Reserve() != 0 || flight.RankLookup.MonthReserve(0) != 0 {
		t.Error("look-ups leave something")
	}
	if got := flight.RankFar.MonthReserve(0.5); math.Abs(got-0.1) > 1e-9 {
		t.Errorf("in the middle of the month %v", got)
	}
}

func TestPutOff(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	now := utc("2026-03-08 12:00")
	for _, c := range []struct {
		name     string
		schedule flight.Schedule
		rank     flight.Rank
		wait     time.Duration
		want     time.Duration
	}{
		{"at hand, a moment", flight.Schedule{}, flight.RankAtHand, s, 15 * s},
		{"at hand, as long as it takes", flight.Schedule{}, flight.RankAtHand, 40 * s, 40 * s},
		{"at hand, no call for days", flight.Schedule{}, flight.RankAtHand, 100 * h, 15 * m},
		{"soon, a moment", flight.Schedule{}, flight.RankSoon, s, 2 * m},
		{"soon, no call for days", flight.Schedule{}, flight.RankSoon, 100 * h, 30 * m},
		{"far, a moment", flight.Schedule{}, flight.RankFar, s, 20 * m},
		{"far, no call for days", flight.Schedule{}, flight.RankFar, 100 * h, 2 * h},
		{"spread", flight.Schedule{Jitter: 0.5}, flight.RankFar, s, 25 * m},
		{"a fixed interval is not waited out twice", flight.Schedule{Fixed: 2 * s}, flight.RankFar, s, 2 * s},
		{"but the wait is", flight.Schedule{Fixed: 2 * s}, flight.RankFar, 40 * s, 40 * s},
		{"load does not count", flight.Schedule{Load: 1}, flight.RankFar, s, 20 * m},
	} {
		p := c.schedule.PutOff(c.rank, now, c.wait, "over the call rate")
		if got := p.At.Std().Sub(now.Std()); got != c.want || p.Reason != "over the call rate" {
			t.Errorf("%s: %v (%s), want %v", c.name, got, p.Reason, c.want)
		}
	}
}
