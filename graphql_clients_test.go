package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/explorer"
)

// The tests of this file call a running service with the field's GraphQL
// clients, which are scripts in test/clients.

// node runs a script of test/clients, which ends with 0 when all went well.
func node(t *testing.T, script string, args ...string) {
	t.Helper()
	cmd := exec.Command("node", append([]string{"test/clients/" + script}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// TestGraphQLOverHTTP: the audit of GraphQL over HTTP, without a warning.
func TestGraphQLOverHTTP(t *testing.T) {
	needClients(t)
	t.Parallel()
	s := embeddedMode(t).serve(t)
	node(t, "graphql-audit.mjs", s.client.base, s.key)
}

// TestGraphQLClients: graphql-ws and graphql-sse see every change once, in
// order, over broken connections and from one process to another, and caches
// and Relay find what they need in the schema.
func TestGraphQLClients(t *testing.T) {
	needClients(t)
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		upstream := newProvider(t)
		m.env = append(m.env, flightsOf(upstream)...)
		first := m.serve(t)
		bases := []string{first.client.base}
		if m.command == "serve" {
			bases = append(bases, m.serve(t).client.base)
		}
		control, through := controls(t, upstream, bases)
		node(t, "graphql-live.mjs", bases[0], first.key, flightDate(), through, control)
		node(t, "graphql-caches.mjs", bases[0], first.key, flightDate())
		node(t, "graphql-relay.mjs", bases[0], first.key, flightDate())
	})
}

// TestExplorer: the page at /graphql in a real browser, with the editor where
// that was built in.
func TestExplorer(t *testing.T) {
	needClients(t)
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("not run: there is no chromium here; make test installs it as root on Debian")
	}
	t.Parallel()
	upstream, m := newProvider(t), embeddedMode(t)
	m.env = append(m.env, flightsOf(upstream)...)
	s := m.serve(t)
	control, through := controls(t, upstream, []string{s.client.base})
	editor := "text"
	if explorer.New("", nil).HasEditor() {
		editor = "code"
	}
	node(t, "explorer.mjs", s.client.base, s.key, flightDate(), control, through, editor, os.Getenv("TEST_SCREENSHOTS"))
}

// flightsOf is the settings by which flights come from a provider of the test's,
// which is asked when the test looks a flight up.
func flightsOf(upstream *provider) []string {
	return []string{"FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_BASE_URL=" + upstream.URL, "CIRIUM_APP_ID=app", "CIRIUM_APP_KEY=key", "FLIGHTWIRE_POLL_EVERY=60s"}
}

// controls are what a script moves the flight with, and cuts off the address
// through which it reaches the service: each time that is opened again it
// leads to the next process.
func controls(t *testing.T, upstream *provider, bases []string) (control, through string) {
	host := func(n int) string { return strings.TrimPrefix(bases[n%len(bases)], "http://") }
	g, opened := newGate(t, host(0)), 0
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gate":
			upstream.change(r.FormValue("to"), nil)
		case "/cut":
			g.set(false)
		case "/open":
			opened++
			g.lead(host(opened))
			g.set(true)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, "http://" + g.Addr().String()
}
