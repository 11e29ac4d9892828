package jobs_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// A process is held between the claim of an event and its sending while the
// subscription is changed. Once that is answered, nothing goes out by what was
// before.
func TestSentByWhatStands(t *testing.T) {
	const secret = "another-secret-of-32-characters!"
	for _, c := range []struct {
		name   string
		change func(t *testing.T, r *rig, s *flight.Subscription, recv *receiver) error
		check  func(t *testing.T, r *rig, s *flight.Subscription, recv *receiver)
	}{
		{"delete",
			func(t *testing.T, r *rig, s *flight.Subscription, _ *receiver) error {
				return r.DB.DeleteSubscription(t.Context(), s.Account, s.ID)
			},
			func(t *testing.T, r *rig, s *flight.Subscription, recv *receiver) {
				nothingBefore(t, r, s.Account, recv)
			}},
		{"pause",
			func(t *testing.T, r *rig, s *flight.Subscription, _ *receiver) error {
				_, err := r.DB.PauseSubscription(t.Context(), s.Account, s.ID)
				return err
			},
			func(t *testing.T, r *rig, s *flight.Subscription, recv *receiver) {
				nothingBefore(t, r, s.Account, recv)
				r.until(t, "the event is missed", func() bool {
					return one[int](t, r, `SELECT count(*) FROM events WHERE subscription_id = $1 AND status = 'missed'`, s.ID) == 1
				})
			}},
		{"rotate the secret",
			func(t *testing.T, r *rig, s *flight.Subscription, _ *receiver) error {
				_, err := r.DB.RotateSecret(t.Context(), db.Operator, s.Account, s.ID, secret)
				return err
			},
			func(t *testing.T, _ *rig, _ *flight.Subscription, recv *receiver) {
				got := recv.next(t)
				if err := webhook.Verify(secret, got.Header.Get("x-service-signature"), got.Body, time.Now()); err != nil || got.attempt() != "1" {
					t.Errorf("attempt %s: %v", got.attempt(), err)
				}
			}},
		{"move the receiver",
			func(t *testing.T, r *rig, s *flight.Subscription, recv *receiver) error {
				url := recv.URL + "/moved"
				_, err := r.DB.UpdateSubscription(t.Context(), s.Account, s.ID, db.SubscriptionUpdate{WebhookURL: &url})
				return err
			},
			func(t *testing.T, _ *rig, _ *flight.Subscription, recv *receiver) {
				if got := recv.next(t); got.Path != "/moved" || got.attempt() != "1" {
					t.Errorf("attempt %s came to %s", got.attempt(), got.Path)
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, m dbtest.Mode) {
				g := newGate("deliver.claimed")
				r := rigWith(t, m, func(s *setup) { s.Gate, s.SendTimeout = g, 5*brief })
				defer g.open()
				recv := newReceiver(t, func(int) int { return 204 })
				r.source.say(leg())
				s := r.subscribe(t, r.account(t), recv.URL+"/first")
				wait(t, g.held, "the event to be claimed")
				claimed := one[db.Time](t, r, `SELECT leased_at FROM events`)
				if err := c.change(t, r, s, recv); err != nil {
					t.Fatal(err)
				}
				if past := r.DB.Now().Sub(claimed.Std()); past < db.SendWithin {
					t.Errorf("it was answered %v after the claim: the attempt may still begin by what was before", past)
				}
				g.open()
				c.check(t, r, s, recv)
			})
		})
	}
}

// nothingBefore checks that the first webhook is that of a subscription which is
// made now.
func nothingBefore(t *testing.T, r *rig, account string, recv *receiver) {
	t.Helper()
	r.subscribe(t, account, recv.URL+"/second")
	if got := recv.next(t); got.Path != "/second" {
		t.Errorf("%s came to %s", got.what(), got.Path)
	}
}
