package flight

import "slices"

// ChangeType is the kind of one change: the contract's 23 values of a
// subscription's events filter and of changes[].type.
type ChangeType string

// The change types, in the order in which Diff reports them.
const (
	ChangeStatus             ChangeType = "status.changed"
	ChangeDeparted           ChangeType = "flight.departed"
	ChangeArrived            ChangeType = "flight.arrived"
	ChangeCancelled          ChangeType = "flight.cancelled"
	ChangeDiverted           ChangeType = "flight.diverted"
	ChangeReinstated         ChangeType = "flight.reinstated"
	ChangeDepartureGate      ChangeType = "departure.gate.changed"
	ChangeDepartureTerminal  ChangeType = "departure.terminal.changed"
	ChangeArrivalGate        ChangeType = "arrival.gate.changed"
	ChangeArrivalTerminal    ChangeType = "arrival.terminal.changed"
	ChangeArrivalBaggage     ChangeType = "arrival.baggage.changed"
	ChangeDepartureScheduled ChangeType = "departure.scheduled.changed"
	ChangeDepartureEstimated ChangeType = "departure.estimated.changed"
	ChangeDepartureActual    ChangeType = "departure.actual.changed"
	ChangeArrivalScheduled   ChangeType = "arrival.scheduled.changed"
	ChangeArrivalEstimated   ChangeType = "arrival.estimated.changed"
	ChangeArrivalActual      ChangeType = "arrival.actual.changed"
	ChangeDelayIncreased     ChangeType = "delay.increased"
	ChangeDelayDecreased     ChangeType = "delay.decreased"
	ChangeAircraft           ChangeType = "aircraft.changed"
	ChangeTail               ChangeType = "aircraft.tail.changed"
	ChangeRoute              ChangeType = "route.changed"
	ChangeCodeshares         ChangeType = "codeshares.changed"
)

// ChangeTypes lists every change type in the order of the contract.
var ChangeTypes = []ChangeType{
	ChangeStatus, ChangeDeparted, ChangeArrived, ChangeCancelled, ChangeDiverted, ChangeReinstated,
	ChangeDepartureGate, ChangeDepartureTerminal, ChangeArrivalGate, ChangeArrivalTerminal, ChangeArrivalBaggage,
	ChangeDepartureScheduled, ChangeDepartureEstimated, ChangeDepartureActual,
	ChangeArrivalScheduled, ChangeArrivalEstimated, ChangeArrivalActual,
	ChangeDelayIncreased, ChangeDelayDecreased,
	ChangeAircraft, ChangeTail, ChangeRoute, ChangeCodeshares,
}

// Change is one difference between two snapshots of a leg.
type Change struct {
	Type         ChangeType `json:"type"`
	Path         string     `json:"path"` // into the snapshot, such as departure.gate
	From         any        `json:"from"` // nil when it was unknown
	To           any        `json:"to"`   // nil when it is unknown now
	Message      string     `json:"message"`
	DeltaMinutes *int       `json:"deltaMinutes,omitempty"` // time changes only; positive is later
}

// textField is a watched field that is a word.
type textField struct {
	change ChangeType
	path   string
	noun   string
	value  func(*Snapshot) string
}

var textFields = [...]textField{
	{ChangeDepartureGate, "departure.gate", "Departure gate", func(s *Snapshot) string { return s.Departure.Gate }},
	{ChangeDepartureTerminal, "departure.terminal", "Departure terminal", func(s *Snapshot) string { return s.Departure.Terminal }},
	{ChangeArrivalGate, "arrival.gate", "Arrival gate", func(s *Snapshot) string { return s.Arrival.Gate }},
	{ChangeArrivalTerminal, "arrival.terminal", "Arrival terminal", func(s *Snapshot) string { return s.Arrival.Terminal }},
	{ChangeArrivalBaggage, "arrival.baggage", "Baggage belt", func(s *Snapshot) string { return s.Arrival.Baggage }},
	{ChangeAircraft, "equipment.iata", "Aircraft type", func(s *Snapshot) string { return s.Equipment.IATA }},
	{ChangeTail, "equipment.tailNumber", "Tail number", func(s *Snapshot) string { return s.Equipment.TailNumber }},
	{ChangeRoute, "departure.airport.iata", "Origin", func(s *Snapshot) string { return s.Departure.Airport.IATA }},
	{ChangeRoute, "arrival.airport.iata", "Destination", func(s *Snapshot) string { return s.Arrival.Airport.IATA }},
}

// timeField is a watched time of one end of the leg.
type timeField struct {
	change ChangeType
	path   string // without its Gate or Runway ending
	noun   string // of the gate's time
	runway string // of the runway's
	end    func(*Snapshot) *EndpointTimes
	kind   func(*EndpointTimes) (gate, runway *FlightTime)
}

var timeFields = [...]timeField{
	{ChangeDepartureScheduled, "departure.times.scheduled", "Scheduled departure", "Scheduled take-off", departureTimes, scheduledTimes},
	{ChangeDepartureEstimated, "departure.times.estimated", "Estimated departure", "Estimated take-off", departureTimes, estimatedTimes},
	{ChangeDepartureActual, "departure.times.actual", "Actual departure", "Actual take-off", departureTimes, actualTimes},
	{ChangeArrivalScheduled, "arrival.times.scheduled", "Scheduled arrival", "Scheduled landing", arrivalTimes, scheduledTimes},
	{ChangeArrivalEstimated, "arrival.times.estimated", "Estimated arrival", "Estimated landing", arrivalTimes, estimatedTimes},
	{ChangeArrivalActual, "arrival.times.actual", "Actual arrival", "Actual landing", arrivalTimes, actualTimes},
}

func departureTimes(s *Snapshot) *EndpointTimes { return &s.Departure.Times }
func arrivalTimes(s *Snapshot) *EndpointTimes   { return &s.Arrival.Times }

func scheduledTimes(t *EndpointTimes) (gate, runway *FlightTime) {
	return t.ScheduledGate, t.ScheduledRunway
}

func estimatedTimes(t *EndpointTimes) (gate, runway *FlightTime) {
	return t.EstimatedGate, t.EstimatedRunway
}

func actualTimes(t *EndpointTimes) (gate, runway *FlightTime) {
	return t.ActualGate, t.ActualRunway
}

// Diff returns what changed from prev to next, two complete snapshots of one
// leg, in the order of [ChangeTypes] and of one type the departure's first; the
// delay.* entries stand together, the departure's first. It is nil when nothing
// that is watched changed, which is so exactly when the fingerprints are equal.
// Times that differ in their seconds only are equal. An unknown delay counts as
// none before, and is no change after. What a subscription is told of delays is
// [Tell]'s to say.
func Diff(prev, next *Snapshot) []Change {
	var changes []Change
	changes = diffStatus(changes, prev, next)
	for i := range textFields[:5] {
		changes = textFields[i].diff(changes, prev, next)
	}
	for i := range timeFields {
		changes = timeFields[i].diff(changes, prev, next)
	}
	changes = diffDelay(changes, prev, next)
	for i := range textFields[5:] {
		changes = textFields[5+i].diff(changes, prev, next)
	}
	if !sameCodeshares(prev.Codeshares, next.Codeshares) {
		changes = append(changes, Change{
			Type: ChangeCodeshares, Path: "codeshares", From: prev.Codeshares, To: next.Codeshares,
			Message: codesharesMessage(prev.Codeshares, next.Codeshares),
		})
	}
	return changes
}

func (f *textField) diff(changes []Change, prev, next *Snapshot) []Change {
	from, to := f.value(prev), f.value(next)
	if from == to {
		return changes
	}
	return append(changes, Change{Type: f.change, Path: f.path, From: orNil(from), To: orNil(to), Message: textMessage(f.noun, from, to)})
}

// diff compares the gate's time, and the runway's where next has no gate time.
// Where a delay rests on the runway pair its times count as well, so that no
// delay changes without a time that does. A runway time that takes the place
// of the gate's is new: it did not count before.
func (f *timeField) diff(changes []Change, prev, next *Snapshot) []Change {
	a, b := f.end(prev), f.end(next)
	fromGate, fromRunway := f.kind(a)
	toGate, toRunway := f.kind(b)
	changes = f.compare(changes, "Gate", f.noun, fromGate, toGate)
	if fromGate != nil && toGate == nil && !a.delayOnRunway() {
		fromRunway = nil
	}
	if toGate == nil || a.delayOnRunway() || b.delayOnRunway() {
		changes = f.compare(changes, "Runway", f.runway, fromRunway, toRunway)
	}
	return changes
}

func (f *timeField) compare(changes []Change, where, noun string, from, to *FlightTime) []Change {
	if floorMinute(from.At()) == floorMinute(to.At()) {
		return changes
	}
	c := Change{Type: f.change, Path: f.path + where, Message: timeMessage(noun, from, to)}
	if from != nil {
		c.From = from.UTC
	}
	if to != nil {
		c.To = to.UTC
	}
	if from != nil && to != nil {
		d := to.UTC.Minutes(from.UTC)
		c.DeltaMinutes = &d
	}
	return append(changes, c)
}

// diffStatus reports the status and the turning points of a leg's life.
func diffStatus(changes []Change, prev, next *Snapshot) []Change {
	a, b := &prev.Status, &next.Status
	switch {
	case a.Phase != b.Phase && (b.Phase != PhaseUnknown || a.Code == b.Code):
		changes = append(changes, Change{Type: ChangeStatus, Path: "status.phase", From: a.Phase, To: b.Phase, Message: statusMessage(a, b)})
	case a.Code != b.Code: // of an unknown phase the code says more
		changes = append(changes, Change{Type: ChangeStatus, Path: "status.code", From: a.Code, To: b.Code, Message: statusMessage(a, b)})
	}
	turn := func(t ChangeType, message string) {
		changes = append(changes, Change{Type: t, Path: "status.phase", From: a.Phase, To: b.Phase, Message: message})
	}
	if !prev.Departed() && next.Departed() {
		turn(ChangeDeparted, departedMessage(next))
	}
	if a.Phase != PhaseArrived && b.Phase == PhaseArrived {
		turn(ChangeArrived, arrivedMessage(next))
	}
	if !a.Cancelled && b.Cancelled {
		turn(ChangeCancelled, "Flight cancelled")
	}
	if b.Diverted && (!a.Diverted || prev.diversion() != next.diversion()) {
		changes = append(changes, Change{
			Type: ChangeDiverted, Path: "diverted.airport.iata",
			From: orNil(prev.diversion()), To: orNil(next.diversion()), Message: divertedMessage(next),
		})
	}
	if a.Cancelled && !b.Cancelled && b.Phase != PhaseUnknown {
		turn(ChangeReinstated, "Flight reinstated after it was cancelled")
	}
	return changes
}

// Departed reports whether the leg has left its gate or runway.
func (s *Snapshot) Departed() bool {
	if s.Departure.Times.ActualGate.At().Known() || s.Departure.Times.ActualRunway.At().Known() {
		return true
	}
	switch s.Status.Phase {
	case PhaseDeparted, PhaseEnRoute, PhaseRedirected, PhaseLanded, PhaseArrived, PhaseDiverted:
		return true
	}
	return false
}

func diffDelay(changes []Change, prev, next *Snapshot) []Change {
	changes = delayChange(changes, "departure", prev.Departure.DelayMinutes, next.Departure.DelayMinutes)
	return delayChange(changes, "arrival", prev.Arrival.DelayMinutes, next.Arrival.DelayMinutes)
}

func delayChange(changes []Change, end string, prev, next *int) []Change {
	if next == nil {
		return changes
	}
	from := 0
	if prev != nil {
		from = *prev
	}
	if from == *next {
		return changes
	}
	return append(changes, newDelayChange(end, from, *next))
}

func newDelayChange(end string, from, to int) Change {
	c := Change{Type: ChangeDelayIncreased, Path: end + ".delayMinutes", From: from, To: to, Message: delayMessage(end, from, to)}
	if to < from {
		c.Type = ChangeDelayDecreased
	}
	d := to - from
	c.DeltaMinutes = &d
	return c
}

func sameCodeshares(a, b []CodeshareRef) bool {
	return slices.EqualFunc(a, b, CodeshareRef.same)
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
