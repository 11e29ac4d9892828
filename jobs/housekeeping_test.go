package jobs_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// Months after a flight that was looked up, and that somebody watched whose
// process is gone, two workers have deleted everything of it. What somebody
// subscribed to stays.
func TestOldHistoryGoes(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const speed = 100_000 // the day for which everything stays is a second
		start := time.Now()
		old := func(s *setup) {
			s.Clock = flight.Clock{Start: start, Epoch: start.AddDate(0, 6, 0), Speed: speed}
			s.HistoryDays = 100
			s.SetHouseEvery(20 * time.Millisecond)
		}
		r := rigWith(t, m, old)
		r.other(t, old)
		looked, kept := leg(), leg()
		kept.FlightNumber = "200"
		r.source.say(looked, kept)
		st, err := r.intake.Ask(t.Context(), key, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.DB.Watch(t.Context(), "a process that is gone", st.IDs, r.DB.Now().Add(-2*time.Minute), r.intake.World()); err != nil {
			t.Fatal(err)
		}
		recv := newReceiver(t, func(int) int { return 204 })
		other := key
		other.Number = "200"
		r.subscribeTo(t, r.account(t), recv.URL, other)

		r.until(t, "everything of it is deleted", func() bool {
			return one[int](t, r, `SELECT (SELECT count(*) FROM flights WHERE number = '100') + (SELECT count(*) FROM viewers)`) == 0
		})
		if n := one[int](t, r, `SELECT count(*) FROM flights f JOIN updates u ON u.flight_id = f.id AND u.version = f.version`); n != 1 {
			t.Errorf("of the flight that was subscribed to %d rows stand", n)
		}
	})
}
