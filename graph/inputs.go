package graph

import (
	"encoding/json"

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
