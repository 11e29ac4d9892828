package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// What waited when a subscription was paused reaches its receiver by a replay:
// in order, under the ids of the log; and an event that is redelivered comes
// once more to the byte, with the next number and a fresh signature.
func TestReplayReachesTheReceiver(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Hour)
		answer := make(chan int)
		recv := newHandler(t, func(w http.ResponseWriter, _ received) { w.WriteHeader(<-answer) })
		defer close(answer)
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created") // its attempt is under way
		for _, gate := range []string{"C1", "C2", "C3"} {
			r.change(t, gate)
		}
		if _, err := m.DB.PauseSubscription(t.Context(), s.Account, s.ID); err != nil {
			t.Fatal(err)
		}
		answer <- 204
		r.until(t, "its result is recorded", func() bool { return r.settled(t) })
		if _, err := m.DB.ResumeSubscription(t.Context(), s.Account, s.ID, r.intake.World()); err != nil {
			t.Fatal(err)
		}
		recv.expect(t, "C3") // the net changes
		answer <- 204
		r.until(t, "its result is recorded", func() bool { return r.settled(t) })

		got, err := m.DB.ReplayEvents(t.Context(), s.Account, s.ID, flight.Replay{Since: s.CreatedAt}, flight.MaxReplay)
		if err != nil || got.Count != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := r.client.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		log, _, err := m.DB.SentEvents(t.Context(), s.ID, 10) // newest first
		if err != nil || len(log) != 5 {
			t.Fatal(log, err)
		}
		var first received
		for i, gate := range []string{"C1", "C2", "C3"} {
			e := recv.expect(t, gate)[0]
			if id := e.Header.Get("x-service-event-id"); id != log[3-i].ID || e.attempt() != "1" {
				t.Errorf("%s came as %s, attempt %s, and is %s in the log", gate, id, e.attempt(), log[3-i].ID)
			}
			if i == 0 {
				first = e
			}
			answer <- 204
		}
		r.until(t, "all is delivered", func() bool { return r.settled(t) })

		if _, err := m.DB.RedeliverEvent(t.Context(), s.Account, s.ID, log[3].ID); err != nil {
			t.Fatal(err)
		}
		if err := r.client.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := recv.expect(t, "C1")[0]
		if again.attempt() != "2" || string(again.Body) != string(first.Body) || again.Header.Get("webhook-id") != log[3].ID {
			t.Errorf("it came again as attempt %s: %s", again.attempt(), again.Body)
		}
		if err := webhook.VerifyStandard(s.Secret, again.Header, again.Body, time.Now()); err != nil {
			t.Error(err)
		}
		answer <- 204
		r.until(t, "it is delivered again", func() bool { return r.settled(t) })
	})
}
