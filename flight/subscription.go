package flight

import (
	"encoding/json"
	"time"
)

// Status is where a subscription stands. docs/states.md draws the machine.
type Status string

// The statuses of the contract.
const (
	SubscriptionActive    Status = "active"
	SubscriptionPending   Status = "pending"
	SubscriptionPaused    Status = "paused"
	SubscriptionCompleted Status = "completed"
	SubscriptionSuspended Status = "suspended"
)

// Subscription is an account's wish to be told of changes of one flight leg:
// the contract's resource.
type Subscription struct {
	ID                    string            `json:"id"` // begins with sub_
	Account               string            `json:"-"`
	Status                Status            `json:"status"`
	FlightKey             string            `json:"flightKey"` // without leg suffix
	Carrier               string            `json:"carrier"`
	FlightNumber          string            `json:"flightNumber"`
	Date                  string            `json:"date"`
	WebhookURL            string            `json:"webhookUrl"`
	Secret                string            `json:"secret"` // whole in the answer to create, masked elsewhere
	Headers               map[string]string `json:"headers,omitempty"`
	Events                []ChangeType      `json:"events"`
	DelayThresholdMinutes int               `json:"delayThresholdMinutes"`
	Metadata              json.RawMessage   `json:"metadata,omitempty"` // a JSON object, kept to the byte
	CreatedAt             Time              `json:"createdAt"`
	UpdatedAt             Time              `json:"updatedAt"`
	LastPolledAt          Time              `json:"lastPolledAt,omitempty"`
	LastChangeAt          Time              `json:"lastChangeAt,omitempty"`
	LastDeliveryAt        Time              `json:"lastDeliveryAt,omitempty"`
	DeliveredCount        int               `json:"deliveredCount"`
	FailedCount           int               `json:"failedCount"`
	FlightResolved        bool              `json:"flightResolved"`
	StatusReason          string            `json:"statusReason,omitempty"` // why it was suspended or completed
}

// Limits of a subscription, from the contract and its decisions.
const (
	DefaultDelayThreshold = 5 // minutes
	MinDelayThreshold     = 1
	MaxDelayThreshold     = 240
	MaxMetadataBytes      = 16 << 10
	FailuresToSuspend     = 20 // failed deliveries in a row
)

// IdempotencyWindow is for how long an Idempotency-Key stands for the
// subscription that was first created with it.
const IdempotencyWindow = 24 * time.Hour

// Trigger is what happens to a subscription.
type Trigger string

// The triggers of the state machine.
const (
	TriggerResolved  Trigger = "resolved"   // its flight appeared upstream
	TriggerPause     Trigger = "pause"      // the client asked
	TriggerResume    Trigger = "resume"     // the client asked
	TriggerFailures  Trigger = "failures"   // FailuresToSuspend failed deliveries in a row
	TriggerWatchEnds Trigger = "watch_ends" // the flight arrived, or its date passed
)

// Next returns the status after trigger. resolved says whether the flight has
// been found upstream. changed is false when the trigger leaves the status as
// it is; err is CodeInvalidState where a client asks what the status forbids.
func (s Status) Next(trigger Trigger, resolved bool) (next Status, changed bool, err error) {
	if s == SubscriptionCompleted && (trigger == TriggerPause || trigger == TriggerResume) {
		e := Errorf(CodeInvalidState, "The subscription is completed and cannot be %sd. Create a new one.", trigger)
		e.Status = s
		return s, false, e
	}
	next = s
	switch trigger {
	case TriggerResolved:
		if s == SubscriptionPending {
			next = SubscriptionActive
		}
	case TriggerPause:
		next = SubscriptionPaused
	case TriggerResume:
		if s == SubscriptionPaused || s == SubscriptionSuspended {
			next = SubscriptionActive
			if !resolved {
				next = SubscriptionPending
			}
		}
	case TriggerFailures:
		if s == SubscriptionActive || s == SubscriptionPending {
			next = SubscriptionSuspended
		}
	case TriggerWatchEnds:
		if s == SubscriptionActive || s == SubscriptionPending {
			next = SubscriptionCompleted
		}
	}
	return next, next != s, nil
}

// Watches reports whether a subscription in this status keeps its flight
// polled.
func (s Status) Watches() bool { return s == SubscriptionActive || s == SubscriptionPending }

// EventType is the kind of an event: what x-service-event-type says.
type EventType string

// The event types of the contract.
const (
	EventCreated   EventType = "subscription.created"
	EventActivated EventType = "subscription.activated"
	EventUpdated   EventType = "flight.updated"
	EventTest      EventType = "subscription.test"
	EventSuspended EventType = "subscription.suspended"
	EventCompleted EventType = "subscription.completed"
)

// EventTypes lists them all.
var EventTypes = []EventType{EventCreated, EventActivated, EventUpdated, EventTest, EventSuspended, EventCompleted}

// SentWhile reports whether an event of this type is sent while its
// subscription has that status. What is not is missed.
func (t EventType) SentWhile(s Status) bool {
	switch s {
	case SubscriptionPaused:
		return t == EventTest
	case SubscriptionSuspended:
		return t == EventTest || t == EventSuspended
	}
	return true
}

// EventStatus is where the delivery of an event stands. docs/states.md draws
// the machine.
type EventStatus string

// The event statuses.
const (
	EventPending   EventStatus = "pending"   // waits for its first or its next attempt
	EventDelivered EventStatus = "delivered" // the receiver took it
	EventFailed    EventStatus = "failed"    // rejected, or its retries are used up
	EventMissed    EventStatus = "missed"    // was not sent: the subscription was paused or suspended
)

// DeliveryStatus is the outcome of one attempt.
type DeliveryStatus string

// The delivery statuses.
const (
	DeliverySucceeded   DeliveryStatus = "succeeded"
	DeliveryRetrying    DeliveryStatus = "retrying"    // failed, another attempt follows
	DeliveryFailed      DeliveryStatus = "failed"      // failed for good
	DeliveryInterrupted DeliveryStatus = "interrupted" // the process died while it was under way
)
