package simulator

import (
	"slices"

	"github.com/flightwire/flightwire/flight"
)

// telling collects what has become known of a leg by now and writes it into
// the snapshot in the order in which it did. What is still to come is dropped
// at once, so a telling of a flight far ahead costs next to nothing.
type telling struct {
	s       *flight.Snapshot
	p       *plan
	now     flight.Time
	moments []moment
}

type moment struct {
	at            flight.Time
	title, source string
	apply         func() []string // changes the snapshot and says so in words
}

// Where the world's news come from.
const (
	fromAirline  = "Airline"
	fromAirport  = "Airport"
	fromPosition = "Positional"
)

func (t *telling) at(at flight.Time, source, title string, apply func() []string) {
	if at <= t.now {
		t.moments = append(t.moments, moment{at, title, source, apply})
	}
}

// tell writes the moments and the timeline.
func (t *telling) tell() {
	slices.SortStableFunc(t.moments, func(a, b moment) int { return int(a.at - b.at) })
	for _, m := range t.moments {
		words := m.apply()
		t.s.Timeline = append(t.s.Timeline, flight.TimelineEntry{OccurredAt: m.at, Title: m.title, Source: m.source, Events: words})
	}
	slices.Reverse(t.s.Timeline)
}

// word assigns a gate, belt or tail number.
func (t *telling) word(at flight.Time, source, noun string, field *string, value string) {
	t.at(at, source, noun, func() []string {
		was := *field
		*field = value
		if was == "" {
			return []string{noun + " " + value}
		}
		return []string{noun + " changed from " + was + " to " + value}
	})
}

func (t *telling) depGate(at flight.Time, gate string) {
	t.word(at, fromAirport, "Departure gate", &t.s.Departure.Gate, gate)
}

func (t *telling) arrGate(at flight.Time, gate string) {
	t.word(at, fromAirport, "Arrival gate", &t.s.Arrival.Gate, gate)
}

func (t *telling) belt(at flight.Time, belt string) {
	t.word(at, fromAirport, "Baggage belt", &t.s.Arrival.Baggage, belt)
}

// assign tells which airframe flies, and that its type is no longer a plan.
func (t *telling) assign(at flight.Time, a aircraft, tail string) {
	t.at(at, fromAirline, "Aircraft", func() []string {
		var words []string
		e := &t.s.Equipment
		if e.IATA != a.iata {
			words = append(words, "Aircraft type changed from "+e.Name+" to "+a.name)
		}
		*e = flight.EquipmentInfo{TailNumber: tail, IATA: a.iata, Name: a.name, Source: "actual"}
		return append(words, "Tail number "+tail)
	})
}

func (t *telling) loaded(at flight.Time) {
	t.at(at, fromAirline, "Schedule", func() []string { return []string{"Schedule published"} })
}

// estimate tells a new gate departure and the gate arrival that follows of it.
func (t *telling) estimate(at, dep, arr flight.Time) {
	t.at(at, fromAirline, "Estimated times", func() []string {
		t.s.Departure.Times.EstimatedGate = t.p.from.time(dep)
		t.s.Arrival.Times.EstimatedGate = t.p.to.time(arr)
		return []string{"Estimated departure " + t.p.from.clock(dep), "Estimated arrival " + t.p.to.clock(arr)}
	})
}

// approach tells a new arrival, with the landing taxiIn before it.
func (t *telling) approach(at, arr, taxiIn flight.Time) {
	t.at(at, fromPosition, "Estimated arrival", func() []string {
		t.s.Arrival.Times.EstimatedGate = t.p.to.time(arr)
		t.s.Arrival.Times.EstimatedRunway = t.p.to.time(arr - taxiIn)
		return []string{"Estimated arrival " + t.p.to.clock(arr)}
	})
}

// status tells a turn of the leg's life; more changes the times that go with it.
func (t *telling) status(at flight.Time, source, title, code string, phase flight.Phase, words string, more func()) {
	t.at(at, source, title, func() []string {
		t.s.Status.Code, t.s.Status.Phase = code, phase
		if more != nil {
			more()
		}
		return []string{words}
	})
}
