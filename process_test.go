package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
)

// TestMain lets the test binary be flightwire, with failpoints:
// FLIGHTWIRE_FAILPOINT holds a comma list of name[:n]=kill or =stop. At the
// n-th time (the first, unless said) that the process comes to that point it
// sends itself SIGKILL or SIGSTOP. Points are the steps of jobs.IntakeConfig
// and jobs.WorkerConfig, and "commit." and the name of a transaction.
func TestMain(m *testing.M) {
	if os.Getenv("FLIGHTWIRE_TEST_MAIN") != "1" {
		http.DefaultClient.Transport = checked{http.DefaultTransport}
		_ = flag.Set("test.parallel", "4") // these tests wait more than they work
		os.Exit(m.Run())
	}
	if file := os.Getenv("FLIGHTWIRE_TEST_BARE"); file != "" {
		panic(serveBare(file)) // it ends with the test
	}
	go collectGarbage()
	step, err := failpoints(os.Getenv("FLIGHTWIRE_FAILPOINT"))
	if err != nil {
		panic(err)
	}
	step = armed(os.Getenv("FLIGHTWIRE_FAILPOINT_FILE"), step)
	os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr, step))
}

func failpoints(list string) (func(string), error) {
	type failpoint struct {
		left   atomic.Int64
		signal syscall.Signal
	}
	points := map[string]*failpoint{}
	for _, text := range strings.Split(list, ",") {
		if text == "" {
			continue
		}
		place, action, _ := strings.Cut(text, "=")
		name, count, counted := strings.Cut(place, ":")
		p, n := &failpoint{}, 1
		if counted {
			var err error
			if n, err = strconv.Atoi(count); err != nil {
				return nil, fmt.Errorf("failpoint %q: %w", text, err)
			}
		}
		p.left.Store(int64(n))
		switch action {
		case "kill":
			p.signal = syscall.SIGKILL
		case "stop":
			p.signal = syscall.SIGSTOP
		default:
			return nil, fmt.Errorf("failpoint %q: the action is neither kill nor stop", text)
		}
		points[name] = p
	}
	if len(points) == 0 {
		return nil, nil
	}
	return func(name string) {
		p := points[name]
		if p == nil || p.left.Add(-1) != 0 {
			return
		}
		fmt.Fprintf(os.Stderr, "failpoint %s: %v\n", name, p.signal)
		_ = syscall.Kill(os.Getpid(), p.signal)
		if p.signal == syscall.SIGKILL {
			select {} // it takes effect on all threads, but not at once
		}
	}, nil
}

// process is a running flightwire.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string // its address
	out  output
	done chan struct{} // closed when it has ended
	err  error         // of its end, once done
}

// output collects what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String returns what was printed so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is flightwire in a process of its own, with nothing of our own
// environment's settings.
func command(args, env []string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	if exe, err := os.Executable(); err == nil {
		cmd.Path = exe
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !isSetting(name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "FLIGHTWIRE_TEST_MAIN=1", "FLIGHTWIRE_ADDR=127.0.0.1:0"), env...)
	return cmd
}

// runCommand runs flightwire to its end, and returns what it printed and its
// exit code.
func runCommand(t *testing.T, args, env []string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(args, env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

var listening = regexp.MustCompile(`msg"?[=:]"?listening"?.*addr"?[=:]"?([0-9.:]+)`)

// launchBinary starts flightwire with env on top of its settings, on a free
// port unless env has FLIGHTWIRE_ADDR, and returns when it listens. It is
// killed at the end of the test; its output stands in the log of a test that
// failed.
func launchBinary(t *testing.T, args, env []string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(args, env), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", strings.Join(args, " "), p.out.String())
		}
	})
	p.until("it listens", func() bool {
		if m := listening.FindStringSubmatch(p.out.String()); m != nil {
			p.base = "http://" + m[1]
		}
		return p.base != ""
	})
	return p
}

// startBinary is launchBinary, and returns when the process is ready.
func startBinary(t *testing.T, args, env []string) *process {
	t.Helper()
	p := launchBinary(t, args, env)
	p.until("it is ready", func() bool { return p.get("/readyz") == http.StatusOK })
	return p
}

// until waits for something that another process does. It fails the test when
// the process ends, or a minute has passed.
func (p *process) until(what string, ok func() bool) {
	p.t.Helper()
	eventually(p.t, what, func() bool {
		select {
		case <-p.done:
			p.t.Fatalf("the process ended before %s: %v\n%s", what, p.err, p.out.String())
		default:
		}
		return ok()
	})
}

// eventually looks every few milliseconds until ok, at most for a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(5 * time.Millisecond) // another process does it
	}
}

func (p *process) get(path string) (status int) {
	resp, err := http.Get(p.base + path)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Signal sends the process a signal.
func (p *process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Kill ends the process as kill -9 does, and returns when it is gone. A
// process that has ended stays so.
func (p *process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Wait returns the exit code, -1 after a signal, when the process has ended.
func (p *process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		p.t.Fatalf("the process did not end\n%s", p.out.String())
		return 0
	}
}

// WaitStopped returns when SIGSTOP has stopped the process.
func (p *process) WaitStopped() {
	p.t.Helper()
	p.until("it is stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.HasPrefix(state, "T")
	})
}

// mode is one of the two ways to run the service.
type mode struct {
	name    string   // "embedded" or "servers"
	command string   // "dev" or "serve"
	env     []string // settings; more may be appended
	dir     string   // data folder of the embedded one
}

// eachMode runs f in the embedded mode and, where TEST_DATABASE_URL and
// TEST_REDIS_URL name servers, on those, with a schema and a Redis database of
// the test's own.
func eachMode(t *testing.T, f func(t *testing.T, m mode)) {
	t.Run("embedded", func(t *testing.T) { f(t, embeddedMode(t)) })
	if os.Getenv("TEST_DATABASE_URL") != "" && os.Getenv("TEST_REDIS_URL") != "" {
		t.Run("servers", func(t *testing.T) { f(t, serversMode(t)) })
	}
}

func embeddedMode(t *testing.T) mode {
	dir := t.TempDir()
	return mode{"embedded", "dev", []string{"FLIGHTWIRE_DATA_DIR=" + dir}, dir}
}

func serversMode(t *testing.T) mode {
	_, redisURL := dbtest.RedisServer(t)
	return mode{"servers", "serve", serverSettings([]string{"DATABASE_URL=" + dbtest.PostgresURL(t), "REDIS_URL=" + redisURL}), ""}
}

// serverSettings adds to the servers what every test has set.
func serverSettings(servers []string) []string {
	return append(servers, "FLIGHTWIRE_SECRET_KEY="+dbtest.SecretKey, "FLIGHTWIRE_ALLOW_PRIVATE_WEBHOOKS=true")
}

// newKey makes a key of an account on the plan unlimited: on servers by the
// command, in the embedded mode it is the demo key of a process that has
// started.
func (m mode) newKey(t *testing.T) string {
	t.Helper()
	if m.command == "dev" {
		text, err := os.ReadFile(filepath.Join(m.dir, "demo.key"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	out, errs, code := runCommand(t, []string{"keys", "create", "--account", "test", "--plan", "unlimited", "--json"}, m.env)
	var issued struct{ Key string }
	if err := json.Unmarshal([]byte(out), &issued); err != nil || code != 0 {
		t.Fatalf("keys create: exit %d, %v: %s%s", code, err, out, errs)
	}
	return issued.Key
}

// client calls the REST interface.
type client struct {
	t         *testing.T
	base, key string
}

// do makes a request and decodes the answer into out, unless that is nil. It
// returns the status; in is encoded as JSON, unless that is nil.
func (c client) do(method, path string, in, out any) (status int) {
	c.t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			c.t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("x-api-key", c.key)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		c.t.Fatalf("%s %s: %d %v: %s", method, path, resp.StatusCode, err, text)
	}
	return resp.StatusCode
}
