package flight

import (
	"fmt"
	"slices"
	"strings"
)

// textMessage tells a first assignment, a change and a withdrawal apart.
func textMessage(noun, from, to string) string {
	switch {
	case from == "":
		return noun + " assigned: " + to
	case to == "":
		return noun + " " + from + " withdrawn"
	}
	return noun + " changed from " + from + " to " + to
}

func timeMessage(noun string, from, to *FlightTime) string {
	switch {
	case from == nil:
		return noun + " set to " + wallClock(to, false)
	case to == nil:
		return noun + " " + wallClock(from, false) + " withdrawn"
	}
	otherDay := localDate(from) != localDate(to)
	d := to.UTC.Minutes(from.UTC)
	word := "later"
	if d < 0 {
		word, d = "earlier", -d
	}
	return fmt.Sprintf("%s changed from %s to %s (%s %s)", noun, wallClock(from, otherDay), wallClock(to, otherDay), spell(d), word)
}

// wallClock writes a time as the clocks at its airport show it.
func wallClock(t *FlightTime, withDate bool) string {
	clock, zone := t.UTC.Std().Format("15:04"), "UTC"
	if len(t.Local) >= 16 {
		clock, zone = t.Local[11:16], t.Timezone
	}
	if zone != "" {
		clock += " " + zone
	}
	if withDate {
		clock += " on " + localDate(t)
	}
	return clock
}

func localDate(t *FlightTime) string {
	if len(t.Local) >= 10 {
		return t.Local[:10]
	}
	return t.UTC.Std().Format("2006-01-02")
}

// spell writes minutes as a person would say them.
func spell(minutes int) string {
	switch h, m := minutes/60, minutes%60; {
	case h == 0:
		return fmt.Sprintf("%d min", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	default:
		return fmt.Sprintf("%d h %d min", h, m)
	}
}

func statusMessage(from, to *StatusInfo) string {
	if from.Label == to.Label {
		return "Status is now " + to.Label + " (" + string(to.Phase) + ")"
	}
	return "Status changed from " + from.Label + " to " + to.Label
}

func departedMessage(s *Snapshot) string {
	msg := "Departed " + s.Departure.Airport.IATA
	for _, t := range []*FlightTime{s.Departure.Times.ActualGate, s.Departure.Times.ActualRunway} {
		if t != nil {
			msg += " at " + wallClock(t, false)
			break
		}
	}
	return msg + punctuality(s.Departure.DelayMinutes)
}

func arrivedMessage(s *Snapshot) string {
	msg := "Arrived at " + s.Arrival.Airport.IATA
	if t := s.Arrival.Times.ActualGate; t != nil {
		msg += " at " + wallClock(t, false)
	}
	return msg + punctuality(s.Arrival.DelayMinutes)
}

func punctuality(delay *int) string {
	if delay == nil {
		return ""
	}
	return ", " + lateness(*delay)
}

func lateness(delay int) string {
	switch {
	case delay > 0:
		return spell(delay) + " late"
	case delay < 0:
		return spell(-delay) + " early"
	}
	return "on time"
}

func divertedMessage(s *Snapshot) string {
	verb, tense := "Diverted", "did"
	if s.Status.Code == StatusRedirected {
		verb, tense = "Being diverted", "will"
	}
	if to := s.diversion(); to != "" {
		return verb + " to " + to + " instead of " + s.Arrival.Airport.IATA
	}
	return verb + ": it " + tense + " not land at " + s.Arrival.Airport.IATA
}

func delayMessage(end string, from, to int) string {
	name := strings.ToUpper(end[:1]) + end[1:]
	return fmt.Sprintf("%s is now %s (was %s)", name, lateness(to), lateness(from))
}

func codesharesMessage(from, to []CodeshareRef) string {
	var parts []string
	if added := codesharesMinus(to, from); added != "" {
		parts = append(parts, "added "+added)
	}
	if removed := codesharesMinus(from, to); removed != "" {
		parts = append(parts, "removed "+removed)
	}
	return "Codeshares changed: " + strings.Join(parts, "; ")
}

func codesharesMinus(a, b []CodeshareRef) string {
	var out []string
	for _, c := range a {
		if !slices.ContainsFunc(b, c.same) {
			out = append(out, c.Carrier+c.FlightNumber)
		}
	}
	return strings.Join(out, ", ")
}
