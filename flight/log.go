package flight

// Delivery is one attempt to deliver an event: a record of the delivery log.
type Delivery struct {
	ID            string         `json:"id"` // begins with dlv_
	EventID       string         `json:"eventId"`
	EventType     EventType      `json:"eventType"`
	Attempt       int            `json:"attempt"` // from 1, as x-service-delivery-attempt says
	Status        DeliveryStatus `json:"status"`
	StatusCode    *int           `json:"statusCode,omitempty"` // nil: there was no answer
	Error         string         `json:"error,omitempty"`
	LatencyMS     *int           `json:"latencyMs,omitempty"` // nil: interrupted, so nobody knows
	AttemptedAt   Time           `json:"attemptedAt"`
	NextAttemptAt Time           `json:"nextAttemptAt,omitempty"` // of one that is retried
	ResponseBody  string         `json:"responseBody,omitempty"`  // its first KiB
}

// SentEvent is an event of a subscription: a record of the event log.
type SentEvent struct {
	ID          string      `json:"id"` // begins with evt_
	Type        EventType   `json:"type"`
	CreatedAt   Time        `json:"createdAt"`
	FlightKey   string      `json:"flightKey"` // with its leg suffix, where the flight was known
	Changes     []Change    `json:"changes"`   // as they were sent; none on lifecycle events
	Status      EventStatus `json:"status"`
	Attempts    int         `json:"attempts"` // made so far
	DeliveredAt Time        `json:"deliveredAt,omitempty"`
}
