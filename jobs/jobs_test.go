package jobs_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

func TestChangeReachesSubscriber(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)

		created := recv.next(t)
		if created.Event.Type != "subscription.created" || created.Event.Flight == nil {
			t.Fatalf("first event: %s", created.Body)
		}
		changed := leg()
		changed.Departure.Gate = "B2"
		r.source.say(changed)
		got := recv.next(t)
		if got.Event.Type != "flight.updated" || len(got.Event.Changes) != 1 || got.Event.Changes[0].Message != "Departure gate changed from B1 to B2" {
			t.Fatalf("second event: %s", got.Body)
		}
		if err := webhook.Verify(s.Secret, got.Header.Get("x-service-signature"), got.Body, time.Now()); err != nil {
			t.Error(err)
		}
		arrived := changed
		arrived.Status = flight.StatusInfo{Code: flight.StatusLanded, Phase: flight.PhaseArrived}
		r.source.say(arrived)
		if got := recv.next(t); got.Event.Type != "flight.updated" {
			t.Errorf("third event: %s", got.Body)
		}
		if got := recv.next(t); got.Event.Type != "subscription.completed" {
			t.Errorf("last event: %s", got.Body)
		}
	})
}

func TestPendingFlightAppears(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(int) int { return 200 })
		account := r.account(t)
		s := r.subscribe(t, account, recv.URL)
		if s.Status != flight.SubscriptionPending || s.FlightResolved {
			t.Fatalf("%+v", s)
		}
		if got := recv.next(t); got.Event.Type != "subscription.created" || got.Event.Flight != nil {
			t.Fatalf("%s", got.Body)
		}
		r.source.say(leg())
		if got := recv.next(t); got.Event.Type != "subscription.activated" || got.Event.Flight == nil {
			t.Fatalf("%s", got.Body)
		}
		s, err := m.DB.Subscription(t.Context(), account, s.ID)
		if err != nil || s.Status != flight.SubscriptionActive || !s.FlightResolved {
			t.Errorf("%+v %v", s, err)
		}
	})
}
