package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/rest"
)

// owned are the routes that take the id of something that an account owns,
// with calls of each: what stands after the path, and the body. Calls that are
// wrong in other ways too must not tell the two ids apart either.
var owned = map[string][]ownedCall{
	"GET /v1/subscriptions/{id}": {{}},
	"PATCH /v1/subscriptions/{id}": {
		{body: `{"webhookUrl": "https://evil.example/", "events": ["route.changed"], "delayThresholdMinutes": 240, "headers": {"X-A": "b"}, "metadata": {"a": 1}}`},
		{body: `{"headers": null, "metadata": null}`}, {body: `{}`}, {body: `{"delayThresholdMinutes": 0}`}, {body: `{`},
	},
	"DELETE /v1/subscriptions/{id}":      {{}},
	"POST /v1/subscriptions/{id}/pause":  {{}},
	"POST /v1/subscriptions/{id}/resume": {{}},
	"POST /v1/subscriptions/{id}/test":   {{}},
	"POST /v1/subscriptions/{id}/replay": {
		{body: `{"since": "2020-01-01T00:00:00Z"}`}, {body: `{"after": "EVENT", "includeFailed": true}`}, {body: `{"after": "evt_0"}`}, {body: `{}`}, {body: `{`},
	},
	"POST /v1/subscriptions/{id}/events/{eventId}/redeliver": {{}},
	"GET /v1/subscriptions/{id}/deliveries":                  {{}, {query: "?limit=1"}, {query: "?limit=0"}},
	"GET /v1/subscriptions/{id}/events":                      {{}, {query: "?limit=1"}, {query: "?limit=0"}},
	"GET /v1/subscriptions/{id}/secret":                      {{}},
	"POST /v1/subscriptions/{id}/secret/rotate":              {{}},
}

type ownedCall struct{ query, body string }

// ownLists are the routes that list what an account owns, with queries that
// would find the other account's.
var ownLists = map[string][]string{
	"GET /v1/subscriptions": {
		"", "?limit=200", "?status=active", "?status=paused", "?carrier=AA", "?carrier=aal&flightNumber=0100&date=" + today, "?flightNumber=" + unfindable, "?offset=1&limit=1",
	},
}

// everybodys are the path parameters that name what belongs to nobody.
var everybodys = []string{"{code}", "{file}", "{carrier}", "{flightNumber}", "{date}"}

// What is another account's is not there: its id is answered as one that does
// not exist, to the byte, and nothing happens to it.
func TestTenancy(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		ids := []string{r.subscribe(t, oneLeg), r.subscribe(t, unfindable)}
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + ids[1] + "/pause"}).want(t, 201, "")
		before := r.holdings(t, ids)
		for route, calls := range owned {
			t.Run(route, func(t *testing.T) {
				for _, c := range calls {
					for _, id := range ids {
						c.body = strings.Replace(c.body, "EVENT", r.firstEvent(t, ids[0]), 1)
						route := strings.Replace(route, "{eventId}", r.firstEvent(t, id), 1)
						theirs, none := r.answerTo(t, route, c, id), r.answerTo(t, route, c, noneSuch)
						if theirs != none {
							t.Errorf("%+v: another account's id is answered with\n%s\none that does not exist with\n%s", c, theirs, none)
						}
						if c == (ownedCall{}) && !strings.HasPrefix(none, `404 `) {
							t.Errorf("answered with %s", none)
						}
					}
				}
			})
		}
		for route, queries := range ownLists {
			method, path, _ := strings.Cut(route, " ")
			for _, q := range queries {
				got := r.do(t, request{method: method, path: path + q, key: r.other})
				got.want(t, 200, "")
				if text := string(got.body); strings.Contains(text, ids[0]) || strings.Contains(text, ids[1]) || !strings.Contains(text, `"count":0,"total":0,`) {
					t.Errorf("%s%s shows %s", route, q, text)
				}
			}
		}
		if after := r.holdings(t, ids); after != before {
			t.Errorf("the owner had\n%s\nand has\n%s", before, after)
		}
	})
}

// firstEvent is the first event of a subscription of the owner.
func (r *rig) firstEvent(t *testing.T, id string) string {
	t.Helper()
	var log struct{ Data []struct{ ID string } }
	r.do(t, request{path: "/v1/subscriptions/" + id + "/events"}).decode(t, &log)
	return log.Data[len(log.Data)-1].ID
}

// An event of another subscription is not there either, be it one's own or
// another account's.
func TestEventsOfOthers(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		mine, second := r.subscribe(t, oneLeg), r.subscribe(t, oneLeg)
		created := r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody(), key: r.other})
		var theirs struct{ ID string }
		created.decode(t, &theirs)
		var log struct{ Data []struct{ ID string } }
		r.do(t, request{path: "/v1/subscriptions/" + theirs.ID + "/events", key: r.other}).decode(t, &log)
		answers := map[string]string{}
		for _, event := range []string{"evt_00000000000000000000000000000000", r.firstEvent(t, second), log.Data[0].ID} {
			for _, q := range []request{
				{path: "/events/" + event + "/redeliver"}, {path: "/replay", body: `{"after": "` + event + `"}`},
			} {
				q.method, q.path = "POST", "/v1/subscriptions/"+mine+q.path
				got := r.do(t, q)
				got.want(t, 404, "event_not_found")
				var body struct{ Message string }
				got.decode(t, &body)
				text, before := strings.ReplaceAll(body.Message, event, "EVENT"), answers["message"]
				if answers["message"] = text; before != "" && text != before {
					t.Errorf("%s: %s, elsewhere %s", q.path, text, before)
				}
			}
		}
	})
}

// answerTo is what the other account hears of an id, with the id taken out.
func (r *rig) answerTo(t *testing.T, route string, c ownedCall, id string) string {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	got := r.do(t, request{method: method, path: strings.Replace(path, "{id}", id, 1) + c.query, body: c.body, key: r.other})
	var body map[string]any
	got.decode(t, &body)
	delete(body, "timestamp")
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	head := got.header.Clone()
	head.Del("Date")
	names, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s %s", got.status, names, bytes.ReplaceAll(text, []byte(id), []byte("ID")))
}

// holdings is all that the owner can see of its own.
func (r *rig) holdings(t *testing.T, ids []string) string {
	t.Helper()
	all := string(r.do(t, request{path: "/v1/subscriptions"}).body)
	for _, id := range ids {
		for _, below := range []string{"", "/events", "/deliveries", "/secret"} {
			got := r.do(t, request{path: "/v1/subscriptions/" + id + below})
			got.want(t, http.StatusOK, "")
			all += "\n" + string(got.body)
		}
	}
	return all
}

// Every route that takes an id is in the tables above.
func TestTenancyIsWhole(t *testing.T) {
	for _, route := range rest.Routes() {
		if _, path, _ := strings.Cut(route, " "); !strings.Contains(path, "{") {
			continue
		}
		for part := range strings.SplitSeq(route, "/") {
			if strings.HasPrefix(part, "{") && !slices.Contains(everybodys, part) && owned[route] == nil {
				t.Errorf("%s takes %s, and nobody tries another account's", route, part)
			}
		}
	}
	for route := range owned {
		if !slices.Contains(rest.Routes(), route) {
			t.Errorf("there is no %s", route)
		}
	}
	for route := range ownLists {
		if !slices.Contains(rest.Routes(), route) {
			t.Errorf("there is no %s", route)
		}
	}
}
