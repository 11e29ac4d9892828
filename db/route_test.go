package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

// Two answers at once: the one finds a leg of its own where the other has a leg
// that changes its route to there. The later one starts again.
func TestRouteChangesToALegThatIsBeingMade(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Name != "postgres" {
			t.Skip("SQLite has one process")
		}
		r := newRig(t, m.DB)
		id := r.say(leg()).IDs[0]
		first := r.answer(key, leg(), legOf(key, "JFK", "CDG", "2"))
		second := r.answer(key, legOf(key, "JFK", "CDG", "1"))

		c := dbtest.Patient(m.Config)
		inside, release := make(chan struct{}), make(chan struct{})
		c.BeforeCommit = func(string) { close(inside); <-release }
		other, err := db.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		c.BeforeCommit = nil
		c.URL += "&application_name=" + id
		waiter, err := db.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = waiter.Close() }()

		var both sync.WaitGroup
		both.Go(func() {
			if _, err := other.Accept(t.Context(), first); err != nil {
				t.Error(err)
			}
		})
		<-inside
		both.Go(func() {
			if _, err := waiter.Accept(t.Context(), second); err != nil {
				t.Error(err)
			}
		})
		waits := func() bool {
			return r.count(`SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`, id) == 1
		}
		for deadline := time.Now().Add(3 * time.Second); !waits(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("nobody waits")
				break
			}
		}
		close(release)
		both.Wait()
		r.same("legs", r.strings(`SELECT leg FROM flights ORDER BY leg`), []string{"AA100:2026-11-21@JFK-CDG", "AA100:2026-11-21@JFK-LHR"})
		r.sound()
	})
}
