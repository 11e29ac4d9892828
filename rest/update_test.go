package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db/dbtest"
)

// PATCH replaces what it names, whole; null takes headers or metadata away;
// everything else stays.
func TestUpdate(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		var s struct{ ID string }
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: fullBody}).decode(t, &s)
		facts := func(got reply) map[string]any {
			t.Helper()
			got.want(t, 200, "")
			var f map[string]any
			got.decode(t, &f)
			delete(f, "updatedAt")
			return f
		}
		want := facts(r.do(t, request{path: "/v1/subscriptions/" + s.ID}))
		for _, c := range []struct {
			body string
			want map[string]any // nil: gone
		}{
			{`{}`, nil},
			{`{"webhookUrl": "http://example.org/"}`, map[string]any{"webhookUrl": "http://example.org/"}},
			{`{"events": ["delay.decreased", "status.changed", "delay.decreased"]}`, map[string]any{"events": []any{"status.changed", "delay.decreased"}}},
			{`{"delayThresholdMinutes": 240}`, map[string]any{"delayThresholdMinutes": 240.0}},
			{`{"headers": {"X-B": "b"}, "metadata": {"c": [null]}}`, map[string]any{"headers": map[string]any{"X-B": "b"}, "metadata": map[string]any{"c": []any{nil}}}},
			{`{"headers": null}`, map[string]any{"headers": nil}},
			{`{"headers": {"X-C": ""}}`, map[string]any{"headers": map[string]any{"X-C": ""}}},
			{`{"headers": {}}`, map[string]any{"headers": nil}},
			{`{"metadata": {}}`, map[string]any{"metadata": map[string]any{}}},
			{`{"metadata": null}`, map[string]any{"metadata": nil}},
		} {
			for name, v := range c.want {
				if want[name] = v; v == nil {
					delete(want, name)
				}
			}
			for _, q := range []request{{method: "PATCH", path: "/v1/subscriptions/" + s.ID, body: c.body}, {path: "/v1/subscriptions/" + s.ID}} {
				if f := facts(r.do(t, q)); fmt.Sprint(f) != fmt.Sprint(want) {
					t.Errorf("%s %s:\n got %v\nwant %v", q.method, c.body, f, want)
				}
			}
		}
	})
}

// What is wrong with an update is said field by field, and nothing is changed.
func TestUpdateIsStrict(t *testing.T) {
	r := newRig(t, sqlite(t))
	id := r.subscribe(t, oneLeg)
	before := r.do(t, request{path: "/v1/subscriptions/" + id})
	for _, c := range []struct {
		body   string
		fields []string // "field: message", or how it begins
	}{
		{`[]`, []string{"body: must be a JSON object"}},
		{`{"events": []}`, []string{"events: must name at least one"}},
		{`{"events": ["gone.wrong", 7]}`, []string{"events[1]: must be a string", `events: "gone.wrong" is not`}},
		{`{"webhookUrl": null, "events": null, "delayThresholdMinutes": null}`, []string{
			"webhookUrl: must not be null", "events: must not be null", "delayThresholdMinutes: must not be null"}},
		{`{"webhookUrl": "", "delayThresholdMinutes": 0}`, []string{"webhookUrl: must ", "delayThresholdMinutes: must be 1 to 240"}},
		{`{"webhookUrl": "http://[::1]/", "delayThresholdMinutes": 241}`, []string{"webhookUrl: must have a public", "delayThresholdMinutes: must be 1 to 240"}},
		{`{"webhookUrl": 7, "events": "all", "delayThresholdMinutes": "5", "headers": [], "metadata": 7}`, []string{
			"webhookUrl: must be a string", "events: must be a list", "delayThresholdMinutes: must be a whole number",
			"headers: must be an object", "metadata: must be an object"}},
		{`{"headers": {"Host": "a", "X-A": null}, "metadata": [1]}`, []string{"headers.X-A: must be a string", "metadata: must be an object", "headers.Host: is set by"}},
		{`{"secret": "a secret of my own", "carrier": "BA", "status": "active"}`, []string{
			"secret: is not a field", "carrier: is not a field", "status: is not a field"}},
		{`{"headers": null, "headers": {}}`, []string{"headers: must not be repeated"}},
		{`{"metadata": {"a": "` + strings.Repeat("x", 16<<10) + `"}}`, []string{"metadata: must be at most"}},
	} {
		got := r.do(t, request{method: "PATCH", path: "/v1/subscriptions/" + id, body: c.body})
		got.want(t, 400, "invalid_request")
		var e struct {
			Fields []struct{ Field, Message string }
		}
		got.decode(t, &e)
		ok := len(e.Fields) == len(c.fields)
		for i, f := range e.Fields {
			ok = ok && strings.HasPrefix(f.Field+": "+f.Message, c.fields[i])
		}
		if !ok {
			t.Errorf("%.80s: got %q\nwant %q", c.body, e.Fields, c.fields)
		}
	}
	if after := r.do(t, request{path: "/v1/subscriptions/" + id}); !bytes.Equal(after.body, before.body) {
		t.Errorf("it became %s", after.body)
	}
}

// Creates with one key at once are one; each is answered as the first.
func TestIdempotencyKey(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		post := func(key string, body string, idempotencyKeys ...string) reply {
			return r.do(t, request{method: "POST", path: "/v1/subscriptions", key: key, body: body, header: http.Header{"Idempotency-Key": idempotencyKeys}})
		}
		answers := make([]reply, 64)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = post("", createBody(), "a key of ours") })
		}
		all.Wait()
		for _, got := range answers {
			if got.want(t, 201, ""); !bytes.Equal(got.body, answers[0].body) || !bytes.Contains(got.body, []byte(`"secret":"whsec_`)) || bytes.Contains(got.body, []byte("****")) {
				t.Fatalf("%s is not %s", got.body, answers[0].body)
			}
		}
		var page struct{ Total int }
		if r.do(t, request{path: "/v1/subscriptions"}).decode(t, &page); page.Total != 1 {
			t.Errorf("%d subscriptions", page.Total)
		}
		const key = "a key of ours"
		post("", createBody("flightNumber", unfindable), key).want(t, 422, "idempotency_key_reused")
		post("", createBody("colour", "blue"), key).want(t, 400, "invalid_request")
		post(r.other, createBody(), key).want(t, 201, "") // another key's keys are other ones
		post("", createBody(), "x", "x").want(t, 400, "invalid_request")
		post("", createBody(), strings.Repeat("x", 256)).want(t, 400, "invalid_request")
		post("", createBody(), strings.Repeat("x", 255)).want(t, 201, "")
		post("", createBody(), "é").want(t, 400, "invalid_request")

		// A replay is of the subscription as it is now, and asks no upstream.
		body := createBody("flightNumber", unfindable, "secret", ownSecret)
		var s struct{ ID, Status, Secret string }
		post("", body, "2").decode(t, &s)
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/pause"}).want(t, 201, "")
		again := post("", body, "2")
		if again.want(t, 201, ""); !bytes.Contains(again.body, []byte(s.ID)) || !bytes.Contains(again.body, []byte(`"status":"paused"`)) || !bytes.Contains(again.body, []byte(ownSecret)) {
			t.Errorf("%s", again.body)
		}
		r.do(t, request{method: "DELETE", path: "/v1/subscriptions/" + s.ID}).want(t, 204, "")
		post("", body, "2").want(t, 404, "subscription_not_found")
		post("", body).want(t, 201, "")
		post("", body, "").want(t, 201, "") // an empty key is none
		post("", body, "").want(t, 201, "")
	})
}

// The secret can be shown again and made anew; the old one is gone then.
func TestSecretEndpoints(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		var made struct{ ID, Secret string }
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody()}).decode(t, &made)
		secret := func(method, path string, status int) string {
			t.Helper()
			var s struct{ SubscriptionID, Secret string }
			got := r.do(t, request{method: method, path: "/v1/subscriptions/" + made.ID + path})
			got.want(t, status, "")
			if got.decode(t, &s); s.SubscriptionID != made.ID {
				t.Errorf("%s", got.body)
			}
			return s.Secret
		}
		if s := secret("GET", "/secret", 200); s != made.Secret {
			t.Errorf("revealed %s, made %s", s, made.Secret)
		}
		rotated := secret("POST", "/secret/rotate", 201)
		if rotated == made.Secret || len(rotated) != len(made.Secret) || secret("GET", "/secret", 200) != rotated {
			t.Errorf("rotated %s to %s", made.Secret, rotated)
		}
	})
}

// Whatever is sent, the answer is a documented one, and a subscription that was
// updated can be read.
func FuzzUpdateBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ``, `null`, `{"headers":null,"metadata":null}`, `{"events":[]}`, `{"events":null}`, `{"events":["status.changed"]}`,
		`{"webhookUrl":" https://example.com/a b"}`, `{"delayThresholdMinutes":1e400}`, `{"headers":{"a":"b","A":"c"}}`, `{"headers":{"X-A":"é"}}`,
		`{"metadata":{"\u0000":"\ud800"}}`, "{\"metadata\":{\"a\":\"\xff\"}}", `{"metadata": {"a" : 1.0, "a": 2}}`, `{"webhookUrl":"http://[::ffff:127.0.0.1]/"}`,
		`{"secret":"x"}`, `{"metadata":{},"metadata":null}`, `{"delayThresholdMinutes":-0.0}`,
	} {
		f.Add([]byte(seed))
	}
	r := newRig(f, sqlite(f))
	id := r.subscribe(f, oneLeg)
	call := func(method string, body []byte) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "/v1/subscriptions/"+id, bytes.NewReader(body))
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {r.key}}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		return w
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := call("PATCH", body)
		var got struct {
			Fields   []json.RawMessage
			Metadata json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		switch w.Code {
		case 200:
			var sent map[string]json.RawMessage
			if err := json.Unmarshal(body, &sent); err != nil || sent["metadata"] != nil && string(sent["metadata"]) != "null" && !bytes.Equal(got.Metadata, sent["metadata"]) {
				t.Errorf("the metadata became %s", got.Metadata)
			}
			if read := call("GET", nil); read.Code != 200 || !bytes.Equal(read.Body.Bytes(), w.Body.Bytes()) {
				t.Errorf("%s is read as %s", w.Body, read.Body)
			}
		case 400:
			if len(got.Fields) == 0 {
				t.Errorf("no fields: %s", w.Body)
			}
		case 413:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
