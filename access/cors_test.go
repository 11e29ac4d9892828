package access

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseCORS(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string // nil: refused
	}{
		{"", []string{}},
		{" ", []string{}},
		{"*", []string{"*"}},
		{"https://app.example.com", []string{"https://app.example.com"}},
		{" https://b.example:8443 , http://localhost:3000", []string{"http://localhost:3000", "https://b.example:8443"}},
		{"HTTPS://App.Example.COM:443,http://a.example:80", []string{"http://a.example", "https://app.example.com"}},
		{"https://a.example:80", []string{"https://a.example:80"}},
		{"http://[::1]:3000", []string{"http://[::1]:3000"}},
		{"*,https://a.example", nil},
		{"https://a.example,", nil},
		{"https://a.example,,https://b.example", nil},
		{"a.example", nil},
		{"a.example:443", nil},
		{"null", nil},
		{"https://", nil},
		{"https://:443", nil},
		{"https://a.example:", nil},
		{"https://a.example/", nil},
		{"https://a.example/path", nil},
		{"https://a.example?x", nil},
		{"https://a.example#", nil},
		{"https://u@a.example", nil},
		{"https://*.a.example", nil},
		{"https://é.example", nil},
		{"https://a b.example", nil},
		{"ftp://a.example", nil},
		{"https:a.example", nil},
	} {
		got, err := ParseCORS(c.list)
		if c.want == nil {
			if err == nil || got.On() {
				t.Errorf("%q: %v, want an error", c.list, got.Origins())
			}
			continue
		}
		if err != nil || !slices.Equal(got.Origins(), c.want) || got.On() != (len(c.want) > 0) {
			t.Errorf("%q: %v %v, want %v", c.list, got.Origins(), err, c.want)
		}
	}
}

func TestCORS(t *testing.T) {
	type headers = map[string]string
	const app, other = "https://app.example", "https://other.example"
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		w.WriteHeader(http.StatusTeapot)
	})
	exposed := "Retry-After, X-Request-Id, ETag"
	asked := headers{"Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE", "Access-Control-Max-Age": "7200",
		"Access-Control-Allow-Headers": "x-api-key, authorization, content-type, idempotency-key, x-request-id, if-none-match"}
	with := func(h headers, name, value string) headers {
		all := headers{name: value}
		for name, value := range h {
			all[name] = value
		}
		return all
	}
	for _, c := range []struct {
		name, list, method, origin string
		preflight                  bool
		status                     int
		vary                       []string
		want                       headers // those of CORS, all of them
	}{
		{"off", "", "GET", app, false, 418, []string{"Accept"}, headers{}},
		{"off, preflight", "", "OPTIONS", app, true, 418, []string{"Accept"}, headers{}},
		{"of the list", app, "GET", app, false, 418, []string{"Origin", "Accept"}, headers{"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposed}},
		{"another of the list", other + "," + app, "POST", app, false, 418, []string{"Origin", "Accept"}, headers{"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposed}},
		{"not of the list", app, "GET", other, false, 418, []string{"Origin", "Accept"}, headers{}},
		{"longer", app, "GET", app + ".evil.example", false, 418, []string{"Origin", "Accept"}, headers{}},
		{"null", app, "GET", "null", false, 418, []string{"Origin", "Accept"}, headers{}},
		{"no origin", app, "GET", "", false, 418, []string{"Origin", "Accept"}, headers{}},
		{"everyone", "*", "GET", other, false, 418, []string{"Accept"}, headers{"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed}},
		{"everyone, no origin", "*", "GET", "", false, 418, []string{"Accept"}, headers{}},
		{"preflight", app, "OPTIONS", app, true, 204, []string{"Origin"}, with(asked, "Access-Control-Allow-Origin", app)},
		{"preflight of another", app, "OPTIONS", other, true, 418, []string{"Origin", "Accept"}, headers{}},
		{"preflight of anyone", "*", "OPTIONS", other, true, 204, nil, with(asked, "Access-Control-Allow-Origin", "*")},
		{"OPTIONS that is no preflight", app, "OPTIONS", app, false, 418, []string{"Origin", "Accept"}, headers{"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cors, err := ParseCORS(c.list)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(c.method, "/v1/x", nil)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.preflight {
				r.Header.Set("Access-Control-Request-Method", "PATCH")
			}
			w := httptest.NewRecorder()
			cors.Wrap(served).ServeHTTP(w, r)
			got := headers{}
			for name, values := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") {
					got[name] = strings.Join(values, " and ")
				}
			}
			if s, ok := got["Access-Control-Expose-Headers"]; ok {
				for _, window := range []string{"Minute", "Day"} {
					for _, what := range []string{"Limit", "Remaining", "Reset"} {
						if !strings.Contains(s, "X-RateLimit-"+what+"-"+window+", ") {
							t.Errorf("%s of the %s is not exposed", what, window)
						}
					}
				}
				got["Access-Control-Expose-Headers"] = s[len(s)-len(exposed):]
			}
			if w.Code != c.status || !slices.Equal(w.Header()["Vary"], c.vary) || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%d, Vary %q, %v\nwant %d %q %v", w.Code, w.Header()["Vary"], got, c.status, c.vary, c.want)
			}
		})
	}
}
