package aerodatabox

import "github.com/flightwire/flightwire/flight"

// word returns the leg's status in the provider's words: the operator's row's,
// else that of the first row which has one.
func (l *leg) word() string {
	for _, s := range l.sales {
		if s.Status != "" && s.Status != "Unknown" {
			return string(s.Status)
		}
	}
	return "Unknown"
}

// left reports whether a status says that the flight has left its gate.
func left(status string) bool {
	switch status {
	case "Departed", "EnRoute", "Approaching", "Arrived", "Diverted":
		return true
	}
	return false
}

// status says where the leg stands. The provider's status is that of an
// airport's board, where a flight is "Expected" or "Delayed" also when it is
// in the air: an observed take-off or landing says more than such a word. A
// status that we do not know counts as Unknown.
func (l *leg) status(word string, now flight.Time) (string, flight.Phase) {
	switch word {
	case "Canceled":
		return flight.StatusCancelled, flight.PhaseCancelled
	case "Diverted":
		if l.arr.best().passed(now) {
			return flight.StatusDiverted, flight.PhaseDiverted
		}
		return flight.StatusRedirected, flight.PhaseRedirected
	case "Arrived":
		return flight.StatusLanded, flight.PhaseArrived
	}
	switch {
	case l.arr.runway.passed(now):
		return flight.StatusLanded, flight.PhaseLanded
	case word == "EnRoute", word == "Approaching", l.dep.runway.passed(now):
		return flight.StatusActive, flight.PhaseEnRoute
	}
	switch word {
	case "Departed":
		return flight.StatusActive, flight.PhaseDeparted
	case "Boarding", "GateClosed":
		return flight.StatusScheduled, flight.PhaseBoarding
	case "Expected", "CheckIn", "Delayed":
		return flight.StatusScheduled, flight.PhaseScheduled
	case "CanceledUncertain":
		return flight.StatusUnknown, flight.PhaseUnknown
	}
	if l.dep.best().passed(now) {
		return flight.StatusUnknown, flight.PhaseUnknown
	}
	return flight.StatusScheduled, flight.PhaseScheduled
}
