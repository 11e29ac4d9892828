package flight_test

import (
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"pgregory.net/rapid"
)

// told is what one subscription was sent of delays.
func told(t testing.TB, changes []flight.Change) []string {
	t.Helper()
	var out []string
	for _, c := range changes {
		if c.Path == "departure.delayMinutes" || c.Path == "arrival.delayMinutes" {
			out = append(out, string(c.Type)+" "+c.Path+" "+encoded(t, c.From)+"→"+encoded(t, c.To))
		}
	}
	return out
}

// TestTellDelays plays a sequence of departure and arrival delays to a
// subscription.
func TestTellDelays(t *testing.T) {
	const inc, dec = "delay.increased ", "delay.decreased "
	const dep, arr = "departure.delayMinutes ", "arrival.delayMinutes "
	all := flight.AllChanges
	noDelays, _ := flight.NewChangeSet(flight.ChangeDepartureEstimated)
	onlyIncrease, _ := flight.NewChangeSet(flight.ChangeDelayIncreased)
	for _, c := range []struct {
		name      string
		filter    flight.ChangeSet
		threshold int
		delays    [][2]int // departure, arrival; the first is the baseline
		want      [][]string
	}{
		{"below the threshold", all, 5, [][2]int{{0, 0}, {4, 0}, {-4, 0}}, [][]string{nil, nil}},
		{"at the threshold", all, 5, [][2]int{{0, 0}, {5, 0}}, [][]string{{inc + dep + "0→5"}}},
		{"creeping by two adds up", all, 5, [][2]int{{0, 0}, {2, 0}, {4, 0}, {6, 0}, {8, 0}, {10, 0}, {11, 0}},
			[][]string{nil, nil, {inc + dep + "0→6"}, nil, nil, {inc + dep + "6→11"}}},
		{"a swing back is a decrease from what was told", all, 5, [][2]int{{0, 0}, {20, 0}, {17, 0}, {14, 0}},
			[][]string{{inc + dep + "0→20"}, nil, {dec + dep + "20→14"}}},
		{"there and back between two tellings is none", all, 5, [][2]int{{0, 0}, {4, 0}, {0, 0}, {4, 0}}, [][]string{nil, nil, nil}},
		{"both ends, each by itself", all, 5, [][2]int{{0, 0}, {10, 4}, {10, 8}, {2, 8}},
			[][]string{{inc + dep + "0→10"}, {inc + arr + "0→8"}, {dec + dep + "10→2"}}},
		{"both ends at once, the departure first", all, 5, [][2]int{{10, 0}, {0, 10}}, [][]string{{dec + dep + "10→0", inc + arr + "0→10"}}},
		{"early is a decrease", all, 5, [][2]int{{0, 0}, {0, -7}}, [][]string{{dec + arr + "0→-7"}}},
		{"a filter without delays keeps what was told", noDelays, 5, [][2]int{{0, 0}, {30, 30}, {60, 60}}, [][]string{nil, nil}},
		{"a filter with increases alone measures from the last one sent", onlyIncrease, 5, [][2]int{{0, 0}, {30, 0}, {10, 0}, {33, 0}, {35, 0}},
			[][]string{{inc + dep + "0→30"}, nil, nil, {inc + dep + "30→35"}}},
		{"a threshold of one tells every minute", all, 1, [][2]int{{0, 0}, {1, 0}, {1, 0}, {2, 0}}, [][]string{{inc + dep + "0→1"}, nil, {inc + dep + "1→2"}}},
		{"the largest threshold", all, flight.MaxDelayThreshold, [][2]int{{0, 0}, {239, 0}, {240, 0}}, [][]string{nil, {inc + dep + "0→240"}}},
		{"no threshold tells of no change that is none", all, 0, [][2]int{{5, 5}, {5, 6}}, [][]string{{inc + arr + "5→6"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			prev := base(late(c.delays[0][0], c.delays[0][1]))
			knows := flight.ToldBy(prev)
			for i, d := range c.delays[1:] {
				next := base(late(d[0], d[1]))
				var sent []flight.Change
				sent, knows = flight.Tell(flight.Diff(prev, next), next, c.filter, c.threshold, knows)
				if got := told(t, sent); !slices.Equal(got, c.want[i]) {
					t.Errorf("step %d, to %v: told %v, want %v", i+1, d, got, c.want[i])
				}
				prev = next
			}
		})
	}
}

func TestToldByUnknownDelays(t *testing.T) {
	if got := flight.ToldBy(base()); got != (flight.Told{}) {
		t.Errorf("unknown delays are told as %+v, want 0 and 0", got)
	}
	if got := flight.ToldBy(base(late(-3, 12))); got != (flight.Told{Departure: -3, Arrival: 12}) {
		t.Errorf("told %+v", got)
	}
	// The arrival of a diverted flight has no delay; nothing is told of it, and
	// what was told stands.
	before := flight.Told{Departure: 0, Arrival: 40}
	gone := base(late(0, 60), status(flight.StatusDiverted, flight.PhaseDiverted))
	sent, after := flight.Tell(flight.Diff(base(late(0, 40)), gone), gone, flight.AllChanges, 5, before)
	if len(told(t, sent)) > 0 || after != before {
		t.Errorf("told %v, then knows %+v", told(t, sent), after)
	}
}

// TestTellFilter lets one type after the other pass.
func TestTellFilter(t *testing.T) {
	prev := base(late(0, 30), status(flight.StatusCancelled, flight.PhaseCancelled))
	next := base(late(20, 10), status(flight.StatusActive, flight.PhaseEnRoute), func(s *flight.Snapshot) {
		s.Departure.Gate, s.Equipment.TailNumber, s.Arrival.Airport.IATA = "B1", "N1", "LGW"
	})
	changes := flight.Diff(prev, next)
	for _, only := range flight.ChangeTypes {
		filter, ok := flight.NewChangeSet(only)
		if !ok {
			t.Fatalf("%s is no change type", only)
		}
		want := []flight.Change(nil)
		for _, c := range changes {
			if c.Type == only {
				want = append(want, c)
			}
		}
		got, _ := flight.Tell(changes, next, filter, 5, flight.ToldBy(prev))
		if encoded(t, got) != encoded(t, want) {
			t.Errorf("%s:\n got %s\nwant %s", only, encoded(t, got), encoded(t, want))
		}
	}
	got, _ := flight.Tell(changes, next, flight.AllChanges, 5, flight.ToldBy(prev))
	if encoded(t, got) != encoded(t, changes) {
		t.Errorf("all:\n got %s\nwant %s", encoded(t, got), encoded(t, changes))
	}
	if got, _ := flight.Tell(changes, next, 0, 5, flight.ToldBy(prev)); got != nil {
		t.Errorf("an empty filter lets pass %s", encoded(t, got))
	}
}

func TestChangeSet(t *testing.T) {
	if _, ok := flight.NewChangeSet(flight.ChangeStatus, "flight.exploded"); ok {
		t.Error("an unknown type makes a set")
	}
	set, ok := flight.NewChangeSet(flight.ChangeCodeshares, flight.ChangeStatus, flight.ChangeCodeshares)
	if got := set.Types(); !ok || !slices.Equal(got, []flight.ChangeType{flight.ChangeStatus, flight.ChangeCodeshares}) {
		t.Errorf("types %v", got)
	}
	if !set.Has(flight.ChangeStatus) || set.Has(flight.ChangeTail) || set.Has("flight.exploded") {
		t.Error("Has is wrong")
	}
	if all, _ := flight.NewChangeSet(flight.ChangeTypes...); all != flight.AllChanges {
		t.Errorf("AllChanges is %b, all types are %b", flight.AllChanges, all)
	}
}

// TestThresholdProperty: a subscription is told exactly when the difference to
// what it was last told reaches the threshold, at either end.
func TestThresholdProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.IntRange(flight.MinDelayThreshold, 12).Draw(t, "threshold")
		prev := base()
		knows := flight.ToldBy(prev)
		last := map[string]int{"departure.delayMinutes": 0, "arrival.delayMinutes": 0}
		for range rapid.IntRange(1, 12).Draw(t, "polls") {
			next := with(prev, func(s *flight.Snapshot) {
				for _, e := range []struct {
					times *flight.EndpointTimes
					from  flight.Time
				}{{&s.Departure.Times, scheduledOut}, {&s.Arrival.Times, scheduledIn}} {
					switch d := rapid.IntRange(-15, 16).Draw(t, "delay"); d {
					case 16:
						e.times.EstimatedGate = nil
					default:
						e.times.EstimatedGate = on(plus(e.from, time.Duration(d)*time.Minute), london)
					}
				}
			})
			var sent []flight.Change
			sent, knows = flight.Tell(flight.Diff(prev, next), next, flight.AllChanges, threshold, knows)
			for path, now := range map[string]*int{"departure.delayMinutes": next.Departure.DelayMinutes, "arrival.delayMinutes": next.Arrival.DelayMinutes} {
				i := slices.IndexFunc(sent, func(c flight.Change) bool { return c.Path == path })
				due := now != nil && max(*now-last[path], last[path]-*now) >= threshold
				if due != (i >= 0) {
					t.Fatalf("%s: last told %d, now %v, threshold %d: sent %+v", path, last[path], now, threshold, sent)
				}
				if i < 0 {
					continue
				}
				c := sent[i]
				if c.From != last[path] || c.To != *now || *c.DeltaMinutes != *now-last[path] || (c.Type == flight.ChangeDelayIncreased) != (*now > last[path]) {
					t.Fatalf("%s: last told %d, now %d: sent %+v", path, last[path], *now, c)
				}
				last[path] = *now
			}
			prev = next
		}
	})
}
