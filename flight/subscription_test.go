package flight_test

import (
	"errors"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// TestStatusNext holds every cell of statuses × triggers, for a flight that has
// been found and for one that has not. "" stays; "409" is refused.
func TestStatusNext(t *testing.T) {
	type row struct{ resolved, unresolved string }
	same := func(s string) row { return row{s, s} }
	table := map[flight.Status]map[flight.Trigger]row{
		"active": {
			"resolved": same(""), "pause": same("paused"), "resume": same(""), "failures": same("suspended"), "watch_ends": same("completed"),
		},
		"pending": {
			"resolved": same("active"), "pause": same("paused"), "resume": same(""), "failures": same("suspended"), "watch_ends": same("completed"),
		},
		"paused": {
			"resolved": same(""), "pause": same(""), "resume": {"active", "pending"}, "failures": same(""), "watch_ends": same(""),
		},
		"suspended": {
			"resolved": same(""), "pause": same("paused"), "resume": {"active", "pending"}, "failures": same(""), "watch_ends": same(""),
		},
		"completed": {
			"resolved": same(""), "pause": same("409"), "resume": same("409"), "failures": same(""), "watch_ends": same(""),
		},
	}
	triggers := []flight.Trigger{flight.TriggerResolved, flight.TriggerPause, flight.TriggerResume, flight.TriggerFailures, flight.TriggerWatchEnds}
	for _, from := range []flight.Status{
		flight.SubscriptionActive, flight.SubscriptionPending, flight.SubscriptionPaused, flight.SubscriptionCompleted, flight.SubscriptionSuspended,
	} {
		for _, trigger := range triggers {
			cell, ok := table[from][trigger]
			if !ok {
				t.Fatalf("no cell for %s × %s", from, trigger)
			}
			for resolved, want := range map[bool]string{true: cell.resolved, false: cell.unresolved} {
				next, changed, err := from.Next(trigger, resolved)
				wantNext, wantCode := flight.Status(want), flight.Code("")
				switch want {
				case "":
					wantNext = from
				case "409":
					wantNext, wantCode = from, flight.CodeInvalidState
				}
				if next != wantNext || changed != (next != from) || flight.CodeOf(err) != wantCode {
					t.Errorf("%s × %s, resolved %v: %s, changed %v, %v; want %s", from, trigger, resolved, next, changed, err, wantNext)
				}
			}
		}
	}
}

func TestRefusedTransitionSaysWhy(t *testing.T) {
	for trigger, want := range map[flight.Trigger]string{
		flight.TriggerPause:  "The subscription is completed and cannot be paused. Create a new one.",
		flight.TriggerResume: "The subscription is completed and cannot be resumed. Create a new one.",
	} {
		_, _, err := flight.SubscriptionCompleted.Next(trigger, true)
		var e *flight.Error
		if !errors.As(err, &e) || e.Message != want || e.Status != flight.SubscriptionCompleted {
			t.Errorf("%s: %#v", trigger, err)
		}
	}
}

func TestWatches(t *testing.T) {
	for s, want := range map[flight.Status]bool{"active": true, "pending": true, "paused": false, "completed": false, "suspended": false} {
		if s.Watches() != want {
			t.Errorf("%s watches: %v", s, !want)
		}
	}
}

// TestSubscriptionJSON holds the wire form: required fields always there,
// optional ones left out while unknown, metadata to the byte.
func TestSubscriptionJSON(t *testing.T) {
	s := flight.Subscription{
		ID: "sub_1", Account: "acc_1", Status: "active", FlightKey: "AA100:2026-03-10", Carrier: "AA", FlightNumber: "100", Date: "2026-03-10",
		WebhookURL: "https://example.com/hook", Secret: "whsec_****abcd", Events: []flight.ChangeType{"status.changed"},
		DelayThresholdMinutes: 5, CreatedAt: utc("2026-03-01 10:00"), UpdatedAt: utc("2026-03-01 10:00"),
	}
	const least = `{"id":"sub_1","status":"active","flightKey":"AA100:2026-03-10","carrier":"AA","flightNumber":"100","date":"2026-03-10",` +
		`"webhookUrl":"https://example.com/hook","secret":"whsec_****abcd","events":["status.changed"],"delayThresholdMinutes":5,` +
		`"createdAt":"2026-03-01T10:00:00.000Z","updatedAt":"2026-03-01T10:00:00.000Z","deliveredCount":0,"failedCount":0,"flightResolved":false}`
	if got := encoded(t, s); got != least {
		t.Errorf("least:\n got %s\nwant %s", got, least)
	}
	s.Headers = map[string]string{"x-a": "b"}
	s.Metadata = []byte(`{"z":1.0,"a":[2]}`)
	s.LastPolledAt, s.LastChangeAt, s.LastDeliveryAt = utc("2026-03-01 10:01"), utc("2026-03-01 10:02"), utc("2026-03-01 10:03")
	s.DeliveredCount, s.FailedCount, s.FlightResolved, s.StatusReason = 3, 1, true, "The flight arrived."
	const most = `{"id":"sub_1","status":"active","flightKey":"AA100:2026-03-10","carrier":"AA","flightNumber":"100","date":"2026-03-10",` +
		`"webhookUrl":"https://example.com/hook","secret":"whsec_****abcd","headers":{"x-a":"b"},"events":["status.changed"],"delayThresholdMinutes":5,` +
		`"metadata":{"z":1.0,"a":[2]},"createdAt":"2026-03-01T10:00:00.000Z","updatedAt":"2026-03-01T10:00:00.000Z",` +
		`"lastPolledAt":"2026-03-01T10:01:00.000Z","lastChangeAt":"2026-03-01T10:02:00.000Z","lastDeliveryAt":"2026-03-01T10:03:00.000Z",` +
		`"deliveredCount":3,"failedCount":1,"flightResolved":true,"statusReason":"The flight arrived."}`
	if got := encoded(t, s); got != most {
		t.Errorf("most:\n got %s\nwant %s", got, most)
	}
}
