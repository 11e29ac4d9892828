package flight

import (
	"fmt"
	"slices"
	"strings"
)

// Legs are the snapshots of every leg of one flight, the upstream's default
// leg first.
type Legs []*Snapshot

// Refs lists the legs, with the one at index selected marked; -1 marks none.
func (l Legs) Refs(selected int) []LegRef {
	refs := make([]LegRef, len(l))
	for i, s := range l {
		refs[i] = LegRef{
			ProviderFlightID:        s.ProviderFlightID,
			Carrier:                 s.CarrierCode,
			DepartureIATA:           s.Departure.Airport.IATA,
			ArrivalIATA:             s.Arrival.Airport.IATA,
			ScheduledDepartureLocal: clockOf(s.Departure.Times.ScheduledGate, s.Departure.Times.ScheduledRunway),
			ScheduledArrivalLocal:   clockOf(s.Arrival.Times.ScheduledGate, s.Arrival.Times.ScheduledRunway),
			Selected:                i == selected,
		}
	}
	return refs
}

// clockOf returns HH:MM of the first known time.
func clockOf(times ...*FlightTime) string {
	for _, t := range times {
		if t != nil && len(t.Local) >= 16 {
			return t.Local[11:16]
		}
	}
	return ""
}

// Select returns the first leg that matches sel: the default leg when sel is
// empty. When none matches, the error is CodeLegNotFound and lists the legs.
func (l Legs) Select(sel Selector) (*Snapshot, error) {
	for _, s := range l {
		if sel.matches(s) {
			return s, nil
		}
	}
	refs := l.Refs(-1)
	err := Errorf(CodeLegNotFound, "No leg of this flight matches the selector. The legs are: %s.", legList(refs))
	err.Legs = refs
	return nil, err
}

func (sel Selector) matches(s *Snapshot) bool {
	return (sel.Origin == "" || s.Departure.Airport.Is(sel.Origin)) &&
		(sel.Destination == "" || s.Arrival.Airport.Is(sel.Destination)) &&
		(sel.FlightID == "" || s.ProviderFlightID == sel.FlightID || slices.Contains(s.OtherIDs, sel.FlightID))
}

// SelectOne is Select for a subscription, which must mean exactly one leg: the
// error is CodeOriginRequired, with the legs, when several legs match.
func (l Legs) SelectOne(sel Selector) (*Snapshot, error) {
	first, err := l.Select(sel)
	if err != nil {
		return nil, err
	}
	for _, s := range l {
		if s != first && sel.matches(s) {
			refs := l.Refs(-1)
			err := Errorf(CodeOriginRequired, "This flight number operates %d legs on that date. Name the departure airport of one as origin: %s.", len(l), legList(refs))
			err.Legs = refs
			return nil, err
		}
	}
	return first, nil
}

func legList(legs []LegRef) string {
	var b strings.Builder
	for i, l := range legs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s-%s", l.DepartureIATA, l.ArrivalIATA)
	}
	return b.String()
}
