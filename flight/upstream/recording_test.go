package upstream_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight/upstream"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRecorderKeepsNoCredential has a provider that repeats the credentials in
// every place and spelling there is.
func TestRecorderKeepsNoCredential(t *testing.T) {
	const id, key = "app-id/7", `k"ey+of the=test`
	quoted, _ := json.Marshal(key)
	spellings := []string{
		key, url.QueryEscape(key), url.PathEscape(key), strings.Trim(string(quoted), `"`), strings.ToUpper(key),
		base64.StdEncoding.EncodeToString([]byte(key)), base64.URLEncoding.EncodeToString([]byte(key)), id, url.QueryEscape(id),
	}
	body := `{"flights":[],"said":"` + strings.Join(spellings, " and ") + `"}`
	r := &upstream.Recorder{Secrets: []string{key, id}, Next: transport(func(req *http.Request) (*http.Response, error) {
		if req.URL.Path == "/down" {
			return nil, errors.New("no route for " + key)
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{
			"Content-Type": {"application/json; key=" + key}, "Set-Cookie": {"a=" + key}, "X-Apikey": {key}, "Location": {"/?appKey=" + key}, "Retry-After": {"5"},
		}}, nil
	})}
	ask := func(address string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("x-apikey", key)
		return r.RoundTrip(req)
	}
	resp, err := ask("https://user:" + url.QueryEscape(key) + "@api.example/flights/" + url.PathEscape(key) + "?appId=" + url.QueryEscape(id) + "&appKey=short&utc=false")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != body { // whoever asked gets what was said
		t.Errorf("%v, %s", err, got)
	}
	if _, err := ask("https://api.example/down?token=7"); err == nil {
		t.Error("no error of a call without an answer")
	}
	text, err := json.Marshal(upstream.Recording{Provider: "p", Calls: r.Calls})
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range append(spellings, "Bearer", "Authorization", "Set-Cookie", "Location", "x-apikey", "X-Apikey", "short", "token=7", "user:", "api.example") {
		escaped, _ := json.Marshal(leak)
		if bytes.Contains(text, []byte(leak)) || bytes.Contains(text, bytes.Trim(escaped, `"`)) {
			t.Errorf("%q is in %s", leak, text)
		}
	}
	first := r.Calls[0]
	if len(r.Calls) != 2 || first.Status != 200 || first.Headers["Retry-After"] != "5" || !strings.Contains(first.Request, "utc=false") || !strings.Contains(first.Body, `{"flights":[],"said":"REMOVED and`) {
		t.Errorf("%+v", r.Calls)
	}
	if r.Calls[1].Error != "no route for REMOVED" {
		t.Errorf("%+v", r.Calls[1])
	}
}

// TestRecorderKeepsBytes has bodies that are no text.
func TestRecorderKeepsBytes(t *testing.T) {
	for _, body := range []string{"", "text \n with \" marks", "\xff\xfe\x00", `{"a": 1.50}`} {
		r := &upstream.Recorder{Next: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 500, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(upstream.Recording{Calls: r.Calls})
		if err != nil {
			t.Fatal(err)
		}
		var back upstream.Recording
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got, err := back.Calls[0].Content(); err != nil || string(got) != body {
			t.Errorf("%q came back as %q, %v", body, got, err)
		}
	}
}
