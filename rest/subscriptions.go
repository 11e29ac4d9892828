package rest

import (
	"context"
	"net/http"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/graph"
)

// createSubscription answers POST /v1/subscriptions, with the whole secret.
func (a *api) createSubscription(ctx context.Context, r *http.Request) (answer, error) {
	body, err := readObject(r)
	if err != nil {
		return answer{}, err
	}
	in := createInput(body)
	key := idempotencyKey(r, &in.Faults)
	return subscription(http.StatusCreated)(a.mutation.CreateSubscription(ctx, in, key))
}

// idempotencyKey returns the header of that name; one that is empty is not
// there.
func idempotencyKey(r *http.Request, faults *flight.Invalid) *string {
	keys := r.Header["Idempotency-Key"]
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > 1 {
		faults.Add("Idempotency-Key", "must not be repeated")
	}
	return &keys[0]
}

// createInput reads the contract's CreateSubscriptionDto.
func createInput(o *object) graph.CreateSubscriptionInput {
	o.require("carrier", "flightNumber", "date", "webhookUrl")
	in := graph.CreateSubscriptionInput{
		LegInput: graph.LegInput{
			Carrier: o.text("carrier"), FlightNumber: o.text("flightNumber"), Date: o.text("date"),
			Origin: o.text("origin"), Destination: o.text("destination"), FlightID: o.text("flightId"),
		},
		WebhookURL:            o.text("webhookUrl"),
		Secret:                secret(o),
		Events:                changeTypes(o),
		DelayThresholdMinutes: o.integer("delayThresholdMinutes"),
		Headers:               o.stringMap("headers"),
		Metadata:              o.object("metadata"),
	}
	o.unknown()
	in.Faults = *o.faults
	return in
}

// secret takes the client's own secret. The resolver makes one where it is
// empty, which a client that sends an empty one does not expect.
func secret(o *object) string {
	if string(o.values["secret"]) == `""` {
		o.fault("secret", "must not be empty; leave it out to have one made")
	}
	return o.text("secret")
}

// changeTypes takes the events filter; nil when there is none.
func changeTypes(o *object) []flight.ChangeType {
	names := o.strings("events")
	if names == nil {
		return nil
	}
	types := make([]flight.ChangeType, len(names))
	for i, name := range names {
		types[i] = flight.ChangeType(name)
	}
	return types
}

// listSubscriptions answers GET /v1/subscriptions, newest first.
func (a *api) listSubscriptions(ctx context.Context, r *http.Request) (answer, error) {
	q := newQuery(r)
	filter := graph.SubscriptionFilter{
		Status:  flight.Status(q.text("status")),
		Carrier: q.text("carrier"), FlightNumber: q.text("flightNumber"), Date: q.text("date"),
	}
	offset, limit := q.number("offset", 0), q.number("limit", defaultLimit)
	filter.Faults = q.faults
	page, err := a.query.Subscriptions(ctx, &filter, offset, limit)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: pageBody(page)}, nil
}

// defaultLimit is how long a page of subscriptions is when nobody says.
const defaultLimit = 50

// getSubscription answers GET /v1/subscriptions/{id}, secret masked.
func (a *api) getSubscription(ctx context.Context, r *http.Request) (answer, error) {
	return subscription(http.StatusOK)(a.query.Subscription(ctx, r.PathValue("id")))
}

// updateSubscription answers PATCH /v1/subscriptions/{id}, secret masked.
func (a *api) updateSubscription(ctx context.Context, r *http.Request) (answer, error) {
	body, err := readObject(r)
	if err != nil {
		return answer{}, err
	}
	return subscription(http.StatusOK)(a.mutation.UpdateSubscription(ctx, r.PathValue("id"), updateInput(body)))
}

// updateInput reads the contract's UpdateSubscriptionDto. null takes headers
// and metadata away.
func updateInput(o *object) (in graph.UpdateSubscriptionInput) {
	in.Faults = *o.faults
	o.faults = &in.Faults
	replaced := func(name string) bool {
		if o.isNull(name) {
			o.take(name)
			in.NotNull(name)
			return false
		}
		return o.values[name] != nil
	}
	if replaced("webhookUrl") {
		url := o.text("webhookUrl")
		in.WebhookURL = &url
	}
	if replaced("events") {
		in.Events = changeTypes(o)
	}
	if replaced("delayThresholdMinutes") {
		in.DelayThresholdMinutes = o.integer("delayThresholdMinutes")
	}
	if o.isNull("headers") {
		in.Headers = map[string]string{}
	}
	if headers := o.stringMap("headers"); headers != nil {
		in.Headers = headers
	}
	if o.isNull("metadata") {
		in.Metadata = o.values["metadata"]
	}
	if metadata := o.object("metadata"); metadata != nil {
		in.Metadata = metadata
	}
	o.unknown()
	return in
}

// deleteSubscription answers DELETE /v1/subscriptions/{id}.
func (a *api) deleteSubscription(ctx context.Context, r *http.Request) (answer, error) {
	_, err := a.mutation.DeleteSubscription(ctx, r.PathValue("id"))
	return answer{status: http.StatusNoContent}, err
}

// pauseSubscription answers POST /v1/subscriptions/{id}/pause.
func (a *api) pauseSubscription(ctx context.Context, r *http.Request) (answer, error) {
	return subscription(http.StatusCreated)(a.mutation.PauseSubscription(ctx, r.PathValue("id")))
}

// resumeSubscription answers POST /v1/subscriptions/{id}/resume.
func (a *api) resumeSubscription(ctx context.Context, r *http.Request) (answer, error) {
	return subscription(http.StatusCreated)(a.mutation.ResumeSubscription(ctx, r.PathValue("id")))
}

// testSubscription answers POST /v1/subscriptions/{id}/test.
func (a *api) testSubscription(ctx context.Context, r *http.Request) (answer, error) {
	sent, err := a.mutation.TestSubscription(ctx, r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: encode(sent)}, nil
}

// redeliverEvent answers POST /v1/subscriptions/{id}/events/{eventId}/redeliver.
func (a *api) redeliverEvent(ctx context.Context, r *http.Request) (answer, error) {
	sent, err := a.mutation.RedeliverEvent(ctx, r.PathValue("id"), r.PathValue("eventId"))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: encode(sent)}, nil
}

// replayEvents answers POST /v1/subscriptions/{id}/replay.
func (a *api) replayEvents(ctx context.Context, r *http.Request) (answer, error) {
	o, err := readObject(r)
	if err != nil {
		return answer{}, err
	}
	in := graph.ReplayInput{Since: o.text("since"), After: o.text("after"), IncludeFailed: o.boolean("includeFailed")}
	o.unknown()
	in.Faults = *o.faults
	got, err := a.mutation.ReplayEvents(ctx, r.PathValue("id"), in)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: encode(got)}, nil
}

// subscription answers with one subscription under a status.
func subscription(status int) func(*flight.Subscription, error) (answer, error) {
	return func(s *flight.Subscription, err error) (answer, error) {
		if err != nil {
			return answer{}, err
		}
		return answer{status: status, body: subscriptionBody(s)}, nil
	}
}

// subscriptionBody encodes a subscription. Its metadata comes last, because
// the encoder would not leave the bytes of it as they are.
func subscriptionBody(s *flight.Subscription) []byte {
	plain := *s
	plain.Metadata = nil
	b := encode(plain)
	if len(s.Metadata) == 0 {
		return b
	}
	b = append(b[:len(b)-1], `,"metadata":`...)
	b = append(b, s.Metadata...)
	return append(b, '}')
}

// pageBody encodes a page of subscriptions.
func pageBody(p *graph.SubscriptionPage) []byte {
	b := encode(struct {
		Count  int `json:"count"`
		Total  int `json:"total"`
		Offset int `json:"offset"`
		Limit  int `json:"limit"`
	}{p.Count, p.Total, p.Offset, p.Limit})
	b = append(b[:len(b)-1], `,"data":[`...)
	for i, s := range p.Data {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, subscriptionBody(s)...)
	}
	return append(b, "]}"...)
}
