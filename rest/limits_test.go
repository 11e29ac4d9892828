package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// Every bound of the contract and its decisions, on either side: what is out of
// range is refused under its name, not clamped.
func TestBounds(t *testing.T) {
	r := newRig(t, sqlite(t))
	id := r.subscribe(t, oneLeg)
	object := func(bytes int) map[string]string { // so long as JSON
		return map[string]string{"a": strings.Repeat("x", bytes-len(`{"a":""}`))}
	}
	headers := func(n, bytes int) map[string]string { // names have five
		h := map[string]string{}
		for i := range n {
			h[fmt.Sprintf("X-A%02d", i)] = ""
		}
		h["X-A00"] = strings.Repeat("x", bytes-5*n)
		return h
	}
	day := func(n int) string { return epoch.AddDate(0, 0, n).Format(time.DateOnly) }
	for _, c := range []struct {
		field     string
		good, bad []any
		updatable bool
	}{
		{field: "delayThresholdMinutes", good: []any{1, 240}, bad: []any{0, 241, -1}, updatable: true},
		{field: "metadata", good: []any{object(16 << 10), map[string]any{}}, bad: []any{object(16<<10 + 1)}, updatable: true},
		{field: "headers", good: []any{headers(20, 4096), headers(1, 4096)}, bad: []any{headers(21, 200), headers(20, 4097)}, updatable: true},
		{field: "secret", good: []any{strings.Repeat("s", 16), strings.Repeat("s", 256)}, bad: []any{strings.Repeat("s", 15), strings.Repeat("s", 257), strings.Repeat("é", 16)}},
		{field: "date", good: []any{day(365), day(-1)}, bad: []any{day(366)}},
		{field: "events", good: []any{flight.ChangeTypes, []string{"route.changed"}}, bad: []any{[]string{}, []string{"subscription.created"}}, updatable: true},
		{field: "webhookUrl", good: []any{"http://example.com", "https://example.com/a?b"}, bad: []any{"ftp://example.com/", "https://a:b@example.com/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::10.0.0.1]/"}, updatable: true},
	} {
		try := func(v any, good bool) {
			t.Helper()
			calls := []request{{method: "POST", path: "/v1/subscriptions", body: createBody(c.field, v)}}
			if c.updatable {
				calls = append(calls, request{method: "PATCH", path: "/v1/subscriptions/" + id, body: string(encode(t, map[string]any{c.field: v}))})
			}
			for i, q := range calls {
				got := r.do(t, q)
				if good {
					got.want(t, []int{201, 200}[i], "")
				} else if got.want(t, 400, "invalid_request"); !strings.Contains(string(got.body), `"fields":[{"field":"`+c.field+`"`) {
					t.Errorf("%.100s: %s", q.body, got.body)
				}
			}
		}
		for _, v := range c.good {
			try(v, true)
		}
		for _, v := range c.bad {
			try(v, false)
		}
	}
	lists := []string{"/v1/subscriptions", "/v1/subscriptions/" + id + "/deliveries", "/v1/subscriptions/" + id + "/events"}
	for limit, status := range map[string]int{"1": 200, "200": 200, "0": 400, "201": 400, "-1": 400} {
		for _, path := range lists {
			got := r.do(t, request{path: path + "?limit=" + limit})
			if got.want(t, status, ""); status == 200 && !strings.Contains(string(got.body), `"limit":`+limit+`,`) {
				t.Errorf("%s: %s", path, got.body)
			}
		}
	}
	for _, path := range lists {
		if got := r.do(t, request{path: path}); !strings.Contains(string(got.body), `"offset":0,"limit":50,`) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

// A key that is rotated keeps its account's subscriptions, and its counts.
func TestRotationKeepsWhatTheKeyHas(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		r.meter(t, 100)
		old := r.key
		header := http.Header{"Idempotency-Key": {"k"}}
		var made, again struct{ ID string }
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: old, header: header}).decode(t, &made)
		next, err := access.NewKeys(m.DB, m.Redis).Rotate(t.Context(), strings.Split(old, "_")[1])
		if err != nil {
			t.Fatal(err)
		}
		r.do(t, request{path: "/v1/subscriptions/" + made.ID, key: old}).want(t, 401, "invalid_api_key")
		got := r.do(t, request{path: "/v1/subscriptions/" + made.ID, key: next.Key})
		got.want(t, 200, "")
		if left := got.header.Get("X-RateLimit-Remaining-Day"); left != "98" || got.header.Get("X-RateLimit-Limit-Day") != "100" {
			t.Errorf("%s are left of the day: %v %s", left, got.header, got.body)
		}
		replay := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: next.Key, header: header})
		replay.want(t, 201, "")
		if replay.decode(t, &again); again.ID != made.ID {
			t.Errorf("the replay is %s, not %s", again.ID, made.ID)
		}
	})
}

// Each key has windows of its own; watched flights are the account's, whichever
// of its keys creates them, and a refusal leaves those that there are alone.
func TestWhoIsCounted(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		keys := access.NewKeys(m.DB, m.Redis)
		var pair [2]string
		for i := range pair {
			issued, err := keys.Create(t.Context(), "thrifty", "free")
			if err != nil {
				t.Fatal(err)
			}
			pair[i] = issued.Key
		}
		create := request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: pair[0]}
		var first struct{ ID string }
		r.do(t, create).decode(t, &first)
		create.key = pair[1]
		r.do(t, create).want(t, 201, "")
		r.do(t, create).want(t, 201, "")
		for _, create.key = range pair {
			r.do(t, create).want(t, 402, "watched_flight_limit")
		}
		if got := r.do(t, request{path: "/v1/subscriptions/" + first.ID, key: pair[1]}); !strings.Contains(string(got.body), `"status":"active"`) {
			t.Errorf("after the refusal: %s", got.body)
		}

		r.meter(t, 100)
		metered := keys
		metered.Plans = access.Plans{{Name: "metered"}}
		second, err := metered.Create(t.Context(), "metered", "metered") // the account of the rig's key
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{r.key, r.key, second.Key} {
			if left := r.do(t, request{path: cachedPath, key: key}).header.Get("X-RateLimit-Remaining-Day"); left != []string{"99", "98", "99"}[i] {
				t.Errorf("request %d leaves %s", i, left)
			}
		}
	})
}

// The interface says which version it is.
func TestVersion(t *testing.T) {
	var document struct{ Info struct{ Version string } }
	newRig(t, sqlite(t)).do(t, request{path: "/v1/openapi.json", key: "-"}).decode(t, &document)
	if document.Info.Version != "1.0" {
		t.Errorf("version %q", document.Info.Version)
	}
}
