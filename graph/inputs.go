package graph

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flightwire/flightwire/flight"
)

// LegInput names one leg of a flight, as the caller wrote it.
type LegInput struct {
	Carrier, FlightNumber, Date   string
	Origin, Destination, FlightID string // empty: not selected by it

	// Faults are what the caller found wrong with the form of the request, such
	// as a value of another type. They are told together with all other faults,
	// and a field that is named here gets no other. Only Go can set them.
	Faults flight.Invalid
}

// CreateSubscriptionInput is what a subscription is made of, as the caller
// wrote it.
type CreateSubscriptionInput struct {
	LegInput
	WebhookURL            string
	Secret                string              // empty: one is made
	Events                []flight.ChangeType // nil: all; empty: a fault
	DelayThresholdMinutes *int                // nil: [flight.DefaultDelayThreshold]
	Headers               map[string]string
	Metadata              json.RawMessage // kept to the byte; nil or null: none
}

// inputs reads what the types of GraphQL do not tell.
type inputs struct{}

// Headers reads the headers of a new subscription.
func (inputs) Headers(_ context.Context, in *CreateSubscriptionInput, raw json.RawMessage) error {
	if raw != nil {
		in.Headers = stringMap(&in.Faults, "headers", raw)
	}
	return nil
}

// stringMap reads an object of strings, which to GraphQL is any JSON. What is
// something else is a fault like any other.
func stringMap(v *flight.Invalid, field string, raw json.RawMessage) map[string]string {
	var values map[string]any
	if json.Unmarshal(raw, &values) != nil {
		v.Add(field, "must be an object whose values are strings")
		return nil
	}
	m := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok {
			m[name] = text
		} else {
			v.Add(bounded(field+"."+name), "must be a string")
		}
	}
	return m
}

// UpdateSubscriptionInput is what to replace in a subscription, as the caller
// wrote it. What is nil stays.
type UpdateSubscriptionInput struct {
	WebhookURL            *string
	Events                []flight.ChangeType // empty: a fault
	DelayThresholdMinutes *int
	Headers               map[string]string // empty: none
	Metadata              json.RawMessage   // kept to the byte; null: none
	Faults                flight.Invalid    // as in [LegInput]
}

// NotNull records the fault of a field that is null and cannot be taken away.
func (in *UpdateSubscriptionInput) NotNull(field string) {
	in.Faults.Add(field, "must not be null; leave it out to keep it")
}

// updates reads the fields of an UpdateSubscriptionInput that are there, null
// or not.
type updates struct{}

// WebhookURL reads the field of that name.
func (updates) WebhookURL(_ context.Context, in *UpdateSubscriptionInput, url *string) error {
	if in.WebhookURL = url; url == nil {
		in.NotNull("webhookUrl")
	}
	return nil
}

// Events reads the field of that name.
func (updates) Events(_ context.Context, in *UpdateSubscriptionInput, events []flight.ChangeType) error {
	if in.Events = events; events == nil {
		in.NotNull("events")
	}
	return nil
}

// DelayThresholdMinutes reads the field of that name.
func (updates) DelayThresholdMinutes(_ context.Context, in *UpdateSubscriptionInput, minutes *int) error {
	if in.DelayThresholdMinutes = minutes; minutes == nil {
		in.NotNull("delayThresholdMinutes")
	}
	return nil
}

// Headers reads the field of that name; null is none.
func (updates) Headers(_ context.Context, in *UpdateSubscriptionInput, raw json.RawMessage) error {
	in.Headers = map[string]string{}
	if raw != nil {
		in.Headers = stringMap(&in.Faults, "headers", raw)
	}
	return nil
}

// Metadata reads the field of that name; null is none.
func (updates) Metadata(_ context.Context, in *UpdateSubscriptionInput, raw json.RawMessage) error {
	if in.Metadata = raw; raw == nil {
		in.Metadata = json.RawMessage("null")
	}
	return nil
}

// SubscriptionFilter narrows a list of subscriptions; empty fields do not.
type SubscriptionFilter struct {
	Status                      flight.Status
	Carrier, FlightNumber, Date string
	Faults                      flight.Invalid // as in [LegInput]
}

// SubscriptionPage is a page of subscriptions, newest first.
type SubscriptionPage struct {
	Count  int                    `json:"count"` // rows here
	Total  int                    `json:"total"` // rows in all
	Offset int                    `json:"offset"`
	Limit  int                    `json:"limit"`
	Data   []*flight.Subscription `json:"data"`
}

// DeliveryLog is the newest attempts to deliver to a subscription.
type DeliveryLog struct {
	Count int                `json:"count"` // rows here
	Total int                `json:"total"` // rows in all
	Limit int                `json:"limit"`
	Data  []*flight.Delivery `json:"data"` // newest first
}

// EventLog is the newest events of a subscription.
type EventLog struct {
	Count int                 `json:"count"` // rows here
	Total int                 `json:"total"` // rows in all
	Limit int                 `json:"limit"`
	Data  []*flight.SentEvent `json:"data"` // newest first
}

// TestEvent is a subscription.test event that is being sent.
type TestEvent struct {
	EventID string `json:"eventId"`
}

// SigningSecret is the whole secret of a subscription.
type SigningSecret struct {
	SubscriptionID string `json:"subscriptionId"`
	Secret         string `json:"secret"`
}

// FlightUpdate is one message of a live subscription.
type FlightUpdate struct {
	Cursor            string
	Flight            *flight.Snapshot
	Changes           []flight.Change // empty: this is the present state
	PreviousFetchedAt flight.Time
}
