package flight

import (
	"math"
	"time"
)

// row is what the schedule holds for a part of a leg's life.
type row struct {
	left   time.Duration // the row holds while more than this is left; negative: since
	every  time.Duration // the interval
	part   int           // 0; else the interval is what is left divided by part, every at most
	yields yields
	reason string
}

// atHand is the interval while a departure or an arrival may come at any
// minute: no more than three minutes with most of the jitter on it.
const atHand = 170 * time.Second

// The tables were set on one recorded day and checked on another: atHand
// wherever some one flight in two hundred departs, or arrives, in a minute;
// elsewhere as often as gates, estimates and cancellations ask for.
// docs/decisions/0010-adaptive-schedule.md has the figures. The last row of a
// table holds for ever.
var (
	// To the best known departure.
	beforeDeparture = []row{
		{72 * time.Hour, 24 * time.Hour, 0, yieldsFirst, "more than 72 h before departure"},
		{24 * time.Hour, 6 * time.Hour, 0, yieldsFirst, "72 to 24 h before departure"},
		{90 * time.Minute, 4 * time.Hour, 3, yieldsFirst, "24 h to 90 min before departure"},
		{12 * time.Minute, 9 * time.Minute, 0, yieldsNext, "90 to 12 min before departure"},
		{-time.Hour, atHand, 0, yieldsLast, "about to depart"},
		{-3 * time.Hour, 10 * time.Minute, 0, yieldsNext, "overdue"},
		{-6 * time.Hour, 30 * time.Minute, 0, yieldsFirst, "overdue for hours"},
		{forever, time.Hour, 0, yieldsFirst, "overdue for long"},
	}
	// From the gate, for an hour at most; then as in the air.
	afterDeparture = []row{
		{forever, atHand, 0, yieldsLast, "off the gate, not off the ground"},
	}
	// To the best known arrival.
	beforeArrival = []row{
		{25 * time.Minute, 20 * time.Minute, 0, yieldsNext, "airborne, more than 25 min to go"},
		{-2 * time.Hour, atHand, 0, yieldsLast, "about to arrive"},
		{-6 * time.Hour, 15 * time.Minute, 0, yieldsNext, "overdue"},
		{forever, time.Hour, 0, yieldsFirst, "overdue for long"},
	}
	afterLanding = []row{
		{-30 * time.Minute, atHand, 0, yieldsLast, "landed, not at the gate"},
		{-time.Hour, 5 * time.Minute, 0, yieldsNext, "landed, gate or belt may be missing"},
		{forever, time.Hour, 0, yieldsFirst, "on the ground for an hour"},
	}
	afterArrival = []row{
		{-time.Hour, 5 * time.Minute, 0, yieldsNext, "arrived, the belt may be missing"},
		{forever, time.Hour, 0, yieldsFirst, "arrived an hour ago"},
	}
	// To the landing elsewhere.
	whileRedirected = []row{
		{-6 * time.Hour, 5 * time.Minute, 0, yieldsNext, "redirected"},
		{forever, time.Hour, 0, yieldsFirst, "redirected for hours"},
	}
	afterDiversion = []row{
		{-2 * time.Hour, 15 * time.Minute, 0, yieldsNext, "diverted"},
		{-12 * time.Hour, time.Hour, 0, yieldsFirst, "diverted for hours"},
		{forever, 6 * time.Hour, 0, yieldsFirst, "diverted for long"},
	}
	// To the scheduled departure.
	whileCancelled = []row{
		{-6 * time.Hour, time.Hour, 0, yieldsFirst, "cancelled, may be reinstated"},
		{forever, 6 * time.Hour, 0, yieldsFirst, "cancelled, departure long past"},
	}
	noTimeKnown = row{every: 15 * time.Minute, yields: yieldsNext, reason: "no time known"}
)

const forever time.Duration = math.MinInt64

// interval returns how long to wait with the leg at s, and why.
func interval(s *Snapshot, now Time, load float64) (time.Duration, string) {
	table, to := tableOf(s, now)
	return pick(table, to, now, load)
}

// tableOf returns the table that holds for the leg at s, and the time that it
// is about.
func tableOf(s *Snapshot, now Time) (table []row, to Time) {
	table, to = beforeDeparture, s.Departure.Times.Best()
	switch s.Status.Phase {
	case PhaseCancelled:
		t := &s.Departure.Times
		table, to = whileCancelled, known(t.ScheduledGate, t.ScheduledRunway)
	case PhaseRedirected:
		table, to = whileRedirected, s.bestArrival()
	case PhaseDiverted:
		table, to = afterDiversion, s.bestArrival()
	case PhaseLanded:
		table, to = afterLanding, s.bestArrival()
	case PhaseArrived:
		table, to = afterArrival, s.bestArrival()
	case PhaseDeparted:
		if to.Known() && now <= to+hours(1) {
			table = afterDeparture
			break
		}
		table, to = beforeArrival, s.bestArrival()
	case PhaseEnRoute:
		table, to = beforeArrival, s.bestArrival()
	}
	return table, to
}

// bestArrival returns the best known time of landing, wherever that is.
func (s *Snapshot) bestArrival() Time {
	if s.Diverted != nil {
		if t := s.Diverted.Times.Best(); t.Known() {
			return t
		}
	}
	return s.Arrival.Times.Best()
}

// pick returns the interval of the first row that holds, shortened so that a
// next row with a shorter one is not slept through, however high the load.
func pick(table []row, to, now Time, load float64) (time.Duration, string) {
	r, i := rowAt(table, to, now)
	if !to.Known() {
		return r.yields.stretch(r.every, load), r.reason
	}
	left := to.Std().Sub(now.Std())
	every, atMost := r.every, time.Duration(math.MaxInt64)
	if r.part > 0 {
		every = min(every, left/time.Duration(r.part))
		atMost = left / 2
	} else if i+1 < len(table) && table[i+1].every < r.every {
		atMost = max(left-r.left, table[i+1].every)
	}
	return min(r.yields.stretch(every, load), atMost), r.reason
}

// rowAt returns the row that holds, and its place in the table.
func rowAt(table []row, to, now Time) (*row, int) {
	if !to.Known() {
		if table[0].left < 0 { // what the table is about has happened, nobody knows when
			return &table[0], 0
		}
		return &noTimeKnown, 0
	}
	left, i := to.Std().Sub(now.Std()), 0
	for i < len(table)-1 && left <= table[i].left {
		i++
	}
	return &table[i], i
}

// yields says how readily an interval is stretched when the call budget runs
// short.
type yields int

const (
	yieldsFirst yields = iota // days or hours ahead, or over: up to four times, with any load
	yieldsNext                // news is likely but can wait: up to three times, from a load of 1/3
	yieldsLast                // a departure or an arrival is at hand: up to twice, from a load of 2/3
)

var stretching = [...]struct{ from, most float64 }{yieldsFirst: {0, 4}, yieldsNext: {1. / 3, 3}, yieldsLast: {2. / 3, 2}}

// stretch returns the interval under a load.
func (y yields) stretch(every time.Duration, load float64) time.Duration {
	s := stretching[y]
	if !(load > s.from) {
		return every
	}
	over := (min(load, 1) - s.from) / (1 - s.from)
	return every + time.Duration(over*(s.most-1)*float64(every))
}
