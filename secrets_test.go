package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// witness keeps all that the service has said to anybody, by where it said it.
type witness struct {
	t         *testing.T
	base, key string
	mu        sync.Mutex
	said      map[string]string
}

func (w *witness) note(where, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[where] += text
}

// ask makes a request with the key, and returns the answer. What it says is
// noted unless it is an answer that shows a secret on purpose.
func (w *witness) ask(method, path, body string, onPurpose bool) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("x-api-key", w.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if !onPurpose {
		w.note(fmt.Sprintf("%s %s %.60s", method, path, body), fmt.Sprintf("%d %v %s", resp.StatusCode, resp.Header, text))
	}
	return string(text)
}

// graphQL is ask with an operation.
func (w *witness) graphQL(query string, onPurpose bool) string {
	w.t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.ask("POST", "/graphql", string(body), onPurpose)
}

// receive is a customer's endpoint that notes what comes, and answers with
// failures and with rejections in turn.
func (w *witness) receive(rw http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	w.note("webhook", fmt.Sprintf("%s %v %s\n", req.URL, req.Header, body))
	if strings.Contains(string(body), "subscription.test") {
		rw.WriteHeader(http.StatusBadRequest)
	}
}

// TestSecretsAreKept runs the service at its most talkative and uses all of it.
// Signing secrets stand in the answers that show them on purpose and nowhere
// else, API keys nowhere: not in bodies, errors, webhooks, logs, metrics or
// files.
func TestSecretsAreKept(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		p := startBinary(t, []string{m.command}, append(m.env, "FLIGHTWIRE_LOG_LEVEL=debug", "FLIGHTWIRE_POLL_EVERY=1s", "FLIGHTWIRE_RETRY_BASE=10ms"))
		w := &witness{t: t, base: p.base, said: map[string]string{}}
		receiver := httptest.NewServer(http.HandlerFunc(w.receive))
		defer receiver.Close()
		var key struct{ ID, Key string }
		out, errs, code := runCommand(t, []string{"keys", "create", "--account", "discreet", "--plan", "pro", "--json"}, m.env)
		if err := json.Unmarshal([]byte(out), &key); err != nil || code != 0 {
			t.Fatal(err, out, errs)
		}
		w.key = key.Key
		secrets := useEverything(w, receiver.URL)
		wrongKey := key.Key[:len(key.Key)-1] + "_"
		w.key = wrongKey
		w.ask("GET", "/v1/subscriptions?with=a-wrong-key", "", false)
		w.graphQL(`{ wrong: subscriptions { count } }`, false)
		w.said["keys list"], _, _ = runCommand(t, []string{"keys", "list"}, m.env)
		w.ask("GET", "/metrics", "", false)
		p.Signal(syscall.SIGTERM)
		p.Wait()
		w.said["log"] = p.out.String()
		filesOf(w, m.dir)

		secrets = append(secrets, key.Key, wrongKey, key.Key[strings.LastIndex(key.Key, "_")+1:])
		w.mu.Lock()
		defer w.mu.Unlock()
		for where, text := range w.said {
			for _, secret := range secrets {
				if at := strings.Index(text, secret); at >= 0 {
					t.Errorf("%s tells %s: …%.200s", where, secret, text[max(0, at-80):])
				}
			}
		}
		for _, where := range []string{"webhook", "log", "GET /metrics ", "GET /v1/subscriptions ", "keys list"} {
			if w.said[where] == "" {
				t.Errorf("nothing was heard of %s", where)
			}
		}
		if !strings.Contains(w.said["log"], "level=DEBUG") && !strings.Contains(w.said["log"], `"level":"DEBUG"`) || !strings.Contains(w.said["GET /v1/subscriptions "], `"secret":"whsec_****`) {
			t.Errorf("this shows nothing: %s", w.said["log"])
		}
	})
}

// useEverything makes subscriptions over both interfaces, lets them be
// delivered to, fail and live their lives, provokes the errors that repeat
// input, and returns every signing secret.
func useEverything(w *witness, receiver string) (secrets []string) {
	const own, second, short, unsent = "a secret of my own 47114711", "another secret of mine 08150815", "s3cr3t-15-chars", "a secret that was refused"
	k := simulator.MinuteFlight("FI", flight.TimeOf(time.Now().Add(48*time.Hour)))
	input := func(secret string) string {
		text, _ := json.Marshal(map[string]any{"carrier": k.Carrier, "flightNumber": k.Number, "date": k.Date, "webhookUrl": receiver, "secret": secret})
		return string(text)
	}
	leg := fmt.Sprintf(`carrier: %q, flightNumber: %q, date: %q, webhookUrl: %q`, k.Carrier, k.Number, k.Date, receiver)
	var made struct {
		ID, Secret string
		Data       struct{ CreateSubscription, RotateSecret struct{ ID, Secret string } }
	}
	read := func(text string) {
		w.t.Helper()
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			w.t.Fatal(err, text)
		}
	}
	read(w.ask("POST", "/v1/subscriptions", input(own), true))
	ids := []string{made.ID}
	read(w.ask("POST", "/v1/subscriptions", strings.Replace(input(""), `,"secret":""`, "", 1), true))
	ids, secrets = append(ids, made.ID), append(secrets, made.Secret)
	read(w.graphQL(`mutation { createSubscription(input: {`+leg+`, secret: "`+second+`"}) { id secret } }`, true))
	ids = append(ids, made.Data.CreateSubscription.ID)
	for _, id := range ids {
		path := "/v1/subscriptions/" + id
		w.ask("POST", path+"/test", "", false) // is rejected
		eventually(w.t, "the test was rejected", func() bool { return strings.Contains(w.ask("GET", path+"/events", "", false), `"status":"failed"`) })
		if text := w.ask("GET", path+"/secret", "", true); !strings.Contains(text, `"secret":"`) {
			w.t.Errorf("not revealed: %s", text)
		}
		for _, call := range []string{"GET ", "PATCH ", "POST /pause", "POST /pause", "POST /resume", "GET /deliveries", "GET /events"} {
			method, below, _ := strings.Cut(call, " ")
			w.ask(method, path+below, `{"delayThresholdMinutes": 9}`, false)
		}
		w.graphQL(`{ subscription(id: "`+id+`") { id secret headers metadata eventLog { data { id } } deliveries { data { error responseBody } } } }`, false)
		read(w.ask("POST", path+"/secret/rotate", "", true))
		secrets = append(secrets, made.Secret)
		read(w.graphQL(`mutation { rotateSecret(id: "`+id+`") { secret } }`, true))
		secrets = append(secrets, made.Data.RotateSecret.Secret)
		w.ask("POST", path+"/test", "", false) // is signed with the last
		w.ask("PATCH", path, `{"secret": "`+unsent+`"}`, false)
	}
	w.ask("GET", "/v1/subscriptions", "", false)
	w.graphQL(`{ subscriptions { data { id secret } } }`, false)
	w.ask("POST", "/v1/subscriptions", input(short), false)
	w.ask("POST", "/v1/subscriptions", strings.TrimSuffix(input(unsent), "}"), false)
	w.ask("POST", "/v1/subscriptions", strings.Replace(input(unsent), receiver, "nowhere", 1), false)
	w.ask("POST", "/v1/subscriptions", strings.Replace(input(unsent), `"secret"`, `"delayThresholdMinutes"`, 1), false)
	for _, wrong := range []string{
		`secret: "` + short + `"`, `secret: "` + unsent, `secret: "` + unsent + `", nothing: 1`, `delayThresholdMinutes: "` + unsent + `"`, `headers: "` + unsent + `"`,
		`secret: ["` + unsent + `"]`, `secret: {a: "` + unsent + `"}`, `secret: "` + unsent + `" "x"`, `events: ["` + unsent + `"]`,
	} {
		w.graphQL(`mutation { createSubscription(input: {`+leg+`, `+wrong+`}) { id } }`, false)
	}
	body, _ := json.Marshal(map[string]any{"query": `mutation($in: CreateSubscriptionInput!) { createSubscription(input: $in) { id } }`,
		"variables": map[string]any{"in": map[string]any{"secret": []string{unsent}, "carrier": map[string]any{"secret": unsent}}}})
	w.ask("POST", "/graphql", string(body), false)
	w.ask("DELETE", "/v1/subscriptions/"+ids[0], "", false)
	return append(secrets, own, second, short, unsent)
}

// filesOf notes what stands in the data folder, but for the two files that are
// there to be read.
func filesOf(w *witness, dir string) {
	if dir == "" {
		return
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "demo.key" || d.Name() == "secret.key" {
			return err
		}
		text, err := os.ReadFile(path)
		w.said["the file "+d.Name()] = string(text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
