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

// Headers reads the headers of a new subscription, which to GraphQL are any
// JSON. What is not an object of strings is a fault like any other.
func (inputs) Headers(_ context.Context, in *CreateSubscriptionInput, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var values map[string]any
	if json.Unmarshal(raw, &values) != nil {
		in.Faults.Add("headers", "must be an object whose values are strings")
		return nil
	}
	in.Headers = make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok {
			in.Headers[name] = text
		} else {
			in.Faults.Add(bounded("headers."+name), "must be a string")
		}
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

// FlightUpdate is one message of a live subscription.
type FlightUpdate struct {
	Cursor            string
	Flight            *flight.Snapshot
	Changes           []flight.Change // empty: this is the present state
	PreviousFetchedAt flight.Time
}
