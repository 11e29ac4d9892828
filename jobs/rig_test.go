package jobs_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/webhook"
	"github.com/flightwire/flightwire/jobs"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // these tests wait more than they work
	flag.Parse()
	jobs.SetCallTimeout(patience) // on a busy machine a second may not be enough
	if !testing.Verbose() {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		redis.SetLogger(silence{})
	}
	goleak.VerifyTestMain(m)
}

// silence keeps what go-redis says of cut lines out of the tests' output.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// patience is how long a test waits for what has to happen.
const patience = 30 * time.Second

// eachMode runs f in both modes, side by side with other tests.
func eachMode(t *testing.T, f func(t *testing.T, m dbtest.Mode)) {
	t.Parallel()
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		t.Parallel()
		f(t, m)
	})
}

// wait waits for ch.
func wait[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// script is an upstream that says what the test tells it to.
type script struct {
	mu    sync.Mutex
	legs  []flight.Snapshot
	err   error
	hook  func(ctx context.Context, call int)
	calls map[flight.Key]int
	times []time.Time   // of the calls
	asked chan struct{} // the calls since the answer was set
}

func newScript() *script {
	return &script{calls: make(map[flight.Key]int), asked: make(chan struct{}, 4096)}
}

func (s *script) Name() string         { return "script" }
func (s *script) Floor() time.Duration { return 0 }

// say sets the answer.
func (s *script) say(legs ...flight.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.legs, s.err = legs, nil
	for len(s.asked) > 0 {
		<-s.asked
	}
}

// fail sets an error as the answer.
func (s *script) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// on sets what happens in a call, before the answer is looked at again; calls
// of any flight are counted from 1.
func (s *script) on(hook func(ctx context.Context, call int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook, s.calls, s.times = hook, make(map[flight.Key]int), nil
}

func (s *script) count(key flight.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[key]
}

func (s *script) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	s.mu.Lock()
	s.calls[key]++
	n, hook := s.calls[key], s.hook
	answer, err := s.legs, s.err // what is true when it is asked
	s.times = append(s.times, time.Now())
	select {
	case s.asked <- struct{}{}:
	default:
	}
	s.mu.Unlock()
	if hook != nil {
		hook(ctx, n)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	var legs flight.Legs
	for _, l := range answer {
		if l.Key() == key {
			legs = append(legs, &l)
		}
	}
	return upstream.Finish(key, legs, now)
}

var key = flight.Key{Carrier: "AA", Number: "100", Date: "2026-11-21"}

// began is the same for every leg of a run, so that no schedule moves.
var began = time.Now().Truncate(time.Minute)

// leg is a scheduled leg that departs in two hours.
func leg() flight.Snapshot {
	at := func(d time.Duration) *flight.FlightTime {
		return &flight.FlightTime{UTC: flight.TimeOf(began.Add(d))}
	}
	airport := func(code string) flight.AirportRef {
		return flight.AirportRef{IATA: code, Name: code, Country: flight.CountryRef{Code: "US"}, Timezone: "America/New_York"}
	}
	return flight.Snapshot{
		CarrierCode: key.Carrier, FlightNumber: key.Number, Date: key.Date, ProviderFlightID: "1",
		Carrier:   flight.CarrierRef{IATA: "AA", Name: "American"},
		Departure: flight.Endpoint{Airport: airport("JFK"), Gate: "B1", Times: flight.EndpointTimes{ScheduledGate: at(2 * time.Hour)}},
		Arrival:   flight.Endpoint{Airport: airport("LHR"), Times: flight.EndpointTimes{ScheduledGate: at(9 * time.Hour)}},
		Status:    flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
	}
}

// atGate is leg at another gate.
func atGate(gate string) flight.Snapshot {
	l := leg()
	l.Departure.Gate = gate
	return l
}

type received struct {
	At     time.Time // by the test's clock
	Path   string
	Header http.Header
	Body   []byte
	Event  struct {
		ID, Type string
		Changes  []flight.Change
		Flight   *flight.Snapshot
	}
}

func (r received) attempt() string { return r.Header.Get("x-service-delivery-attempt") }

// what names an event shortly: its type, or the gate that it tells of.
func (r received) what() string {
	if r.Event.Type == "flight.updated" {
		return r.Event.Flight.Departure.Gate
	}
	return r.Event.Type
}

// receiver takes webhooks and answers as told.
type receiver struct {
	*httptest.Server
	got chan received // in the order in which they came in
}

// newReceiver answers the nth request with a status.
func newReceiver(t *testing.T, answer func(n int) int) *receiver {
	var mu sync.Mutex
	n := 0
	return newHandler(t, func(w http.ResponseWriter, _ received) {
		mu.Lock()
		n++
		status := answer(n)
		mu.Unlock()
		w.WriteHeader(status)
	})
}

// newHandler answers as handle does, which runs after got has the request.
func newHandler(t *testing.T, handle func(w http.ResponseWriter, r received)) *receiver {
	r := &receiver{got: make(chan received, 1<<16)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := received{At: time.Now(), Path: req.URL.Path, Header: req.Header.Clone()}
		var err error
		if rec.Body, err = io.ReadAll(req.Body); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(rec.Body, &rec.Event); err != nil {
			t.Errorf("%v: %s", err, rec.Body)
		}
		r.got <- rec
		handle(w, rec)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) next(t *testing.T) received {
	t.Helper()
	return wait(t, r.got, "a webhook")
}

// expect takes the next webhooks and compares what they tell of.
func (r *receiver) expect(t *testing.T, what ...string) []received {
	t.Helper()
	var all []received
	for _, w := range what {
		got := r.next(t)
		if got.what() != w {
			t.Fatalf("the receiver got %s, not %s", got.what(), w)
		}
		all = append(all, got)
	}
	return all
}

// rig is one process: an intake and a worker over a database, and the world
// around them.
type rig struct {
	dbtest.Mode
	source *script
	intake *jobs.Intake
	client *jobs.Client
	stop   func()        // stops the worker
	steps  chan struct{} // one slot: something was done
	sql    *sqlx.DB      // to look behind the curtain
}

// setup is what a test may change before a process starts.
type setup struct {
	jobs.IntakeConfig
	jobs.WorkerConfig
	SendTimeout time.Duration                                                                             // of intake and sender, with leases just above; 0: the defaults
	Step        func(step string)                                                                         // failpoints of both
	Gate        *gate                                                                                     // one of them that holds
	Stopped     bool                                                                                      // do not start the worker
	Dial        func(ctx context.Context, network, address string, check webhook.Check) (net.Conn, error) // the network, whose rules hold; nil: the operating system's, all of which may be contacted
}

func newRig(t *testing.T, m dbtest.Mode, pollEvery time.Duration) *rig {
	return rigWith(t, m, func(s *setup) { s.PollEvery = pollEvery })
}

func rigWith(t *testing.T, m dbtest.Mode, change func(*setup)) *rig {
	r := &rig{Mode: m, source: newScript(), steps: make(chan struct{}, 1), sql: openSQL(t, m)}
	r.start(t, change)
	return r
}

// other starts one more process in the same world.
func (r *rig) other(t *testing.T, change func(*setup)) *rig {
	t.Helper()
	o := &rig{Mode: r.Mode, source: r.source, steps: r.steps, sql: r.sql}
	if r.Config.URL != "" { // SQLite has one process
		var err error
		if o.DB, err = db.Open(t.Context(), r.Config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.DB.Close() })
	}
	o.start(t, change)
	if stop := o.stop; stop != nil && r.Config.URL != "" {
		o.stop = func() { stop(); _ = o.DB.Close() }
	}
	return o
}

func (r *rig) start(t *testing.T, change func(*setup)) {
	t.Helper()
	r.client = jobs.NewClient(r.Redis)
	s := setup{
		IntakeConfig: jobs.IntakeConfig{DB: r.DB, Client: r.client, Providers: []jobs.Provider{{Source: r.source}}, PollEvery: time.Hour},
		WorkerConfig: jobs.WorkerConfig{DB: r.DB, Redis: r.Redis, Client: r.client, RetryBase: time.Second},
	}
	change(&s)
	step := func(name string) {
		if s.Step != nil {
			s.Step(name)
		}
		if s.Gate != nil {
			s.Gate.pass(name)
		}
		select {
		case r.steps <- struct{}{}:
		default:
		}
	}
	if s.SendTimeout > 0 {
		s.IntakeConfig.Timeout, s.WorkerConfig.Timeout = s.SendTimeout, s.SendTimeout
		s.IntakeConfig.SetLeaseMargin(s.SendTimeout / 2)
		s.WorkerConfig.SetLeaseMargin(s.SendTimeout / 2)
	}
	s.IntakeConfig.Step, s.WorkerConfig.Step = step, step
	r.intake = jobs.NewIntake(s.IntakeConfig)
	s.Intake = r.intake
	s.Sender = webhook.NewSender(webhook.Config{AllowPrivate: s.Dial == nil, Timeout: s.SendTimeout, Dial: s.Dial})
	t.Cleanup(s.Sender.Close)
	worker := jobs.NewWorker(s.WorkerConfig)
	if s.Stopped {
		return
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	r.stop = sync.OnceFunc(worker.Stop)
	t.Cleanup(func() {
		if s.Gate != nil {
			s.Gate.open()
		}
		r.stop()
	})
}

func (r *rig) account(t *testing.T) string {
	t.Helper()
	k, err := r.DB.CreateKey(t.Context(), db.Operator, "acme", "unlimited", "k1", strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	return k.Account
}

func (r *rig) subscribe(t *testing.T, account, url string) *flight.Subscription {
	t.Helper()
	s := r.subscribeTo(t, account, url, key)
	if err := r.client.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// subscribeTo subscribes to the default leg of a flight, found or not.
func (r *rig) subscribeTo(t *testing.T, account, url string, key flight.Key) *flight.Subscription {
	t.Helper()
	n := db.NewSubscription{
		Account: account, Key: key, WebhookURL: url, Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MDE=",
		Events: flight.AllChanges, DelayThreshold: 5, Metadata: json.RawMessage(`{"b": 1, "a":  [2]}`), Now: r.intake.World(),
	}
	st, err := r.intake.Ask(t.Context(), key, false)
	switch {
	case err == nil:
		n.FlightID = st.IDs[0]
	case flight.CodeOf(err) != flight.CodeFlightNotFound:
		t.Fatal(err)
	}
	s, err := r.DB.CreateSubscription(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// change moves the flight to a gate and looks it up.
func (r *rig) change(t *testing.T, gate string) {
	t.Helper()
	r.source.say(atGate(gate))
	if _, err := r.intake.Ask(t.Context(), key, true); err != nil {
		t.Fatal(err)
	}
}

// until waits until cond holds, looking again whenever a step has been done.
func (r *rig) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-r.steps:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// openSQL opens the mode's database beside [db.DB].
func openSQL(t *testing.T, m dbtest.Mode) *sqlx.DB {
	driver, dsn := "postgres", m.Config.URL
	if dsn == "" {
		driver = "sqlite"
		dsn = fmt.Sprintf("file:%s?_time_integer_format=unix_micro&_inttotime=1&_pragma=busy_timeout(5000)", filepath.Join(m.Config.Dir, "flightwire.db"))
	}
	conn, err := sqlx.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// attempt is a line of the attempt log.
type attempt struct {
	Event  string  `db:"event_id"`
	Type   string  `db:"event_type"`
	Number int     `db:"attempt"`
	Status string  `db:"status"`
	Code   int     `db:"status_code"`
	Error  string  `db:"error"`
	At     db.Time `db:"attempted_at"`
	Next   db.Time `db:"next_attempt_at"`
}

func (a attempt) String() string { return fmt.Sprintf("%s %d %s", a.Type, a.Number, a.Status) }

// log returns a subscription's attempt log, in the order of its events.
func (r *rig) log(t *testing.T, subscription string) []attempt {
	t.Helper()
	var log []attempt
	err := r.sql.SelectContext(t.Context(), &log, `SELECT d.event_id, d.event_type, d.attempt, d.status, d.status_code, d.error, d.attempted_at, d.next_attempt_at
		FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.subscription_id = $1 ORDER BY e.seq, d.attempt`, subscription)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// one reads one value.
func one[T any](t *testing.T, r *rig, query string, args ...any) T {
	t.Helper()
	var v T
	if err := r.sql.GetContext(t.Context(), &v, query, args...); err != nil {
		t.Fatal(err)
	}
	return v
}

// settled reports whether no event of the database waits any more.
func (r *rig) settled(t *testing.T) bool {
	t.Helper()
	return one[int](t, r, `SELECT count(*) FROM events WHERE status = 'pending'`) == 0
}

// gate is a failpoint that holds whoever comes first until it is opened.
type gate struct {
	step   string
	taken  atomic.Bool
	freed  sync.Once
	held   chan struct{} // closed when somebody is held
	opened chan struct{}
}

func newGate(step string) *gate {
	return &gate{step: step, held: make(chan struct{}), opened: make(chan struct{})}
}

func (g *gate) pass(step string) {
	if step == g.step && !g.taken.Swap(true) {
		close(g.held)
		<-g.opened
	}
}

func (g *gate) open() { g.freed.Do(func() { close(g.opened) }) }
