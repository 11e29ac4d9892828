package flight_test

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

// The simulation watches every flight of a recorded day in virtual time: the
// real schedule, Diff, Tell and WatchEnded, asking the replay upstream what was
// known at each moment. Nothing waits, and one seed gives one result.

// kind is what the delay to detection is told apart by, the weightiest first.
type kind int

const (
	departure kind = iota
	arrival
	cancellation
	diversion // or redirection
	delayed   // the departure's delay alone
	kinds
)

var kindNames = [kinds]string{"departure", "arrival", "cancellation", "diversion", "delay"}

// recordedFlight is one leg of a recorded day.
type recordedFlight struct {
	at    func(now flight.Time) *flight.Snapshot // what was known then
	from  flight.Time                            // a day before its scheduled departure
	flown bool
	turns []turn // in order
}

// turn is a moment of the upstream's own record at which a subscriber with the
// default threshold is told something, when the leg is looked at just then.
type turn struct {
	at   flight.Time
	kind kind
}

// assumption alters what the replay upstream says is known when. The zero
// value leaves it as it is.
type assumption struct {
	name        string
	vague       bool // a departure's estimates are off by up to 20 minutes, a flight's all by the same
	blind       bool // there are none: the schedule is all that is known before the departure
	earlyCancel bool // a cancellation is known at any time of the last 24 hours, not an hour before
}

// recordedDay reads a day's file. Every nth flight is taken.
func recordedDay(t testing.TB, date string, nth int, a assumption) []recordedFlight {
	t.Helper()
	day, err := replay.New(replay.Config{CSV: bytes.NewReader(replay.Day(date))})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key flight.Key, now flight.Time) flight.Legs {
		legs, err := day.Legs(context.Background(), key, now)
		if err != nil {
			panic(err)
		}
		return legs
	}
	_, end := day.Span()
	var flights []recordedFlight
	for i, key := range day.Flights() {
		if i%nth != 0 {
			continue
		}
		for leg, last := range ask(key, end) {
			f := recordedFlight{
				at:    func(now flight.Time) *flight.Snapshot { return ask(key, now)[leg] },
				from:  plus(last.Departure.Times.ScheduledGate.At(), -24*time.Hour),
				flown: last.Departed(),
			}
			earlier := a.alter(&f, last, random(i))
			f.foresee(last, earlier)
			flights = append(flights, f)
		}
	}
	return flights
}

// random is the randomness of the ith flight.
func random(i int) *rand.Rand { return rand.New(rand.NewPCG(2013, uint64(i))) }

// alter makes f tell what is known under the assumption, and returns by how
// much earlier it is.
func (a assumption) alter(f *recordedFlight, last *flight.Snapshot, r *rand.Rand) (earlier time.Duration) {
	known := f.at
	if a.earlyCancel && last.Status.Cancelled {
		earlier = time.Duration(r.Float64() * 23 * float64(time.Hour))
		f.at = func(now flight.Time) *flight.Snapshot { return known(plus(now, earlier)) }
	}
	if !a.vague && !a.blind {
		return earlier
	}
	off := time.Duration(r.IntN(41)-20) * time.Minute
	f.at = func(now flight.Time) *flight.Snapshot {
		s := known(now)
		t := &s.Departure.Times
		if s.Departed() || t.EstimatedGate == nil {
			return s
		}
		if t.EstimatedGate = on(plus(t.EstimatedGate.UTC, off), newYork); a.blind {
			t.EstimatedGate = nil
		}
		s.Complete()
		return s
	}
	return earlier
}

// foresee lists the turns of f, whose last snapshot has all of its history.
func (f *recordedFlight) foresee(last *flight.Snapshot, earlier time.Duration) {
	standing := f.at(f.from)
	told := flight.ToldBy(standing)
	for _, entry := range slices.Backward(last.Timeline) {
		at := plus(entry.OccurredAt, -earlier)
		next := f.at(at)
		var changes []flight.Change
		changes, told = flight.Tell(flight.Diff(standing, next), next, flight.AllChanges, flight.DefaultDelayThreshold, told)
		if k, ok := kindOf(changes); ok {
			f.turns = append(f.turns, turn{at, k})
		}
		standing = next
	}
}

// kindOf returns the weightiest kind among changes.
func kindOf(changes []flight.Change) (k kind, ok bool) {
	k = kinds
	for _, c := range changes {
		switch c.Type {
		case flight.ChangeDeparted:
			k = min(k, departure)
		case flight.ChangeArrived:
			k = min(k, arrival)
		case flight.ChangeCancelled:
			k = min(k, cancellation)
		case flight.ChangeDiverted:
			k = min(k, diversion)
		case flight.ChangeDelayIncreased, flight.ChangeDelayDecreased:
			k = min(k, delayed)
		}
	}
	return k, k != kinds
}

// planner says when a leg that stands at s is looked at next.
type planner func(s *flight.Snapshot, now flight.Time, jitter float64) flight.Time

// under is the planner of a schedule.
func under(c flight.Schedule) planner {
	return func(s *flight.Snapshot, now flight.Time, jitter float64) flight.Time {
		c := c // flights are watched at the same time
		c.Jitter = jitter
		return c.Next(s, now).At
	}
}

// watched is how the watch of one flight went.
type watched struct {
	calls int
	after [kinds][]time.Duration // from each turn to the look that found it
	told  [kinds]int             // how often subscribers were told of the kind
}

// watch looks at f until its watch ends. Looks do not begin on a whole minute,
// as flights' times do.
func (f *recordedFlight) watch(next planner, r *rand.Rand) watched {
	now := plus(f.from, time.Duration(r.Float64()*float64(15*time.Minute)))
	standing := f.at(now)
	w := watched{calls: 1}
	turns := f.turns
	for len(turns) > 0 && turns[0].at <= now {
		turns = turns[1:] // it stood so from the first look
	}
	told := flight.ToldBy(standing)
	for {
		if _, ended := flight.WatchEnded(standing, now); ended {
			return w
		}
		now = next(standing, now, r.Float64())
		w.calls++
		s := f.at(now)
		for ; len(turns) > 0 && turns[0].at <= now; turns = turns[1:] {
			k := turns[0].kind
			w.after[k] = append(w.after[k], now.Std().Sub(turns[0].at.Std()))
		}
		var changes []flight.Change
		changes, told = flight.Tell(flight.Diff(standing, s), s, flight.AllChanges, flight.DefaultDelayThreshold, told)
		for _, c := range changes {
			if k, ok := kindOf([]flight.Change{c}); ok {
				w.told[k]++
			}
		}
		standing = s
	}
}

// outcome is how the watches of a day went.
type outcome struct {
	flights, flown    int
	calls, callsFlown int
	after             [kinds][]time.Duration // sorted
	told              [kinds]int
}

// simulate watches the flights, on all processors.
func simulate(flights []recordedFlight, next planner) outcome {
	each := make([]watched, len(flights))
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				each[i] = flights[i].watch(next, random(i))
			}
		})
	}
	for i := range flights {
		work <- i
	}
	close(work)
	wg.Wait()
	o := outcome{flights: len(flights)}
	for i, w := range each {
		o.calls += w.calls
		if flights[i].flown {
			o.flown++
			o.callsFlown += w.calls
		}
		for k := range w.after {
			o.after[k] = append(o.after[k], w.after[k]...)
			o.told[k] += w.told[k]
		}
	}
	return o
}

// oracle is the outcome of looking exactly when something changes.
func oracle(flights []recordedFlight) outcome {
	o := outcome{flights: len(flights)}
	for i := range flights {
		f := &flights[i]
		o.calls += 1 + len(f.turns)
		if f.flown {
			o.flown++
			o.callsFlown += 1 + len(f.turns)
		}
		for _, t := range f.turns {
			o.after[t.kind] = append(o.after[t.kind], 0)
		}
	}
	return o
}

// perFlight returns the calls for each flight, and for each that flew.
func (o *outcome) perFlight() (all, flown float64) {
	return float64(o.calls) / float64(o.flights), float64(o.callsFlown) / float64(cmp.Or(o.flown, 1))
}

// quantile returns the delay that the share q of the changes of these kinds was
// found within.
func (o *outcome) quantile(q float64, of ...kind) time.Duration {
	var all []time.Duration
	for _, k := range of {
		all = append(all, o.after[k]...)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

// bounds of the adaptive schedule.
const (
	mostAtHand    = 3 * time.Minute  // to a departure or an arrival, for 95 %
	mostCancelled = 10 * time.Minute // to a cancellation, for 95 %
	mostCalls     = 60               // for a flight that flew
	leastSaving   = 6                // times fewer calls than the fixed schedule that finds as much
)

// TestWatchADay holds the bounds of the adaptive schedule on both recorded
// days, and the fixed schedule's calls on a cut of them.
func TestWatchADay(t *testing.T) {
	for _, day := range benchDays {
		t.Run(day.date, func(t *testing.T) {
			t.Parallel()
			flights := recordedDay(t, day.date, 1, assumption{})
			o := simulate(flights, under(flight.Schedule{}))
			all, flown := o.perFlight()
			if flown > mostCalls {
				t.Errorf("%.1f calls for a flight that flew, want at most %d", flown, mostCalls)
			}
			for k, most := range map[kind]time.Duration{departure: mostAtHand, arrival: mostAtHand, cancellation: mostCancelled} {
				if got := o.quantile(.95, k); got > most {
					t.Errorf("95 %% of the kind %s found within %v, want %v", kindNames[k], got, most)
				}
			}
			checkTold(t, &o)
			if best := oracle(flights); o.calls <= best.calls {
				t.Errorf("%d calls, and who knows everything needs %d", o.calls, best.calls)
			}
			cut := recordedDay(t, day.date, 20, assumption{})
			fixed := simulate(cut, under(flight.Schedule{Fixed: mostAtHand}))
			if got := fixed.quantile(.95, departure, arrival); got > mostAtHand {
				t.Errorf("fixed at %v finds 95 %% within %v", mostAtHand, got)
			}
			if fixedAll, fixedFlown := fixed.perFlight(); fixedAll < leastSaving*all || fixedFlown < leastSaving*flown {
				t.Errorf("calls: adaptive %.1f and %.1f, fixed %.1f and %.1f", all, flown, fixedAll, fixedFlown)
			}
		})
	}
}

// checkTold: whatever the schedule, each departure, arrival, cancellation and
// diversion is told once.
func checkTold(t *testing.T, o *outcome) {
	t.Helper()
	for _, k := range []kind{departure, arrival, cancellation, diversion} {
		if o.told[k] != len(o.after[k]) || len(o.after[k]) == 0 {
			t.Errorf("%s: told %d times, happened %d times", kindNames[k], o.told[k], len(o.after[k]))
		}
	}
}

// TestWatchUnderLoad: a short call budget saves calls, and a load up to a third
// costs departures and arrivals nothing.
func TestWatchUnderLoad(t *testing.T) {
	flights := recordedDay(t, replay.ShippedDate, 4, assumption{})
	var before outcome
	for i, load := range []float64{0, 1. / 3, 2. / 3, 1} {
		o := simulate(flights, under(flight.Schedule{Load: load}))
		checkTold(t, &o)
		if i > 0 && o.callsFlown > before.callsFlown*19/20 {
			t.Errorf("load %.2f: %d calls after %d", load, o.callsFlown, before.callsFlown)
		}
		if got := o.quantile(.95, departure, arrival); load < 0.5 && got > mostAtHand {
			t.Errorf("load %.2f: 95 %% found within %v", load, got)
		}
		before = o
	}
}
