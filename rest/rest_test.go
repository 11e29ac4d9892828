package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/graph"
	"github.com/flightwire/flightwire/jobs"
	"github.com/flightwire/flightwire/rest"
	"github.com/flightwire/flightwire/rest/resttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The world of these tests stands still at this moment.
var epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const (
	today     = "2026-11-21"
	yesterday = "2026-11-20" // not over everywhere
	past      = "2026-11-10"
)

// The numbers of American that the upstream of these tests knows; others are
// not found.
const (
	oneLeg      = "100"
	twoLegs     = "200" // DFW-MSY, MSY-MIA
	refused     = "502" // upstream_error
	down        = "503" // upstream_unavailable, back in 90 s
	slow        = "504" // upstream_timeout
	broken      = "500" // an error that is none of ours
	arriving    = "300" // arrives when world.arrived says so
	unfindable  = "9"
	legFlightID = "20102"
)

// world is the upstream of these tests.
type world struct{ arrived atomic.Bool }

func (*world) Name() string         { return "test" }
func (*world) Floor() time.Duration { return 0 }

func (w *world) Legs(_ context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	if key.Carrier != "AA" {
		return nil, flight.NotFound(key)
	}
	switch key.Number {
	case oneLeg:
		return upstream.Finish(key, flight.Legs{fullLeg(key)}, now)
	case twoLegs:
		return upstream.Finish(key, flight.Legs{
			plainLeg(key, "20101", "DFW", "MSY", 9), plainLeg(key, legFlightID, "MSY", "MIA", 12),
		}, now)
	case refused:
		return nil, &flight.Error{Code: flight.CodeUpstream, Message: "The upstream refused the request.", Cause: errors.New("app key hush")}
	case down:
		return nil, &flight.Error{Code: flight.CodeUpstreamUnavailable, Message: "The upstream is over its limit.", RetryAfter: 90 * time.Second}
	case slow:
		return nil, flight.Errorf(flight.CodeUpstreamTimeout, "The upstream did not answer in time.")
	case broken:
		return nil, errors.New("hush: no such host")
	case arriving:
		s := plainLeg(key, "3", "JFK", "LHR", 9)
		if w.arrived.Load() {
			s.Status = flight.StatusInfo{Code: flight.StatusLanded, Phase: flight.PhaseArrived}
		}
		return upstream.Finish(key, flight.Legs{s}, now)
	}
	return nil, flight.NotFound(key)
}

// plainLeg leaves at that hour and arrives an hour and a half later.
func plainLeg(key flight.Key, id, from, to string, hour int) *flight.Snapshot {
	at := func(minutes int) *flight.FlightTime {
		t := epoch.Truncate(24 * time.Hour).Add(time.Duration(hour*60+minutes) * time.Minute)
		return &flight.FlightTime{UTC: flight.TimeOf(t), Local: t.Format("2006-01-02T15:04:05.000"), Timezone: "UTC"}
	}
	airport := func(code string) flight.AirportRef {
		return flight.AirportRef{IATA: code, ICAO: "K" + code, Name: code + " & Co Airport", Timezone: "Etc/UTC",
			Country: flight.CountryRef{Code: "US", Name: "United States", Emoji: "🇺🇸", FlagSVG: "http://x/v1/flags/us.svg", FlagSVGSquare: "http://x/v1/flags/us.svg?shape=1x1"}}
	}
	return &flight.Snapshot{
		FlightKey: key.String(), CarrierCode: key.Carrier, FlightNumber: key.Number, Date: key.Date, ProviderFlightID: id,
		Carrier:    flight.CarrierRef{IATA: "AA", ICAO: "AAL", Name: "American Airlines"},
		Codeshares: []flight.CodeshareRef{},
		Departure:  flight.Endpoint{Airport: airport(from), Times: flight.EndpointTimes{ScheduledGate: at(0)}},
		Arrival:    flight.Endpoint{Airport: airport(to), Times: flight.EndpointTimes{ScheduledGate: at(90)}},
		Status:     flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
		Timeline:   []flight.TimelineEntry{},
	}
}

// fullLeg has a value in every field that an undisturbed flight can have.
func fullLeg(key flight.Key) *flight.Snapshot {
	s := plainLeg(key, "1", "JFK", "LHR", 13)
	late := func(ft *flight.FlightTime) *flight.FlightTime {
		t := ft.UTC.Std().Add(20 * time.Minute)
		return &flight.FlightTime{UTC: flight.TimeOf(t), Local: t.Format("2006-01-02T15:04:05.000"), Timezone: "UTC"}
	}
	s.OperatedBy = "Envoy Air"
	s.Codeshares = []flight.CodeshareRef{{Carrier: "BA", Name: "British Airways", FlightNumber: "1511"}}
	s.Departure.Terminal, s.Departure.Gate = "8", "B42"
	s.Departure.Times.EstimatedGate = late(s.Departure.Times.ScheduledGate)
	s.Arrival.Terminal, s.Arrival.Gate, s.Arrival.Baggage = "3", "12", "7"
	s.Arrival.Times.EstimatedGate = late(s.Arrival.Times.ScheduledGate)
	s.Equipment = flight.EquipmentInfo{TailNumber: "N100AA", IATA: "77W", Name: "Boeing 777-300ER", Source: "actual"}
	s.Timeline = []flight.TimelineEntry{
		{OccurredAt: flight.TimeOf(epoch.Add(-time.Hour)), Title: "Gate Adjustment", Source: "AA", Events: []string{"Departure gate changed from B40 to B42"}},
		{OccurredAt: flight.TimeOf(epoch.Add(-24 * time.Hour)), Title: "Record Created", Events: []string{}},
	}
	return s
}

// rig is the interface as it is served, on one mode.
type rig struct {
	dbtest.Mode
	world      *world
	handler    http.Handler
	resolver   *graph.Resolver
	guard      *access.Guard
	server     *httptest.Server
	key, other string // keys of two accounts
	log        *syncWriter
	atlas      *places.Atlas
}

// checker holds answers against the document.
var checker = sync.OnceValue(func() *resttest.Checker {
	c, err := resttest.New(rest.Document(baseURL, "legacy"))
	if err != nil {
		panic(err)
	}
	return c
})

const baseURL = "https://fw.example/"

// serve returns the interface behind a guard. Whatever it answers is held
// against the document, except where speed is measured.
func (r *rig) serve(t testing.TB, guard rest.Guard) http.Handler {
	h := rest.New(rest.Config{
		Resolver: r.resolver, Guard: guard, Flags: r.atlas, BaseURL: baseURL, LegacyPrefix: "legacy",
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if _, measured := t.(*testing.B); measured || os.Getenv("FLIGHTWIRE_BENCH") != "" {
		return h
	}
	return checker().Handler(t, h)
}

// syncWriter is a log that tests read.
type syncWriter struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *syncWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// testPlans are without windows: what a test asks for must not depend on how
// much the minute has had.
var testPlans = access.Plans{
	{Name: "unlimited", Requests: access.Limits{access.NoLimit, access.NoLimit, access.NoLimit}, WatchedFlights: access.NoLimit, LiveLegs: access.NoLimit},
	{Name: "free", Requests: access.Limits{access.NoLimit, access.NoLimit, access.NoLimit}, WatchedFlights: 3, LiveLegs: 3},
}

func newRig(t testing.TB, m dbtest.Mode) *rig {
	t.Helper()
	r := &rig{Mode: m, world: new(world), log: new(syncWriter)}
	clock := flight.Clock{Start: m.DB.Now(), Epoch: epoch, Speed: 1e-9}
	client := jobs.NewClient(m.Redis)
	intake := jobs.NewIntake(jobs.IntakeConfig{DB: m.DB, Client: client, Providers: []jobs.Provider{{Source: r.world}}, Clock: clock})
	atlas := newAtlas(t)
	r.resolver = graph.New(graph.ResolverConfig{BaseURL: baseURL, Countries: atlas, DB: m.DB, Intake: intake, Client: client, Clock: clock, LegacyPrefix: "legacy", Process: "test", Plans: testPlans})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.resolver.Run(ctx) })
	r.guard = access.New(access.Config{DB: m.DB, Redis: m.Redis, Plans: testPlans, Grace: access.DefaultGrace, Alone: m.Name == "sqlite"}) // as dev and serve do
	r.atlas = atlas
	r.handler = r.serve(t, r.guard)
	r.server = httptest.NewServer(r.handler)
	t.Cleanup(func() { r.server.Close(); r.guard.Close(); stop(); running.Wait() })
	keys := access.NewKeys(m.DB, m.Redis)
	for name, key := range map[string]*string{"acme": &r.key, "rival": &r.other} {
		issued, err := keys.Create(t.Context(), name, "unlimited")
		if err != nil {
			t.Fatal(err)
		}
		*key = issued.Key
	}
	return r
}

// request is one call; the zero values are GET, no body and the rig's key.
type request struct {
	method, path, body string
	key                string // "-": none
	header             http.Header
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r *rig) do(t testing.TB, q request) reply {
	t.Helper()
	if q.method == "" {
		q.method = "GET"
	}
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), q.method, r.server.URL+q.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Request-Id", "req-7")
	switch q.key {
	case "":
		req.Header.Set("X-Api-Key", r.key)
	case "-":
	default:
		req.Header.Set("X-Api-Key", q.key)
	}
	for name, values := range q.header {
		req.Header[name] = values
	}
	resp, err := r.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got := reply{status: resp.StatusCode, header: resp.Header}
	if got.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return got
}

// want fails the test unless the reply has that status and, where it is an
// error, that code.
func (got reply) want(t testing.TB, status int, code string) {
	t.Helper()
	if got.status != status {
		t.Fatalf("status %d, want %d: %s", got.status, status, got.body)
	}
	if code == "" {
		return
	}
	var e struct {
		StatusCode                 int
		Error, Message, Path       string
		Timestamp, RequestID, Code string
	}
	got.decode(t, &e)
	if e.Code != code || e.StatusCode != status || e.Error == "" || e.Message == "" || e.Path == "" || e.Timestamp == "" ||
		e.RequestID == "" || e.RequestID != got.header.Get("X-Request-Id") {
		t.Fatalf("want %s, got %s", code, got.body)
	}
}

func (got reply) decode(t testing.TB, v any) {
	t.Helper()
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Fatalf("Content-Type %q: %s", ct, got.body)
	}
	if err := json.Unmarshal(got.body, v); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
}

// golden compares the reply with a golden file.
func (got reply) golden(t *testing.T, name string) {
	t.Helper()
	rest.Golden(t, name, fmt.Sprintf("%d\n", got.status), got.body)
}

// subscribe makes a subscription and returns its id.
func (r *rig) subscribe(t testing.TB, number string) string {
	t.Helper()
	got := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody("flightNumber", number)})
	got.want(t, 201, "")
	var s struct{ ID string }
	got.decode(t, &s)
	return s.ID
}

// createBody returns a body that creates a subscription, with fields replaced
// or added by name and value.
func createBody(pairs ...any) string {
	m := map[string]any{"carrier": "AA", "flightNumber": oneLeg, "date": today, "webhookUrl": "https://example.com/hook"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const madeUpKey = "fw_aaaaaaaaaaaaaaaa_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
