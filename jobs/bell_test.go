package jobs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/jobs"
)

// heard waits for a ring of which want is true. The bell is one for a Redis
// server, and other tests ring it too.
func heard(t *testing.T, rings <-chan jobs.Ring, what string, want func(jobs.Ring) bool) jobs.Ring {
	t.Helper()
	for {
		if got := wait(t, rings, what); want(got) {
			return got
		}
	}
}

// Whoever follows the logs of a subscription hears of an attempt when it can be
// read, of events that come without a new version of the leg, and of accounts
// whose subscriptions become more or fewer; however many are named, each is.
func TestLogBell(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Hour)
		rings, err := jobs.NewClient(m.Redis).Rings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		account := r.account(t)
		s := r.subscribe(t, account, recv.URL)
		recv.next(t)
		heard(t, rings, "the ring of an attempt", func(g jobs.Ring) bool { return slices.Contains(g.Subscriptions, s.ID) })
		if got, err := m.DB.AttemptsAfter(t.Context(), s.ID, 0, 10); err != nil || len(got) != 1 || got[0].Seq != 1 {
			t.Errorf("after the ring there is %v %v", got, err)
		}

		if _, err := m.DB.PauseSubscription(t.Context(), account, s.ID); err != nil {
			t.Fatal(err)
		}
		r.change(t, "C7")
		if _, err := m.DB.ResumeSubscription(t.Context(), account, s.ID, r.intake.World()); err != nil {
			t.Fatal(err)
		}
		st, err := r.intake.Ask(t.Context(), key, true) // says nothing new
		if err != nil {
			t.Fatal(err)
		}
		heard(t, rings, "the ring of the leg's new gate", func(g jobs.Ring) bool { return g.FlightID == st.IDs[0] })
		heard(t, rings, "the ring of what a resumed subscription is told", func(g jobs.Ring) bool { return g.FlightID == st.IDs[0] })
		if got, err := m.DB.EventsAfter(t.Context(), s.ID, 1, 10); err != nil || len(got) != 1 {
			t.Errorf("after the ring there is %v %v", got, err)
		}

		var many, named []string
		for i := range 1200 {
			many = append(many, fmt.Sprint(s.ID, "x", i))
		}
		if err := r.client.RingLogs(t.Context(), many...); err != nil {
			t.Fatal(err)
		}
		for len(named) < len(many) {
			got := heard(t, rings, "one of many", func(g jobs.Ring) bool { return len(g.Subscriptions) > 0 && slices.Contains(many, g.Subscriptions[0]) })
			named = append(named, got.Subscriptions...)
		}
		if !slices.Equal(named, many) {
			t.Errorf("%d were named of %d", len(named), len(many))
		}
		if err := r.client.RingAccount(t.Context(), account, s.ID); err != nil {
			t.Fatal(err)
		}
		got := heard(t, rings, "the account's", func(g jobs.Ring) bool { return g.Account == account })
		if !slices.Equal(got.Subscriptions, []string{s.ID}) || got.FlightID != "" {
			t.Errorf("%+v", got)
		}
	})
}
