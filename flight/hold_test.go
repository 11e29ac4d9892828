package flight_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/flight"
)

// informed is a leg of which everything that may be held is known.
func informed(edits ...func(*flight.Snapshot)) *flight.Snapshot {
	s := base(late(10, 15), func(s *flight.Snapshot) {
		s.Departure.Gate, s.Departure.Terminal = "B10", "8"
		s.Arrival.Gate, s.Arrival.Terminal, s.Arrival.Baggage = "22", "3", "7"
		s.Departure.Times.EstimatedRunway = on(plus(scheduledOut, 25*time.Minute), newYork)
		s.Arrival.Times.EstimatedRunway = on(plus(scheduledIn, 5*time.Minute), london)
	})
	return with(s, edits...)
}

// drops are edits that take a holdable value away, by its path.
var drops = map[string]func(*flight.Snapshot){
	"departure.gate":                  func(s *flight.Snapshot) { s.Departure.Gate = "" },
	"departure.terminal":              func(s *flight.Snapshot) { s.Departure.Terminal = "" },
	"arrival.gate":                    func(s *flight.Snapshot) { s.Arrival.Gate = "" },
	"arrival.terminal":                func(s *flight.Snapshot) { s.Arrival.Terminal = "" },
	"arrival.baggage":                 func(s *flight.Snapshot) { s.Arrival.Baggage = "" },
	"departure.times.estimatedGate":   func(s *flight.Snapshot) { s.Departure.Times.EstimatedGate = nil },
	"departure.times.estimatedRunway": func(s *flight.Snapshot) { s.Departure.Times.EstimatedRunway = nil },
	"arrival.times.estimatedGate":     func(s *flight.Snapshot) { s.Arrival.Times.EstimatedGate = nil },
	"arrival.times.estimatedRunway":   func(s *flight.Snapshot) { s.Arrival.Times.EstimatedRunway = nil },
}

const holdWindow = 30 * time.Minute

// A value that is not said for less than the window is as if it had been said;
// from the end of the window on it is gone.
func TestHoldForTheWindow(t *testing.T) {
	start := utc("2026-03-10 20:00")
	for path, drop := range drops {
		t.Run(path, func(t *testing.T) {
			before, without := informed(), informed(drop)
			counts, held := flight.Hold(before, nil, without, start, holdWindow)
			for _, after := range []time.Duration{0, time.Minute, holdWindow - time.Millisecond} {
				counts, held = flight.Hold(counts, held, without, plus(start, after), holdWindow)
				if changes := flight.Diff(before, counts); len(changes) > 0 || counts.Fingerprint != before.Fingerprint {
					t.Fatalf("after %v: %v", after, changes)
				}
				if len(held) != 1 || held[0].Path != path || held[0].Since != start {
					t.Fatalf("after %v %v are held", after, held)
				}
			}
			back, none := flight.Hold(counts, held, informed(), plus(start, holdWindow), holdWindow)
			if len(none) > 0 || len(flight.Diff(counts, back)) > 0 {
				t.Errorf("when it is back, %v are held", none)
			}
			gone, none := flight.Hold(counts, held, without, plus(start, holdWindow), holdWindow)
			if len(none) > 0 || gone != without {
				t.Errorf("at the end of the window, %v are held", none)
			}
		})
	}
}

// What news has overtaken is not held.
func TestNotHeld(t *testing.T) {
	at := func(m time.Duration) flight.Time { return plus(scheduledOut, m*time.Minute) }
	for name, c := range map[string]struct {
		raw  *flight.Snapshot
		held []string
	}{
		"all dropped": {informed(drops["departure.gate"], drops["departure.terminal"], drops["arrival.gate"], drops["arrival.terminal"], drops["arrival.baggage"],
			drops["departure.times.estimatedGate"], drops["departure.times.estimatedRunway"], drops["arrival.times.estimatedGate"], drops["arrival.times.estimatedRunway"]),
			[]string{"departure.gate", "departure.terminal", "arrival.gate", "arrival.terminal", "arrival.baggage",
				"departure.times.estimatedGate", "departure.times.estimatedRunway", "arrival.times.estimatedGate", "arrival.times.estimatedRunway"}},
		"cancelled": {informed(drops["departure.gate"], drops["departure.times.estimatedGate"], status(flight.StatusCancelled, flight.PhaseCancelled)), nil},
		"diverted: nothing of the arrival": {informed(drops["departure.gate"], drops["arrival.gate"], drops["arrival.times.estimatedGate"],
			status(flight.StatusRedirected, flight.PhaseRedirected)), []string{"departure.gate"}},
		"another airport": {informed(drops["departure.gate"], drops["arrival.gate"], func(s *flight.Snapshot) { s.Arrival.Airport.IATA = "LGW" }), []string{"departure.gate"}},
		"another gate":    {informed(func(s *flight.Snapshot) { s.Departure.Gate = "B12" }), nil},
		"off the gate: the runway's estimate stays": {informed(drops["departure.times.estimatedGate"], drops["departure.times.estimatedRunway"], status(flight.StatusActive, flight.PhaseDeparted),
			func(s *flight.Snapshot) { s.Departure.Times.ActualGate = on(at(11), newYork) }), []string{"departure.times.estimatedRunway"}},
		"off the ground": {informed(drops["departure.times.estimatedGate"], drops["departure.times.estimatedRunway"], status(flight.StatusActive, flight.PhaseEnRoute),
			func(s *flight.Snapshot) { s.Departure.Times.ActualRunway = on(at(25), newYork) }), nil},
		"on the ground: the gate's estimate stays": {informed(drops["arrival.times.estimatedGate"], drops["arrival.times.estimatedRunway"], status(flight.StatusLanded, flight.PhaseLanded),
			func(s *flight.Snapshot) { s.Arrival.Times.ActualRunway = on(at(500), london) }), []string{"arrival.times.estimatedGate"}},
		"the schedule moved":       {informed(drops["departure.times.estimatedGate"], func(s *flight.Snapshot) { s.Departure.Times.ScheduledGate = on(at(60), newYork) }), nil},
		"the other estimate moved": {informed(drops["departure.times.estimatedGate"], func(s *flight.Snapshot) { s.Departure.Times.EstimatedRunway = on(at(90), newYork) }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, held := flight.Hold(informed(), nil, c.raw, at(30), holdWindow)
			var paths []string
			for _, h := range held {
				paths = append(paths, h.Path)
			}
			if !slices.Equal(paths, c.held) {
				t.Errorf("held %v, want %v", paths, c.held)
			}
		})
	}
	if s, held := flight.Hold(nil, nil, informed(), at(0), holdWindow); held != nil || s == nil {
		t.Error("something is held at first sight")
	}
	if _, held := flight.Hold(informed(), nil, informed(drops["arrival.gate"]), at(0), 0); held != nil {
		t.Error("something is held without a window")
	}
}

// However values come and go: what counts is what was said and what is held; a value that is said counts as it is said; and one that
// stays away for the window counts no more.
func TestHoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, counts := utc("2026-03-10 20:00"), informed()
		var held []flight.Held
		absent := map[string]flight.Time{} // since when
		for range rapid.IntRange(1, 15).Draw(t, "answers") {
			now = plus(now, time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes"))*time.Minute)
			gate := rapid.SampledFrom([]string{"B10", "B12"}).Draw(t, "gate")
			raw := informed(func(s *flight.Snapshot) { s.Departure.Gate = gate })
			missing := map[string]bool{}
			for _, path := range slices.Sorted(maps.Keys(drops)) {
				if missing[path] = rapid.Bool().Draw(t, path); missing[path] {
					raw = with(raw, drops[path])
				}
			}
			for path := range drops {
				if since, ok := absent[path]; !missing[path] {
					delete(absent, path)
				} else if !ok || since == 0 {
					absent[path] = now
				}
			}
			before := counts
			counts, held = flight.Hold(before, held, raw, now, holdWindow)
			again := with(counts)
			for _, h := range held {
				drops[h.Path](again)
			}
			if again.Complete(); !flight.SameContent(again, raw) {
				t.Fatalf("without what is held %s counts, and %s was said", again.Encode(), raw.Encode())
			}
			if raw.Departure.Gate != "" && counts.Departure.Gate != raw.Departure.Gate {
				t.Fatalf("gate %s is said, %s counts", raw.Departure.Gate, counts.Departure.Gate)
			}
			for path, since := range absent {
				isHeld := slices.ContainsFunc(held, func(h flight.Held) bool { return h.Path == path })
				if isHeld && now-since >= flight.Time(holdWindow.Milliseconds()) {
					t.Fatalf("%s is held %v after it vanished", path, time.Duration(now-since)*time.Millisecond)
				}
			}
			if len(held) == 0 && counts != raw {
				t.Fatal("nothing is held, and something else counts than was said")
			}
		}
	})
}
