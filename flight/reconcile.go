package flight

import (
	"strconv"
	"strings"
	"time"
)

// sameEstimate is how far apart two upstreams' estimates of one time may be
// that tell of no change: each reckons in its own way.
const sameEstimate = 5 * time.Minute

// Reconcile returns what counts of raw, the next snapshot of a leg, where the
// upstream to said it and what counted before, prev, is of the upstream from:
// that another is asked is no news. A value that raw lacks or says in other
// words or less precisely, and a status that raw is behind with, are kept from
// prev for as long as the upstream goes on saying the same. What it says next
// counts, and so does whatever the first one says when it is back. held is what
// prev held. Without anything to keep the result is raw itself.
//
// News is everything else: a gate that was not known, another gate, a time that
// is off by a minute and an estimate by more than five, a later phase, a
// cancellation. Two upstreams that disagree in that are believed as they come.
func Reconcile(prev *Snapshot, held []Held, raw *Snapshot, from, to string, now Time) (effective *Snapshot, keeps []Held) {
	if prev == nil || from == to && !keepsOther(held) {
		return raw, nil
	}
	for i := range reconciled {
		f := &reconciled[i]
		word := f.word(raw)
		if word == f.word(prev) {
			continue
		}
		h := Held{Path: f.path, Since: now, By: from, Said: word}
		switch was := otherHeld(held, f.path); {
		case was != nil && was.By == to: // it speaks for itself again
			continue
		case from == to && (was == nil || was.Said != word): // it says something new
			continue
		case from != to && !f.mere(prev, raw):
			continue
		case was != nil:
			h.By, h.Since = was.By, was.Since
		}
		if effective == nil {
			copied := *raw
			effective = &copied
		}
		f.keep(effective, prev)
		keeps = append(keeps, h)
	}
	if effective == nil {
		return raw, nil
	}
	effective.Complete()
	return effective, keeps
}

func keepsOther(held []Held) bool {
	for i := range held {
		if held[i].By != "" {
			return true
		}
	}
	return false
}

func otherHeld(held []Held, path string) *Held {
	for i := range held {
		if held[i].By != "" && held[i].Path == path {
			return &held[i]
		}
	}
	return nil
}

// reconcileField is a watched value, or several that stand or fall together.
type reconcileField struct {
	path string
	word func(*Snapshot) string         // what is said, "" for nothing
	mere func(prev, raw *Snapshot) bool // whether raw's saying something else is no news
	keep func(to, from *Snapshot)
}

var reconciled = append(append([]reconcileField{
	{"status", statusWord, behind, keepStatus},
	{"codeshares", codesharesWord, func(prev, _ *Snapshot) bool { return len(prev.Codeshares) > 0 },
		func(to, from *Snapshot) { to.Codeshares = from.Codeshares }},
	{"equipment.iata", func(s *Snapshot) string { return s.Equipment.IATA }, otherTypeCode, keepType},
}, reconciledTexts()...), reconciledTimes()...)

func statusWord(s *Snapshot) string {
	return s.Status.Code + " " + string(s.Status.Phase) + " " + s.diversion()
}

func keepStatus(to, from *Snapshot) {
	to.Status.Code, to.Status.Phase, to.Status.Description, to.Diverted = from.Status.Code, from.Status.Phase, from.Status.Description, from.Diverted
}

// line is where the phases of a flight that goes as planned follow each other.
var line = map[Phase]int{PhaseScheduled: 1, PhaseBoarding: 2, PhaseDeparted: 3, PhaseEnRoute: 4, PhaseLanded: 5, PhaseArrived: 6}

// behind reports whether raw's status is one that prev's has left behind:
// upstreams learn of things at different times, and some never.
func behind(prev, raw *Snapshot) bool {
	a, b := &prev.Status, &raw.Status
	switch {
	case b.Phase == PhaseUnknown:
		return a.Phase != PhaseUnknown
	case a.Cancelled:
		return !b.Cancelled
	case b.Cancelled:
		return false
	case a.Diverted && b.Diverted: // on its way there, or to nobody knows where
		return a.Phase == PhaseDiverted && b.Phase == PhaseRedirected || a.Phase == b.Phase && raw.diversion() == ""
	case a.Diverted:
		return true
	}
	return line[b.Phase] > 0 && line[b.Phase] < line[a.Phase]
}

func codesharesWord(s *Snapshot) string {
	var b strings.Builder
	for _, c := range s.Codeshares {
		b.WriteString(c.Carrier + " " + c.FlightNumber + ",")
	}
	return b.String()
}

// otherTypeCode reports whether raw names no type of aircraft, or by a code of
// another kind: IATA's have three characters, ICAO's mostly four.
func otherTypeCode(prev, raw *Snapshot) bool {
	a, b := prev.Equipment.IATA, raw.Equipment.IATA
	return a != "" && (b == "" || len(a) != len(b))
}

func keepType(to, from *Snapshot) {
	to.Equipment.IATA, to.Equipment.Name = from.Equipment.IATA, from.Equipment.Name
}

// reconciledTexts are the gates, terminals and belts, and the tail number.
func reconciledTexts() []reconcileField {
	fields := []reconcileField{textKept("equipment.tailNumber", func(s *Snapshot) *string { return &s.Equipment.TailNumber }, nil)}
	for i := range holdable {
		if f := &holdable[i]; f.text != nil {
			fields = append(fields, textKept(f.path, func(s *Snapshot) *string { return f.text(f.end(s)) }, f))
		}
	}
	return fields
}

func textKept(path string, at func(*Snapshot) *string, f *holdField) reconcileField {
	return reconcileField{
		path: path,
		word: func(s *Snapshot) string { return *at(s) },
		mere: func(prev, raw *Snapshot) bool {
			a, b := *at(prev), *at(raw)
			return (f == nil || f.sameAirport(prev, raw)) && a != "" && (b == "" || sameWord(a, b))
		},
		keep: func(to, from *Snapshot) { *at(to) = *at(from) },
	}
}

// sameWord reports whether two gates, terminals, belts or tail numbers are one,
// however they are spelled: "Gate B07", "B7" and "b-7".
func sameWord(a, b string) bool { return plainWord(a) == plainWord(b) }

func plainWord(s string) string {
	s = strings.ToUpper(s)
	for _, title := range []string{"GATE", "TERMINAL", "BELT", "CAROUSEL"} {
		s = strings.TrimPrefix(s, title)
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		digit := c >= '0' && c <= '9'
		if !digit && (c < 'A' || c > 'Z') {
			continue
		}
		if n := b.Len(); c == '0' && (n == 0 || !isDigit(b.String()[n-1])) && i+1 < len(s) && isDigit(s[i+1]) {
			continue // a leading zero
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// reconciledTimes are the twelve times.
func reconciledTimes() []reconcileField {
	var fields []reconcileField
	for _, arrival := range []bool{false, true} {
		end, name := &holdField{arrival: arrival}, "departure"
		if arrival {
			name = "arrival"
		}
		for _, t := range []struct {
			name     string
			at       func(*EndpointTimes) **FlightTime
			estimate bool
		}{
			{"scheduledGate", func(t *EndpointTimes) **FlightTime { return &t.ScheduledGate }, false},
			{"scheduledRunway", func(t *EndpointTimes) **FlightTime { return &t.ScheduledRunway }, false},
			{"estimatedGate", estimatedGate, true}, {"estimatedRunway", estimatedRunway, true},
			{"actualGate", actualGate, false}, {"actualRunway", actualRunway, false},
		} {
			fields = append(fields, timeKept(name+".times."+t.name, end, t.at, t.estimate))
		}
	}
	return fields
}

func timeKept(path string, end *holdField, at func(*EndpointTimes) **FlightTime, estimate bool) reconcileField {
	of := func(s *Snapshot) **FlightTime { return at(&end.end(s).Times) }
	return reconcileField{
		path: path,
		word: func(s *Snapshot) string {
			if t := *of(s); t != nil {
				return strconv.FormatInt(floorMinute(t.UTC), 10)
			}
			return ""
		},
		mere: func(prev, raw *Snapshot) bool {
			a, b := *of(prev), *of(raw)
			switch {
			case a == nil || !end.sameAirport(prev, raw):
				return false
			case b == nil:
				return !estimate || !overtaken(a, &end.end(prev).Times, &end.end(raw).Times)
			case estimate:
				return b.UTC.Std().Sub(a.UTC.Std()).Abs() <= sameEstimate
			}
			return b.UTC.Std().Sub(a.UTC.Std()).Abs() < time.Minute
		},
		keep: func(to, from *Snapshot) { *of(to) = *of(from) },
	}
}

// taxiAtMost is how far apart the gate's and the runway's time may be.
const taxiAtMost = 45 * time.Minute

// overtaken reports whether b, what another upstream says of an end, cannot
// stand beside the estimate that it lacks: the schedule, or another estimate,
// is not what it was.
func overtaken(estimate *FlightTime, a, b *EndpointTimes) bool {
	apart := func(was, is *FlightTime, slack time.Duration) bool {
		return is != nil && is.UTC.Std().Sub(was.UTC.Std()).Abs() > slack
	}
	for _, pair := range [][2]*FlightTime{{a.ScheduledGate, b.ScheduledGate}, {a.ScheduledRunway, b.ScheduledRunway}} {
		if pair[0] != nil && apart(pair[0], pair[1], time.Minute) {
			return true
		}
	}
	return apart(estimate, b.EstimatedGate, taxiAtMost) || apart(estimate, b.EstimatedRunway, taxiAtMost)
}
