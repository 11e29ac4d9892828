package flight_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

// heardOf is what one subscriber was told of a flight: by path, one value after
// the other.
type heardOf map[string][]string

// listener is what stands of a flight for a subscriber of everything, and what
// he was told.
type listener struct {
	counts *flight.Snapshot
	held   []flight.Held
	from   string
	knows  flight.Told
	heard  heardOf
}

func newListener(first *flight.Snapshot) *listener {
	return &listener{counts: first, from: "a", knows: flight.ToldBy(first), heard: heardOf{}}
}

// hear takes in what an upstream says.
func (l *listener) hear(raw *flight.Snapshot, to string, now flight.Time) {
	prev := l.counts
	reconciled, kept := flight.Reconcile(prev, l.held, raw, l.from, to, now)
	l.counts, l.held = flight.Hold(prev, l.held, reconciled, now, flight.DefaultHold)
	l.held, l.from = append(kept, l.held...), to
	var changes []flight.Change
	changes, l.knows = flight.Tell(flight.Diff(prev, l.counts), l.counts, flight.AllChanges, flight.DefaultDelayThreshold, l.knows)
	for _, c := range changes {
		value := string(c.Type) + " " + fmt.Sprint(c.To)
		if at, ok := c.To.(flight.Time); ok {
			value = string(c.Type) + " " + minute(at)
		}
		l.heard[c.Path] = append(l.heard[c.Path], value)
	}
}

// listen watches f until its watch ends, for one who asks the first upstream
// always and for one who asks whoever is up.
func (f *recordedFlight) listen(r *rand.Rand, up func(now flight.Time) string) (plain, switching *listener, switches int) {
	now := plus(f.from, time.Duration(r.Float64()*float64(15*time.Minute)))
	plain, switching = newListener(f.at(now)), newListener(f.at(now))
	for {
		if _, ended := flight.WatchEnded(plain.counts, now); ended {
			return plain, switching, switches
		}
		now = flight.Schedule{Jitter: r.Float64()}.Next(plain.counts, now).At
		raw, to := f.at(now), up(now)
		plain.hear(raw, "a", now)
		if to != switching.from {
			switches++
		}
		if to == "b" {
			raw = secondView(raw)
		}
		switching.hear(raw, to, now)
	}
}

// secondView is what a second upstream says: its moments have seconds, it knows
// no tail numbers, and names types of aircraft by other codes.
func secondView(s *flight.Snapshot) *flight.Snapshot {
	return with(s, func(s *flight.Snapshot) {
		for _, e := range []*flight.EndpointTimes{&s.Departure.Times, &s.Arrival.Times} {
			for _, t := range []**flight.FlightTime{&e.ScheduledGate, &e.EstimatedGate, &e.ActualGate, &e.ScheduledRunway, &e.EstimatedRunway, &e.ActualRunway} {
				if *t != nil {
					c := **t
					c.UTC = plus(c.UTC, 25*time.Second)
					*t = &c
				}
			}
		}
		s.Equipment.TailNumber = ""
		if s.Equipment.IATA != "" {
			s.Equipment.IATA += "W"
		}
	})
}

// A day of 500 flights whose first upstream is down half of the time, for some
// minutes each: nobody is told anything that he would not have been told had it
// been up, in no other order, and everybody hears how it ends.
func TestFlappingUpstreamTellsNothingFalse(t *testing.T) {
	flights := recordedDay(t, replay.ShippedDate, 2, assumption{})
	switches, values := 0, 0
	for i := range flights {
		plain, switching, n := flights[i].listen(random(i), func(now flight.Time) string {
			if now.Std().Add(time.Duration(i)*time.Minute).Minute()/4%2 == 1 {
				return "b"
			}
			return "a"
		})
		switches += n
		for path, told := range switching.heard {
			values += len(told)
			if !inOrder(told, plain.heard[path]) {
				t.Errorf("flight %d, %s: told %q, without the switches %q", i, path, told, plain.heard[path])
			}
		}
		for path, told := range plain.heard {
			got := switching.heard[path]
			if len(got) == 0 || got[len(got)-1] != told[len(told)-1] {
				t.Errorf("flight %d, %s: ends with %q, without the switches with %q", i, path, got, told)
			}
		}
	}
	t.Logf("%d flights, %d switches, %d values told", len(flights), switches, values)
	if len(flights) < 500 || switches < 10*len(flights) {
		t.Errorf("%d flights, %d switches: this shows little", len(flights), switches)
	}
}

// inOrder reports whether some are all, perhaps without a few.
func inOrder(some, all []string) bool {
	for _, v := range some {
		i := slices.Index(all, v)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}
