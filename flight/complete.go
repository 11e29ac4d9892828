package flight

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Complete fills in what follows from the facts of s: the flight key, best
// times, delays, durations, the wording of the status, the order of codeshares
// and the fingerprint. A source calls it once on each snapshot, after it has
// set Status.Code and Status.Phase.
func (s *Snapshot) Complete() {
	s.FlightKey = s.Key().String()
	if s.Codeshares == nil {
		s.Codeshares = []CodeshareRef{}
	}
	slices.SortStableFunc(s.Codeshares, func(a, b CodeshareRef) int {
		return cmp.Or(strings.Compare(a.Carrier, b.Carrier), strings.Compare(a.FlightNumber, b.FlightNumber))
	})
	s.Codeshares = slices.CompactFunc(s.Codeshares, CodeshareRef.same)
	if s.Timeline == nil {
		s.Timeline = []TimelineEntry{}
	}
	for i := range s.Timeline {
		if s.Timeline[i].Events == nil {
			s.Timeline[i].Events = []string{}
		}
	}
	if s.Alternates == nil {
		s.Alternates = []LegRef{}
	}
	if s.Diverted != nil {
		d := *s.Diverted // s may be a copy that shares it
		d.complete()
		s.Diverted = &d
	}
	s.Departure.complete()
	s.Arrival.complete()
	s.completeStatus()
	s.completeDuration()
	s.Fingerprint = s.fingerprint()
	s.encoded = nil
}

func (e *Endpoint) complete() {
	t := &e.Times
	for _, ft := range [...]**FlightTime{
		&t.ScheduledGate, &t.EstimatedGate, &t.ActualGate, &t.ScheduledRunway, &t.EstimatedRunway, &t.ActualRunway,
	} {
		if !(*ft).At().Known() {
			*ft = nil // a time without a moment says nothing
		}
	}
	e.BestTimeUTC = e.Times.Best()
	e.DelayMinutes = nil
	if d, ok := e.Times.Delay(); ok {
		e.DelayMinutes = &d
	}
}

// statusWords gives each status code its label and colour.
var statusWords = map[string][2]string{
	StatusScheduled:      {"Scheduled", "green"},
	StatusActive:         {"En route", "green"},
	StatusLanded:         {"Landed", "green"},
	StatusCancelled:      {"Cancelled", "red"},
	StatusDiverted:       {"Diverted", "red"},
	StatusRedirected:     {"Redirected", "orange"},
	StatusUnknown:        {"Unknown", "gray"},
	StatusNotOperational: {"Not operational", "gray"},
}

// phaseWords refines the label where the phase says more than the code.
var phaseWords = map[Phase]string{
	PhaseBoarding: "Boarding", PhaseDeparted: "Departed", PhaseArrived: "Arrived",
}

// lateMinutes is the delay from which a leg counts as delayed, the fifteen
// minutes of the US Bureau of Transportation Statistics.
const lateMinutes = 15

func (s *Snapshot) completeStatus() {
	st := &s.Status
	words, ok := statusWords[st.Code]
	if !ok {
		words = statusWords[StatusUnknown]
	}
	st.Label, st.Color = words[0], words[1]
	if label := phaseWords[st.Phase]; label != "" {
		st.Label = label
	}
	st.Cancelled = st.Code == StatusCancelled
	st.Diverted = st.Code == StatusDiverted || st.Code == StatusRedirected
	st.DepartureGateDelayMinutes = gateDelay(&s.Departure.Times)
	st.ArrivalGateDelayMinutes = gateDelay(&s.Arrival.Times)
	if st.Diverted { // it does not arrive there
		st.ArrivalGateDelayMinutes, s.Arrival.DelayMinutes = nil, nil
	}
	st.Delayed = !st.Cancelled && (atLeast(s.Departure.DelayMinutes, lateMinutes) || atLeast(s.Arrival.DelayMinutes, lateMinutes))
	if st.Delayed && st.Color == "green" {
		st.Color = "yellow"
	}
}

func gateDelay(t *EndpointTimes) *int {
	if d, ok := delayOf(t.ScheduledGate, t.EstimatedGate, t.ActualGate); ok {
		return &d
	}
	return nil
}

func atLeast(v *int, least int) bool { return v != nil && *v >= least }

// completeDuration fills in the gate to gate minutes that the times give,
// where the source has not said them.
func (s *Snapshot) completeDuration() {
	d, dep, arr := &s.Duration, &s.Departure.Times, &s.Arrival.Times
	if s.Diverted != nil && s.Diverted.Times.ActualGate != nil {
		arr = &s.Diverted.Times
	}
	fill := func(p **int, from, to Time) {
		if *p == nil && from.Known() && to > from {
			m := to.Minutes(from)
			*p = &m
		}
	}
	fill(&d.ScheduledMinutes, dep.ScheduledGate.At(), s.Arrival.Times.ScheduledGate.At())
	fill(&d.EstimatedMinutes, known(dep.ActualGate, dep.EstimatedGate, dep.ScheduledGate), arr.EstimatedGate.At())
	fill(&d.ActualMinutes, dep.ActualGate.At(), arr.ActualGate.At())
}

func known(times ...*FlightTime) Time {
	for _, t := range times {
		if at := t.At(); at.Known() {
			return at
		}
	}
	return 0
}

// fingerprint digests the fields that Diff watches: two snapshots have the same
// exactly when there are no changes between them.
func (s *Snapshot) fingerprint() string {
	var b []byte
	add := func(v string) { // with its length, so that no two lists of words run together alike
		b = append(append(strconv.AppendInt(b, int64(len(v)), 10), ':'), v...)
	}
	addTime := func(where byte, t *FlightTime) { b = strconv.AppendInt(append(b, where), floorMinute(t.At()), 10) }
	add(s.Status.Code)
	add(string(s.Status.Phase))
	for i := range textFields {
		add(textFields[i].value(s))
	}
	for i := range timeFields {
		end := timeFields[i].end(s)
		gate, runway := timeFields[i].kind(end)
		addTime('g', gate)
		if gate == nil || end.delayOnRunway() {
			addTime('r', runway)
		}
	}
	add(s.diversion())
	for _, c := range s.Codeshares {
		add(c.Carrier)
		add(c.FlightNumber)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// diversion returns the code of the airport that s lands at instead of its
// destination, or "" when that is unknown or it is not diverted.
func (s *Snapshot) diversion() string {
	if s.Diverted == nil || !s.Status.Diverted {
		return ""
	}
	return s.Diverted.Airport.IATA
}
