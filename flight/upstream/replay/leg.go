package replay

import (
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// The rules by which a day that is known in the end is told as it went.
const (
	firstWord    = 60 * minute // before the scheduled departure: the first estimate, or the cancellation
	firstAtMost  = 30 * minute // no more delay than this is foreseen
	estimateStep = 15 * minute // by which a missed estimate moves on
	minute       = flight.Time(time.Minute / time.Millisecond)
)

// leg is one row of the file. Times are gate times; zero where there was none.
type leg struct {
	key                                flight.Key
	carrier                            flight.CarrierRef
	origin, dest                       airport
	tail                               string
	schedDep, schedArr, actDep, actArr flight.Time
	diversion                          airport // where it landed instead of dest
	moments                            []moment
}

type airport struct {
	ref flight.AirportRef
	loc *time.Location
}

// time returns t on the clocks of the airport.
func (a *airport) time(t flight.Time) *flight.FlightTime {
	return places.FlightTime(t.Std(), a.ref.Timezone)
}

// clock writes t as the clocks of the airport show it.
func (a *airport) clock(t flight.Time) string {
	return t.Std().In(a.loc).Format("15:04 MST")
}

// moment is when something became known of a leg.
type moment struct {
	at   flight.Time
	what what
	to   flight.Time // the new estimate, or the landing that a redirection leads to
}

type what int

const (
	estimated what = iota
	departed
	redirected
	diverted
	arrived
	cancelled
)

// foresee lists what becomes known of the leg, in order.
func (l *leg) foresee() {
	word := l.schedDep - firstWord
	if l.actDep == 0 {
		l.moments = []moment{{at: word, what: cancelled}}
		return
	}
	estimate := l.schedDep + min(l.actDep-l.schedDep, firstAtMost)
	for word < l.actDep {
		l.moments = append(l.moments, moment{word, estimated, estimate})
		word, estimate = estimate, estimate+estimateStep
	}
	l.moments = append(l.moments, moment{at: l.actDep, what: departed})
	if l.actArr != 0 {
		l.moments = append(l.moments, moment{at: l.actArr, what: arrived})
		return
	}
	lands := l.landing()
	turns := l.actDep + (lands-l.actDep)*2/3
	turns -= turns % minute
	l.moments = append(l.moments, moment{turns, redirected, lands}, moment{at: lands, what: diverted})
}

// landing returns when a leg that did not arrive where planned lands elsewhere:
// at its scheduled arrival, or at the estimated one where it left after that.
func (l *leg) landing() flight.Time {
	if l.schedArr > l.actDep {
		return l.schedArr
	}
	return l.estimatedArrival()
}

// estimatedArrival returns when a departed leg should arrive.
func (l *leg) estimatedArrival() flight.Time { return l.schedArr + l.actDep - l.schedDep }

// span returns the first and the last moment at which the leg changes.
func (l *leg) span() (from, to flight.Time) {
	return l.moments[0].at, l.moments[len(l.moments)-1].at
}

// at tells what was known of the leg at now.
func (l *leg) at(now flight.Time) *flight.Snapshot {
	s := &flight.Snapshot{
		CarrierCode: l.key.Carrier, FlightNumber: l.key.Number, Date: l.key.Date,
		ProviderFlightID: l.id(),
		Carrier:          l.carrier,
		Departure:        flight.Endpoint{Airport: l.origin.ref},
		Arrival:          flight.Endpoint{Airport: l.dest.ref},
		Status:           flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
		Equipment:        flight.EquipmentInfo{TailNumber: l.tail},
	}
	s.Departure.Times.ScheduledGate = l.origin.time(l.schedDep)
	s.Arrival.Times.ScheduledGate = l.dest.time(l.schedArr)
	for i := range l.moments {
		if l.moments[i].at > now {
			break
		}
		s.Timeline = append(s.Timeline, l.apply(s, &l.moments[i]))
	}
	slices.Reverse(s.Timeline)
	return s
}

// apply writes what became known into s and returns its line of history.
func (l *leg) apply(s *flight.Snapshot, m *moment) flight.TimelineEntry {
	dep, arr := &s.Departure.Times, &s.Arrival.Times
	status := func(code string, phase flight.Phase) { s.Status.Code, s.Status.Phase = code, phase }
	entry := func(title, source, event string) flight.TimelineEntry {
		return flight.TimelineEntry{OccurredAt: m.at, Title: title, Source: source, Events: []string{event}}
	}
	const fact, guess = "BTS", "Replay"
	switch m.what {
	case estimated:
		dep.EstimatedGate = l.origin.time(m.to)
		return entry("Estimated departure", guess, "Estimated departure from "+l.origin.ref.IATA+" at "+l.origin.clock(m.to))
	case departed:
		status(flight.StatusActive, flight.PhaseEnRoute)
		dep.ActualGate = l.origin.time(l.actDep)
		arr.EstimatedGate = l.dest.time(l.estimatedArrival())
		e := entry("Departure", fact, "Departed "+l.origin.ref.IATA+" at "+l.origin.clock(l.actDep))
		e.Events = append(e.Events, "Estimated arrival at "+l.dest.ref.IATA+" at "+l.dest.clock(l.estimatedArrival()))
		return e
	case redirected:
		status(flight.StatusRedirected, flight.PhaseRedirected)
		arr.EstimatedGate = nil
		s.Diverted = &flight.Endpoint{Airport: l.diversion.ref}
		s.Diverted.Times.EstimatedGate = l.diversion.time(m.to)
		return entry("Redirection", guess, "On its way to "+l.diversion.ref.IATA+" instead of "+l.dest.ref.IATA)
	case diverted:
		status(flight.StatusDiverted, flight.PhaseDiverted)
		s.Diverted.Times.ActualGate = l.diversion.time(m.at)
		return entry("Diversion", guess, "Arrived at "+l.diversion.ref.IATA+" instead of "+l.dest.ref.IATA)
	case arrived:
		status(flight.StatusLanded, flight.PhaseArrived)
		arr.ActualGate = l.dest.time(l.actArr)
		return entry("Arrival", fact, "Arrived at "+l.dest.ref.IATA+" at "+l.dest.clock(l.actArr))
	default: // cancelled
		status(flight.StatusCancelled, flight.PhaseCancelled)
		return entry("Cancellation", fact, "Cancelled")
	}
}
