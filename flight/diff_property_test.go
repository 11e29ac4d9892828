package flight_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"pgregory.net/rapid"
)

// statuses are the pairs of code and phase that sources make.
var statuses = []flight.StatusInfo{
	{Code: "S", Phase: "scheduled"}, {Code: "S", Phase: "boarding"}, {Code: "A", Phase: "departed"}, {Code: "A", Phase: "en_route"},
	{Code: "L", Phase: "landed"}, {Code: "L", Phase: "arrived"}, {Code: "C", Phase: "cancelled"}, {Code: "D", Phase: "diverted"},
	{Code: "R", Phase: "redirected"}, {Code: "U", Phase: "unknown"}, {Code: "NO", Phase: "unknown"},
}

// snapshots generates complete snapshots of one leg. Values are drawn from few,
// so that two snapshots often agree in a field.
func snapshots() *rapid.Generator[*flight.Snapshot] {
	return rapid.Custom(func(t *rapid.T) *flight.Snapshot {
		word := func(name string) string { return rapid.SampledFrom([]string{"", "1", "B12"}).Draw(t, name) }
		times := func(name string, from flight.Time, zone string) (e flight.EndpointTimes) {
			for _, ft := range []**flight.FlightTime{
				&e.ScheduledGate, &e.EstimatedGate, &e.ActualGate, &e.ScheduledRunway, &e.EstimatedRunway, &e.ActualRunway,
			} {
				if rapid.Bool().Draw(t, name) {
					*ft = on(plus(from, time.Duration(30*rapid.IntRange(-1, 3).Draw(t, name))*time.Second), zone)
				}
			}
			return e
		}
		return base(func(s *flight.Snapshot) {
			st := rapid.SampledFrom(statuses).Draw(t, "status")
			status(st.Code, st.Phase)(s)
			if rapid.Bool().Draw(t, "has diversion") {
				divertedTo(rapid.SampledFrom([]string{"SNN", "DUB"}).Draw(t, "diversion"))(s)
			}
			s.Departure.Gate, s.Departure.Terminal = word("gate"), word("terminal")
			s.Arrival.Gate, s.Arrival.Terminal, s.Arrival.Baggage = word("gate"), word("terminal"), word("belt")
			s.Departure.Times = times("departure", scheduledOut, newYork)
			s.Arrival.Times = times("arrival", scheduledIn, london)
			s.Equipment.IATA, s.Equipment.TailNumber = word("type"), word("tail")
			s.Departure.Airport.IATA = rapid.SampledFrom([]string{"JFK", "EWR"}).Draw(t, "origin")
			s.Arrival.Airport.IATA = rapid.SampledFrom([]string{"LHR", "LGW"}).Draw(t, "destination")
			for _, carrier := range []string{"IB", "BA"} {
				if number := word("codeshare"); number != "" {
					s.Codeshares = append(s.Codeshares, flight.CodeshareRef{Carrier: carrier, FlightNumber: number})
				}
			}
		})
	})
}

// pair generates a snapshot and a later one, which is often the same.
func pair(t *rapid.T) (prev, next *flight.Snapshot) {
	prev, next = snapshots().Draw(t, "prev"), snapshots().Draw(t, "next")
	// Of half of the pairs only one end's times differ: else hardly any two agree.
	if rapid.Bool().Draw(t, "times only") {
		end := next.Departure.Times
		next = with(prev, func(s *flight.Snapshot) { s.Departure.Times = end })
	}
	return prev, next
}

func TestDiffOfOneSnapshotIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots().Draw(t, "s")
		again := with(s, func(s *flight.Snapshot) { s.FetchedAt += 60_000 })
		if changes := flight.Diff(s, again); changes != nil {
			t.Fatalf("%+v", changes)
		}
	})
}

func TestDiffIsEmptyWhenFingerprintsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prev, next := pair(t)
		changes := flight.Diff(prev, next)
		if (prev.Fingerprint == next.Fingerprint) != (len(changes) == 0) {
			t.Fatalf("fingerprints %s, %s; changes %+v", prev.Fingerprint, next.Fingerprint, changes)
		}
	})
}

// TestDelayMovesWithATime: whoever sees the watched times change has seen every
// reason for a delay to change, so that a threshold is looked at in time.
func TestDelayMovesWithATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prev, next := pair(t)
		if flight.ToldBy(prev) != flight.ToldBy(next) && len(flight.Diff(prev, next)) == 0 {
			t.Fatalf("told %v, then %v, without a change", flight.ToldBy(prev), flight.ToldBy(next))
		}
	})
}

func TestDiffOrderIsFixed(t *testing.T) {
	rank := func(c flight.Change) int {
		if c.Type == flight.ChangeDelayDecreased {
			c.Type = flight.ChangeDelayIncreased // the two stand together
		}
		return slices.Index(flight.ChangeTypes, c.Type)
	}
	rapid.Check(t, func(t *rapid.T) {
		prev, next := pair(t)
		changes := flight.Diff(prev, next)
		if !slices.IsSortedFunc(changes, func(a, b flight.Change) int { return rank(a) - rank(b) }) {
			t.Fatalf("out of order: %+v", changes)
		}
		seen := map[string]bool{}
		for _, c := range changes {
			if id := string(c.Type) + " " + c.Path; seen[id] {
				t.Fatalf("%s twice", id)
			} else {
				seen[id] = true
			}
			if c.Message == "" || (c.DeltaMinutes != nil && *c.DeltaMinutes == 0) {
				t.Fatalf("an entry that says nothing: %+v", c)
			}
		}
	})
}

// TestChangesAppliedGiveTheNext: whoever applies the changes to what he knew of
// the snapshot before knows the watched fields of the next one.
func TestChangesAppliedGiveTheNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prev, next := pair(t)
		checkApplied(t, prev, next)
	})
}

// TestUpdatesAppliedGiveWhatCounts: the same holds from update to update of
// whatever an upstream says one after the other, with values that come and go
// and are held for a while.
func TestUpdatesAppliedGiveWhatCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, counts := utc("2026-03-10 20:00"), snapshots().Draw(t, "first")
		raw := counts
		var held []flight.Held
		for range rapid.IntRange(1, 10).Draw(t, "answers") {
			now = plus(now, time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes"))*time.Minute)
			if rapid.IntRange(0, 2).Draw(t, "news") == 0 {
				raw = snapshots().Draw(t, "raw")
			}
			said := raw
			for _, path := range slices.Sorted(maps.Keys(drops)) {
				if rapid.IntRange(0, 3).Draw(t, path) == 0 {
					said = with(said, drops[path])
				}
			}
			prev := counts
			counts, held = flight.Hold(prev, held, said, now, holdWindow)
			checkApplied(t, prev, counts)
		}
	})
}

func checkApplied(t *rapid.T, prev, next *flight.Snapshot) {
	known := fieldsOf(prev)
	for path := range known {
		if unwatched(path, prev) && !unwatched(path, next) && gateOf(path, next) == nil {
			known[path] = "" // a runway time that did not count, and takes the gate's place
		}
	}
	for _, c := range flight.Diff(prev, next) {
		known.apply(t, c)
	}
	for path, v := range fieldsOf(next) {
		if known[path] != v && !unwatched(path, next) {
			t.Fatalf("%s is %q after the changes, want %q", path, known[path], v)
		}
	}
}

// fields are the watched fields of a snapshot by path, as words; times to the
// minute.
type fields map[string]string

func fieldsOf(s *flight.Snapshot) fields {
	f := fields{
		"status.code": s.Status.Code, "status.phase": string(s.Status.Phase),
		"departure.gate": s.Departure.Gate, "departure.terminal": s.Departure.Terminal,
		"arrival.gate": s.Arrival.Gate, "arrival.terminal": s.Arrival.Terminal, "arrival.baggage": s.Arrival.Baggage,
		"equipment.iata": s.Equipment.IATA, "equipment.tailNumber": s.Equipment.TailNumber,
		"departure.airport.iata": s.Departure.Airport.IATA, "arrival.airport.iata": s.Arrival.Airport.IATA,
		"codeshares": fmt.Sprint(s.Codeshares), "diverted.airport.iata": "",
	}
	if s.Diverted != nil && s.Status.Diverted {
		f["diverted.airport.iata"] = s.Diverted.Airport.IATA
	}
	for end, e := range map[string]*flight.EndpointTimes{"departure": &s.Departure.Times, "arrival": &s.Arrival.Times} {
		for name, ft := range map[string]*flight.FlightTime{
			"scheduledGate": e.ScheduledGate, "estimatedGate": e.EstimatedGate, "actualGate": e.ActualGate,
			"scheduledRunway": e.ScheduledRunway, "estimatedRunway": e.EstimatedRunway, "actualRunway": e.ActualRunway,
		} {
			f[end+".times."+name] = minute(ft.At())
		}
	}
	return f
}

func minute(t flight.Time) string {
	if !t.Known() {
		return ""
	}
	return t.Std().Format("2006-01-02 15:04")
}

// apply does to the fields what a change says, and checks that its from holds.
func (f fields) apply(t *rapid.T, c flight.Change) {
	word := func(v any) string {
		switch v := v.(type) {
		case nil:
			return ""
		case flight.Time:
			return minute(v)
		}
		return fmt.Sprint(v)
	}
	switch {
	case c.Type == flight.ChangeDelayIncreased || c.Type == flight.ChangeDelayDecreased:
		return // follows from the times
	case c.Path == "status.phase" && c.Type != flight.ChangeStatus:
		return // a turning point; status.changed says the same
	}
	if got := word(c.From); got != f[c.Path] {
		t.Fatalf("%s: from %q, but it was %q", c.Path, got, f[c.Path])
	}
	f[c.Path] = word(c.To)
	if c.Type != flight.ChangeStatus {
		return
	}
	i := slices.IndexFunc(statuses, func(s flight.StatusInfo) bool {
		if c.Path == "status.code" {
			return s.Code == word(c.To)
		}
		return string(s.Phase) == word(c.To)
	})
	f["status.code"], f["status.phase"] = statuses[i].Code, string(statuses[i].Phase)
	if !slices.Contains([]string{"D", "R"}, f["status.code"]) {
		f["diverted.airport.iata"] = "" // it is not diverted any more
	}
}

// unwatched reports whether path is a runway time that counts for nothing: the
// gate's is known, and the delay rests on the gate pair or is unknown.
func unwatched(path string, s *flight.Snapshot) bool {
	gate := gateOf(path, s)
	if gate == nil {
		return false
	}
	t := &s.Departure.Times
	if strings.HasPrefix(path, "arrival") {
		t = &s.Arrival.Times
	}
	gatePair := t.ScheduledGate != nil && (t.EstimatedGate != nil || t.ActualGate != nil)
	_, known := t.Delay()
	return gatePair || !known
}

// gateOf returns the gate time beside the runway time at path, nil for other
// paths.
func gateOf(path string, s *flight.Snapshot) *flight.FlightTime {
	d, a := &s.Departure.Times, &s.Arrival.Times
	return map[string]*flight.FlightTime{
		"departure.times.scheduledRunway": d.ScheduledGate, "departure.times.estimatedRunway": d.EstimatedGate, "departure.times.actualRunway": d.ActualGate,
		"arrival.times.scheduledRunway": a.ScheduledGate, "arrival.times.estimatedRunway": a.EstimatedGate, "arrival.times.actualRunway": a.ActualGate,
	}[path]
}
