package db_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// The estimate of the arrival goes away and comes back with the same value
// seven times in four and a half hours, and moves five minutes to and fro, as a
// long-haul flight's did. The subscriber hears of the moves and of nothing
// else; every answer is in the history as it was.
func TestFlappingEstimate(t *testing.T) {
	each(t, func(r *rig) {
		t := r.T
		estimate := func(minutes int) func(*flight.Snapshot) {
			return func(s *flight.Snapshot) {
				at := s.Arrival.Times.ScheduledGate.UTC + flight.Time(minutes)*minute
				s.Arrival.Times.EstimatedGate = &flight.FlightTime{UTC: at}
			}
		}
		accept := func(after time.Duration, s *flight.Snapshot) {
			r.now += flight.Time(after.Milliseconds()) - minute
			a := r.answer(key, s)
			a.Hold = 30 * time.Minute
			r.accept(a)
		}
		id := r.say(leg(estimate(10))).IDs[0]
		sub := r.found(id)
		r.told(sub.ID)
		last := 10
		for i, next := range []int{10, 15, 15, 10, 10, 15, 10} { // what it is when it is back
			accept(20*time.Minute, leg())
			if st := r.standing(); st.Legs[0].Arrival.Times.EstimatedGate == nil {
				t.Fatalf("%d: what vanished does not count", i)
			}
			if told := r.told(sub.ID); len(told) != 0 {
				t.Fatalf("%d: it hears that the value went away: %q", i, told)
			}
			accept(18*time.Minute, leg(estimate(next)))
			told := r.told(sub.ID)
			if next == last && len(told) != 0 {
				t.Fatalf("%d: it hears that the value is back: %q", i, told)
			}
			if next != last && (len(told) != 1 || !strings.HasPrefix(told[0], "flight.updated: Estimated arrival changed")) {
				t.Fatalf("%d: of %d after %d it hears %q", i, next, last, told)
			}
			last = next
		}
		log, _, err := r.d.History(t.Context(), id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, k := range log {
			if (k.Said.Arrival.Times.EstimatedGate == nil) != k.Held {
				t.Errorf("version %d is kept as %s, held: %v", k.Version, k.Said.Encode(), k.Held)
			}
			if k.Held {
				held++
			}
		}
		if held != 7 {
			t.Fatalf("%d answers without the value are kept, want 7", held)
		}
		// One that stays away is told when half an hour has passed.
		accept(time.Minute, leg())
		accept(29*time.Minute, leg())
		if told := r.told(sub.ID); len(told) != 0 {
			t.Fatalf("after 29 minutes it hears %q", told)
		}
		accept(time.Minute, leg())
		told := r.told(sub.ID)
		if len(told) != 1 || !strings.HasPrefix(told[0], "flight.updated: Estimated arrival") {
			t.Fatalf("after 30 minutes it hears %q", told)
		}
		r.sound()
	})
}
