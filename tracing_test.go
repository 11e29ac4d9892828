package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	span "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/flightwire/flightwire/jobs"
)

// spans is a collector of traces.
type spans struct {
	*httptest.Server
	mu    sync.Mutex
	all   []*span.Span
	about []string // of the resources, and of everything else as text
}

func newSpans(t *testing.T) *spans {
	s := &spans{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer collector" {
			t.Errorf("%s: %v", r.URL, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.about = append(s.about, got.String())
		for _, from := range got.ResourceSpans {
			for _, scope := range from.ScopeSpans {
				s.all = append(s.all, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// named returns the spans of a name.
func (s *spans) named(name string) (found []*span.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.Name == name {
			found = append(found, one)
		}
	}
	return found
}

// TestTracing: a process that is told of a collector sends it what it does, all
// that it has before it ends, and no secrets.
func TestTracing(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		upstream, ear, to := newProvider(t), newEar(t), newSpans(t)
		s := m.serve(t, append(killEnv(upstream), "OTEL_EXPORTER_OTLP_ENDPOINT="+to.URL, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20collector", "OTEL_SERVICE_NAME=wire", "OTEL_BSP_SCHEDULE_DELAY=100")...)
		sub := subscribeAA100(t, s, ear)
		upstream.change("G1", nil)
		ear.wait(t, "the change", time.Now().Add(takeUpBound), func() bool { return len(ear.events[sub]) == 2 })
		settle(t, s, sub, 2)
		s.stop()

		event := ear.events[sub][1].ID
		trace := jobs.TraceOf(event)
		ofEvent := map[string]int{}
		for _, name := range []string{"event recorded", "deliver", "POST"} {
			for _, one := range to.named(name) {
				if string(one.TraceId) == string(trace[:]) {
					ofEvent[name]++
				}
			}
		}
		if ofEvent["event recorded"] != 1 || ofEvent["deliver"] != 1 || ofEvent["POST"] != 1 {
			t.Errorf("the event's trace has %v", ofEvent)
		}
		for _, name := range []string{"poll", "upstream cirium", "accept", "POST rest"} {
			if len(to.named(name)) == 0 {
				t.Errorf("there is no span %q", name)
			}
		}
		all := strings.Join(to.about, "")
		for _, secret := range []string{s.client.key, ear.secrets[sub], "CIRIUM_APP_KEY", ear.URL} {
			if strings.Contains(all, secret) {
				t.Errorf("the traces tell %q", secret)
			}
		}
		if !strings.Contains(all, `"wire"`) {
			t.Error("the service has not the name that it was given")
		}
	})
}

// A collector that is away holds nobody up.
func TestTracingWithoutACollector(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	upstream, ear := newProvider(t), newEar(t)
	s := embeddedMode(t).serve(t, append(killEnv(upstream), "OTEL_EXPORTER_OTLP_ENDPOINT="+away.URL, "OTEL_BSP_SCHEDULE_DELAY=50")...)
	subscribeAA100(t, s, ear)
	s.stop()
}

func TestTracingIsAskedFor(t *testing.T) {
	const endpoint = "http://collector:4318"
	for name, tt := range map[string]struct {
		env   map[string]string
		on    bool
		fault string
	}{
		"nothing is set":         {},
		"an endpoint":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, on: true},
		"one for traces":         {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, on: true},
		"switched off":           {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}},
		"no exporter":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}},
		"another exporter":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "zipkin"}, fault: "use otlp or none"},
		"another protocol":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, fault: "use http/protobuf"},
		"the protocol of traces": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, on: true},
	} {
		on, err := tracing(func(key string) string { return tt.env[key] })
		if on != tt.on || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v %v", name, on, err)
		}
	}
}
