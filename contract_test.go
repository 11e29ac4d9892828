package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// remaining makes a request and returns what it leaves of the key's day.
func (c client) remaining(path string) (left int) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "GET", c.base+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("x-api-key", c.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if _, err := fmt.Sscan(resp.Header.Get("X-RateLimit-Remaining-Day"), &left); err != nil {
		c.t.Fatalf("%s: %d, %v: %v", path, resp.StatusCode, resp.Header, err)
	}
	return left
}

// TestExemptFromQuotas lets a flight be polled and told of from its creation to
// its end: of the key's day only the requests are gone that were made with it,
// and flags and an operator's addresses count as none.
func TestExemptFromQuotas(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		plans := filepath.Join(t.TempDir(), "plans.json")
		if err := os.WriteFile(plans, []byte(`{"unlimited": {"minute": null, "day": 100, "month": null}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now().UTC().Truncate(time.Second)
		m.env = append(m.env, "FLIGHTWIRE_PLANS="+plans, "FLIGHTWIRE_SPEED=60", "FLIGHTWIRE_POLL_EVERY=1s", "FLIGHTWIRE_START="+begin.Format(time.RFC3339))
		p := startBinary(t, []string{m.command}, m.env)
		c := client{t, p.base, m.newKey(t)}
		receiver := newReceiver(t)
		soon := flight.TimeOf(begin.Add(60 * time.Since(begin)).Add(3 * time.Minute))
		if left := c.remaining("/v1/subscriptions"); left != 99 {
			t.Fatalf("%d are left after the first request", left)
		}
		if status := c.do("POST", "/v1/subscriptions", subscriptionTo(simulator.MinuteFlight("FI", soon), receiver.URL), nil); status != http.StatusCreated {
			t.Fatalf("subscribe: %d", status)
		}
		told := 0
		for kind := ""; kind != "subscription.completed"; told++ {
			select {
			case kind = <-receiver.events:
			case <-time.After(time.Minute):
				t.Fatal("no completion arrived")
			}
		}
		for _, path := range []string{"/v1/flags/is.svg", "/healthz", "/readyz", "/metrics", "/v1/nothing"} {
			c.do("GET", path, nil, nil)
		}
		if left := c.remaining("/v1/subscriptions"); left != 97 || told < 3 {
			t.Errorf("%d are left after 3 requests and %d webhooks", left, told)
		}
	})
}

// TestDocumentedDefaults holds the settings' defaults that are promised.
func TestDocumentedDefaults(t *testing.T) {
	clearSettings(t) // restores in the end what is taken away here
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if isSetting(name) {
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	var c cli
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"dev", "serve"} {
		if _, err := parser.Parse([]string{command}); err != nil {
			t.Fatal(err)
		}
		s := map[string]serving{"dev": c.Dev.serving, "serve": c.Serve.serving}[command]
		got := fmt.Sprint(s.Addr, s.BaseURL, s.DataDir, s.Upstream, s.PollEvery, s.CacheTTL, s.RetryBase, s.DeliveryTimeout, s.AllowPrivateWebhooks, s.LegacyPrefix)
		if want := fmt.Sprint("127.0.0.1:8080", "", "./data", "simulator", (*time.Duration)(nil), (*time.Duration)(nil), 4*time.Second, 10*time.Second, (*bool)(nil), "legacy"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
		if private := *(Config{Serve: command == "serve"}).withDefaults().AllowPrivateWebhooks; private != (command == "dev") {
			t.Errorf("%s lets webhooks go to private addresses: %v", command, private)
		}
	}
	if c.Serve.Migrate != "auto" || c.Serve.Role != "all" {
		t.Errorf("serve: %q %q", c.Serve.Migrate, c.Serve.Role)
	}
}

// TestHeadersOfADelivery: what arrives from the service as it is started has
// the headers of the golden delivery and no others, with the legacy copies as
// they are set.
func TestHeadersOfADelivery(t *testing.T) {
	golden, err := os.ReadFile("flight/webhook/testdata/delivery.golden")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env    []string
		prefix string
	}{
		"by default": {nil, "x-legacy-"},
		"renamed":    {[]string{"FLIGHTWIRE_LEGACY_PREFIX=acme"}, "x-acme-"},
		"off":        {[]string{"FLIGHTWIRE_LEGACY_PREFIX="}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			head, _, _ := strings.Cut(string(golden), "\n\n")
			for _, line := range strings.Split(head, "\n")[1:] {
				name, _, _ := strings.Cut(strings.ToLower(line), ":")
				suffix, legacy := strings.CutPrefix(name, "x-legacy-")
				switch {
				case name == "host": // is no header in Go
				case !legacy:
					want = append(want, name)
				case c.prefix != "":
					want = append(want, c.prefix+suffix)
				}
			}
			got := make(chan []string, 100)
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var names []string
				for name := range r.Header {
					names = append(names, strings.ToLower(name))
				}
				got <- names
			}))
			defer receiver.Close()
			m := embeddedMode(t)
			p := startBinary(t, []string{m.command}, append(m.env, c.env...))
			in := subscriptionTo(simulator.MinuteFlight("FI", flight.TimeOf(time.Now().Add(48*time.Hour))), receiver.URL)
			in["headers"] = map[string]string{"Authorization": "Bearer x", "X-Tenant": "y"}
			if status := (client{t, p.base, m.newKey(t)}).do("POST", "/v1/subscriptions", in, nil); status != http.StatusCreated {
				t.Fatalf("subscribe: %d", status)
			}
			select {
			case names := <-got:
				slices.Sort(names)
				slices.Sort(want)
				if !slices.Equal(names, want) {
					t.Errorf("got %q\nwant %q", names, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("no webhook came")
			}
		})
	}
}
