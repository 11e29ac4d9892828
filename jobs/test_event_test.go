package jobs_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight/webhook"
)

// A test reaches the receiver of a paused subscription, with its retries, and
// the attempt after a rotation is signed with the new secret alone.
func TestTestEventAndRotation(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.RetryBase = 10 * time.Millisecond })
		recv := newReceiver(t, func(n int) int {
			if n == 2 {
				return 503
			}
			return 204
		})
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		r.until(t, "its result is recorded", func() bool { return r.settled(t) })
		if _, err := m.DB.PauseSubscription(t.Context(), s.Account, s.ID); err != nil {
			t.Fatal(err)
		}
		test := func() {
			t.Helper()
			if _, err := m.DB.TestSubscription(t.Context(), s.Account, s.ID); err != nil {
				t.Fatal(err)
			}
			if err := r.client.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		signedWith := func(secret string, got received) bool {
			return webhook.Verify(secret, got.Header.Get("x-service-signature"), got.Body, time.Now()) == nil
		}
		test()
		both := recv.expect(t, "subscription.test", "subscription.test")
		if both[1].attempt() != "2" || string(both[0].Body) != string(both[1].Body) || !signedWith(s.Secret, both[1]) {
			t.Errorf("the retry is attempt %s: %s", both[1].attempt(), both[1].Body)
		}
		r.until(t, "its result is recorded", func() bool { return r.settled(t) })
		fresh := webhook.GenerateSecret()
		if _, err := m.DB.RotateSecret(t.Context(), db.Operator, s.Account, s.ID, fresh); err != nil {
			t.Fatal(err)
		}
		test()
		if got := recv.expect(t, "subscription.test")[0]; !signedWith(fresh, got) || signedWith(s.Secret, got) {
			t.Error("it is not signed with the new secret, or still with the old one")
		}
	})
}
