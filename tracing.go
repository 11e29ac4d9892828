package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/flightwire/flightwire/jobs"
)

// traceFlush is how long a stop waits until the last spans are with the
// collector.
const traceFlush = 5 * time.Second

// tracing reports whether OpenTelemetry's own variables ask for traces.
func tracing(getenv func(string) string) (on bool, err error) {
	if getenv("OTEL_SDK_DISABLED") == "true" || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return false, nil
	}
	if e := getenv("OTEL_TRACES_EXPORTER"); e != "" && e != "otlp" {
		return false, usagef("OTEL_TRACES_EXPORTER: %q is not there; use otlp or none", e)
	}
	protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	if protocol != "http/protobuf" {
		return false, usagef("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not spoken here; use http/protobuf, most often on port 4318", protocol)
	}
	return true, nil
}

// openTracing returns the tracer that the environment asks for, nil where it
// asks for none, and what sends the last spans. The exporter, the sampler and
// the batches read their OTEL_ variables themselves.
func openTracing(ctx context.Context) (trace.Tracer, func() error, error) {
	on, err := tracing(os.Getenv)
	if !on || err != nil {
		return nil, func() error { return nil }, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	version, _ := build()
	what, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "flightwire"), attribute.String("service.version", version), attribute.String("service.instance.id", processID())),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // what the environment says counts
	if err != nil {
		return nil, nil, usagef("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Warn("OpenTelemetry has a problem; traces may be missing", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(what), sdktrace.WithIDGenerator(jobs.TraceIDs{}))
	return provider.Tracer("github.com/flightwire/flightwire"), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil { // a collector that is away is no failure of ours
			slog.Warn("the last traces could not be sent", "error", err)
		}
		return nil
	}, nil
}

// traceRequest begins the span of a request. A caller's own trace is linked, not
// continued: anybody may send its header. done ends it with the status.
func traceRequest(t trace.Tracer, r *http.Request, class string) (_ *http.Request, done func(status int)) {
	if t == nil {
		return r, func(int) {}
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", methodOf(r.Method)), attribute.String("flightwire.interface", class))}
	caller := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)))
	if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	ctx, span := t.Start(r.Context(), methodOf(r.Method)+" "+class, options...)
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
