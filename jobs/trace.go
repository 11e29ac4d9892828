package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// TraceIDs makes the ids of traces and spans, for a tracer provider. All that
// happens to an event is one trace, in whichever process and however often it
// is attempted: that trace's id is [TraceOf] the event. Other ids are random.
type TraceIDs struct{}

// NewIDs returns the ids of a span that has no parent.
func (g TraceIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if event, ok := ctx.Value(eventTrace{}).(string); ok {
		return TraceOf(event), g.NewSpanID(ctx, trace.TraceID{})
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1) // never all zero
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the id of a span in a trace.
func (TraceIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

// TraceOf returns the id of an event's trace: the first 16 bytes of the SHA-256
// of its id.
func TraceOf(eventID string) trace.TraceID {
	sum := sha256.Sum256([]byte(eventID))
	return trace.TraceID(sum[:16])
}

// eventTrace is the context's key for the event whose trace a span begins.
type eventTrace struct{}

// begin begins a span, and does nothing where there is no tracer.
func begin(ctx context.Context, t trace.Tracer, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t == nil {
		return ctx, trace.SpanFromContext(context.Background()) // one that records nothing
	}
	return t.Start(ctx, name, options...)
}

// finish ends a span and says how its work went. What an error says may be
// somebody's secret; its code is not. That there is no such flight is an answer.
func finish(span trace.Span, err error) {
	if code := flight.CodeOf(err); err != nil && code != flight.CodeFlightNotFound {
		span.SetStatus(codes.Error, string(code))
	}
	span.End()
}

// tracePoll begins the span of a poll.
func (in *Intake) tracePoll(ctx context.Context, claim db.PollClaim) (context.Context, trace.Span) {
	if in.Tracer == nil {
		return begin(ctx, nil, "")
	}
	return begin(ctx, in.Tracer, "poll", trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.String("flightwire.flight", claim.Key.String())))
}

// traceCall begins the span of a call to an upstream.
func (in *Intake) traceCall(ctx context.Context, p *Provider, key flight.Key) (context.Context, trace.Span) {
	if in.Tracer == nil {
		return begin(ctx, nil, "")
	}
	return begin(ctx, in.Tracer, "upstream "+p.Source.Name(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("flightwire.upstream", p.Source.Name()), attribute.String("flightwire.flight", key.String())))
}

// accept hands an answer to the one door. Each event that may be delivered at
// once begins its trace here, with a link to what found it.
func (in *Intake) accept(ctx context.Context, a db.Answer) (db.Accepted, error) {
	ctx, span := begin(ctx, in.Tracer, "accept")
	got, err := in.DB.Accept(ctx, a)
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("flightwire.changed", len(got.Changed)), attribute.Int("flightwire.events", len(got.Due)))
		for i := range got.Due {
			in.traceRecorded(ctx, &got.Due[i])
		}
	}
	finish(span, err)
	return got, err
}

func (in *Intake) traceRecorded(ctx context.Context, due *db.Due) {
	link := trace.Link{SpanContext: trace.SpanContextFromContext(ctx)}
	_, span := in.Tracer.Start(context.WithValue(ctx, eventTrace{}, due.EventID), "event recorded",
		trace.WithNewRoot(), trace.WithLinks(link), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			attribute.String("flightwire.event", due.EventID), attribute.String("flightwire.subscription", due.SubscriptionID)))
	span.End()
}

// traceAttempt begins the spans of an attempt: from the claim to its result,
// and in it the exchange with the receiver. done ends both.
func (d *dispatcher) traceAttempt(ctx context.Context, a *db.Attempt, claimed time.Duration) (_ context.Context, done func(*db.Result, webhook.Result)) {
	if d.Tracer == nil {
		return ctx, func(*db.Result, webhook.Result) {}
	}
	now := time.Now()
	ctx, whole := d.Tracer.Start(context.WithValue(ctx, eventTrace{}, a.EventID), "deliver",
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(now.Add(-max(claimed, 0))), trace.WithAttributes(
			attribute.String("flightwire.event", a.EventID), attribute.String("flightwire.event_type", string(a.EventType)),
			attribute.String("flightwire.subscription", a.SubscriptionID), attribute.Int("flightwire.attempt", a.Number),
			attribute.String("flightwire.lane", laneNames[a.Lane])))
	ctx, post := d.Tracer.Start(ctx, "POST", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now), trace.WithAttributes(
		attribute.String("http.request.method", "POST"), attribute.String("server.address", hostOf(a.URL))))
	return ctx, func(r *db.Result, got webhook.Result) {
		if got.StatusCode != 0 {
			post.SetAttributes(attribute.Int("http.response.status_code", got.StatusCode))
		}
		if got.ErrorClass != "" {
			post.SetAttributes(attribute.String("error.type", got.ErrorClass))
			post.SetStatus(codes.Error, got.ErrorClass)
		}
		post.End()
		whole.SetAttributes(attribute.String("flightwire.status", string(r.Status)))
		if r.Status == flight.DeliveryFailed {
			whole.SetStatus(codes.Error, string(r.Status))
		}
		whole.End()
	}
}

// hostOf is all of a webhook URL that a trace may show: paths and queries hold
// secrets.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
