package graph

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/jobs"
)

// script is an upstream that says what the test tells it to.
type script struct {
	calls atomic.Int32

	mu   sync.Mutex
	legs []flight.Snapshot
	err  error
	gate chan struct{} // when set, a call waits until it is closed
	came chan struct{} // gets one for each call that waits
}

func (s *script) Name() string         { return "script" }
func (s *script) Floor() time.Duration { return 0 }

func (s *script) say(legs ...flight.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.legs, s.err = legs, nil
}

func (s *script) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *script) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	s.calls.Add(1)
	s.mu.Lock()
	gate, came := s.gate, s.came
	s.mu.Unlock()
	if gate != nil {
		came <- struct{}{}
		<-gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	var legs flight.Legs
	for _, l := range s.legs {
		if l.Key() == key {
			legs = append(legs, &l)
		}
	}
	return upstream.Finish(key, legs, now)
}

// began is when the tests began, and today the date of the flights here, which
// leave two hours later: no flight moves because a test takes its time.
var (
	began = time.Now().UTC()
	today = began.Format(time.DateOnly)
)

var aa100 = LegInput{Carrier: "AA", FlightNumber: "100", Date: today}

func airport(code string) flight.AirportRef {
	return flight.AirportRef{IATA: code, Name: code + " airport", Country: flight.CountryRef{
		Code: "US", Name: "United States", Emoji: "🇺🇸", FlagSVG: "http://localhost/v1/flags/us.svg", FlagSVGSquare: "http://localhost/v1/flags/us.svg?shape=1x1",
	}, Timezone: "America/New_York"}
}

func leg(number, from, to string) flight.Snapshot {
	at := func(d time.Duration) *flight.FlightTime {
		return &flight.FlightTime{UTC: flight.TimeOf(began.Add(d).Truncate(time.Minute))}
	}
	return flight.Snapshot{
		CarrierCode: "AA", FlightNumber: number, Date: today, ProviderFlightID: number + from,
		Carrier:   flight.CarrierRef{IATA: "AA", ICAO: "AAL", Name: "American Airlines"},
		Departure: flight.Endpoint{Airport: airport(from), Gate: "B1", Times: flight.EndpointTimes{ScheduledGate: at(2 * time.Hour)}},
		Arrival:   flight.Endpoint{Airport: airport(to), Times: flight.EndpointTimes{ScheduledGate: at(9 * time.Hour)}},
		Status:    flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
		Timeline:  []flight.TimelineEntry{{OccurredAt: 1, Title: "Schedule", Events: []string{"gate assigned", ""}}},
	}
}

func atGate(gate string) flight.Snapshot {
	s := leg("100", "JFK", "LHR")
	s.Departure.Gate = gate
	return s
}

// rig is the use cases on a real database, over a scripted upstream.
type rig struct {
	t      *testing.T
	db     *db.DB
	source *script
	intake *jobs.Intake
	r      *Resolver
	ctx    context.Context // of the account
}

func eachMode(t *testing.T, f func(t *testing.T, r *rig)) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) { f(t, newRig(t, m, nil)) })
}

func newRig(t *testing.T, m dbtest.Mode, change func(*ResolverConfig)) *rig {
	g := startRig(t, m, change)
	g.ctx = access.With(t.Context(), access.Identity{Account: g.account("acme")})
	return g
}

// startRig is a rig without an account.
func startRig(t *testing.T, m dbtest.Mode, change func(*ResolverConfig)) *rig {
	source := new(script)
	source.say(leg("100", "JFK", "LHR"))
	client := jobs.NewClient(m.Redis)
	intake := jobs.NewIntake(jobs.IntakeConfig{DB: m.DB, Client: client, Providers: []jobs.Provider{{Source: source}}})
	c := ResolverConfig{DB: m.DB, Intake: intake, Client: client, Process: "test", LegacyPrefix: "legacy"}
	if change != nil {
		change(&c)
	}
	r := New(c)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	eventually(t, "the bell is listened to", func() bool { return r.lookups.doubted.Load() > 0 })
	return &rig{t: t, db: m.DB, source: source, intake: intake, r: r}
}

// sqliteRig is a rig in the embedded mode alone.
func sqliteRig(t *testing.T, change func(*ResolverConfig)) *rig {
	return newRig(t, dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}, change)
}

func (g *rig) account(name string) string {
	g.t.Helper()
	k, err := g.db.CreateKey(g.t.Context(), db.Operator, name, "unlimited", name+"key", strings.Repeat("0", 64))
	if err != nil {
		g.t.Fatal(err)
	}
	return k.Account
}

// poll does what a worker's poll would: it asks the upstream, whatever is cached.
func (g *rig) poll() {
	g.t.Helper()
	if _, err := g.intake.Ask(g.t.Context(), flight.Key{Carrier: "AA", Number: "100", Date: today}, true); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) flight(leg LegInput, refresh bool) *flight.Snapshot {
	g.t.Helper()
	s, err := g.r.Query().Flight(g.ctx, leg, refresh)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *rig) create(in CreateSubscriptionInput) *flight.Subscription {
	g.t.Helper()
	s, err := g.r.Mutation().CreateSubscription(g.ctx, in, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// eventually waits for what another goroutine or process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func wantCode(t *testing.T, err error, code flight.Code) *flight.Error {
	t.Helper()
	if flight.CodeOf(err) != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	e, _ := err.(*flight.Error)
	return e
}

func wantFields(t *testing.T, err error, fields ...string) {
	t.Helper()
	e := wantCode(t, err, flight.CodeInvalid)
	got := map[string]bool{}
	for _, f := range e.Fields {
		got[f.Field] = true
	}
	for _, f := range fields {
		if !got[f] {
			t.Errorf("no fault of %s", f)
		}
		delete(got, f)
	}
	if len(got) > 0 {
		t.Errorf("faults of %v, which are right", fmt.Sprint(got))
	}
}
