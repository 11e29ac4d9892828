package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
	"github.com/flightwire/flightwire/flight/webhook"
	"github.com/flightwire/flightwire/rest/resttest"
)

// The tests of this file call a running `flightwire dev` with clients that are
// not ours. test/with-servers gets those and says whether it did.

// devWithFlight starts `flightwire dev`, and names a flight that leaves an hour
// from now.
func devWithFlight(t *testing.T) (*service, flight.Key) {
	s := embeddedMode(t).serve(t)
	return s, simulator.MinuteFlight("FI", flight.TimeOf(time.Now().Add(time.Hour)))
}

// TestGeneratedClient: a client that openapi-typescript made of the document
// compiles and does everything.
func TestGeneratedClient(t *testing.T) {
	if os.Getenv("TEST_CLIENTS") != "1" {
		t.Skip("not run: TEST_CLIENTS is not 1, so nobody has fetched test/clients; make test does")
	}
	t.Parallel()
	s, key := devWithFlight(t)
	base := s.client.base
	cmd := exec.Command("test/clients/generated", base, s.key, key.Number, key.Date, base+"/dev/inbox")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// delivered is a delivery as a receiver gets it.
type delivered struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// TestStandardWebhooksLibrary: what the service sends is verified by the library
// of the specification, and what was tampered with is not.
func TestStandardWebhooksLibrary(t *testing.T) {
	if os.Getenv("TEST_CLIENTS") != "1" {
		t.Skip("not run: TEST_CLIENTS is not 1, so nobody has fetched test/clients; make test does")
	}
	t.Parallel()
	s, key := devWithFlight(t)
	got := make(chan delivered, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		d := delivered{Headers: map[string]string{}, Body: string(body)}
		for name := range r.Header {
			d.Headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		select {
		case got <- d:
		default: // one is enough
		}
	}))
	defer receiver.Close()
	var sub struct{ Secret string }
	_, body := s.curl(t, fmt.Sprintf(`-X POST "$B/v1/subscriptions" -H "x-api-key: $K" -H 'Content-Type: application/json' -d '{"carrier":"FI","flightNumber":%q,"date":%q,"webhookUrl":%q,"metadata":{"to":"Zürich"}}'`,
		key.Number, key.Date, receiver.URL))
	if err := json.Unmarshal([]byte(body), &sub); err != nil {
		t.Fatal(err)
	}
	good := <-got
	good.Secret = sub.Secret
	tampered, stranger, unsigned := good, good, good
	tampered.Body += " "
	stranger.Secret = webhook.GenerateSecret()
	unsigned.Headers = maps.Clone(good.Headers)
	delete(unsigned.Headers, "webhook-signature")
	in, err := json.Marshal([]delivered{good, tampered, stranger, unsigned})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "standard.mjs")
	cmd.Dir, cmd.Stdin = "test/clients", bytes.NewReader(in)
	out, err := cmd.Output()
	var verdicts []any
	if err != nil || json.Unmarshal(out, &verdicts) != nil || len(verdicts) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	for i, v := range verdicts {
		if refused := strings.HasPrefix(fmt.Sprint(v), "WebhookVerificationError"); (i == 0) != (v == true) || (i > 0) != refused {
			t.Errorf("delivery %d: %v", i, v)
		}
	}
}

// curl makes a request with curl, written as the contract's readers write it,
// and returns its status and body.
func (s *service) curl(t *testing.T, line string) (int, string) {
	t.Helper()
	head := filepath.Join(t.TempDir(), "head")
	cmd := exec.Command("sh", "-c", "curl -s -D '"+head+"' "+line)
	cmd.Env = append(os.Environ(), "B="+s.client.base, "K="+s.key)
	body, err := cmd.Output()
	if err != nil {
		t.Fatalf("curl %s: %v", line, err)
	}
	text, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\r\n")
	status, err := strconv.Atoi(strings.Fields(lines[0])[1])
	if err != nil {
		t.Fatalf("curl %s: %q", line, lines[0])
	}
	header := http.Header{}
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	s.documented(t, line, resttest.Exchange{Status: status, Header: header, Body: body})
	return status, string(body)
}

var (
	curlMethod = regexp.MustCompile(`(?:^| )-X (\w+)`)
	curlHead   = regexp.MustCompile(`(?:^| )-I `)
	curlData   = regexp.MustCompile(`-d '([^']*)'`)
	curlHeader = regexp.MustCompile(`-H ['"]([^:]+): ([^'"]*)['"]`)
	curlURL    = regexp.MustCompile(`"?\$B([^" ]*)"?`)
)

// documented holds what curl said and heard against the document.
func (s *service) documented(t *testing.T, line string, x resttest.Exchange) {
	t.Helper()
	u, err := url.Parse(s.client.base + curlURL.FindStringSubmatch(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	x.Request = &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	if m := curlData.FindStringSubmatch(line); m != nil {
		x.Request.Method, x.RequestBody = http.MethodPost, []byte(m[1])
	}
	if m := curlMethod.FindStringSubmatch(line); m != nil {
		x.Request.Method = m[1]
	}
	if curlHead.MatchString(line) {
		x.Request.Method, x.Body = http.MethodHead, nil // curl prints the header in its place
	}
	for _, m := range curlHeader.FindAllStringSubmatch(line, -1) {
		x.Request.Header.Add(m[1], m[2])
	}
	if err := checker().Check(x); err != nil {
		t.Error(err)
	}
}

// TestCurl: the contract's requests, as one types them. SUB, NUM and DATE
// stand for the subscription, the number and the date; "sees" is in the answer.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("TEST_CLIENTS") == "1" {
			t.Fatal(err)
		}
		t.Skip("not run: there is no curl here")
	}
	t.Parallel()
	s, key := devWithFlight(t)
	const asJSON = ` -H 'Content-Type: application/json'`
	const auth = ` -H "x-api-key: $K"`
	create := `-X POST "$B/v1/subscriptions"` + auth + asJSON + ` -H 'Idempotency-Key: order-1' -d '{"carrier":"FI","flightNumber":"NUM","date":"DATE","webhookUrl":"` + s.client.base + `/dev/inbox"}'`
	id, event := "", ""
	for _, c := range []struct {
		line   string
		status int
		sees   string
	}{
		{`"$B/v1/flights/search?carrier=FI&flightNumber=NUM&date=DATE"` + auth, 200, `"flightKey":"FINUM:DATE"`},
		{`"$B/v1/flights/search?carrier=ICE&flightNumber=NUM&date=DATE&refresh=true" -H "Authorization: Bearer $K"`, 200, `"carrierCode":"FI"`},
		{`"$B/v1/flights/FI/NUM/DATE"` + auth, 200, `"selected":true`},
		{`-I "$B/v1/flights/FI/NUM/DATE"` + auth, 200, ``},
		{`"$B/v1/flights/FI/NUM/DATE/timeline"` + auth, 200, `"flightKey":"FINUM:DATE@`},
		{`"$B/v1/flights/FI/9401/DATE"` + auth, 404, `"code":"flight_not_found"`},
		{`"$B/v1/flights/FI/NUM/soon"` + auth, 400, `"field":"date"`},
		{`"$B/v1/flights/FI/NUM/DATE"`, 401, `"code":"missing_api_key"`},
		{`"$B/v1/flights/FI/NUM/DATE" -H 'x-api-key: fw_no'`, 401, `"code":"invalid_api_key"`},
		{create, 201, `"status":"active"`},
		{create, 201, `"id":"SUB"`},
		{strings.Replace(create, `"DATE",`, `"DATE","delayThresholdMinutes":9,`, 1), 422, `"code":"idempotency_key_reused"`},
		{`"$B/v1/subscriptions?status=active&carrier=FI&flightNumber=NUM&date=DATE&offset=0&limit=10"` + auth, 200, `"total":1`},
		{`"$B/v1/subscriptions/SUB"` + auth, 200, `"secret":"whsec_****`},
		{`-X PATCH "$B/v1/subscriptions/SUB"` + auth + asJSON + ` -d '{"delayThresholdMinutes":240}'`, 200, `"delayThresholdMinutes":240`},
		{`-X POST "$B/v1/subscriptions/SUB/pause"` + auth, 201, `"status":"paused"`},
		{`-X POST "$B/v1/subscriptions/SUB/resume"` + auth, 201, `"status":"active"`},
		{`-X POST "$B/v1/subscriptions/SUB/test"` + auth, 200, `"eventId":"evt_`},
		{`-X POST "$B/v1/subscriptions/SUB/events/EVENT/redeliver"` + auth, 202, `"id":"EVENT"`},
		{`-X POST "$B/v1/subscriptions/SUB/replay"` + auth + asJSON + ` -d '{"since":"2026-01-01T00:00:00Z"}'`, 202, `"count":`},
		{`-X POST "$B/v1/subscriptions/SUB/replay"` + auth + asJSON + ` -d '{}'`, 400, `"field":"since"`},
		{`"$B/v1/subscriptions/SUB/deliveries?limit=5"` + auth, 200, `"limit":5`},
		{`"$B/v1/subscriptions/SUB/events?limit=5"` + auth, 200, `"type":"subscription.test"`},
		{`"$B/v1/subscriptions/SUB/secret"` + auth, 200, `"secret":"whsec_`},
		{`-X POST "$B/v1/subscriptions/SUB/secret/rotate"` + auth, 201, `"subscriptionId":"SUB"`},
		{`-X DELETE "$B/v1/subscriptions/SUB"` + auth, 204, ``},
		{`"$B/v1/subscriptions/SUB"` + auth, 404, `"code":"subscription_not_found"`},
		{`"$B/v1/countries?lang=en"` + auth, 200, `"count":249`},
		{`"$B/v1/countries/IS"` + auth, 200, `"name":"Iceland"`},
		{`"$B/v1/flags/is.svg"`, 200, `<svg`},
		{`"$B/v1/flags/is.svg?shape=1x1"`, 200, `<svg`},
		{`-X PUT "$B/v1/subscriptions"` + auth, 405, `"code":"method_not_allowed"`},
		{`-X OPTIONS "$B/v1/subscriptions"`, 204, ``},
		{`"$B/v1/flight"` + auth, 404, `"code":"route_not_found"`},
		{`"$B/v1/openapi.json"`, 200, fmt.Sprintf(`"url":%q`, s.client.base)},
		{`"$B/v1/docs"`, 200, `</html>`},
	} {
		named := strings.NewReplacer("SUB", id, "EVENT", event, "NUM", key.Number, "DATE", key.Date)
		status, body := s.curl(t, named.Replace(c.line))
		if status != c.status || !strings.Contains(body, named.Replace(c.sees)) {
			t.Errorf("curl %s: %d, want %d and %s: %.500s", c.line, status, c.status, c.sees, body)
		}
		if m := regexp.MustCompile(`"id":"(sub_\w+)"`).FindStringSubmatch(body); m != nil && id == "" {
			id = m[1]
		}
		if m := regexp.MustCompile(`"eventId":"(evt_\w+)"`).FindStringSubmatch(body); m != nil && event == "" {
			event = m[1]
		}
	}
}
