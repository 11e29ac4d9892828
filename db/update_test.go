package db_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

func (r *rig) update(id string, u db.SubscriptionUpdate) *flight.Subscription {
	r.Helper()
	s, err := r.d.UpdateSubscription(r.Context(), r.account, id, u)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *rig) test(id string) string {
	r.Helper()
	event, err := r.d.TestSubscription(r.Context(), r.account, id)
	if err != nil || !strings.HasPrefix(event, "evt_") {
		r.Fatal(event, err)
	}
	return event
}

// Each part is replaced alone; an update of nothing changes nothing.
func TestUpdateSubscription(t *testing.T) {
	each(t, func(r *rig) {
		was := r.found(r.say(leg()).IDs[0], func(n *db.NewSubscription) {
			n.Headers, n.Metadata = map[string]string{"X-A": "a"}, json.RawMessage(`{"a": 1}`)
		})
		url, minutes, set := "https://example.com/other", 9, flight.ChangeSet(6)
		headers, none, metadata, empty := map[string]string{"X-B": "b"}, map[string]string{}, json.RawMessage(`{"b":  2}`), json.RawMessage(nil)
		for _, c := range []struct {
			name string
			u    db.SubscriptionUpdate
			want func(s *flight.Subscription)
		}{
			{"nothing", db.SubscriptionUpdate{}, func(*flight.Subscription) {}},
			{"URL", db.SubscriptionUpdate{WebhookURL: &url}, func(s *flight.Subscription) { s.WebhookURL = url }},
			{"events", db.SubscriptionUpdate{Events: &set}, func(s *flight.Subscription) { s.Events = set.Types() }},
			{"threshold", db.SubscriptionUpdate{DelayThreshold: &minutes}, func(s *flight.Subscription) { s.DelayThresholdMinutes = 9 }},
			{"headers", db.SubscriptionUpdate{Headers: &headers}, func(s *flight.Subscription) { s.Headers = headers }},
			{"no headers", db.SubscriptionUpdate{Headers: &none}, func(s *flight.Subscription) { s.Headers = nil }},
			{"metadata", db.SubscriptionUpdate{Metadata: &metadata}, func(s *flight.Subscription) { s.Metadata = metadata }},
			{"no metadata", db.SubscriptionUpdate{Metadata: &empty}, func(s *flight.Subscription) { s.Metadata = nil }},
			{"two", db.SubscriptionUpdate{Headers: &headers, Metadata: &metadata}, func(s *flight.Subscription) { s.Headers, s.Metadata = headers, metadata }},
		} {
			want := *was
			c.want(&want)
			if _, err := r.d.Poke(r.Context(), `UPDATE subscriptions SET updated_at = $1`, db.At(epoch.Std())); err != nil {
				r.Fatal(err)
			}
			got := r.update(was.ID, c.u)
			if moved := got.UpdatedAt != epoch; moved != (c.name != "nothing") {
				r.Errorf("%s: updated at %s", c.name, got.UpdatedAt)
			}
			want.UpdatedAt = got.UpdatedAt
			if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
				r.Errorf("%s:\n got %+v\nwant %+v", c.name, *got, want)
			}
			was = got
		}
		was = r.sub(was.ID)
		for account, id := range map[string]string{r.account: "sub_none", "acc_other": was.ID} {
			_, err := r.d.UpdateSubscription(r.Context(), account, id, db.SubscriptionUpdate{WebhookURL: &url})
			_, rotated := r.d.RotateSecret(r.Context(), db.Operator, account, id, "0123456789abcdeX")
			_, tested := r.d.TestSubscription(r.Context(), account, id)
			for _, err := range []error{err, rotated, tested} {
				if flight.CodeOf(err) != flight.CodeSubscriptionMissing {
					r.Errorf("%s of %s: %v", id, account, err)
				}
			}
		}
		if got := r.sub(was.ID); got.Secret != "0123456789abcdef" || got.UpdatedAt != was.UpdatedAt {
			r.Errorf("another account changed it: %+v", got)
		}
	})
}

// The next change goes by the new filter and threshold and carries the new
// metadata; what was recorded keeps its body, and goes where events now go.
func TestUpdateIsUsedByTheNextChange(t *testing.T) {
	each(t, func(r *rig) {
		gates, _ := flight.NewChangeSet(flight.ChangeDepartureGate)
		delays, _ := flight.NewChangeSet(flight.ChangeDelayIncreased)
		s := r.found(r.say(leg()).IDs[0], func(n *db.NewSubscription) { n.Events, n.Metadata = gates, json.RawMessage(`{"a":1}`) })
		r.deliver()
		r.say(leg(gate("B2")))
		url, metadata, minutes := "https://example.com/other", json.RawMessage(`{"b":2}`), 30
		r.update(s.ID, db.SubscriptionUpdate{WebhookURL: &url, Events: &delays, Metadata: &metadata, DelayThreshold: &minutes})
		recorded := r.deliver()
		if len(recorded) != 1 || recorded[0].URL != url || string(r.hook(recorded[0]).Metadata) != `{"a":1}` {
			r.Fatalf("%+v", recorded)
		}
		r.say(leg(gate("B3")))           // filtered now
		r.say(leg(gate("B3"), late(29))) // below the threshold
		if got := r.deliver(); len(got) != 0 {
			r.Fatalf("%+v", got)
		}
		r.say(leg(gate("B4"), late(30)))
		got := r.deliver()
		if len(got) != 1 {
			r.Fatal(got)
		}
		if h := r.hook(got[0]); len(h.Changes) != 1 || h.Changes[0].Type != flight.ChangeDelayIncreased || string(h.Metadata) != `{"b":2}` {
			r.Errorf("%s", got[0].Body)
		}
		r.sound()
	})
}

// What is claimed after a rotation is signed with the new secret, a retry too,
// and the secret is sealed like the first one.
func TestRotateSecret(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		first := r.only(time.Minute)
		got, err := r.d.RotateSecret(r.Context(), db.Operator, r.account, s.ID, "whsec_the new one")
		if err != nil || got.Secret != "whsec_the new one" || r.sub(s.ID).Secret != got.Secret {
			r.Fatalf("%+v, %v", got, err)
		}
		r.record(result(first, flight.DeliveryRetrying))
		retry := r.only(time.Minute)
		if first.Secret != "0123456789abcdef" || retry.Secret != got.Secret || string(retry.Body) != string(first.Body) {
			r.Errorf("signed with %q", retry.Secret)
		}
		if n := r.count(`SELECT count(*) FROM subscriptions WHERE secret LIKE '%whsec%' OR secret NOT LIKE 'v1:%'`); n != 0 {
			r.Error("the secret is not sealed")
		}
	})
}

// A test is sent in every state, and its failures count only where they may.
func TestTestEventInEveryState(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		states := map[flight.Status]string{}
		for _, status := range []flight.Status{flight.SubscriptionActive, flight.SubscriptionPaused, flight.SubscriptionSuspended} {
			states[status] = r.found(id).ID
		}
		unknown := key
		unknown.Number = "7"
		states[flight.SubscriptionPending] = r.pending(func(n *db.NewSubscription) { n.Key = unknown }).ID
		r.deliver()
		r.pause(states[flight.SubscriptionPaused])
		for range flight.FailuresToSuspend {
			r.test(states[flight.SubscriptionSuspended])
			r.record(result(r.only(time.Minute), flight.DeliveryFailed))
		}
		r.deliver()
		for status, id := range states {
			r.testIn(status, id)
		}
		r.say(leg(arrived))
		r.deliver()
		r.testIn(flight.SubscriptionCompleted, states[flight.SubscriptionActive])
		r.sound()
	})
}

// testIn tests a subscription to which nothing else is sent: interrupted once,
// retried once, delivered, and then failed.
func (r *rig) testIn(status flight.Status, id string) {
	r.Helper()
	if got := r.sub(id); got.Status != status {
		r.Fatalf("%s is %s", id, got.Status)
	}
	event := r.test(id)
	r.claim(1, time.Nanosecond) // by a process that dies
	a := r.only(time.Minute)
	r.record(result(a, flight.DeliveryRetrying))
	a = r.only(time.Minute)
	h := r.hook(a)
	if a.EventID != event || h.Type != "subscription.test" || a.Number != 3 || len(h.Changes) != 0 || (h.Flight != nil) != (status != flight.SubscriptionPending) {
		r.Errorf("%s: attempt %d, %s", status, a.Number, a.Body)
	}
	r.record(result(a, flight.DeliverySucceeded))
	r.test(id)
	r.record(result(r.only(time.Minute), flight.DeliveryFailed))
	counts := 1
	if status == flight.SubscriptionPaused || status == flight.SubscriptionCompleted {
		counts = 0
	}
	if n := r.count(`SELECT failure_streak FROM subscription_state WHERE subscription_id = $1`, id); n != counts {
		r.Errorf("%s: the streak is %d", status, n)
	}
	log := r.log(id)
	if got := strings.Join(log[len(log)-2:], ", "); !strings.HasSuffix(got, "subscription.test failed") || !strings.Contains(got, "subscription.test delivered") {
		r.Errorf("%s: %s", status, got)
	}
	if got := r.sub(id); got.Status != status {
		r.Errorf("%s: it became %s", status, got.Status)
	}
}

// Twenty tests that fail in a row suspend; in a paused subscription they do not.
func TestFailedTestsSuspend(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		active, paused := r.found(id).ID, r.found(id).ID
		r.deliver()
		r.pause(paused)
		for range flight.FailuresToSuspend {
			for _, id := range []string{paused, active} {
				r.test(id)
				r.record(result(r.only(time.Minute), flight.DeliveryFailed))
			}
		}
		if a, p := r.sub(active).Status, r.sub(paused).Status; a != flight.SubscriptionSuspended || p != flight.SubscriptionPaused {
			r.Errorf("they are %s and %s", a, p)
		}
		r.sound()
	})
}

// A test shows the flight, but a resume still tells the changes of the pause.
func TestTestSwallowsNoChange(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		r.found(id) // keeps the flight polled
		s := r.found(id)
		r.deliver()
		r.pause(s.ID)
		r.say(leg(gate("B2")))
		r.test(s.ID)
		r.same("while paused", r.told(s.ID), []string{"subscription.test"})
		r.resume(s.ID)
		r.say(leg(gate("B3")))
		r.same("after the resume", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to B3"})

		p := r.pending(func(n *db.NewSubscription) { n.Key.Number = "7" })
		r.deliver()
		r.pause(p.ID)
		k := key
		k.Number = "7"
		r.accept(r.answer(k, legOf(k, "JFK", "LHR", "7")))
		r.test(p.ID)
		r.deliver()
		r.resume(p.ID)
		r.same("one that was found while paused", r.told(p.ID), []string{"subscription.activated"})
		r.sound()
	})
}
