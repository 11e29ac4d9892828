package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/jobs"
)

// What happens to a change can be followed from the poll that found it to the
// answer of its receiver: the poll's trace has the call and the door, and each
// event has a trace of its own, whose id comes of its own, with all attempts.
func TestTraces(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		kept := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithIDGenerator(jobs.TraceIDs{}))
		tracer := provider.Tracer("test")
		r := rigWith(t, m, func(s *setup) {
			s.PollEvery, s.RetryBase = time.Second, 10*time.Millisecond
			s.IntakeConfig.Tracer, s.WorkerConfig.Tracer = tracer, tracer
		})
		recv := newReceiver(t, func(n int) int { return []int{204, 503, 204}[min(n, 3)-1] })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL+"/secretpath?token=secret")
		recv.expect(t, "subscription.created")
		r.source.say(atGate("C1")) // a poll finds it
		event := recv.expect(t, "C1", "C1")[0].Event.ID
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		r.stop()
		if err := provider.ForceFlush(context.Background()); err != nil {
			t.Fatal(err)
		}
		spans := kept.GetSpans()

		recorded := only(t, spans, "event recorded", event)
		if recorded.SpanContext.TraceID() != jobs.TraceOf(event) || recorded.Parent.IsValid() || len(recorded.Links) != 1 {
			t.Fatalf("the event's trace begins with %+v", recorded)
		}
		accept := spanOf(t, spans, recorded.Links[0].SpanContext.SpanID().String())
		poll := spanOf(t, spans, accept.Parent.SpanID().String())
		if accept.Name != "accept" || poll.Name != "poll" || poll.Parent.IsValid() || poll.SpanContext.TraceID() == jobs.TraceOf(event) {
			t.Errorf("the event comes of %q in %q", accept.Name, poll.Name)
		}
		if !slices.ContainsFunc(spans, func(s tracetest.SpanStub) bool {
			return s.Name == "upstream script" && s.Parent.SpanID() == poll.SpanContext.SpanID()
		}) {
			t.Error("the poll's trace has no call")
		}
		checkAttempts(t, spans, event)
		for _, span := range spans {
			if text := fmt.Sprint(span.Attributes, span.Events, span.Status); strings.Contains(text, "secret") || strings.Contains(text, s.Secret) {
				t.Errorf("%s tells a secret: %s", span.Name, text)
			}
		}
	})
}

// checkAttempts expects a refused and a successful attempt in an event's trace.
func checkAttempts(t *testing.T, spans tracetest.SpanStubs, event string) {
	t.Helper()
	attempts := slices.DeleteFunc(slices.Clone(spans), func(s tracetest.SpanStub) bool {
		return s.Name != "deliver" || s.SpanContext.TraceID() != jobs.TraceOf(event)
	})
	if len(attempts) != 2 {
		t.Fatalf("the event's trace has %d attempts", len(attempts))
	}
	for i, want := range []struct {
		code   int64
		status string
		failed codes.Code
	}{{503, "retrying", codes.Error}, {204, "succeeded", codes.Unset}} {
		a := attempts[i]
		if value(a, "flightwire.attempt").AsInt64() != int64(i+1) || value(a, "flightwire.status").AsString() != want.status || value(a, "flightwire.event").AsString() != event {
			t.Errorf("attempt %d: %v", i+1, a.Attributes)
		}
		at := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Parent.SpanID() == a.SpanContext.SpanID() })
		if at < 0 {
			t.Fatalf("attempt %d has no exchange", i+1)
		}
		post := spans[at]
		if post.Name != "POST" || value(post, "http.response.status_code").AsInt64() != want.code || post.Status.Code != want.failed || value(post, "server.address").AsString() != "127.0.0.1" {
			t.Errorf("the exchange of attempt %d: %v %v", i+1, post.Attributes, post.Status)
		}
		if a.StartTime.After(post.StartTime) || post.EndTime.After(a.EndTime) {
			t.Errorf("attempt %d does not hold its exchange", i+1)
		}
	}
}

// only returns the one span of a name that is about an event.
func only(t *testing.T, spans tracetest.SpanStubs, name, event string) (found tracetest.SpanStub) {
	t.Helper()
	n := 0
	for _, s := range spans {
		if s.Name == name && value(s, "flightwire.event").AsString() == event {
			found = s
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d spans %q of the event", n, name)
	}
	return found
}

func spanOf(t *testing.T, spans tracetest.SpanStubs, id string) tracetest.SpanStub {
	t.Helper()
	at := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.SpanContext.SpanID().String() == id })
	if at < 0 {
		t.Fatalf("there is no span %s", id)
	}
	return spans[at]
}

func value(s tracetest.SpanStub, key attribute.Key) attribute.Value {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return attribute.Value{}
}

// The trace of an event can be reckoned by hand, and samplers that go by it
// take their share.
func TestTraceOf(t *testing.T) {
	if got := jobs.TraceOf("evt_01a1ff9dca257bc6a7c19470647b3b5e").String(); got != "0a555a7df3d3084ce264df77880dfea9" {
		t.Errorf("got %s", got)
	}
	const events = 2000
	half, taken := sdktrace.TraceIDRatioBased(0.5), 0
	for i := range events {
		if half.ShouldSample(sdktrace.SamplingParameters{TraceID: jobs.TraceOf(fmt.Sprintf("evt_01a1ff9dca257bc6a7c1%012x", i))}).Decision == sdktrace.RecordAndSample {
			taken++
		}
	}
	if taken < events*4/10 || taken > events*6/10 {
		t.Errorf("half of %d events are %d", events, taken)
	}
}

// Without a tracer nothing is allocated for one.
func TestNoTracerCostsNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, jobs.TraceNothing); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
