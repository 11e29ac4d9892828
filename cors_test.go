package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/access"
)

// CORS holds for REST and GraphQL alike, refusals too, and only where it is
// asked for.
func TestCORS(t *testing.T) {
	const app = "https://app.example"
	cors, err := access.ParseCORS(app)
	if err != nil {
		t.Fatal(err)
	}
	off, on := start(t, Config{DataDir: t.TempDir()}), start(t, Config{DataDir: t.TempDir(), CORS: cors})
	for _, c := range []struct {
		method, path string
		key          bool
		status       int
	}{
		{"GET", "/v1/countries/IS", true, 200},
		{"GET", "/v1/countries/IS", false, 401},
		{"GET", "/v1/nothing", false, 404},
		{"PUT", "/v1/subscriptions", false, 405},
		{"GET", "/v1/flags/is.svg", false, 200},
		{"GET", "/v1/openapi.json", false, 200},
		{"GET", "/graphql?query={__typename}", true, 200},
		{"GET", "/graphql?query={__typename}", false, 401},
		{"OPTIONS", "/v1/subscriptions", false, 204},
		{"OPTIONS", "/graphql", false, 204},
		{"GET", "/dev/inbox.json", false, 200},
	} {
		for r, origin := range map[*running]string{off: app, on: app} {
			got := r.fromPage(c.method, c.path, origin, c.key)
			allowed := r == on && !strings.HasPrefix(c.path, "/dev/")
			want := map[bool]string{true: app}[allowed]
			if got.StatusCode != c.status || got.Header.Get("Access-Control-Allow-Origin") != want ||
				allowed != strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "Origin") {
				t.Errorf("%s %s, CORS on: %v: %d %v", c.method, c.path, r == on, got.StatusCode, got.Header)
			}
			for name := range got.Header {
				if !allowed && strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s where CORS is off", c.method, c.path, name)
				}
			}
			if preflight := got.Header.Get("Access-Control-Allow-Methods") != ""; preflight != (allowed && c.method == "OPTIONS") {
				t.Errorf("%s %s: %v", c.method, c.path, got.Header)
			}
		}
	}
	if got := on.fromPage("GET", "/v1/countries/IS", "https://evil.example", true); got.StatusCode != 200 || got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: %d %v", got.StatusCode, got.Header)
	}
}

// fromPage makes a request as a browser does for a page of an origin.
func (r *running) fromPage(method, path, origin string, key bool) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	if key {
		req.Header.Set("X-Api-Key", r.key)
	}
	if method == "OPTIONS" {
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "x-api-key,content-type")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
