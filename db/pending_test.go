package db_test

import (
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

func origin(code string) func(*db.NewSubscription) {
	return func(n *db.NewSubscription) { n.Selector.Origin = code }
}

func TestPendingIsFound(t *testing.T) {
	each(t, func(r *rig) {
		s := r.pending()
		if s.Status != flight.SubscriptionPending || s.FlightResolved || s.FlightKey != "AA100:2026-11-21" {
			r.Fatalf("%+v", s)
		}
		sent := r.deliver()
		if len(sent) != 1 || sent[0].EventType != flight.EventCreated {
			r.Fatalf("%+v", sent)
		}
		if h := r.hook(sent[0]); h.Flight != nil || h.FlightKey != "AA100:2026-11-21" || h.Changes == nil || len(h.Changes) != 0 {
			r.Errorf("%s", sent[0].Body)
		}
		search := r.strings(`SELECT id FROM flights`)[0]
		if at := r.planned(search); at != r.now {
			r.Errorf("looked for at %s, want at once", at)
		}
		// Not found: it is looked for again.
		r.say()
		if at := r.planned(search); at != r.now+5*minute {
			r.Errorf("looked for again at %s", at)
		}
		if st := r.standing(); len(st.Legs) != 0 {
			r.Errorf("a flight that is looked for stands: %+v", st)
		}
		// A look-up finds it as well as a poll.
		got := r.say(leg(late(20)))
		if len(got.Due) == 0 || len(got.IDs) != 1 {
			r.Fatalf("%+v", got)
		}
		s = r.sub(s.ID)
		if s.Status != flight.SubscriptionActive || !s.FlightResolved || s.LastChangeAt != r.now {
			r.Errorf("%+v", s)
		}
		sent = r.deliver()
		if len(sent) != 1 || sent[0].EventType != flight.EventActivated {
			r.Fatalf("%+v", sent)
		}
		if h := r.hook(sent[0]); h.Flight == nil || h.FlightKey != "AA100:2026-11-21@JFK-LHR" || len(h.Changes) != 0 {
			r.Errorf("%s", sent[0].Body)
		}
		r.same("flights", r.strings(`SELECT id FROM flights`), got.IDs)
		if at := r.planned(got.IDs[0]); at != r.now+5*minute {
			r.Errorf("polled at %s", at)
		}
		// It knows the delay that it was shown.
		r.say(leg(late(22)))
		r.say(leg(late(25)))
		told := r.told(s.ID)
		if len(told) != 2 || told[1] != "flight.updated: Estimated departure changed from 22:22 UTC to 22:25 UTC (3 min later); Departure is now 25 min late (was 20 min late)" {
			r.Errorf("told %q", told)
		}
		r.sound()
	})
}

func TestPendingsBecomeOneLeg(t *testing.T) {
	each(t, func(r *rig) {
		known := r.found(r.say(legOf(flight.Key{Carrier: "BA", Number: "1", Date: key.Date}, "LHR", "JFK", "9")).IDs[0])
		first, jfk, byID, never := r.pending(), r.pending(origin("JFK")), r.pending(func(n *db.NewSubscription) { n.Selector.FlightID = "1" }), r.pending(origin("XXX"))
		same := r.pending(origin("JFK"))
		r.deliver()
		if n := r.count(`SELECT count(*) FROM flights WHERE NOT resolved`); n != 4 {
			r.Errorf("%d searches for 4 selectors", n)
		}
		got := r.say(leg(), second())
		for _, s := range []*flight.Subscription{first, jfk, byID, same} {
			r.same("events", r.log(s.ID), []string{"1 subscription.created delivered", "2 subscription.activated pending"})
		}
		r.same("legs", r.strings(`SELECT DISTINCT flight_id FROM subscriptions WHERE status = 'active' AND id <> $1`, known.ID), got.IDs[:1])
		if s := r.sub(never.ID); s.Status != flight.SubscriptionPending {
			r.Errorf("a selector that matches nothing is %s", s.Status)
		}
		if at := r.count(`SELECT count(*) FROM flights WHERE NOT resolved AND next_poll_at IS NOT NULL`); at != 1 {
			r.Errorf("%d searches go on, want 1", at)
		}
		// One that begins to look while the leg stands is found by the next answer.
		later := r.pending(origin("LHR"))
		r.deliver()
		r.say(leg(), second())
		r.same("later", r.told(later.ID), []string{"subscription.activated"})
		if id := r.strings(`SELECT flight_id FROM subscriptions WHERE id = $1`, later.ID); id[0] != got.IDs[1] {
			r.Error("it is on the wrong leg")
		}
		r.sound()
	})
}

func TestSearchEnds(t *testing.T) {
	each(t, func(r *rig) {
		s := r.pending()
		r.deliver()
		r.now += 24 * 60 * minute // its date is over, but not everywhere for a day
		r.say()
		if s := r.sub(s.ID); s.Status != flight.SubscriptionPending {
			r.Fatalf("%+v", s)
		}
		r.now += 24 * 60 * minute
		if got := r.say(); len(got.Due) == 0 {
			r.Errorf("%+v", got)
		}
		sent := r.deliver()
		if len(sent) != 1 || sent[0].EventType != flight.EventCompleted || r.hook(sent[0]).Flight != nil {
			r.Fatalf("%+v", sent)
		}
		s = r.sub(s.ID)
		if s.Status != flight.SubscriptionCompleted || s.StatusReason != flight.EndedUnseen || s.FlightResolved {
			r.Errorf("%+v", s)
		}
		if n := r.count(`SELECT count(*) FROM flights WHERE next_poll_at IS NOT NULL`); n != 0 {
			r.Error("it is still looked for")
		}
		r.sound()
	})
}

// A search that nobody waits for any more does not stand in the way when the
// flight appears.
func TestFoundForNobody(t *testing.T) {
	each(t, func(r *rig) {
		deleted, paused := r.pending(), r.pending(origin("JFK"))
		if err := r.d.DeleteSubscription(r.Context(), r.account, deleted.ID); err != nil {
			r.Fatal(err)
		}
		r.pause(paused.ID)
		got := r.say(leg())
		if len(got.IDs) != 1 || len(got.Due) > 0 {
			r.Errorf("%+v", got)
		}
		r.same("flights", r.strings(`SELECT id FROM flights`), got.IDs)
		if at := r.planned(got.IDs[0]); at.Known() {
			r.Errorf("polled for nobody at %s", at)
		}
		// Found while it was paused: it hears so when it is resumed.
		r.say(leg(gate("B2")))
		if s := r.resume(paused.ID); s.Status != flight.SubscriptionActive || !s.FlightResolved {
			r.Errorf("%+v", s)
		}
		r.same("log", r.log(paused.ID), []string{"1 subscription.created missed", "2 subscription.activated pending"})
		sent := r.deliver()
		if len(sent) != 1 || r.hook(sent[0]).Flight.Departure.Gate != "B2" {
			r.Errorf("%+v", sent)
		}
		r.say(leg(gate("B3")))
		r.same("then", r.told(paused.ID), []string{"flight.updated: Departure gate changed from B2 to B3"})
		r.sound()
	})
}

// What arrives with the first sight of it: the last event is its completion.
func TestFoundWhenItHasArrived(t *testing.T) {
	each(t, func(r *rig) {
		s := r.pending()
		r.deliver()
		r.say(leg(arrived))
		r.say(leg(arrived))
		r.same("events", r.told(s.ID), []string{"subscription.activated", "subscription.completed"})
		r.sound()
	})
}
