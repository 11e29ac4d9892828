package rest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/rest"
)

// The document is OpenAPI 3.1, and its examples are what it says.
func TestDocumentIsOpenAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(rest.Document(baseURL, "legacy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Error(err)
	}
	if err := checker().Examples(); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "" || seen[op.OperationID] || op.Summary == "" {
				t.Errorf("%s %s: operationId %q, summary %q", method, path, op.OperationID, op.Summary)
			}
			seen[op.OperationID] = true
			for status, r := range op.Responses.Map() {
				for media, content := range r.Value.Content {
					if len(content.Examples) == 0 {
						t.Errorf("%s %s: %s has no example of %s", method, path, status, media)
					}
				}
			}
			if op.RequestBody != nil && len(op.RequestBody.Value.Content["application/json"].Examples) == 0 {
				t.Errorf("%s %s: the request has no example", method, path)
			}
		}
	}
}

// What is served is what is documented.
func TestDocumentIsTheInterface(t *testing.T) {
	routes := slices.Sorted(slices.Values(rest.Routes()))
	if documented := checker().Operations(); !slices.Equal(routes, documented) {
		t.Errorf("served %q\ndocumented %q", routes, documented)
	}
	if codes, documented := rest.Codes(), checker().Codes(); !maps.Equal(codes, documented) {
		t.Errorf("codes %v\ndocumented %v", codes, documented)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(rest.Document(baseURL, ""), &doc); err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[string][]string{
		"ChangeType":         texts(flight.ChangeTypes),
		"EventType":          texts(flight.EventTypes),
		"FlightPhase":        texts(flight.Phases),
		"SubscriptionStatus": {"active", "pending", "paused", "suspended", "completed"},
	} {
		got := doc.Components.Schemas[schema].Enum
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: documented %q, want %q", schema, got, want)
		}
	}
}

func texts[T ~string](values []T) (list []string) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

// Nothing that these tests see goes past the checker: only the rig makes a
// handler.
func TestEveryAnswerIsChecked(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(text, []byte("rest.New"+"("))
		if found += n; n > 0 && file != "rest_test.go" {
			t.Errorf("%s makes a handler; use rig.serve", file)
		}
	}
	if found != 1 {
		t.Errorf("handlers are made in %d places", found)
	}
}

func TestDocumentOfTheInstance(t *testing.T) {
	for prefix, want := range map[string]string{"": "", "acme": "x-acme-signature"} {
		text := string(rest.Document("https://api.example.net/base/", prefix))
		if strings.Contains(text, "flights.example.com") || !strings.Contains(text, `"servers":[{"url":"https://api.example.net/base",`) {
			t.Error("the server is not the base URL")
		}
		if strings.Contains(text, "x-legacy-") || strings.Contains(text, "x--") || !strings.Contains(text, want) {
			t.Errorf("with the prefix %q the legacy headers are others", prefix)
		}
		if deprecated := strings.Count(text, `"deprecated":true`); deprecated != map[bool]int{true: 6}[prefix != ""] {
			t.Errorf("with the prefix %q %d headers are deprecated", prefix, deprecated)
		}
	}
}

// Both forms of the document are for everybody, and may be kept.
func TestDocumentIsServed(t *testing.T) {
	r := newRig(t, sqlite(t))
	for path, media := range map[string]string{"/v1/openapi.json": "application/json", "/v1/docs": "text/html; charset=utf-8"} {
		got := r.do(t, request{path: path, key: "-"})
		got.want(t, 200, "")
		tag := got.header.Get("ETag")
		if got.header.Get("Content-Type") != media || got.header.Get("Cache-Control") != "public, max-age=300" || tag == "" {
			t.Errorf("%s: %v", path, got.header)
		}
		if again := r.do(t, request{path: path, key: "-"}); !bytes.Equal(again.body, got.body) || again.header.Get("ETag") != tag {
			t.Errorf("%s is another at the second time", path)
		}
		kept := r.do(t, request{path: path, key: "-", header: http.Header{"If-None-Match": {`"old", W/` + tag}}})
		kept.want(t, 304, "")
		if len(kept.body) > 0 || kept.header.Get("ETag") != tag || kept.header.Get("Content-Type") != "" {
			t.Errorf("%s: %v", path, kept.header)
		}
	}
	got := r.do(t, request{path: "/v1/openapi.json", key: "-"})
	if !bytes.Equal(got.body, rest.Document(baseURL, "legacy")) {
		t.Error("the document is another")
	}
}

var (
	anchors    = regexp.MustCompile(` id="([^"]+)"`)
	links      = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	styles     = regexp.MustCompile(`(?s)<style>(.*)</style>`)
	tags       = regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`)
	voids      = []string{"meta", "br"}
	leftMarkup = regexp.MustCompile("(?m)^- |\\*\\*|`|\\]\\(")
)

// The page has everything of the document, and loads and runs nothing.
func TestDocsPage(t *testing.T) {
	r := newRig(t, sqlite(t))
	got := r.do(t, request{path: "/v1/docs", key: "-"})
	got.want(t, 200, "")
	page := string(got.body)
	ids := map[string]bool{}
	for _, m := range anchors.FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the anchor %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		if anchor, inside := strings.CutPrefix(m[1], "#"); inside && !ids[anchor] || !inside && m[1] != "https://fw.example/v1/openapi.json" {
			t.Errorf("a link to %q", m[1])
		}
	}
	doc, err := openapi3.NewLoader().LoadFromData(rest.Document(baseURL, "legacy"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"receiveEvent"}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			want = append(want, op.OperationID)
		}
	}
	for schema := range doc.Components.Schemas {
		want = append(want, "schema-"+schema)
	}
	for code := range rest.Codes() {
		want = append(want, "error-"+code)
	}
	for _, id := range want {
		if !ids[id] || !strings.Contains(page, `href="#`+id+`"`) {
			t.Errorf("%s is not on the page, or nothing leads there", id)
		}
	}
	style := styles.FindStringSubmatch(page)
	sum := sha256.Sum256([]byte(style[1]))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got.header.Get("Content-Security-Policy") != policy || strings.Contains(page, "<script") || strings.Contains(page, " style=") ||
		strings.Contains(style[1], "url(") || strings.Contains(style[1], "@import") {
		t.Errorf("policy %q, want %q", got.header.Get("Content-Security-Policy"), policy)
	}
	if m := leftMarkup.FindString(regexp.MustCompile(`(?s)<(pre|style|code)>.*?</(pre|style|code)>`).ReplaceAllString(page, "")); m != "" {
		t.Errorf("markup is left: %q", m)
	}
	if !strings.Contains(page, "curl -X POST &#39;https://fw.example/v1/subscriptions&#39;") {
		t.Error("there is no call to copy")
	}
	balanced(t, page)
}

// balanced fails the test unless every element is closed where it must be.
func balanced(t *testing.T, page string) {
	t.Helper()
	var open []string
	for _, m := range tags.FindAllStringSubmatch(page, -1) {
		switch closing, name := m[1] == "/", m[2]; {
		case slices.Contains(voids, name):
		case !closing:
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %q", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %q", open)
	}
}

// OPTIONS says what a path answers, and needs no key.
func TestOptions(t *testing.T) {
	r := newRig(t, sqlite(t))
	for path, allow := range map[string]string{
		"/v1/countries":                             "GET, HEAD, OPTIONS",
		"/v1/flags/qq.svg":                          "GET, HEAD, OPTIONS",
		"/v1/flights/search":                        "GET, HEAD, OPTIONS",
		"/v1/flights/AA/100/" + today:               "GET, HEAD, OPTIONS",
		"/v1/flights/AA/100/" + today + "/timeline": "GET, HEAD, OPTIONS",
		"/v1/subscriptions":                         "GET, HEAD, OPTIONS, POST",
		"/v1/subscriptions/sub_1":                   "DELETE, GET, HEAD, OPTIONS, PATCH",
		"/v1/subscriptions/sub_1/pause":             "OPTIONS, POST",
		"/v1/subscriptions/sub_1/secret":            "GET, HEAD, OPTIONS",
		"/v1/openapi.json":                          "GET, HEAD, OPTIONS",
		"/v1/docs":                                  "GET, HEAD, OPTIONS",
	} {
		got := r.do(t, request{method: "OPTIONS", path: path, key: "-", header: http.Header{
			"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"GET"}}})
		got.want(t, 204, "")
		if got.header.Get("Allow") != allow || len(got.body) > 0 {
			t.Errorf("%s: Allow %q, want %q", path, got.header.Get("Allow"), allow)
		}
		for name := range got.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s, and CORS is off", path, name)
			}
		}
	}
	r.do(t, request{method: "OPTIONS", path: "/v1/nothing", key: "-"}).want(t, 404, "route_not_found")
}
