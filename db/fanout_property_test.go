package db_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// wish is what a subscription asks to be told of.
type wish struct {
	events    flight.ChangeSet
	threshold int
}

// hearing generates wishes, of which many are alike.
func hearing() *rapid.Generator[wish] {
	return rapid.Custom(func(t *rapid.T) wish {
		w := wish{flight.AllChanges, rapid.SampledFrom([]int{1, 5, 15}).Draw(t, "threshold")}
		if rapid.Bool().Draw(t, "filtered") {
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(flight.ChangeTypes), 1, 6, rapid.ID[flight.ChangeType]).Draw(t, "events")
			w.events, _ = flight.NewChangeSet(some...)
		}
		return w
	})
}

// said generates what an upstream says of a leg; values are drawn from few.
func said() *rapid.Generator[[]func(*flight.Snapshot)] {
	return rapid.Custom(func(t *rapid.T) []func(*flight.Snapshot) {
		edits := []func(*flight.Snapshot){gate(rapid.SampledFrom([]string{"", "B1", "B2"}).Draw(t, "gate"))}
		if rapid.Bool().Draw(t, "estimated") {
			edits = append(edits, late(rapid.IntRange(-3, 20).Draw(t, "late")))
		}
		if rapid.IntRange(0, 4).Draw(t, "cancelled") == 0 {
			edits = append(edits, func(s *flight.Snapshot) {
				s.Status = flight.StatusInfo{Code: flight.StatusCancelled, Phase: flight.PhaseCancelled}
			})
		}
		return append(edits, baggage(rapid.SampledFrom([]string{"", "7"}).Draw(t, "belt")))
	})
}

// Whoever else subscribes to a leg, and in whatever order they came, a
// subscription is told the same; and no update that it is told is empty.
func TestNobodyChangesWhatAnotherIsTold(t *testing.T) {
	fewer(t, 30) // each is a story told three times
	each(t, func(r *rig) {
		number := 0
		rapid.Check(r.T, func(t *rapid.T) {
			wishes := rapid.SliceOfN(hearing(), 1, 4).Draw(t, "wishes")
			answers := rapid.SliceOfN(said(), 2, 6).Draw(t, "answers")
			// play tells the story to those of the wishes, in their order.
			play := func(wishes []wish) [][]string {
				number++
				k := flight.Key{Carrier: "AA", Number: strconv.Itoa(number), Date: key.Date}
				r.now = epoch
				id := r.accept(r.answer(k, legOf(k, "JFK", "LHR", "", answers[0]...))).IDs[0]
				var subs []*flight.Subscription
				for _, w := range wishes {
					subs = append(subs, r.found(id, func(n *db.NewSubscription) {
						n.Key, n.Events, n.DelayThreshold = k, w.events, w.threshold
					}))
				}
				for _, edits := range answers[1:] {
					a := r.answer(k, legOf(k, "JFK", "LHR", "", edits...))
					a.Hold = 2 * time.Minute // of the minute that each answer takes
					r.accept(a)
				}
				told := make([][]string, len(subs))
				for i, s := range subs {
					told[i] = r.heard(t, s.ID)
				}
				return told
			}
			together := play(wishes)
			backwards := slices.Clone(wishes)
			slices.Reverse(backwards)
			reversed := play(backwards)
			slices.Reverse(reversed)
			i := rapid.IntRange(0, len(wishes)-1).Draw(t, "alone")
			alone := play(wishes[i : i+1])[0]
			if !slices.Equal(together[i], alone) || !slices.Equal(reversed[i], alone) {
				t.Fatalf("alone it is told\n%q, with others\n%q, in the other order\n%q", alone, together[i], reversed[i])
			}
		})
		r.sound()
	})
}

// fewer has the properties of a test checked n times, unless the command line
// says how often.
func fewer(t *testing.T, n int) {
	checks := flag.Lookup("rapid.checks")
	if was := checks.Value.String(); was == checks.DefValue {
		if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set("rapid.checks", was) })
	}
}

// heard returns what a subscription was told, one line an event.
func (r *rig) heard(t *rapid.T, id string) (lines []string) {
	r.Helper()
	log, _, err := r.d.SentEvents(r.Context(), id, 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log {
		if e.Type == flight.EventUpdated && len(e.Changes) == 0 {
			t.Fatalf("%s tells of nothing", e.ID)
		}
		line := string(e.Type)
		for _, c := range e.Changes {
			line += fmt.Sprintf("; %s %s: %s", c.Type, c.Path, c.Message)
		}
		lines = append(lines, line)
	}
	return lines
}
