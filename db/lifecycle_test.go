package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

func TestCreate(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg(late(20))).IDs[0]
		before := flight.TimeOf(r.d.Now())
		s := r.found(id, metadata(`{"a":1}`), filter(flight.ChangeTail, flight.ChangeStatus), threshold(7), func(n *db.NewSubscription) {
			n.Headers = map[string]string{"x-a": "1"}
		})
		if s.ID[:4] != "sub_" || s.Account != r.account || s.Status != flight.SubscriptionActive || !s.FlightResolved || s.FlightKey != key.String() ||
			s.Carrier != "AA" || s.FlightNumber != "100" || s.Date != key.Date || s.WebhookURL != "https://example.com/hook" ||
			s.Secret != "0123456789abcdef" || s.Headers["x-a"] != "1" || s.DelayThresholdMinutes != 7 || string(s.Metadata) != `{"a":1}` ||
			fmt.Sprint(s.Events) != "[status.changed aircraft.tail.changed]" || s.CreatedAt < before || s.UpdatedAt != s.CreatedAt ||
			s.LastChangeAt.Known() || s.LastDeliveryAt.Known() || s.DeliveredCount != 0 || s.FailedCount != 0 || s.StatusReason != "" {
			r.Errorf("%+v", s)
		}
		if text := r.strings(`SELECT secret FROM subscriptions`)[0]; text[:3] != "v1:" {
			r.Errorf("the secret is stored as %s", text)
		}
		if at := r.planned(id); at != r.now {
			r.Errorf("polled at %s, want at once", at)
		}
		n := db.NewSubscription{Account: r.account, Key: key, FlightID: "flt_gone", WebhookURL: "https://e.com", Secret: "x", Now: r.now}
		if _, err := r.d.CreateSubscription(r.Context(), n); flight.CodeOf(err) != flight.CodeConflict {
			r.Errorf("of a row that is gone: %v", err)
		}
		r.sound()
	})
}

func TestList(t *testing.T) {
	each(t, func(r *rig) {
		ba := flight.Key{Carrier: "BA", Number: "1", Date: "2026-11-22"}
		id := r.say(leg()).IDs[0]
		other := r.accept(r.answer(ba, legOf(ba, "LHR", "JFK", "9"))).IDs[0]
		var want []string
		for i := range 5 {
			flightID := id
			if i == 4 {
				flightID = other
			}
			want = append([]string{r.found(flightID).ID}, want...)
		}
		r.pause(want[1])
		ids := func(f db.SubscriptionFilter) []string {
			page, total, err := r.d.Subscriptions(r.Context(), r.account, f)
			if err != nil {
				r.Fatal(err)
			}
			out := []string{fmt.Sprint(total)}
			for _, s := range page {
				out = append(out, s.ID)
			}
			return out
		}
		r.same("all", ids(db.SubscriptionFilter{Limit: 10}), append([]string{"5"}, want...))
		r.same("a page", ids(db.SubscriptionFilter{Offset: 1, Limit: 2}), []string{"5", want[1], want[2]})
		r.same("beyond", ids(db.SubscriptionFilter{Offset: 9, Limit: 2}), []string{"5"})
		r.same("paused", ids(db.SubscriptionFilter{Status: flight.SubscriptionPaused, Limit: 10}), []string{"1", want[1]})
		r.same("a carrier", ids(db.SubscriptionFilter{Carrier: "BA", Limit: 10}), []string{"1", want[0]})
		r.same("a number", ids(db.SubscriptionFilter{FlightNumber: "1", Date: ba.Date, Limit: 10}), []string{"1", want[0]})
		r.same("nothing", ids(db.SubscriptionFilter{Carrier: "BA", FlightNumber: "100", Limit: 10}), []string{"0"})
		if page, total, err := r.d.Subscriptions(r.Context(), "acc_other", db.SubscriptionFilter{Limit: 10}); err != nil || total != 0 || len(page) != 0 {
			r.Errorf("another account has %d, %v", total, err)
		}
	})
}

// Another account's subscription is not there.
func TestOtherAccount(t *testing.T) {
	each(t, func(r *rig) {
		s := r.found(r.say(leg()).IDs[0])
		for _, who := range []struct{ account, id string }{{"acc_other", s.ID}, {r.account, "sub_none"}} {
			for name, do := range map[string]func() error{
				"read":   func() error { _, err := r.d.Subscription(r.Context(), who.account, who.id); return err },
				"pause":  func() error { _, err := r.d.PauseSubscription(r.Context(), who.account, who.id); return err },
				"resume": func() error { _, err := r.d.ResumeSubscription(r.Context(), who.account, who.id, r.now); return err },
				"delete": func() error { return r.d.DeleteSubscription(r.Context(), who.account, who.id) },
			} {
				if err := do(); flight.CodeOf(err) != flight.CodeSubscriptionMissing {
					r.Errorf("%s by %s: %v", name, who.account, err)
				}
			}
		}
		if got := r.sub(s.ID); got.Status != flight.SubscriptionActive {
			r.Errorf("%+v", got)
		}
	})
}

func TestPause(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		underWay := r.only(time.Minute)
		id := r.standing().IDs[0]
		paused := r.pause(s.ID)
		if paused.Status != flight.SubscriptionPaused || paused.StatusReason != "" || paused.UpdatedAt < s.UpdatedAt {
			r.Errorf("%+v", paused)
		}
		r.same("events", r.log(s.ID), []string{"1 subscription.created pending", "2 flight.updated missed", "3 flight.updated missed"})
		if at := r.planned(id); at.Known() {
			r.Errorf("polled for nobody at %s", at)
		}
		r.sound()
		// What is under way may end, but is not tried again.
		r.record(result(underWay, flight.DeliveryRetrying))
		r.nothingDue()
		if again := r.pause(s.ID); again.UpdatedAt != paused.UpdatedAt {
			r.Error("a pause of a paused one changed it")
		}
		// It records nothing.
		r.say(leg(gate("D9")))
		if n := len(r.log(s.ID)); n != 3 {
			r.Errorf("%d events, want 3", n)
		}
		r.sound()
	})
}

func TestCompletedCannotGoOn(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(1)
		r.say(leg(arrived))
		r.deliver()
		_, pause := r.d.PauseSubscription(r.Context(), r.account, s.ID)
		_, resume := r.d.ResumeSubscription(r.Context(), r.account, s.ID, r.now)
		for name, err := range map[string]error{"pause": pause, "resume": resume} {
			if flight.CodeOf(err) != flight.CodeInvalidState {
				r.Errorf("%s: %v", name, err)
			}
		}
		if got := r.sub(s.ID); got.Status != flight.SubscriptionCompleted {
			r.Errorf("%+v", got)
		}
		if err := r.d.DeleteSubscription(r.Context(), r.account, s.ID); err != nil {
			r.Error(err)
		}
		r.sound()
	})
}

func TestResumeTellsNetChanges(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg(late(10))).IDs[0]
		s, other := r.found(id), r.found(id)
		r.deliver()
		r.pause(s.ID)
		r.say(leg(gate("B2"), late(30)))
		r.say(leg(gate("B3"), late(30), baggage("7")))
		r.say(leg(gate("B3"), late(30)))
		r.deliver()
		resumed := r.resume(s.ID)
		if resumed.Status != flight.SubscriptionActive {
			r.Errorf("%+v", resumed)
		}
		if at := r.planned(id); at != r.now {
			r.Errorf("polled at %s, want at once", at)
		}
		if again := r.resume(s.ID); again.UpdatedAt != resumed.UpdatedAt {
			r.Error("a resume of an active one changed it")
		}
		r.nothingDue()
		// The next poll finds nothing new: it is told all the same, once, with
		// the delay that grew meanwhile. From here on delays count from that.
		r.say(leg(gate("B3"), late(30)))
		sent := r.deliver()
		if len(sent) != 1 || sent[0].SubscriptionID != s.ID {
			r.Fatalf("%d events", len(sent))
		}
		h := r.hook(sent[0])
		var got []string
		for _, c := range h.Changes {
			got = append(got, c.Message)
		}
		r.same("net changes", got, []string{
			"Departure gate changed from B1 to B3", "Estimated departure changed from 22:10 UTC to 22:30 UTC (20 min later)",
			"Departure is now 30 min late (was 10 min late)",
		})
		if h.PreviousFetchedAt == nil || *h.PreviousFetchedAt != epoch+minute {
			r.Errorf("previously fetched at %s", h.PreviousFetchedAt)
		}
		r.say(leg(gate("B3"), late(34)))
		r.say(leg(gate("B3"), late(36)))
		told := r.told(s.ID)
		if want := "flight.updated: Estimated departure changed from 22:34 UTC to 22:36 UTC (2 min later); Departure is now 36 min late (was 30 min late)"; len(told) != 2 || told[1] != want {
			r.Errorf("told %q", told)
		}
		if n := r.sub(other.ID).DeliveredCount; n != 6 {
			r.Errorf("the other one was sent %d events, want 6", n)
		}
		r.sound()
	})
}

func TestResumeWithoutNews(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s, tail := r.found(id), r.found(id, filter(flight.ChangeTail))
		r.deliver()
		r.pause(s.ID)
		r.pause(tail.ID)
		r.say(leg(gate("B2")))
		r.say(leg())
		r.resume(s.ID)
		r.say(leg())
		r.same("there and back", r.told(s.ID), nil)
		r.resume(tail.ID)
		r.say(leg(gate("B4")))
		r.same("filtered", r.log(tail.ID), []string{"1 subscription.created delivered"})
		r.same("next change", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to B4"})
		r.sound()
	})
}

// What was missed at the pause is among the net changes.
func TestResumeAfterMissedEvents(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3) // created, C1, C2: none sent
		r.pause(s.ID)
		r.resume(s.ID)
		r.say(leg(gate("C2")))
		r.same("told", r.told(s.ID), []string{"flight.updated: Departure gate changed from B1 to C2"})

		// Paused again before the poll that a resume waits for: that one tells.
		r.say(leg(gate("C3")))
		r.pause(s.ID)
		r.resume(s.ID)
		r.pause(s.ID)
		r.say(leg(gate("C4")))
		r.resume(s.ID)
		r.say(leg(gate("C4")))
		r.same("told", r.told(s.ID), []string{"flight.updated: Departure gate changed from C2 to C4"})
		r.sound()
	})
}

func TestPausedWhilePending(t *testing.T) {
	each(t, func(r *rig) {
		s := r.pending()
		r.deliver()
		r.pause(s.ID)
		if n := r.count(`SELECT count(*) FROM flights WHERE next_poll_at IS NOT NULL`); n != 0 {
			r.Error("it is looked for while paused")
		}
		if got := r.resume(s.ID); got.Status != flight.SubscriptionPending {
			r.Errorf("%+v", got)
		}
		r.say(leg())
		r.same("events", r.told(s.ID), []string{"subscription.activated"})
		r.sound()
	})
}

func TestDelete(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(2)
		id := r.standing().IDs[0]
		other := r.found(id)
		r.record(result(r.claim(1, time.Minute)[0], flight.DeliverySucceeded))
		remove := func(id string) {
			if err := r.d.DeleteSubscription(r.Context(), r.account, id); err != nil {
				r.Fatal(err)
			}
		}
		remove(s.ID)
		for _, table := range []string{"events", "deliveries", "subscription_state"} {
			if n := r.count(`SELECT count(*) FROM `+table+` WHERE subscription_id = $1`, s.ID); n != 0 {
				r.Errorf("%d rows are left in %s", n, table)
			}
		}
		if !r.planned(id).Known() {
			r.Error("no longer polled for the other subscription")
		}
		remove(other.ID)
		if at := r.planned(id); at.Known() {
			r.Errorf("polled for nobody at %s", at)
		}
		if st := r.standing(); len(st.Legs) != 1 {
			r.Error("the flight went with it")
		}
		r.sound()
	})
}
