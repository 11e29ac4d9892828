package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// planFile writes a file for FLIGHTWIRE_PLANS and returns the setting.
func planFile(t *testing.T, plans string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plans.json")
	if err := os.WriteFile(path, []byte(plans), 0o600); err != nil {
		t.Fatal(err)
	}
	return "FLIGHTWIRE_PLANS=" + path
}

// issue makes a key of an account on a plan.
func (m mode) issue(t *testing.T, account, plan string, env ...string) (id, key string) {
	t.Helper()
	out, errs, code := runCommand(t, []string{"keys", "create", "--account", account, "--plan", plan, "--json"}, append(env, m.env...))
	var issued struct{ ID, Key string }
	if err := json.Unmarshal([]byte(out), &issued); err != nil || code != 0 {
		t.Fatalf("keys create: exit %d, %v: %s%s", code, err, out, errs)
	}
	return issued.ID, issued.Key
}

// answer is what a request was answered.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func ask(t *testing.T, base, path, key string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if err := json.NewDecoder(resp.Body).Decode(&a.body); err != nil {
		t.Error(err)
	}
	return a
}

// 64 callers on two processes get exactly what a plan of the operator's file
// has, and no more after Redis was emptied.
func TestQuotaOnTwoProcesses(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("two processes need servers")
	}
	m, plans := serversMode(t), planFile(t, `{"partner": {"minute": null, "day": null, "month": 300, "watchedFlights": 3, "liveLegs": 1}}`)
	_, key := m.issue(t, "Acme", "partner", plans)
	var bases []string
	for range 2 {
		bases = append(bases, startBinary(t, []string{"serve", "--role", "api"}, append([]string{plans}, m.env...)).base)
	}
	var passed, refused atomic.Int64
	callTwo := func(each int) {
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				for range each {
					switch a := ask(t, bases[i%2], "/v1/countries/DE", key); a.status {
					case http.StatusOK:
						passed.Add(1)
					case http.StatusTooManyRequests:
						refused.Add(1)
						if a.body["window"] != "month" || a.header.Get("Retry-After") == "" || a.header.Get("X-RateLimit-Limit-Day") != "" {
							t.Errorf("refused with %v %v", a.header, a.body)
						}
					default:
						t.Errorf("answered %d %v", a.status, a.body)
					}
				}
			})
		}
		callers.Wait()
	}
	callTwo(8)
	if passed.Load() != 300 || refused.Load() != 64*8-300 {
		t.Fatalf("%d pass and %d are refused, of 512 with 300 allowed", passed.Load(), refused.Load())
	}
	d := m.sql(t)
	eventually(t, "SQL has all that was counted", func() bool {
		var n int
		if err := d.Get(&n, `SELECT coalesce(sum(requests), 0) FROM usage WHERE length(period) = 7`); err != nil {
			t.Fatal(err)
		}
		return n == 300
	})
	if err := m.redis(t).FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	callTwo(2)
	if passed.Load() != 300 {
		t.Errorf("%d more pass after Redis was emptied", passed.Load()-300)
	}
}

// While 64 callers use a key on two processes it is rotated by command: not one
// request that was begun after the command's answer gets through.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("two processes need servers")
	}
	m := serversMode(t)
	id, old := m.issue(t, "Acme", "unlimited")
	var bases []string
	for range 2 {
		bases = append(bases, startBinary(t, []string{"serve", "--role", "api"}, m.env).base)
	}
	var rotated atomic.Bool
	var before, late, after atomic.Int64
	var callers sync.WaitGroup
	warm := make(chan struct{})
	var once sync.Once
	for i := range 64 {
		callers.Go(func() {
			for n := 0; n < 20; {
				begun := rotated.Load()
				switch a := ask(t, bases[i%2], "/v1/countries/DE", old); {
				case a.status == http.StatusOK && begun:
					late.Add(1)
				case a.status == http.StatusOK:
					if before.Add(1) == 640 {
						once.Do(func() { close(warm) })
					}
				case a.status != http.StatusUnauthorized:
					t.Errorf("answered %d %v", a.status, a.body)
				}
				if begun {
					after.Add(1)
					n++
				}
			}
		})
	}
	<-warm
	out, errs, code := runCommand(t, []string{"keys", "rotate", id, "--json"}, m.env)
	rotated.Store(true)
	callers.Wait()
	if code != 0 || strings.Contains(out, old) {
		t.Fatalf("keys rotate: exit %d %s%s", code, out, errs)
	}
	if late.Load() != 0 || after.Load() != 64*20 {
		t.Errorf("%d of %d requests got through with the old key", late.Load(), after.Load())
	}
	var issued struct{ Key string }
	if err := json.Unmarshal([]byte(out), &issued); err != nil {
		t.Fatal(err)
	}
	for _, base := range bases {
		if a := ask(t, base, "/v1/countries/DE", issued.Key); a.status != http.StatusOK {
			t.Errorf("the new key: %d %v", a.status, a.body)
		}
	}
}

// gate passes connections on to a server while it is open.
type gate struct {
	net.Listener

	mu     sync.Mutex
	to     string
	closed bool
	conns  []net.Conn
}

func newGate(t *testing.T, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, to: to}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { g.pass(in) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); g.set(false); running.Wait() })
	return g
}

// set opens or closes the gate; closing cuts what is under way.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = !open
	if !open {
		for _, c := range g.conns {
			_ = c.Close()
		}
		g.conns = nil
	}
}

// lead makes new connections go to another server.
func (g *gate) lead(to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = to
}

func (g *gate) pass(in net.Conn) {
	g.mu.Lock()
	to := g.to
	g.mu.Unlock()
	out, err := net.Dial("tcp", to)
	g.mu.Lock()
	if err != nil || g.closed {
		g.mu.Unlock()
		_ = in.Close()
		if err == nil {
			_ = out.Close()
		}
		return
	}
	g.conns = append(g.conns, in, out)
	g.mu.Unlock()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	both.Wait()
}

// Without Redis a small allowance is served for the configured time, visible in
// metrics and log; then requests are refused with 503, until Redis is back.
func TestRedisDown(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_REDIS_URL") == "" {
		t.Skip("Redis cannot go away without the process in the embedded mode")
	}
	m := serversMode(t)
	redisURL, err := url.Parse(m.setting("REDIS_URL"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, redisURL.Host)
	_, key := m.issue(t, "Acme", "free")
	redisURL.Host = g.Addr().String()
	p := startBinary(t, []string{"serve", "--role", "api"}, append(m.env, "REDIS_URL="+redisURL.String(), "FLIGHTWIRE_QUOTA_GRACE=3s"))
	s := &service{process: p, client: client{t, p.base, key}}
	if a := ask(t, p.base, "/v1/countries/DE", key); a.status != 200 || a.header.Get("X-RateLimit-Limit-Minute") != "10" {
		t.Fatalf("before: %d %v", a.status, a.header)
	}
	g.set(false)
	served, refused := 0, false
	eventually(t, "the grace is over", func() bool {
		switch a := ask(t, p.base, "/v1/countries/DE", key); {
		case a.status == 200:
			served++
			if a.header.Get("X-RateLimit-Limit-Minute") != "" {
				t.Error("quota headers, though nobody knows what remains")
			}
		case a.status == 503 && a.body["code"] == "quota_unavailable" && a.header.Get("Retry-After") != "":
			refused = true
		default:
			t.Fatalf("answered %d %v", a.status, a.body)
		}
		return strings.Contains(p.out.String(), "Redis has not answered for too long")
	})
	if served == 0 || served > 6 || !refused { // a quarter of ten, in one minute or two
		t.Errorf("%d requests were served without Redis, some refused: %v", served, refused)
	}
	if v := s.metric("flightwire_quota_degraded"); v != "1" {
		t.Errorf("flightwire_quota_degraded is %s", v)
	}
	if !strings.Contains(p.out.String(), "Redis does not answer") {
		t.Error("the log does not say that Redis does not answer")
	}
	if p.get("/healthz") != 200 {
		t.Error("the process says that it does not live")
	}
	g.set(true)
	eventually(t, "Redis counts again", func() bool {
		a := ask(t, p.base, "/v1/countries/DE", key)
		return a.header.Get("X-RateLimit-Limit-Minute") == "10"
	})
	if v := s.metric("flightwire_quota_degraded"); v != "0" {
		t.Errorf("afterwards flightwire_quota_degraded is %s", v)
	}
}
