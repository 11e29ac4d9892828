package aerodatabox

import (
	"cmp"
	"errors"

	"github.com/flightwire/flightwire/flight"
)

// snapshot describes one leg. What follows from its facts is left to
// [flight.Snapshot.Complete].
func (l *leg) snapshot(key flight.Key, now flight.Time) (*flight.Snapshot, error) {
	switch {
	case l.dep.airport.IATA == "":
		return nil, errors.New("departure: no airport with a code")
	case l.arr.airport.IATA == "":
		return nil, errors.New("arrival: no airport with a code")
	}
	shown := l.sale(key)
	if shown == nil {
		shown = l.sales[0]
	}
	s := &flight.Snapshot{
		CarrierCode: shown.carrier.IATA, FlightNumber: shown.number, Date: key.Date,
		Carrier:    shown.carrier,
		OperatedBy: l.operatedBy(shown),
		Departure:  flight.Endpoint{Airport: l.dep.airport, Terminal: l.dep.terminal, Gate: l.dep.gate},
		Arrival:    flight.Endpoint{Airport: l.arr.airport, Terminal: l.arr.terminal, Gate: l.arr.gate, Baggage: l.arr.baggage},
	}
	for _, o := range l.sales {
		if o != shown {
			s.Codeshares = append(s.Codeshares, flight.CodeshareRef{Carrier: o.carrier.IATA, Name: o.carrier.Name, FlightNumber: o.number})
		}
	}
	status := l.word()
	s.Status.Code, s.Status.Phase = l.status(status, now)
	s.Departure.Times = l.dep.times(left(status) && !after(l.dep.revised, l.dep.runway), now)
	s.Arrival.Times = l.arr.times(status == "Arrived" && !after(l.arr.runway, l.arr.revised), now)
	if status == "Diverted" { // what is said of the arrival is of an airport that nobody names
		s.Arrival.Times = flight.EndpointTimes{ScheduledGate: s.Arrival.Times.ScheduledGate}
	}
	s.Equipment = l.equipment(s.Status.Code != flight.StatusScheduled && s.Departure.Times.ActualGate != nil || l.dep.runway.passed(now))
	return s, nil
}

// after reports whether a is after b, where both are known.
func after(a, b moment) bool { return !a.at.IsZero() && !b.at.IsZero() && a.at.After(b.at) }

// times returns the times of one end. A board's revised time is an estimate,
// which the flight's status may prove to be the actual one. Nothing that lies
// ahead is actual.
func (e *end) times(proven bool, now flight.Time) flight.EndpointTimes {
	tz := e.airport.Timezone
	t := flight.EndpointTimes{ScheduledGate: e.scheduled.on(tz), EstimatedGate: cmp.Or(e.revised, e.predicted).on(tz)}
	if proven && e.revised.passed(now) {
		t.ActualGate = e.revised.on(tz)
	}
	if e.runway.passed(now) {
		t.ActualRunway = e.runway.on(tz)
	} else {
		t.EstimatedRunway = e.runway.on(tz)
	}
	return t
}

// operatedBy names the operator, where another row than the shown one is known
// to be the operator's.
func (l *leg) operatedBy(shown *sale) string {
	for _, s := range l.sales {
		if s.operator() && s.carrier.IATA != shown.carrier.IATA {
			return s.carrier.Name
		}
	}
	return ""
}

// equipment returns the aircraft: the operator's word, else another row's. The
// provider has no type codes.
func (l *leg) equipment(flown bool) (e flight.EquipmentInfo) {
	for _, s := range l.sales {
		e.TailNumber, e.Name = cmp.Or(e.TailNumber, string(s.Aircraft.Tail)), cmp.Or(e.Name, string(s.Aircraft.Model))
	}
	switch {
	case e == flight.EquipmentInfo{}:
	case flown:
		e.Source = "actual"
	default:
		e.Source = "scheduled"
	}
	return e
}
