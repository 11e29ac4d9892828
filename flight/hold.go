package flight

import "time"

// Held is a value that still counts though an upstream has stopped saying it:
// feeds drop an estimate, a gate or a belt and bring it back some minutes
// later, and nobody wants to hear of that; see [Hold]. Or it counts though
// another upstream, which is asked now, says something else; see [Reconcile].
// Or it is the leg itself, which an answer did not list; see [Unlist]. Paths are
// those of [Change], "status" and "leg".
type Held struct {
	Path  string      `json:"path"`
	Text  string      `json:"text,omitempty"` // of a gate, terminal or belt that vanished
	Time  *FlightTime `json:"time,omitempty"` // of an estimate that vanished
	Since Time        `json:"since"`          // world time of the first answer without it
	By    string      `json:"by,omitempty"`   // whose word it is, where another upstream is asked now
	Said  string      `json:"said,omitempty"` // what that one says in its place
}

// DefaultHold is how long a value that vanished still counts, if nobody says
// otherwise.
const DefaultHold = 30 * time.Minute

// Hold returns what counts of raw, the next snapshot of a leg, with the values
// that it holds: those that prev, what counted before, has and raw lacks, for
// at most window since they were first missing. held is what prev held. Without
// anything to hold the result is raw itself.
//
// Nothing is held that news has overtaken: an estimate once its actual time,
// another schedule or another estimate for the same end is known; the gate of
// an airport that the leg no longer uses; anything of a flight that was
// cancelled, and of an arrival that takes place elsewhere. A value that
// changes, and the status, are never held back.
func Hold(prev *Snapshot, held []Held, raw *Snapshot, now Time, window time.Duration) (effective *Snapshot, holds []Held) {
	if prev == nil || window <= 0 || raw.Status.Cancelled {
		return raw, nil
	}
	for i := range holdable {
		f := &holdable[i]
		if !f.vanished(prev, raw) {
			continue
		}
		since := now
		for _, h := range held {
			if h.Path == f.path && h.By == "" {
				since = h.Since
			}
		}
		if now-since >= Time(window.Milliseconds()) {
			continue
		}
		if effective == nil {
			copied := *raw
			effective = &copied
		}
		holds = append(holds, f.hold(prev, effective, since))
	}
	if effective == nil {
		return raw, nil
	}
	effective.Complete()
	return effective, holds
}

// holdField is a value that may be held: a word, or an estimate.
type holdField struct {
	path    string
	arrival bool
	text    func(*Endpoint) *string
	time    func(*EndpointTimes) **FlightTime // of an estimate
	actual  func(*EndpointTimes) **FlightTime // what makes it history
}

var holdable = [...]holdField{
	{path: "departure.gate", text: func(e *Endpoint) *string { return &e.Gate }},
	{path: "departure.terminal", text: func(e *Endpoint) *string { return &e.Terminal }},
	{path: "arrival.gate", arrival: true, text: func(e *Endpoint) *string { return &e.Gate }},
	{path: "arrival.terminal", arrival: true, text: func(e *Endpoint) *string { return &e.Terminal }},
	{path: "arrival.baggage", arrival: true, text: func(e *Endpoint) *string { return &e.Baggage }},
	{path: "departure.times.estimatedGate", time: estimatedGate, actual: actualGate},
	{path: "departure.times.estimatedRunway", time: estimatedRunway, actual: actualRunway},
	{path: "arrival.times.estimatedGate", arrival: true, time: estimatedGate, actual: actualGate},
	{path: "arrival.times.estimatedRunway", arrival: true, time: estimatedRunway, actual: actualRunway},
}

func estimatedGate(t *EndpointTimes) **FlightTime   { return &t.EstimatedGate }
func estimatedRunway(t *EndpointTimes) **FlightTime { return &t.EstimatedRunway }

func actualGate(t *EndpointTimes) **FlightTime   { return &t.ActualGate }
func actualRunway(t *EndpointTimes) **FlightTime { return &t.ActualRunway }

func (f *holdField) end(s *Snapshot) *Endpoint {
	if f.arrival {
		return &s.Arrival
	}
	return &s.Departure
}

// vanished reports whether raw lacks a value of prev that nothing in raw has
// overtaken.
func (f *holdField) vanished(prev, raw *Snapshot) bool {
	a, b := f.end(prev), f.end(raw)
	if !f.sameAirport(prev, raw) || f.arrival && raw.Status.Diverted {
		return false
	}
	if f.text != nil {
		return *f.text(a) != "" && *f.text(b) == ""
	}
	if *f.time(&a.Times) == nil || *f.time(&b.Times) != nil {
		return false
	}
	return !f.happened(&b.Times) && !moved(&a.Times, &b.Times)
}

// sameAirport reports whether the end is still at the same airport.
func (f *holdField) sameAirport(prev, raw *Snapshot) bool {
	return f.end(prev).Airport.IATA == f.end(raw).Airport.IATA
}

// happened reports whether what the estimate was of is over: a leg passes the
// gate before the runway when it departs, and the runway before the gate when
// it arrives.
func (f *holdField) happened(t *EndpointTimes) bool {
	if *f.actual(t) != nil {
		return true
	}
	if f.arrival {
		return t.ActualGate != nil
	}
	return t.ActualRunway != nil
}

// moved reports whether the schedule or an estimate of b says other than in a.
func moved(a, b *EndpointTimes) bool {
	differ := func(from, to *FlightTime) bool {
		return to != nil && floorMinute(from.At()) != floorMinute(to.At())
	}
	return differ(a.ScheduledGate, b.ScheduledGate) || differ(a.ScheduledRunway, b.ScheduledRunway) ||
		differ(a.EstimatedGate, b.EstimatedGate) || differ(a.EstimatedRunway, b.EstimatedRunway)
}

// hold puts the value of prev into effective.
func (f *holdField) hold(prev, effective *Snapshot, since Time) Held {
	h := Held{Path: f.path, Since: since}
	if f.text != nil {
		h.Text = *f.text(f.end(prev))
	} else {
		h.Time = *f.time(&f.end(prev).Times)
	}
	f.put(effective, h)
	return h
}

func (f *holdField) put(s *Snapshot, h Held) {
	if f.text != nil {
		*f.text(f.end(s)) = h.Text
		return
	}
	*f.time(&f.end(s).Times) = h.Time
}
