package db_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func metadata(text string) func(*db.NewSubscription) {
	return func(n *db.NewSubscription) { n.Metadata = json.RawMessage(text) }
}

func filter(types ...flight.ChangeType) func(*db.NewSubscription) {
	return func(n *db.NewSubscription) { n.Events, _ = flight.NewChangeSet(types...) }
}

func threshold(minutes int) func(*db.NewSubscription) {
	return func(n *db.NewSubscription) { n.DelayThreshold = minutes }
}

// The body has the fields of the contract and no others, the metadata to the
// byte, and is the same whoever sends it.
func TestBody(t *testing.T) {
	each(t, func(r *rig) {
		for _, meta := range []string{
			``, `{}`, `{"b": 1, "a":  [2, 3.10, 1e400],` + "\n\t" + `"b": 2 }`, `{"nul":"\u0000","é":"\u00e9<>&  ","q":"\\\"'","$1":"%s"}`,
		} {
			number := len(r.strings(`SELECT id FROM flights`))
			k := flight.Key{Carrier: "AA", Number: "10" + string(rune('0'+number)), Date: key.Date}
			one := func(g string) *flight.Snapshot { return legOf(k, "JFK", "LHR", "", gate(g)) }
			got := r.accept(r.answer(k, one("B1")))
			first := got.FetchedAt()
			s := r.found(got.IDs[0], metadata(meta))
			if string(s.Metadata) != meta {
				r.Errorf("metadata is read as %s", s.Metadata)
			}
			created := r.deliver()[0]
			r.accept(r.answer(k, one("B1")))
			previous := r.now
			r.accept(r.answer(k, one("B<2>")))
			attempt := r.claim(1, time.Nanosecond)[0]
			r.checkBody(created, s.ID, meta, nil, first, 0)
			r.checkBody(attempt, s.ID, meta, []string{"Departure gate changed from B1 to B<2>"}, r.now, previous)
			// Again, when the flight has moved on and another process sends it.
			r.accept(r.answer(k, one("B3")))
			var again db.Attempt
			for again.EventID != attempt.EventID {
				again = r.claim(1, time.Minute)[0]
			}
			if string(again.Body) != string(attempt.Body) || again.Number != 2 {
				r.Errorf("attempt %d sends\n%s\nafter\n%s", again.Number, again.Body, attempt.Body)
			}
			r.record(result(again, flight.DeliverySucceeded))
			r.deliver()
		}
		r.sound()
	})
}

func (r *rig) checkBody(a db.Attempt, sub, meta string, changes []string, fetched, previous flight.Time) {
	r.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &fields); err != nil {
		r.Fatalf("%v: %s", err, a.Body)
	}
	want := []string{"changes", "createdAt", "flight", "flightKey", "id", "subscriptionId", "type"}
	if meta != "" {
		want = append(want, "metadata")
	}
	if previous.Known() {
		want = append(want, "previousFetchedAt")
	}
	slices.Sort(want)
	r.same("fields", slices.Sorted(maps.Keys(fields)), want)
	if string(fields["metadata"]) != meta || meta != "" && !strings.Contains(string(a.Body), `"metadata":`+meta) {
		r.Errorf("metadata %s, want %s", fields["metadata"], meta)
	}
	h := r.hook(a)
	created, err := time.Parse("2006-01-02T15:04:05.000Z", h.CreatedAt)
	if h.ID != a.EventID || h.Type != string(a.EventType) || h.SubscriptionID != sub || err != nil || time.Since(created).Abs() > time.Hour {
		r.Errorf("%s", a.Body)
	}
	if h.Flight == nil || h.FlightKey != h.Flight.LegKey() || !strings.HasSuffix(h.FlightKey, "@JFK-LHR") || h.Flight.FetchedAt != fetched {
		r.Errorf("flight %+v, want fetched at %s", h.Flight, fetched)
	}
	if previous.Known() && (h.PreviousFetchedAt == nil || *h.PreviousFetchedAt != previous) {
		r.Errorf("previously fetched at %v, want %s", h.PreviousFetchedAt, previous)
	}
	var messages []string
	for _, c := range h.Changes {
		messages = append(messages, c.Message)
	}
	r.same("changes", messages, changes)
	if changes == nil && string(fields["changes"]) != "[]" {
		r.Errorf("no changes are %s", fields["changes"])
	}
}

func TestFilters(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		all, gates := r.found(id), r.found(id, filter(flight.ChangeDepartureGate))
		none := r.found(id, filter(flight.ChangeTail))
		r.deliver()
		r.say(leg(gate("B2"), baggage("7")))
		r.say(leg(gate("B2"), baggage("8")))
		got := map[string][]string{}
		for _, a := range r.deliver() {
			for _, c := range r.hook(a).Changes {
				got[a.SubscriptionID] = append(got[a.SubscriptionID], string(c.Type))
			}
		}
		r.same("all", got[all.ID], []string{"departure.gate.changed", "arrival.baggage.changed", "arrival.baggage.changed"})
		r.same("gates", got[gates.ID], []string{"departure.gate.changed"})
		r.same("none", got[none.ID], nil)
		if at := r.sub(none.ID).LastChangeAt; at.Known() {
			r.Errorf("told nothing, but changed at %s", at)
		}
		r.say(leg(arrived)) // a lifecycle event passes every filter
		r.same("none", r.told(none.ID), []string{"subscription.completed"})
		r.sound()
	})
}

// A delay that creeps adds up, for each subscription by its own threshold.
func TestThresholds(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg(late(3))).IDs[0]
		delays := filter(flight.ChangeDelayIncreased, flight.ChangeDelayDecreased)
		five, ten := r.found(id, delays, threshold(5)), r.found(id, delays, threshold(10))
		r.deliver()
		told := map[string][]string{}
		for _, minutes := range []int{5, 7, 9, 11, 13, 8, 2} {
			r.say(leg(late(minutes)))
			for _, a := range r.deliver() {
				for _, c := range r.hook(a).Changes {
					told[a.SubscriptionID] = append(told[a.SubscriptionID], c.Message)
				}
			}
		}
		r.same("five", told[five.ID], []string{
			"Departure is now 9 min late (was 3 min late)", "Departure is now 2 min late (was 9 min late)",
		})
		r.same("ten", told[ten.ID], []string{
			"Departure is now 13 min late (was 3 min late)", "Departure is now 2 min late (was 13 min late)",
		})
		r.sound()
	})
}

// The last update of a flight goes out before its completion.
func TestCompletionComesLast(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		active, paused := r.found(id), r.found(id)
		r.deliver()
		r.pause(paused.ID)
		r.say(leg(arrived))
		log := r.log(active.ID)
		r.same("active", log, []string{"1 subscription.created delivered", "2 flight.updated pending", "3 subscription.completed pending"})
		r.same("paused", r.log(paused.ID), []string{"1 subscription.created delivered"})
		s := r.sub(active.ID)
		if s.Status != flight.SubscriptionCompleted || s.StatusReason != flight.EndedArrived {
			r.Errorf("%+v", s)
		}
		if at := r.planned(id); at.Known() {
			r.Errorf("still polled at %s", at)
		}
		sent := r.deliver()
		if len(sent) != 2 || sent[0].EventType != flight.EventUpdated || sent[1].EventType != flight.EventCompleted {
			r.Fatalf("%+v", sent)
		}
		if h := r.hook(sent[1]); h.Flight == nil || h.Flight.Status.Phase != flight.PhaseArrived || len(h.Changes) != 0 {
			r.Errorf("%s", sent[1].Body)
		}
		// Whatever comes later, a completed subscription hears nothing of it.
		r.say(leg(arrived, baggage("9")))
		r.same("completed", r.told(active.ID), nil)
		// One that was paused meanwhile is told when it goes on, and completes.
		r.resume(paused.ID)
		r.say(leg(arrived, baggage("9")))
		r.same("resumed", r.told(paused.ID), []string{
			"flight.updated: Status changed from Scheduled to Arrived; Departed JFK; Arrived at LHR; Baggage belt assigned: 9", "subscription.completed",
		})
		r.sound()
	})
}

// Thousands of subscriptions of one flight hear of a change, each once, and are
// settled in groups: nothing in it takes the square of their number.
func TestFanOutToThousands(t *testing.T) {
	each(t, func(r *rig) {
		const many = 5000
		r.found(r.say(leg()).IDs[0])
		r.deliver()
		const series = `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
		for _, statement := range []string{
			series + `INSERT INTO subscriptions (id, account_id, flight_id, status, status_reason, carrier, number, date, webhook_url, secret, headers, events, delay_threshold, metadata, created_at, updated_at)
				SELECT 'sub_0000' || (10000000 + i), account_id, flight_id, status, status_reason, carrier, number, date, webhook_url, '', headers, events, delay_threshold, metadata, created_at, updated_at FROM subscriptions, n WHERE true`,
			series + `INSERT INTO subscription_state (subscription_id, seq, told_departure, told_arrival, delivered_count, failed_count, failure_streak)
				SELECT 'sub_0000' || (10000000 + i), 1, 0, 0, 0, 0, 0 FROM n WHERE true`,
		} {
			if _, err := r.d.Poke(r.Context(), statement, many); err != nil {
				r.Fatal(err)
			}
		}
		if due := r.say(leg(gate("C1"))).Due; len(due) != many {
			r.Fatalf("%d events are due, want %d", len(due), many)
		}
		for settled := 0; settled < many; {
			got, err := dbtest.ClaimEvents(r.Context(), r.d, 1000, time.Minute)
			if err != nil || len(got) == 0 {
				r.Fatalf("%d events after %d: %v", len(got), settled, err)
			}
			results := make([]db.Result, len(got))
			for i, a := range got { // the secrets that were copied open for the first only
				results[i] = result(a, flight.DeliverySucceeded)
			}
			r.record(results...)
			settled += len(got)
		}
		if n := r.count(`SELECT count(*) FROM events WHERE type = 'flight.updated' AND status = 'delivered' AND seq = 2`); n != many {
			r.Errorf("%d events are delivered, want %d", n, many)
		}
		if n := r.count(`SELECT count(*) FROM subscription_state WHERE head_seq IS NULL AND seq = 2`); n != many {
			r.Errorf("%d subscriptions have nothing left, want %d", n, many)
		}
	})
}
