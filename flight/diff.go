package flight

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

// timeField is a watched time: the gate's, or the runway's where neither
// snapshot has a gate time.
type timeField struct {
	change       ChangeType
	path         string // without its Gate or Runway ending
	noun         string
	gate, runway func(*Snapshot) *FlightTime
}

var timeFields = [...]timeField{
	{ChangeDepartureScheduled, "departure.times.scheduled", "Scheduled departure",
		func(s *Snapshot) *FlightTime { return s.Departure.Times.ScheduledGate },
		func(s *Snapshot) *FlightTime { return s.Departure.Times.ScheduledRunway }},
	{ChangeDepartureEstimated, "departure.times.estimated", "Estimated departure",
		func(s *Snapshot) *FlightTime { return s.Departure.Times.EstimatedGate },
		func(s *Snapshot) *FlightTime { return s.Departure.Times.EstimatedRunway }},
	{ChangeDepartureActual, "departure.times.actual", "Actual departure",
		func(s *Snapshot) *FlightTime { return s.Departure.Times.ActualGate },
		func(s *Snapshot) *FlightTime { return s.Departure.Times.ActualRunway }},
	{ChangeArrivalScheduled, "arrival.times.scheduled", "Scheduled arrival",
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.ScheduledGate },
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.ScheduledRunway }},
	{ChangeArrivalEstimated, "arrival.times.estimated", "Estimated arrival",
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.EstimatedGate },
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.EstimatedRunway }},
	{ChangeArrivalActual, "arrival.times.actual", "Actual arrival",
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.ActualGate },
		func(s *Snapshot) *FlightTime { return s.Arrival.Times.ActualRunway }},
}

// watched returns the pair of times to compare.
func (f *timeField) watched(prev, next *Snapshot) (from, to *FlightTime) {
	if from, to = f.gate(prev), f.gate(next); from != nil || to != nil {
		return from, to
	}
	return f.runway(prev), f.runway(next)
}

// Diff returns what changed from prev to next, two snapshots of one leg, in
// the order of [ChangeTypes]; nil when nothing that is watched did. Times that
// differ in their seconds only are equal. The delay.* entries compare with
// prev; what a subscription is told of delays is [Tell]'s to say.
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

func (f *timeField) diff(changes []Change, prev, next *Snapshot) []Change {
	from, to := f.watched(prev, next)
	if floorMinute(from.At()) == floorMinute(to.At()) {
		return changes
	}
	path := f.path + "Runway"
	if f.gate(prev) != nil || f.gate(next) != nil {
		path = f.path + "Gate"
	}
	c := Change{Type: f.change, Path: path, Message: timeMessage(f.noun, from, to)}
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
	if a.Phase != b.Phase {
		changes = append(changes, Change{Type: ChangeStatus, Path: "status.phase", From: a.Phase, To: b.Phase, Message: statusMessage(a, b)})
	} else if a.Code != b.Code {
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
	if a.Cancelled && !b.Cancelled {
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
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Carrier != b[i].Carrier || a[i].FlightNumber != b[i].FlightNumber {
			return false
		}
	}
	return true
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
