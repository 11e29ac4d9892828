package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

// TestFlappingDay plays a real day twice through the running service, with
// every flight subscribed: once with an upstream that is always there, and once
// with one that is down half of the time, some minutes each, and another behind
// it that describes the same flights in other words and fails at times, too.
// Who subscribed to the second day may have heard nothing that was never so, in
// no other order, and of what happens once just as often. In the
// ordinary run it is a cut of the day; FLIGHTWIRE_FLAPPING_DAY=full takes 500
// flights.
func TestFlappingDay(t *testing.T) {
	t.Parallel()
	full := os.Getenv("FLIGHTWIRE_FLAPPING_DAY") == "full"
	eachMode(t, func(t *testing.T, m mode) {
		t.Parallel()
		rows, speed := readDay(t, replay.Shipped()), 600.0
		if full {
			rows = rows[:500]
		} else {
			rows, speed = shortFlights(cutDay(rows)), 1600
		}
		modes := []mode{m, embeddedMode(t)}
		if m.name == "servers" {
			modes[1] = serversMode(t)
		}
		days := make([]*flappingDay, 2)
		t.Run("days", func(t *testing.T) {
			for i, faults := range []bool{false, true} {
				t.Run(fmt.Sprintf("faults=%v", faults), func(t *testing.T) {
					t.Parallel()
					days[i] = playDay(t, modes[i], rows, speed, faults)
				})
			}
		})
		if !t.Failed() {
			compareDays(t, m, rows, days[0], days[1])
		}
	})
}

// shortFlights are the flights that take less than three hours.
func shortFlights(rows []dayRow) []dayRow {
	return slices.DeleteFunc(rows, func(r dayRow) bool { return r.schedArr.Sub(r.schedDep) > 3*time.Hour })
}

// flappingDay is what subscribers heard of a day, and how its upstreams were.
type flappingDay struct {
	first    *replay.Source
	told     [][]heard // by row
	switches int       // from one upstream to the other, of one flight each
	failures int
}

func playDay(t *testing.T, m mode, rows []dayRow, speed float64, faults bool) *flappingDay {
	begin, takes := worldOf(rows, speed)
	w := &weathercock{asked: map[flight.Key]string{}}
	c := Config{
		DataDir: t.TempDir(), DatabaseURL: m.setting("DATABASE_URL"), RedisURL: m.setting("REDIS_URL"), LegacyPrefix: "legacy",
		Upstreams: []string{replayed}, ReplayFile: dayFile(t, rows), Speed: speed, Start: begin, Hold: flight.DefaultHold,
		upstreams: func(made []upstream.Source) []upstream.Source {
			w.from = made[0].(*replay.Source)
			if !faults {
				return []upstream.Source{view{w, "first", firstView, nil}}
			}
			return []upstream.Source{view{w, "first", firstView, firstIsDown}, view{w, "second", secondView, secondIsDown}}
		},
	}
	first := slices.MinFunc(rows, func(a, b dayRow) int { return a.schedDep.Compare(b.schedDep) })
	w.begins = flight.TimeOf(first.schedDep.Add(-time.Hour)) // subscribing has no faults: both days begin alike
	r, ear := start(t, c), newEar(t)
	subs := subscribeAll(t, r.client, ear, rows)
	waitForDay(t, ear, rows, subs, time.Now().Add(takes))
	r.stop()
	for _, f := range ear.faults {
		t.Error(f)
	}
	day := &flappingDay{first: w.from, switches: w.switches, failures: w.failures}
	for _, id := range subs {
		day.told = append(day.told, ear.events[id])
	}
	return day
}

// weathercock is what the two upstreams of a day share.
type weathercock struct {
	from   *replay.Source
	begins flight.Time // before which nothing fails

	mu                 sync.Mutex
	asked              map[flight.Key]string // who answered the last time
	switches, failures int
}

// view is one upstream of a day: what the replay tells, in words of its own,
// while it is not down.
type view struct {
	*weathercock
	name string
	says func(*flight.Snapshot)
	down func(key flight.Key, now flight.Time) bool // nil: never
}

func (v view) Name() string         { return v.name }
func (v view) Floor() time.Duration { return 0 }

func (v view) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	if v.down != nil && now >= v.begins && v.down(key, now) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.failures++
		return nil, flight.Errorf(flight.CodeUpstreamUnavailable, "%s is down.", v.name)
	}
	legs, err := v.from.Legs(ctx, key, now)
	if err != nil {
		return nil, err
	}
	for _, s := range legs {
		v.says(s)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.asked[key]; last != "" && last != v.name {
		v.switches++
	}
	v.asked[key] = v.name
	return upstream.Finish(key, legs, now)
}

// phase is the minute of a flight's own clock, so that not all fail together.
func phase(key flight.Key, now flight.Time) int {
	shift := 0
	for _, c := range key.Number {
		shift = shift*10 + int(c-'0')
	}
	return now.Std().Add(time.Duration(shift) * time.Minute).Minute()
}

// The first upstream is down for four minutes of eight. The second one is down
// for the first two of the minutes in which the first one is not.
func firstIsDown(key flight.Key, now flight.Time) bool  { return phase(key, now)/4%2 == 1 }
func secondIsDown(key flight.Key, now flight.Time) bool { return phase(key, now)%8 < 2 }

// firstView adds what the file of the day has not: gates, terminals, a type.
func firstView(s *flight.Snapshot) {
	s.Departure.Gate, s.Departure.Terminal, s.Arrival.Gate = "B7", "4", "12"
	s.Equipment.IATA = "738"
	if s.Status.Phase == flight.PhaseArrived {
		s.Arrival.Baggage = "3"
	}
}

// secondView is what another upstream makes of the same: its moments have
// seconds, it spells gates in another way, names the type by another code, has
// its own ids, and knows no terminals, belts and tail numbers.
func secondView(s *flight.Snapshot) {
	for _, end := range []*flight.Endpoint{&s.Departure, &s.Arrival, s.Diverted} {
		if end == nil {
			continue
		}
		t := &end.Times
		for _, at := range []**flight.FlightTime{&t.ScheduledGate, &t.EstimatedGate, &t.ActualGate} {
			if *at != nil {
				c := **at
				c.UTC += 25_000
				*at = &c
			}
		}
	}
	s.ProviderFlightID = "other-" + s.ProviderFlightID
	s.Departure.Gate, s.Arrival.Gate = "Gate B07", "012"
	s.Equipment.TailNumber, s.Equipment.IATA = "", "B738"
}

// Of the events and changes that a flight has a number of, those that both
// upstreams know of, and those that one of them may never hear of.
var (
	justAsOften = []string{"subscription.created", "subscription.completed", "flight.departed", "flight.arrived", "flight.cancelled", "flight.diverted", "flight.reinstated"}
	atMost      = []string{
		"departure.gate.changed", "departure.terminal.changed", "arrival.gate.changed", "arrival.terminal.changed", "arrival.baggage.changed",
		"aircraft.changed", "aircraft.tail.changed", "route.changed", "codeshares.changed", "departure.scheduled.changed", "arrival.scheduled.changed",
	}
)

func compareDays(t *testing.T, m mode, rows []dayRow, plain, flapping *flappingDay) {
	values := 0
	for i, r := range rows {
		want, _ := tally(t, r, plain.told[i])
		got, knows := tally(t, r, flapping.told[i])
		for _, kind := range slices.Concat(justAsOften, atMost) {
			if got[kind] > want[kind] || got[kind] < want[kind] && slices.Contains(justAsOften, kind) {
				t.Errorf("%s: heard %s %d times, without the faults %d times", r.name(), kind, got[kind], want[kind])
			}
		}
		so := plain.everSo(t, r)
		heardOf := map[string][]string{}
		for _, h := range flapping.told[i] {
			for _, c := range h.Changes {
				values++
				heardOf[c.Path] = append(heardOf[c.Path], word(c.To))
			}
		}
		for path, told := range heardOf {
			told = slices.Compact(told) // a change of phase has several types
			if !inOrder(told, so[path]) {
				t.Errorf("%s: %s was told to be %q, which it never was, or not in this order: %q", r.name(), path, told, so[path])
			}
		}
		if r.status == "landed" {
			for path, at := range map[string]time.Time{"departure.times.actualGate": r.actDep, "arrival.times.actualGate": r.actArr} {
				if word(knows[path]) != at.Format("2006-01-02T15:04") {
					t.Errorf("%s: %s was told to be %v, the file says %v", r.name(), path, knows[path], at)
				}
			}
		}
	}
	if flapping.switches < len(rows)/2 {
		t.Errorf("%d flights, %d switches: this shows little", len(rows), flapping.switches)
	}
	if !t.Failed() {
		fmt.Printf("flapping day, %s: %d flights, %d failures of the upstreams, %d switches between them, %d values told, none of them false\n",
			m.name, len(rows), flapping.failures, flapping.switches, values)
	}
}

// word is a told value, times to the minute.
func word(v any) string {
	s := fmt.Sprint(v)
	if at, err := time.Parse("2006-01-02T15:04:05.000Z", s); err == nil {
		return at.Format("2006-01-02T15:04")
	}
	return s
}

// everSo returns what was so of a flight minute by minute, by the paths of
// changes: the values that somebody who never looks away is told.
func (d *flappingDay) everSo(t *testing.T, r dayRow) map[string][]string {
	so := map[string][]string{}
	add := func(path string, v any) {
		if said := word(v); len(so[path]) == 0 || so[path][len(so[path])-1] != said {
			so[path] = append(so[path], said)
		}
	}
	var last *flight.Snapshot
	until := r.schedArr
	if r.actArr.After(until) {
		until = r.actArr
	}
	for at := r.schedDep.Add(-3 * time.Hour); at.Before(until.Add(12 * time.Hour)); at = at.Add(time.Minute) {
		now := flight.TimeOf(at)
		legs, err := d.first.Legs(t.Context(), flight.Key{Carrier: r.carrier, Number: r.number, Date: r.date}, now)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(legs, func(s *flight.Snapshot) bool {
			return s.Departure.Airport.IATA == r.origin && s.Arrival.Airport.IATA == r.dest
		})
		s := legs[i]
		firstView(s)
		s.Complete()
		if last != nil {
			for _, c := range flight.Diff(last, s) {
				add(c.Path, c.To)
			}
		}
		for path, e := range map[string]*flight.Endpoint{"departure": &s.Departure, "arrival": &s.Arrival} {
			if e.DelayMinutes != nil {
				add(path+".delayMinutes", *e.DelayMinutes)
			}
		}
		last = s
	}
	return so
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
