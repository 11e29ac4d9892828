package cirium

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// snapshot describes one record. What follows from its facts is left to
// [flight.Snapshot.Complete].
func (b *book) snapshot(rec *record, key flight.Key) (*flight.Snapshot, error) {
	shown, others := b.numbers(rec, key)
	carrier := b.carrier(shown.fs)
	s := &flight.Snapshot{
		CarrierCode:      carrier.IATA,
		FlightNumber:     shown.number,
		Date:             key.Date,
		ProviderFlightID: string(rec.ID),
		Carrier:          carrier,
		Departure: flight.Endpoint{
			Airport:  b.airport(rec.Origin),
			Terminal: string(rec.Resources.DepartureTerminal),
			Gate:     string(rec.Resources.DepartureGate),
		},
		Arrival: flight.Endpoint{
			Airport:  b.airport(rec.Destination),
			Terminal: string(rec.Resources.ArrivalTerminal),
			Gate:     string(rec.Resources.ArrivalGate),
			Baggage:  string(rec.Resources.Baggage),
		},
		Equipment: b.equipment(rec),
		Duration: flight.DurationInfo{
			ScheduledMinutes: rec.Durations.ScheduledBlock.known(),
			ActualMinutes:    rec.Durations.Block.known(),
		},
		Timeline: b.timeline(rec),
	}
	if operating := cmp.Or(rec.Operating, rec.Carrier); operating != "" && operating != shown.fs {
		s.OperatedBy = b.carrier(operating).Name
	}
	for _, d := range others {
		ref := b.carrier(d.fs)
		s.Codeshares = append(s.Codeshares, flight.CodeshareRef{Carrier: ref.IATA, Name: ref.Name, FlightNumber: d.number})
	}
	var err error
	if s.Departure.Times, err = rec.times("Departure", rec.DepartureDate, s.Departure.Airport.Timezone); err != nil {
		return nil, err
	}
	if s.Arrival.Times, err = rec.times("Arrival", rec.ArrivalDate, s.Arrival.Airport.Timezone); err != nil {
		return nil, err
	}
	s.Status.Code = statusCode(rec.Status)
	s.Status.Phase = phase(s.Status.Code, s)
	s.Status.Description = b.description(rec)
	b.divert(s, rec)
	return s, nil
}

// times returns the times of one end, "Departure" or "Arrival". The published
// time stands in for a scheduled gate time that is not given. The flight plan's
// times are no schedule and are left out.
func (rec *record) times(end string, date *stamp, tz string) (flight.EndpointTimes, error) {
	var t flight.EndpointTimes
	for _, f := range [...]struct {
		name string
		to   **flight.FlightTime
	}{
		{"scheduledGate", &t.ScheduledGate}, {"estimatedGate", &t.EstimatedGate}, {"actualGate", &t.ActualGate},
		{"scheduledRunway", &t.ScheduledRunway}, {"estimatedRunway", &t.EstimatedRunway}, {"actualRunway", &t.ActualRunway},
	} {
		ft, err := rec.Times[f.name+end].at(tz)
		if err != nil {
			return t, fmt.Errorf("operationalTimes.%s: %w", f.name+end, err)
		}
		*f.to = ft
	}
	for _, published := range []*stamp{rec.Times["published"+end], date} {
		if t.ScheduledGate != nil {
			break
		}
		var err error
		if t.ScheduledGate, err = published.at(tz); err != nil {
			return t, fmt.Errorf("operationalTimes.published%s: %w", end, err)
		}
	}
	return t, nil
}

// statusCode returns the contract's status code. DN, data needed, is retired;
// it and what may yet be invented are unknown.
func statusCode(code string) string {
	switch code {
	case flight.StatusScheduled, flight.StatusActive, flight.StatusLanded, flight.StatusCancelled,
		flight.StatusDiverted, flight.StatusRedirected, flight.StatusNotOperational:
		return code
	}
	return flight.StatusUnknown
}

// phase says how far a leg of that status is. The provider does not report
// boarding.
func phase(code string, s *flight.Snapshot) flight.Phase {
	switch code {
	case flight.StatusScheduled:
		return flight.PhaseScheduled
	case flight.StatusActive:
		if dep := &s.Departure.Times; dep.ActualGate != nil && dep.ActualRunway == nil {
			return flight.PhaseDeparted
		}
		return flight.PhaseEnRoute
	case flight.StatusLanded:
		if s.Arrival.Times.ActualGate != nil {
			return flight.PhaseArrived
		}
		return flight.PhaseLanded
	case flight.StatusCancelled:
		return flight.PhaseCancelled
	case flight.StatusDiverted:
		return flight.PhaseDiverted
	case flight.StatusRedirected:
		return flight.PhaseRedirected
	}
	return flight.PhaseUnknown
}

// divert gives a diverted or redirected leg the airport that it goes to
// instead. The provider keeps the planned destination, with the actual times
// of the landing elsewhere: they move to the diversion, and so do estimates
// that have become equal to them.
func (b *book) divert(s *flight.Snapshot, rec *record) {
	if s.Status.Code != flight.StatusDiverted && s.Status.Code != flight.StatusRedirected {
		return
	}
	elsewhere := rec.diversion()
	if elsewhere == rec.Destination {
		return
	}
	planned := &s.Arrival.Times
	actual := flight.EndpointTimes{ActualGate: planned.ActualGate, ActualRunway: planned.ActualRunway}
	planned.ActualGate, planned.ActualRunway = nil, nil
	if planned.EstimatedGate.At().Known() && planned.EstimatedGate.At() == actual.ActualGate.At() {
		actual.EstimatedGate, planned.EstimatedGate = planned.EstimatedGate, nil
	}
	if planned.EstimatedRunway.At().Known() && planned.EstimatedRunway.At() == actual.ActualRunway.At() {
		actual.EstimatedRunway, planned.EstimatedRunway = planned.EstimatedRunway, nil
	}
	if elsewhere == "" {
		return // nobody says where it went
	}
	s.Diverted = &flight.Endpoint{Airport: b.airport(elsewhere), Times: actual}
	for _, t := range []**flight.FlightTime{
		&s.Diverted.Times.EstimatedGate, &s.Diverted.Times.ActualGate,
		&s.Diverted.Times.EstimatedRunway, &s.Diverted.Times.ActualRunway,
	} {
		if *t != nil {
			*t = onClocksOf(&s.Diverted.Airport, *t)
		}
	}
}

// diversion returns the Fs code of the airport that the leg goes to instead of
// its destination, or "".
func (rec *record) diversion() string {
	if rec.Diverted != "" {
		return rec.Diverted
	}
	ops := byTime(rec.Irregular)
	for _, op := range slices.Backward(ops) {
		if op.Type == "DIVERSION" && op.NewArrival != "" {
			return op.NewArrival
		}
	}
	return ""
}

// byTime returns the operations oldest first.
func byTime(ops []irregular) []irregular {
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(x, y irregular) int { return cmp.Compare(x.At, y.At) })
	return sorted
}

// description returns what the provider says of the leg's last irregular
// operation or of an incident, or "" of one that goes by the book.
func (b *book) description(rec *record) string {
	if rec.Incident != nil && rec.Incident.Message != "" {
		return strings.Join(strings.Fields(rec.Incident.Message), " ")
	}
	if ops := byTime(rec.Irregular); len(ops) > 0 {
		last := ops[len(ops)-1]
		return cmp.Or(strings.TrimSpace(last.Message), b.operation(&last))
	}
	return ""
}
