package jobs

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// simulated are flights in virtual time: one departs every so often and flies
// for six hours; each is watched from a day before its departure.
type simulated struct {
	every  time.Duration
	limits CallLimits
	month  time.Time
	dice   *rand.Rand
	stands counts
	queue  queue

	made, putOff map[flight.Rank]int
	gaps         map[flight.Rank][]time.Duration // between two calls of a flight, by the rank of the second
	last         map[int]flight.Time
	usedUp       time.Time // when polls first found the month used up
}

type due struct {
	at     flight.Time
	flight int
}

type queue []due

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(due)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// simulate lets flights depart from the beginning of a month on, for that many
// days, and watches them until the days are over.
func simulate(l CallLimits, every time.Duration, days int) *simulated {
	s := &simulated{
		limits: l, every: every, month: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), dice: rand.New(rand.NewPCG(1, 2)),
		made: map[flight.Rank]int{}, putOff: map[flight.Rank]int{}, gaps: map[flight.Rank][]time.Duration{}, last: map[int]flight.Time{},
	}
	end := s.month.AddDate(0, 0, days)
	for n := range int(end.Sub(s.month) / every) {
		heap.Push(&s.queue, due{flight.TimeOf(s.month.Add(time.Duration(n)*every - 24*time.Hour)), n})
	}
	for s.queue.Len() > 0 {
		if d := heap.Pop(&s.queue).(due); d.at < flight.TimeOf(end) {
			s.poll(d)
		}
	}
	return s
}

// at returns the flight as it stands at now.
func (s *simulated) at(n int, now flight.Time) *flight.Snapshot {
	out := flight.TimeOf(s.month.Add(time.Duration(n) * s.every))
	in := out + flight.Time((6 * time.Hour).Milliseconds())
	leg := &flight.Snapshot{Date: out.Std().Format(time.DateOnly), Status: flight.StatusInfo{Phase: flight.PhaseScheduled}}
	leg.Departure.Times.ScheduledGate, leg.Arrival.Times.ScheduledGate = &flight.FlightTime{UTC: out}, &flight.FlightTime{UTC: in}
	switch {
	case now >= in:
		leg.Status.Phase = flight.PhaseArrived
	case now >= out:
		leg.Status.Phase = flight.PhaseEnRoute
	}
	return leg
}

func (s *simulated) poll(d due) {
	now := max(d.at, flight.TimeOf(s.month))
	wall := now.Std().UTC()
	leg := s.at(d.flight, now)
	rank := flight.RankOf(leg, now)
	m := s.limits.roomFor(rank, monthPassed(wall))
	var v verdict
	s.stands, v = m.take(s.stands, wall.UnixMicro())
	schedule := flight.Schedule{Floor: time.Minute, Jitter: s.dice.Float64(), Load: s.limits.calls(s.stands, wall).Load()}
	var next flight.Poll
	switch v {
	case passed:
		s.made[rank]++
		if before, ok := s.last[d.flight]; ok {
			s.gaps[rank] = append(s.gaps[rank], now.Std().Sub(before.Std()))
		}
		if s.last[d.flight] = now; leg.Status.Phase == flight.PhaseArrived {
			return
		}
		next = schedule.Next(leg, now)
	case overMonth:
		if s.usedUp.IsZero() && s.stands.used >= s.limits.PerMonth {
			s.usedUp = wall
		}
		end := db.MonthEnd(wall)
		s.putOff[rank]++
		next = schedule.PutOff(rank, now, end.Sub(wall), "")
	case overRate:
		s.putOff[rank]++
		next = schedule.PutOff(rank, now, m.wait(s.stands, wall.UnixMicro()), "")
	}
	heap.Push(&s.queue, due{next.At, d.flight})
}

func (s *simulated) total() int {
	return s.made[flight.RankAtHand] + s.made[flight.RankSoon] + s.made[flight.RankFar]
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// wantOrder reports ranks that keep a smaller share of their calls than those
// behind them.
func (s *simulated) wantOrder(t *testing.T, free *simulated) {
	t.Helper()
	kept := func(r flight.Rank) float64 { return float64(s.made[r]) / float64(free.made[r]) }
	hand, soon, far := kept(flight.RankAtHand), kept(flight.RankSoon), kept(flight.RankFar)
	if hand < soon || soon < far {
		t.Errorf("with %+v: flights at hand keep %.2f of their calls, those with news %.2f, those far away %.2f", s.limits, hand, soon, far)
	}
	t.Logf("%+v: %.2f %.2f %.2f, at hand every %v, put off %v", s.limits, hand, soon, far, median(s.gaps[flight.RankAtHand]), s.putOff)
}

// A month that has too few calls is spread over its days and never used up
// early; flights far from departure and arrival pay first.
func TestMonthIsSpread(t *testing.T) {
	free := simulate(CallLimits{}, 30*time.Minute, 30)
	for _, c := range []struct {
		share  float64
		atHand time.Duration // between two calls, the median
	}{{0.9, 3 * time.Minute}, {0.7, 5 * time.Minute}, {0.55, 6 * time.Minute}} {
		limit := int64(c.share * float64(free.total()))
		s := simulate(CallLimits{PerMonth: limit}, 30*time.Minute, 30)
		if s.stands.used > limit || float64(s.stands.used) < 0.97*float64(limit) {
			t.Errorf("with %.0f %%: %d of %d calls are used", 100*c.share, s.stands.used, limit)
		}
		if !s.usedUp.IsZero() {
			t.Errorf("with %.0f %%: the month is used up at %v", 100*c.share, s.usedUp)
		}
		if got := median(s.gaps[flight.RankAtHand]); got > c.atHand {
			t.Errorf("with %.0f %%: flights at hand are looked at every %v", 100*c.share, got)
		}
		s.wantOrder(t, free)
	}
}

// With too low a rate flights far from departure and arrival pay first, too.
func TestLowRateIsShared(t *testing.T) {
	const days = 3
	free := simulate(CallLimits{}, time.Minute, days)
	for _, c := range []struct {
		share  float64
		atHand time.Duration // between two calls, the median
	}{{0.9, 200 * time.Second}, {0.7, 4 * time.Minute}, {0.55, 5 * time.Minute}} {
		s := simulate(CallLimits{PerMinute: int64(c.share * float64(free.total()) / (days * 24 * 60))}, time.Minute, days)
		if got := median(s.gaps[flight.RankAtHand]); got > c.atHand {
			t.Errorf("with %.0f %%: flights at hand are looked at every %v", 100*c.share, got)
		}
		s.wantOrder(t, free)
	}
}
