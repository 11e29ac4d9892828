package db_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Both logs are newest first, also of attempts at one moment, and hold the
// newest of what there is in all.
func TestLogs(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(3)
		other := r.found(r.standing().IDs[0])
		at := r.d.Now().Truncate(time.Millisecond)
		var attempted []string
		for range 3 {
			for _, a := range r.claim(10, time.Minute) {
				res := result(a, flight.DeliverySucceeded)
				res.AttemptedAt = at
				r.record(res)
				if a.SubscriptionID == s.ID {
					attempted = append([]string{a.EventID}, attempted...)
				}
			}
		}
		for limit, want := range map[int][]string{200: attempted, 2: attempted[:2]} {
			log, total, err := r.d.Deliveries(r.Context(), s.ID, limit)
			if err != nil || total != 3 {
				r.Fatal(total, err)
			}
			var got []string
			for _, d := range log {
				got = append(got, d.EventID)
				if d.Attempt != 1 || d.Status != flight.DeliverySucceeded || *d.StatusCode != 200 || *d.LatencyMS != 12 || d.AttemptedAt != flight.TimeOf(at) || d.NextAttemptAt.Known() {
					r.Errorf("%+v", d)
				}
			}
			r.same("deliveries", got, want)

			events, total, err := r.d.SentEvents(r.Context(), s.ID, limit)
			if err != nil || total != 3 {
				r.Fatal(total, err)
			}
			got = nil
			for _, e := range events {
				got = append(got, e.ID)
				if e.Status != flight.EventDelivered || e.Attempts != 1 || !e.DeliveredAt.Known() || e.FlightKey != "AA100:2026-11-21@JFK-LHR" {
					r.Errorf("%+v", e)
				}
			}
			r.same("events", got, want)
		}
		if log, total, err := r.d.Deliveries(r.Context(), other.ID, 200); len(log) != 1 || total != 1 || err != nil {
			r.Errorf("the other's log: %d of %d, %v", len(log), total, err)
		}
	})
}

// The event log has the changes as they were sent: filtered, and to the byte.
func TestEventLogHasTheChanges(t *testing.T) {
	each(t, func(r *rig) {
		set, _ := flight.NewChangeSet(flight.ChangeDepartureGate, flight.ChangeDepartureEstimated)
		s := r.found(r.say(leg()).IDs[0], func(n *db.NewSubscription) { n.Events = set })
		r.say(leg(gate("<2>"), baggage("7"), late(20)))
		var bodies []string
		for _, a := range r.deliver() {
			var sent struct{ Changes json.RawMessage }
			if err := json.Unmarshal(a.Body, &sent); err != nil {
				r.Fatal(err)
			}
			bodies = append([]string{string(sent.Changes)}, bodies...)
		}
		events, _, err := r.d.SentEvents(r.Context(), s.ID, 10)
		if err != nil || len(events) != 2 || len(events[0].Changes) != 2 || events[1].Changes == nil {
			r.Fatal(events, err)
		}
		var got []string
		for _, e := range events {
			text, err := json.Marshal(e.Changes)
			if err != nil {
				r.Fatal(err)
			}
			got = append(got, string(text))
		}
		r.same("changes", got, bodies)
		if c := events[0].Changes; fmt.Sprint(c[0].Type, " ", c[1].From, " ", c[1].To != nil) != "departure.gate.changed <nil> true" {
			r.Errorf("%+v", c)
		}
	})
}
