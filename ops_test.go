package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

func readyz(t *testing.T, f *front) (status int, reason string) {
	t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	var body struct{ Status, Reason string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if (body.Status == "ready") != (w.Code == http.StatusOK) {
		t.Errorf("%d says %q", w.Code, body.Status)
	}
	return w.Code, body.Reason
}

func TestReadiness(t *testing.T) {
	f := newFront(nil)
	expect := func(status int, reason string) {
		t.Helper()
		if got, why := readyz(t, f); got != status || !strings.Contains(why, reason) {
			t.Errorf("%d %q, want %d %q", got, why, status, reason)
		}
	}
	expect(503, "starting")
	d := dbtest.SQLite(t)
	r := embeddedRedis()
	f.watch(d, r)
	expect(503, "starting")
	early := httptest.NewRecorder()
	f.ServeHTTP(early, httptest.NewRequest("GET", "/v1/countries", nil))
	if err := checker().Failure(early.Code, early.Header(), early.Body.Bytes()); err != nil || early.Code != 503 {
		t.Errorf("before it is ready: %d: %v: %s", early.Code, err, early.Body)
	}
	f.open(http.NotFoundHandler())
	expect(200, "")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	expect(503, "Redis")
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	expect(503, "database")
	f.shut()
	expect(503, "stopping")

	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	if w.Code != http.StatusOK {
		t.Errorf("it lives, and /healthz answers %d", w.Code)
	}
}

// TestMetrics: answers are counted by class, so that a path that anybody may
// make up is no label.
func TestMetrics(t *testing.T) {
	f := newFront(nil)
	f.open(http.NotFoundHandler())
	for _, path := range []string{"/v1/a", "/v1/b", "/graphql", "/dev/inbox", "/nowhere"} {
		f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("MAKEUP", "/v1/a", nil))
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`flightwire_http_requests_total{class="rest",method="GET",status="404"} 2`,
		`flightwire_http_requests_total{class="rest",method="other",status="404"} 1`,
		`flightwire_http_requests_total{class="graphql",method="GET",status="404"} 1`,
		`flightwire_http_requests_total{class="dev",method="GET",status="404"} 1`,
		`flightwire_http_requests_total{class="other",method="GET",status="404"} 1`,
		`flightwire_http_request_duration_seconds_count{class="rest"} 3`,
		`flightwire_build_info{`, `go_goroutines `,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

func TestInbox(t *testing.T) {
	const secret = "whsec_a-secret-for-the-test"
	stop := make(chan struct{})
	b := newInbox(func(_ context.Context, id string) (string, error) {
		switch id {
		case "sub_1":
			return secret, nil
		case "sub_broken":
			return "", errors.New("no database")
		}
		return "", flight.Errorf(flight.CodeSubscriptionMissing, "none")
	}, stop)
	mux := http.NewServeMux()
	b.register(mux)
	s := httptest.NewServer(mux)
	defer s.Close()
	post := func(id, signature, body string) int {
		req, err := http.NewRequest("POST", s.URL+inboxPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-service-subscription-id", id)
		req.Header.Set("x-service-signature", signature)
		req.Header.Set("x-service-event-type", "flight.updated")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	now, body := time.Now().Unix(), `{"a": "<b>"}`
	good := webhook.Sign(secret, now, []byte(body))
	for _, c := range []struct {
		name, id, signature, body, fault string
		status                           int
	}{
		{"right", "sub_1", good, body, "", 200},
		{"body of another", "sub_1", good, body + " ", "does not match", 401},
		{"secret of another", "sub_1", webhook.Sign("another", now, []byte(body)), body, "does not match", 401},
		{"old", "sub_1", webhook.Sign(secret, now-400, []byte(body)), body, "tolerance", 401},
		{"none", "sub_1", "", body, "no signature", 401},
		{"nonsense", "sub_1", "t=x", body, "malformed", 401},
		{"no subscription", "sub_2", good, body, "no such subscription", 401},
		{"no id", "", good, body, "no x-service-subscription-id", 401},
		{"no database", "sub_broken", good, body, "could not be read", 401},
		{"no JSON", "sub_1", good, "<b>", "does not match", 401},
	} {
		if got := post(c.id, c.signature, c.body); got != c.status {
			t.Errorf("%s: answered %d", c.name, got)
		}
		last := b.received[len(b.received)-1]
		if last.Verified != (c.fault == "") || !strings.Contains(last.Fault, c.fault) || !json.Valid(last.Body) {
			t.Errorf("%s: kept as %+v", c.name, last)
		}
	}
	for range inboxSize {
		post("sub_1", good, body)
	}
	var list struct {
		Count, Total int
		Data         []received
	}
	client{t, s.URL, ""}.do("GET", "/dev/inbox.json", nil, &list)
	if list.Count != inboxSize || len(list.Data) != inboxSize || list.Total != inboxSize+10 || list.Data[0].Number != list.Total {
		t.Errorf("the list has %d of %d, first number %d", len(list.Data), list.Total, list.Data[0].Number)
	}

	resp, err := http.Get(s.URL + inboxPath + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 64)
	n, err := resp.Body.Read(first)
	if want := "data: " + strconv.Itoa(list.Total) + "\n\n"; err != nil || string(first[:n]) != want {
		t.Errorf("the stream begins with %q, want %q", first[:n], want)
	}
	close(stop)
	if n, err := resp.Body.Read(first); err == nil {
		t.Errorf("the stream goes on after the stop: %q", first[:n])
	}
}

func TestInboxPage(t *testing.T) {
	w := httptest.NewRecorder()
	newInbox(nil, nil).page(w, nil)
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	if strings.Contains(page, "//") && strings.Contains(page, "http") {
		t.Error("the page reaches outside")
	}
	if strings.Contains(page, "{{") || strings.Contains(page, "innerHTML") || !strings.Contains(policy, "default-src 'none'") {
		t.Error("the page is not safe to look at")
	}
}
