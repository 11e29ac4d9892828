package jobs_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
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

// Old attempts, old events and idempotency keys that ran out are deleted by the
// workers; the last event that was delivered stays while its subscription is not
// completed, and what is new stays.
func TestOldEventsGo(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		often := func(s *setup) { s.SetHouseEvery(20 * time.Millisecond) }
		r := rigWith(t, m, often)
		r.other(t, often)
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		for _, gate := range []string{"C1", "C2"} {
			r.change(t, gate)
			recv.expect(t, gate)
		}
		r.until(t, "all is recorded", func() bool { return r.settled(t) })
		for _, statement := range []string{ // ids tell the time
			`UPDATE events SET id = 'evt_0000' || substr(id, 9)`,
			`UPDATE deliveries SET id = 'dlv_0000' || substr(id, 9)`,
			`INSERT INTO idempotency_keys (api_key_id, idempotency_key, subscription_id, request, created_at) SELECT 'k', 'old', id, '', created_at FROM subscriptions`,
		} {
			if _, err := r.sql.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.sql.ExecContext(t.Context(), `UPDATE idempotency_keys SET created_at = $1`, db.At(m.DB.Now().Add(-25*time.Hour))); err != nil {
			t.Fatal(err)
		}
		r.change(t, "C3")
		recv.expect(t, "C3")
		r.until(t, "what is old is deleted", func() bool {
			return one[string](t, r, `SELECT (SELECT count(*) FROM events) || ' ' || (SELECT count(*) FROM deliveries) || ' ' || (SELECT count(*) FROM idempotency_keys)`) == "1 1 0"
		})
		log, total, err := m.DB.SentEvents(t.Context(), s.ID, 10)
		if err != nil || total != 1 || log[0].Changes[0].To == nil || log[0].Attempts != 1 {
			t.Errorf("%+v %d %v", log, total, err)
		}
	})
}
