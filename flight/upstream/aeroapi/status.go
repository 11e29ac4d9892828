package aeroapi

import (
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// overdue is how long after its arrival should have been a leg without a single
// actual time counts as scheduled.
const overdue = flight.Time(6 * time.Hour / time.Millisecond)

// status says where the leg stands, by what the provider has observed; its
// words count for nothing but for "result unknown". Of these the first that
// holds: cancelled before it left the ground; diverted; landed; lost from
// sight, be it in words, no longer tracked in the air, or long overdue; under
// way; scheduled.
func (l *leg) status(s *flight.Snapshot, now flight.Time) (string, flight.Phase) {
	dep, arr := &s.Departure.Times, &s.Arrival.Times
	off, out := dep.ActualRunway != nil, dep.ActualGate != nil
	switch {
	case l.Cancelled && !off:
		return flight.StatusCancelled, flight.PhaseCancelled
	case l.Diverted && l.landedElsewhere():
		return flight.StatusDiverted, flight.PhaseDiverted
	case l.Diverted:
		return flight.StatusRedirected, flight.PhaseRedirected
	case arr.ActualGate != nil:
		return flight.StatusLanded, flight.PhaseArrived
	case arr.ActualRunway != nil:
		return flight.StatusLanded, flight.PhaseLanded
	case strings.Contains(strings.ToLower(string(l.Status)), "result unknown"), l.Cancelled:
		return flight.StatusUnknown, flight.PhaseUnknown
	case off:
		return flight.StatusActive, flight.PhaseEnRoute
	case out:
		return flight.StatusActive, flight.PhaseDeparted
	case due(arr).Known() && now-due(arr) > overdue:
		return flight.StatusUnknown, flight.PhaseUnknown
	}
	return flight.StatusScheduled, flight.PhaseScheduled
}

// landedElsewhere reports whether a diverted leg is down: by the row of the way
// elsewhere, or by its own; or because it has gone on from there.
func (l *leg) landedElsewhere() bool {
	if l.ActualOn != "" || l.ActualIn != "" || l.via != nil {
		return true
	}
	return l.elsewhere != nil && (l.elsewhere.ActualOn != "" || l.elsewhere.ActualIn != "")
}

// due returns when a leg should be there: at its scheduled arrival, or at its
// estimated one where that is later.
func due(arr *flight.EndpointTimes) flight.Time {
	return max(arr.ScheduledGate.At(), arr.ScheduledRunway.At(), arr.EstimatedGate.At(), arr.EstimatedRunway.At())
}
