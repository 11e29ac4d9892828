package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight/webhook"
)

// runtimes are the languages of docs/receivers.md: the file that a receiver is
// written to, and how it is run.
var runtimes = map[string]struct {
	file string
	run  func(file string) []string
}{
	"go":     {"receiver.go", func(file string) []string { return []string{"go", "build", "-o", file + ".bin", file} }},
	"js":     {"receiver.mjs", func(file string) []string { return []string{"node", file} }},
	"python": {"receiver.py", func(file string) []string { return []string{"python3", file} }},
}

var programs = regexp.MustCompile("(?s)```(go|js|python)\n(.*?)\n```")

// The receivers that are documented are run as they stand on the page, and sent
// real deliveries. Each takes what is genuine, once, and nothing else.
func TestDocumentedReceivers(t *testing.T) {
	page, err := os.ReadFile("../../docs/receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, m := range programs.FindAllStringSubmatch(string(page), -1) {
		language, program := m[1], m[2]
		if !strings.Contains(program, "PORT") {
			continue // a line of the text
		}
		tested[language] = true
		t.Run(language, func(t *testing.T) { testReceiver(t, language, program) })
	}
	if len(tested) != len(runtimes) {
		t.Errorf("the page has receivers in %v", tested)
	}
}

const receiverSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

func testReceiver(t *testing.T, language, program string) {
	url, says := startReceiver(t, language, program)
	s := webhook.NewSender(webhook.Config{AllowPrivate: true})
	t.Cleanup(s.Close)
	send := func(change func(*webhook.Request)) int {
		t.Helper()
		r := webhook.Request{
			URL: url, Secret: receiverSecret, EventID: "evt_01", EventType: "flight.updated", SubscriptionID: "sub_01",
			Attempt: 1, Body: []byte(`{"id":"evt_01","type":"flight.updated","note":"Zürich <&>"}`),
		}
		if change != nil {
			change(&r)
		}
		return s.Send(t.Context(), r).StatusCode
	}
	other := func(r *webhook.Request) {
		r.EventID, r.Body = "evt_02", []byte(`{ "type": "subscription.test", "id": "evt_02" }`)
	}
	for _, c := range []struct {
		name   string
		change func(*webhook.Request)
		status int
	}{
		{"wrong secret", func(r *webhook.Request) { r.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, 401},
		{"stale", func(r *webhook.Request) { r.Now = time.Now().Add(-303 * time.Second) }, 401},
		{"of the future", func(r *webhook.Request) { r.Now = time.Now().Add(303 * time.Second) }, 401},
		{"genuine", nil, 204},
		{"again", nil, 204},
		{"as old as may be", func(r *webhook.Request) { other(r); r.Now = time.Now().Add(-295 * time.Second) }, 204},
	} {
		if got := send(c.change); got != c.status {
			t.Errorf("%s: answered %d, want %d", c.name, got, c.status)
		}
	}
	for name, signature := range map[string]string{
		"tampered": webhook.Sign(receiverSecret, time.Now().Unix(), []byte(`{"id":"evt_03"}`)), "unsigned": "", "nonsense": "t=1,v1=2", "cut off": "t=" + fmt.Sprint(time.Now().Unix()),
	} {
		if got := post(t, url, signature, `{"id":"evt_03" }`); got != 401 {
			t.Errorf("%s: answered %d, want 401", name, got)
		}
	}
	// Each event was taken once, and those that were refused not at all.
	for _, want := range []string{"flight.updated evt_01", "subscription.test evt_02"} {
		if !says.Scan() || says.Text() != want {
			t.Errorf("it took %q, want %q", says.Text(), want)
		}
	}
}

// startReceiver runs a program of the page until the test ends, and returns its
// address and what it prints.
func startReceiver(t *testing.T, language, program string) (url string, says *bufio.Scanner) {
	t.Helper()
	rt := runtimes[language]
	file := filepath.Join(t.TempDir(), rt.file)
	command := rt.run(file)
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skipf("not run: there is no %s here", command[0])
	}
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if language == "go" {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		command = []string{file + ".bin"}
	}
	port := freePort(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+receiverSecret)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("it said\n%s", &stderr)
		}
	})
	waitFor(t, "127.0.0.1:"+port)
	return "http://127.0.0.1:" + port + "/", bufio.NewScanner(out)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// waitFor returns when somebody listens at addr.
func waitFor(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("nobody listens at %s", addr)
		case <-again.C:
		}
	}
}

// post sends what the service never would: a body under a signature of another
// one, or of none.
func post(t *testing.T, url, signature, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-service-signature", signature)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
