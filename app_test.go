package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// running is a run of the service in this process.
type running struct {
	client
	dir  string
	out  *output
	stop func()
}

// start runs the service in this process, in dev unless c says otherwise, and
// returns when it is ready. It is stopped at the end of the test at the latest.
func start(t *testing.T, c Config) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{client: client{t: t}, out: &output{}, dir: c.DataDir}
	ready, ended := make(chan string, 1), make(chan error, 1)
	c.Addr, c.Stdout, c.Ready = "127.0.0.1:0", r.out, func(base string) { ready <- base }
	go func() { ended <- run(ctx, c) }()
	select {
	case r.base = <-ready:
	case err := <-ended:
		cancel()
		t.Fatalf("it ended at once: %v", err)
	}
	stopped := false
	r.stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(r.stop)
	key, err := os.ReadFile(filepath.Join(c.DataDir, "demo.key"))
	if err != nil {
		t.Fatal(err)
	}
	r.key = strings.TrimSpace(string(key))
	return r
}

// fastWorld is a world in which the minute flight of 10:01 is about to live,
// in a second.
func fastWorld(dir string) (Config, flight.Key) {
	begin := time.Date(2026, 11, 21, 9, 59, 40, 0, time.UTC)
	return Config{DataDir: dir, Start: begin, Speed: 60, PollEvery: 2 * time.Second},
		simulator.MinuteFlight("FI", flight.TimeOf(begin.Add(time.Minute)))
}

func subscriptionTo(k flight.Key, url string) map[string]any {
	return map[string]any{"carrier": k.Carrier, "flightNumber": k.Number, "date": k.Date, "webhookUrl": url}
}

// inboxEntries are what /dev/inbox.json has, oldest first.
func (r *running) inboxEntries() []received {
	r.t.Helper()
	var list struct{ Data []received }
	if status := r.do("GET", "/dev/inbox.json", nil, &list); status != http.StatusOK {
		r.t.Fatalf("inbox: %d", status)
	}
	slices.Reverse(list.Data)
	return list.Data
}

// TestFirstSubscription takes the three steps of the README.
func TestFirstSubscription(t *testing.T) {
	c, key := fastWorld(t.TempDir())
	r := start(t, c)
	for _, want := range []string{r.key, r.base + "/v1", r.base + "/graphql", r.base + "/dev/inbox", "/readyz", "/v1/docs", "C=FI N=76", " D=" + key.Date} {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("dev did not print %q:\n%s", want, r.out)
		}
	}

	var found struct{ FlightNumber string }
	if status := r.do("GET", fmt.Sprintf("/v1/flights/FI/%s/%s", key.Number, key.Date), nil, &found); status != http.StatusOK || found.FlightNumber != key.Number {
		t.Fatalf("look-up: %d %+v", status, found)
	}
	var sub flight.Subscription
	if status := r.do("POST", "/v1/subscriptions", subscriptionTo(key, r.base+"/dev/inbox"), &sub); status != http.StatusCreated {
		t.Fatalf("subscribe: %d", status)
	}
	var got []received
	eventually(t, "the inbox has the end of the flight", func() bool {
		got = r.inboxEntries()
		return len(got) > 0 && got[len(got)-1].EventType == "subscription.completed"
	})
	if got[0].EventType != "subscription.created" {
		t.Errorf("the first event is %s", got[0].EventType)
	}
	var changes []string
	for _, in := range got {
		var body struct{ Changes []struct{ Type string } }
		if err := json.Unmarshal(in.Body, &body); err != nil {
			t.Error(err)
		}
		for _, ch := range body.Changes {
			changes = append(changes, ch.Type)
		}
		if !in.Verified || in.SubscriptionID != sub.ID || in.Attempt != 1 {
			t.Errorf("%s: verified %v (%s), subscription %s, attempt %d", in.EventType, in.Verified, in.Fault, in.SubscriptionID, in.Attempt)
		}
	}
	for _, want := range []string{"departure.gate.changed", "flight.departed", "flight.arrived"} {
		if !slices.Contains(changes, want) {
			t.Errorf("no %s among %v", want, changes)
		}
	}
}

func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	key := flight.Key{Carrier: "LH", Number: "400", Date: "2026-11-22"}
	world := Config{DataDir: dir, Start: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Speed: 1}
	first := start(t, world)
	var sub flight.Subscription
	if status := first.do("POST", "/v1/subscriptions", subscriptionTo(key, first.base+"/dev/inbox"), &sub); status != http.StatusCreated {
		t.Fatalf("subscribe: %d", status)
	}
	eventually(t, "it was told", func() bool { return len(first.inboxEntries()) == 1 })
	first.stop()
	for name, perm := range map[string]os.FileMode{"demo.key": 0o600, "secret.key": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, socketName)); !os.IsNotExist(err) {
		t.Errorf("the socket was left: %v", err)
	}

	second := start(t, Config{DataDir: dir}) // the world goes on as it was
	if second.key != first.key {
		t.Errorf("the demo key was %s and is %s", first.key, second.key)
	}
	var list struct{ Data []flight.Subscription }
	second.do("GET", "/v1/subscriptions", nil, &list)
	if len(list.Data) != 1 || list.Data[0].ID != sub.ID || list.Data[0].Status != flight.SubscriptionActive {
		t.Errorf("the second start finds %+v", list.Data)
	}
	if err := run(t.Context(), Config{DataDir: dir, Addr: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "data folder") {
		t.Errorf("a second process on the folder: %v", err)
	}
	second.stop()

	if err := run(t.Context(), Config{DataDir: dir, Addr: "127.0.0.1:0", Speed: 7}); flight.CodeOf(err) != flight.CodeConflict {
		t.Errorf("another speed: %v", err)
	}
}

// TestReplayDefaultStart: the replayed day begins two hours before its first
// departure, and goes on from there with the next start.
func TestReplayDefaultStart(t *testing.T) {
	dir := t.TempDir()
	r := start(t, Config{DataDir: dir, Upstreams: []string{replayed}})
	if !strings.Contains(r.out.String(), "flights by the replay, where it is 2013-07-10 0") {
		t.Errorf("the world's time is not told:\n%s", r.out)
	}
	r.stop()
	given := start(t, Config{DataDir: t.TempDir(), Upstreams: []string{replayed}, Start: time.Date(2013, 7, 10, 15, 0, 0, 0, time.UTC), Speed: 2})
	given.stop()
	again := start(t, Config{DataDir: given.dir, Upstreams: []string{replayed}})
	if !strings.Contains(again.out.String(), "at speed 2, where it is 2013-07-10 15:0") {
		t.Errorf("the world does not go on:\n%s", again.out)
	}
}

// TestServeInParts runs the API and the worker as two processes.
func TestServeInParts(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") == "" || os.Getenv("TEST_REDIS_URL") == "" {
		t.Skip("needs servers; make test starts them")
	}
	m := serversMode(t)
	begin := time.Now().UTC().Truncate(time.Second)
	env := append(m.env, "FLIGHTWIRE_SPEED=60", "FLIGHTWIRE_POLL_EVERY=2s", "FLIGHTWIRE_START="+begin.Format(time.RFC3339))
	api := startBinary(t, []string{"serve", "--role", "api"}, env)
	worker := startBinary(t, []string{"serve", "--role", "worker"}, env)
	c := client{t, api.base, m.newKey(t)}
	receiver := newReceiver(t)

	soon := flight.TimeOf(begin.Add(60 * time.Since(begin)).Add(3 * time.Minute))
	var sub flight.Subscription
	if status := c.do("POST", "/v1/subscriptions", subscriptionTo(simulator.MinuteFlight("FI", soon), receiver.URL), &sub); status != http.StatusCreated {
		t.Fatalf("subscribe: %d", status)
	}
	for kind := ""; kind != "subscription.completed"; {
		select {
		case kind = <-receiver.events:
		case <-time.After(time.Minute):
			t.Fatal("no completion arrived")
		}
	}
	bare := &http.Client{} // the document is of processes that serve it
	resp, err := bare.Get(worker.base + "/v1/subscriptions")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker().Failure(resp.StatusCode, resp.Header, body); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the worker answers /v1 with %d: %v: %s", resp.StatusCode, err, body)
	}
	for _, p := range []*process{api, worker} {
		if p.get("/metrics") != http.StatusOK || p.get("/healthz") != http.StatusOK {
			t.Error("an operator's address does not answer")
		}
		p.Signal(syscall.SIGTERM)
		if code := p.Wait(); code != 0 {
			t.Errorf("exit %d after SIGTERM", code)
		}
	}
	if strings.Contains(api.out.String()+worker.out.String(), c.key) {
		t.Error("the key stands in the log")
	}
}

// receiver is a customer's endpoint.
type receiver struct {
	*httptest.Server
	events chan string   // types as they arrive
	hold   chan struct{} // answers wait until it is closed
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{events: make(chan string, 1000), hold: make(chan struct{})}
	close(r.hold)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		r.events <- req.Header.Get("x-service-event-type")
		<-r.hold
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

// TestStop: SIGTERM ends streams at once, lets a delivery finish, and ends the
// process with 0.
func TestStop(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		p := startBinary(t, []string{m.command}, m.env)
		c := client{t, p.base, m.newKey(t)}
		ws, _, err := websocket.Dial(t.Context(), p.base+"/graphql", &websocket.DialOptions{
			Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"X-Api-Key": {c.key}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ws.CloseNow() }()
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"connection_init"}`)); err != nil {
			t.Fatal(err)
		}
		if _, ack, err := ws.Read(t.Context()); err != nil || !bytes.Contains(ack, []byte("connection_ack")) {
			t.Fatalf("%s %v", ack, err)
		}
		r := newReceiver(t)
		r.hold = make(chan struct{})
		key := flight.Key{Carrier: "LH", Number: "400", Date: time.Now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)}
		var sub flight.Subscription
		c.do("POST", "/v1/subscriptions", subscriptionTo(key, r.URL), &sub)
		if kind := <-r.events; kind != "subscription.created" {
			t.Fatalf("received %s", kind)
		}

		p.Signal(syscall.SIGTERM)
		if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) == -1 {
			t.Errorf("the websocket was not closed properly: %v", err)
		}
		close(r.hold)
		if code := p.Wait(); code != 0 {
			t.Fatalf("exit %d", code)
		}

		again := startBinary(t, []string{m.command}, m.env)
		c.base = again.base
		c.do("GET", "/v1/subscriptions/"+sub.ID, nil, &sub)
		if sub.DeliveredCount != 1 {
			t.Errorf("the delivery that was under way was not recorded: %+v", sub)
		}
	})
}

// TestSecondSignal: whoever does not want to wait signals again.
func TestSecondSignal(t *testing.T) {
	m := embeddedMode(t)
	p := startBinary(t, []string{m.command}, m.env)
	r := newReceiver(t)
	r.hold = make(chan struct{})
	defer close(r.hold)
	key := flight.Key{Carrier: "LH", Number: "400", Date: time.Now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)}
	client{t, p.base, m.newKey(t)}.do("POST", "/v1/subscriptions", subscriptionTo(key, r.URL), nil)
	<-r.events
	p.Signal(syscall.SIGTERM)
	p.until("it stops", func() bool { return strings.Contains(p.out.String(), "msg=\"stopping") })
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != -1 {
		t.Errorf("exit %d, not by the signal", code)
	}
}

// TestMigrateOff: the process lives and is not ready until migrate up has run.
func TestMigrateOff(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") == "" || os.Getenv("TEST_REDIS_URL") == "" {
		t.Skip("needs servers; make test starts them")
	}
	m := serversMode(t)
	p := launchBinary(t, []string{"serve", "--migrate", "off"}, m.env)
	var not struct{ Status, Reason string }
	p.until("it says why it is not ready", func() bool {
		status := client{t, p.base, ""}.do("GET", "/readyz", nil, &not)
		return status == http.StatusServiceUnavailable && strings.Contains(not.Reason, "migrate up")
	})
	if p.get("/healthz") != http.StatusOK || p.get("/v1/subscriptions") != http.StatusServiceUnavailable {
		t.Error("it does not live, or answers before it is ready")
	}
	if out, _, code := runCommand(t, []string{"migrate", "status"}, m.env); code != 0 || !strings.Contains(out, "missing") {
		t.Errorf("migrate status: %d %s", code, out)
	}
	if _, errs, code := runCommand(t, []string{"keys", "list", "--migrate", "off"}, m.env); code == 0 || !strings.Contains(errs, "migrate up") {
		t.Errorf("keys list before migrate up: %d %s", code, errs)
	}
	if out, errs, code := runCommand(t, []string{"migrate", "up"}, m.env); code != 0 {
		t.Fatalf("migrate up: %d %s%s", code, out, errs)
	}
	p.until("it is ready", func() bool { return p.get("/readyz") == http.StatusOK })
	if out, _, code := runCommand(t, []string{"migrate", "status"}, m.env); code != 0 || strings.Contains(out, "missing") {
		t.Errorf("migrate status: %d %s", code, out)
	}
}

// TestFailpoint keeps the kill tests honest: the point is reached and kills.
func TestFailpoint(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		env := append(m.env, "FLIGHTWIRE_FAILPOINT=deliver.sent:1=kill")
		p := startBinary(t, []string{m.command}, env)
		c := client{t, p.base, m.newKey(t)}
		r := newReceiver(t)
		key := flight.Key{Carrier: "LH", Number: "400", Date: time.Now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)}
		c.do("POST", "/v1/subscriptions", subscriptionTo(key, r.URL), nil)
		if code := p.Wait(); code != -1 || !strings.Contains(p.out.String(), "failpoint deliver.sent: killed") {
			t.Errorf("exit %d\n%s", code, p.out.String())
		}
	})
}
