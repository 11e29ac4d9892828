package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// wellFormed fails the test unless an answer is a documented one: JSON in
// UTF-8 or a flag, with an id that is safe to repeat, and no fault of ours.
func wellFormed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	body := w.Body.Bytes()
	id := w.Header().Get("X-Request-Id")
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
		t.Errorf("request id %q", id)
	}
	for name, values := range w.Header() {
		if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
			t.Errorf("header %q: %q", name, values)
		}
	}
	switch media := w.Header().Get("Content-Type"); {
	case w.Code == 204 || w.Code == 304:
		if len(body) != 0 {
			t.Errorf("%d with a body: %s", w.Code, body)
		}
		return
	case w.Code == 200 && (strings.HasPrefix(media, "image/svg+xml") || strings.HasPrefix(media, "text/html")):
		return
	case media != "application/json" || !json.Valid(body) || !utf8.Valid(body):
		t.Fatalf("%d %s: %q", w.Code, media, body)
	}
	if w.Code < 400 {
		return
	}
	var e struct {
		StatusCode                       int
		Error, Message, Path, Code       string
		Timestamp, RequestID, WebhookURL string
		Fields                           []struct{ Field, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil || e.StatusCode != w.Code || e.Error == "" || e.Message == "" || e.Code == "" || e.Timestamp == "" || e.RequestID != id {
		t.Errorf("%d: %s", w.Code, body)
	}
	if w.Code == 500 {
		t.Errorf("a fault of ours: %s", body)
	}
	for _, f := range e.Fields {
		if f.Field == "" || f.Message == "" || len(f.Field) > 200 || len(f.Message) > 400 {
			t.Errorf("a fault without bounds: %q", f)
		}
	}
}

// call puts a request to the handler whose URL need not be one that a client
// would send; nil when no server would hand it on.
func (r *rig) call(method, target string, header http.Header, body []byte) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") {
		return nil
	}
	req := httptest.NewRequest("GET", "/", bytes.NewReader(body))
	req.Method, req.URL, req.RequestURI = method, u, target
	for name, values := range header {
		req.Header[name] = values
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

// fromBroken reports whether an upstream of these tests was asked that fails
// with an error that is none of ours.
func fromBroken(target string, body []byte) bool {
	decoded, err := url.QueryUnescape(target)
	return strings.Contains(decoded, broken) || err != nil && strings.Contains(target, "%") || brokenUpstream(body)
}

// Whatever is asked by whatever method, the answer is a documented one.
func FuzzRequest(f *testing.F) {
	for _, c := range endpoints {
		method, _, _ := strings.Cut(c.route, " ")
		f.Add(method, c.path, []byte(c.body))
		for _, bad := range c.bad {
			f.Add(method, bad.path, []byte(c.body))
		}
	}
	for _, s := range []string{
		"GET /", "HEAD /v1/countries", "OPTIONS /v1/subscriptions", "TRACE /v1/flags/is.svg", "GET /v1/../v1/countries", "GET //v1/countries",
		"PUT /v1/subscriptions/ID", "GET /v1/flights/AA/100/2026-11-21/timeline?origin=%00", "GET /v1/flags/%2e%2e%2f4x3%2fis.svg", "PATCH /v1/subscriptions/ID?x=y;z",
		"GET /v1/subscriptions?status=active&carrier=aal&flightNumber=0100&date=2026-11-21&offset=0&limit=200",
		"GET /v1/subscriptions?offset=9223372036854775807&limit=200", "GET /v1/subscriptions?limit=-0&offset=%2B1",
		"GET /v1/flights/search?carrier=ba&flightNumber=1a&date=2027-02-28&origin=&destination=lhr&flightId=1&refresh=false",
		"GET /v1/countries?lang=zh-Hant-HK-u-co-stroke", "GET /v1/subscriptions/ID/events?limit=200", "GET /v1/subscriptions/ID/deliveries?limit=0",
	} {
		method, target, _ := strings.Cut(s, " ")
		f.Add(method, target, []byte(`{}`))
	}
	r := newRig(f, sqlite(f))
	id := r.subscribe(f, oneLeg)
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		target = strings.ReplaceAll(target, "ID", id)
		if method == "DELETE" && strings.Contains(target, id) { // the others need it
			return
		}
		w := r.call(method, target, http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {r.key}}, body)
		if w == nil || w.Code == 500 && fromBroken(target, body) {
			return
		}
		wellFormed(t, w)
	})
}

// Whatever stands in the headers, it is answered: a key that is none is
// refused, an Idempotency-Key is kept or refused, and an id is repeated or
// replaced.
func FuzzHeaders(f *testing.F) {
	f.Add("", "Bearer x", "req-7", "", "application/json", "")
	f.Add(madeUpKey, "", "a b", "order-1", "application/json; charset=utf-8", "\"x\"")
	f.Add("KEY", "", "\x00", strings.Repeat("k", 256), "text/plain", "*")
	f.Add("", "bearer KEY", strings.Repeat("r", 129), "é", "Application/JSON;;", "W/\"a\", \"b\"")
	f.Add("", "Bearer  KEY ", "é", " ", "", ",")
	f.Add(" KEY", "Basic KEY", "\x7f", "a\tb", "application/json;charset=\"", "")
	r := newRig(f, sqlite(f))
	f.Fuzz(func(t *testing.T, key, authorization, id, idempotency, media, match string) {
		key, authorization = strings.ReplaceAll(key, "KEY", r.key), strings.ReplaceAll(authorization, "KEY", r.key)
		header := http.Header{"X-Api-Key": {key}, "Authorization": {authorization}, "X-Request-Id": {id}, "Idempotency-Key": {idempotency}, "Content-Type": {media}}
		w := r.call("POST", "/v1/subscriptions", header, []byte(createBody()))
		wellFormed(t, w)
		if !strings.Contains(key+authorization, r.key) && w.Code != 401 {
			t.Errorf("let in with %q, %q: %d", key, authorization, w.Code)
		}
		if given := w.Header().Get("X-Request-Id"); given != id && given[:4] != "req_" {
			t.Errorf("the id %q became %q", id, given)
		}
		if w.Code == 201 && idempotency != "" {
			if again := r.call("POST", "/v1/subscriptions", header, []byte(createBody())); !bytes.Equal(again.Body.Bytes(), w.Body.Bytes()) {
				t.Errorf("once more: %s\nat first: %s", again.Body, w.Body)
			}
		}
		flag := r.call("GET", "/v1/flags/is.svg", http.Header{"If-None-Match": {match}, "X-Request-Id": {id}}, nil)
		if wellFormed(t, flag); flag.Code != 200 && flag.Code != 304 {
			t.Errorf("a flag: %d", flag.Code)
		}
	})
}
