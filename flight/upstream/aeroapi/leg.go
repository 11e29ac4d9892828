package aeroapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

// snapshot describes one leg. What follows from its facts is left to
// [flight.Snapshot.Complete].
func (l *leg) snapshot(key flight.Key, now flight.Time, flagBase string) (*flight.Snapshot, error) {
	shown, others := l.numbers(key)
	s := &flight.Snapshot{
		CarrierCode: shown.carrier.IATA, FlightNumber: shown.number, Date: key.Date,
		ProviderFlightID: l.id(),
		Carrier:          shown.carrier,
		OperatedBy:       l.operatedBy(shown),
		Codeshares:       others,
		Departure:        flight.Endpoint{Airport: l.origin, Terminal: string(l.TerminalOrigin), Gate: string(l.GateOrigin)},
		Arrival: flight.Endpoint{
			Airport: l.destination, Terminal: string(l.TerminalDestination), Gate: string(l.GateDestination), Baggage: string(l.Baggage),
		},
		Equipment: l.equipment(),
	}
	var err error
	if s.Departure.Times, err = l.departure(s.Departure.Airport.Timezone); err != nil {
		return nil, err
	}
	if s.Arrival.Times, err = l.arrival(s.Arrival.Airport.Timezone); err != nil {
		return nil, err
	}
	if err := l.divert(s, flagBase); err != nil {
		return nil, err
	}
	s.Status.Code, s.Status.Phase = l.status(s, now)
	return s, nil
}

// id returns the provider's id of the leg, or "" of one that could not be asked
// for. A diverted flight goes on under the same id: that leg's has its route
// behind it, as no two legs have one id.
func (l *leg) id() string {
	id := string(l.ID)
	if l.again {
		id += "@" + l.Origin.code() + "-" + l.Destination.code()
	}
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	return id
}

func (a *airport) code() string {
	if a == nil {
		return ""
	}
	return string(a.Code)
}

// equipment returns the aircraft. The provider has the planned type and, once
// it is assigned, the tail number; both are those of the flight when it has
// left.
func (l *leg) equipment() flight.EquipmentInfo {
	e := flight.EquipmentInfo{TailNumber: string(l.Registration), IATA: places.AircraftCode(string(l.Type), "")}
	e.Name = places.AircraftName(e.IATA)
	switch {
	case e.IATA == "" && e.TailNumber == "":
	case l.ActualOut != "" || l.ActualOff != "":
		e.Source = "actual"
	default:
		e.Source = "scheduled"
	}
	return e
}

// departure returns the times at the origin. Of a diverted flight, the row of
// the way elsewhere may be the only one that has the actual ones.
func (l *leg) departure(tz string) (flight.EndpointTimes, error) {
	actualOut, actualOff := l.ActualOut, l.ActualOff
	if l.elsewhere != nil && actualOut == "" && actualOff == "" {
		actualOut, actualOff = l.elsewhere.ActualOut, l.elsewhere.ActualOff
	}
	return times(tz, [6]moment{
		{"scheduled_out", l.ScheduledOut}, {"estimated_out", l.EstimatedOut}, {"actual_out", actualOut},
		{"scheduled_off", l.ScheduledOff}, {"estimated_off", l.EstimatedOff}, {"actual_off", actualOff},
	})
}

func (r *row) arrival(tz string) (flight.EndpointTimes, error) {
	return times(tz, [6]moment{
		{"scheduled_in", r.ScheduledIn}, {"estimated_in", r.EstimatedIn}, {"actual_in", r.ActualIn},
		{"scheduled_on", r.ScheduledOn}, {"estimated_on", r.EstimatedOn}, {"actual_on", r.ActualOn},
	})
}

// moment is a field with a time in it.
type moment struct {
	name string
	at   text
}

func (m moment) read() (time.Time, error) {
	t, err := upstream.ParseTime(string(m.at), time.RFC3339)
	if err != nil {
		return t, fmt.Errorf("%s: %w", m.name, err)
	}
	return t.UTC(), nil
}

// times reads gate and runway times: each scheduled, estimated, actual.
func times(tz string, m [6]moment) (t flight.EndpointTimes, err error) {
	for i, to := range [...]**flight.FlightTime{
		&t.ScheduledGate, &t.EstimatedGate, &t.ActualGate, &t.ScheduledRunway, &t.EstimatedRunway, &t.ActualRunway,
	} {
		if m[i].at == "" {
			continue
		}
		utc, err := m[i].read()
		if err != nil {
			return t, err
		}
		*to = places.FlightTime(utc, tz)
	}
	return t, nil
}

// divert gives a diverted leg the airport that it goes to instead, with its
// times there. The planned destination keeps its schedule: nobody lands there.
func (l *leg) divert(s *flight.Snapshot, flagBase string) error {
	if !l.Diverted {
		return nil
	}
	planned := &s.Arrival.Times
	there := flight.EndpointTimes{ActualGate: planned.ActualGate, ActualRunway: planned.ActualRunway}
	*planned = flight.EndpointTimes{ScheduledGate: planned.ScheduledGate, ScheduledRunway: planned.ScheduledRunway}
	switch {
	case l.elsewhere != nil:
		r := l.elsewhere
		a := r.Destination.ref(flagBase)
		if a.IATA == "" {
			return nil // it is under way to nobody says where
		}
		t, err := r.arrival(a.Timezone)
		if err != nil {
			return err
		}
		t.ScheduledGate, t.ScheduledRunway = nil, nil // nobody had planned to land there
		s.Diverted = &flight.Endpoint{
			Airport: a, Terminal: string(r.TerminalDestination), Gate: string(r.GateDestination), Baggage: string(r.Baggage), Times: t,
		}
	case l.via != nil:
		if a := l.via.ref(flagBase); a.IATA != "" {
			s.Diverted = &flight.Endpoint{Airport: a, Times: onClocksOf(&a, there)}
		}
	}
	return nil
}

// onClocksOf returns actual times on the clocks of an airport.
func onClocksOf(a *flight.AirportRef, t flight.EndpointTimes) flight.EndpointTimes {
	return flight.EndpointTimes{
		ActualGate: places.FlightTime(t.ActualGate.At().Std(), a.Timezone), ActualRunway: places.FlightTime(t.ActualRunway.At().Std(), a.Timezone),
	}
}
