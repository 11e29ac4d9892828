package jobs_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// TestBenchDelivery prints how long it takes from an upstream's answer to the
// receipt of the webhook: of one subscription, and of a thousand of one flight.
func TestBenchDelivery(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("a benchmark: set FLIGHTWIRE_BENCH=1")
	}
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		benchOne(t, m)
	})
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		benchMany(t, m, 1000)
	})
}

func benchOne(t *testing.T, m dbtest.Mode) {
	r := newRig(t, m, time.Hour)
	recv := newReceiver(t, func(int) int { return 204 })
	r.source.say(leg())
	r.subscribe(t, r.account(t), recv.URL)
	recv.next(t)
	var took []time.Duration
	for i := range 200 {
		changed := leg()
		changed.Departure.Gate = fmt.Sprintf("G%d", i)
		r.source.say(changed)
		start := time.Now()
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil {
			t.Fatal(err)
		}
		recv.next(t)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	fmt.Printf("%s: change seen to webhook received, idle: median %v, 99th percentile %v (%d changes)\n", m.Name, took[len(took)/2], took[len(took)*99/100], len(took))
}

func benchMany(t *testing.T, m dbtest.Mode, n int) {
	r := newRig(t, m, time.Hour)
	recv := newReceiver(t, func(int) int { return 204 })
	r.source.say(leg())
	account := r.account(t)
	st, err := r.intake.Ask(t.Context(), key, false)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := m.DB.CreateSubscription(t.Context(), db.NewSubscription{
			Account: account, Key: key, FlightID: st.IDs[0], WebhookURL: recv.URL, Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MDE=",
			Events: flight.AllChanges, DelayThreshold: 5, Now: r.intake.World(),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		recv.next(t)
	}
	var took []time.Duration
	for i := range 5 {
		changed := leg()
		changed.Departure.Gate = fmt.Sprintf("G%d", i)
		r.source.say(changed)
		start := time.Now()
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil {
			t.Fatal(err)
		}
		for range n {
			recv.next(t)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	fmt.Printf("%s: one change to %d subscriptions, all received: median %v, slowest %v (%d runs)\n", m.Name, n, took[len(took)/2], took[len(took)-1], len(took))
}
