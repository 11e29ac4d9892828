package graph

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// office is an endpoint with real keys, and two accounts.
type office struct {
	*rig
	redis        redis.UniversalClient
	guard        *access.Guard
	keys         *access.Keys
	accounts     *access.Accounts
	server       *httptest.Server
	token, other access.IssuedToken
	key          access.IssuedKey // of token's account
}

func eachOffice(t *testing.T, plan string, f func(o *office)) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		o := &office{redis: m.Redis, keys: access.NewKeys(m.DB, m.Redis), accounts: access.NewAccounts(m.DB, m.Redis)}
		o.guard = access.New(access.Config{DB: m.DB, Redis: m.Redis, Grace: time.Minute, Alone: m.Name == "sqlite"})
		t.Cleanup(o.guard.Close)
		o.rig = newRig(t, m, func(c *ResolverConfig) { c.Keys, c.Live = o.keys, o.guard })
		o.server = o.serve(func(c *HandlerConfig) { c.Auth, c.KeyInterval = o.guard, 10*time.Millisecond })
		var err error
		if o.token, err = o.accounts.Create(t.Context(), "Acme", plan); err == nil {
			if o.other, err = o.accounts.Create(t.Context(), "Bcme", plan); err == nil {
				o.key, err = o.keys.Create(t.Context(), "Acme", "")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		f(o)
	})
}

// ask sends an operation with a key or a token.
func (o *office) ask(key, query string, header ...string) *reply {
	o.t.Helper()
	return post(o.t, o.server.URL, query, nil, append([]string{"X-Api-Key", key}, header...)...)
}

// get reads a value out of an answer by the names on the way to it.
func (r *reply) get(path ...string) any {
	v := any(r.Data)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// An account makes, rotates and revokes its keys with its token, and reads what
// they have used and what was done.
func TestAccount(t *testing.T) {
	eachOffice(t, "free", func(o *office) {
		made := o.ask(o.token.Token, `mutation { createKey { id key createdAt } }`, "X-Request-Id", "req-7")
		id, key := fmt.Sprint(made.get("createKey", "id")), fmt.Sprint(made.get("createKey", "key"))
		if made.status != 200 || !strings.HasPrefix(key, "fw_"+id+"_") || made.header.Get("X-RateLimit-Remaining-Minute") != "9" {
			t.Fatalf("%d %v %s", made.status, made.header, made.body)
		}
		if r := o.ask(key, `{ subscriptions { count } }`); len(r.Errors) > 0 || r.header.Get("X-RateLimit-Remaining-Minute") != "9" {
			t.Errorf("the new key: %v %s", r.header, r.body)
		}
		rotated := o.ask(o.token.Token, `mutation { rotateKey(id: "`+id+`") { id key } }`)
		fresh := fmt.Sprint(rotated.get("rotateKey", "key"))
		if !strings.HasPrefix(fresh, "fw_"+id+"_") || fresh == key {
			t.Errorf("rotated: %s", rotated.body)
		}
		if old, now := o.ask(key, `{ subscriptions { count } }`), o.ask(fresh, `{ subscriptions { count } }`); old.status != 401 || now.status != 200 {
			t.Errorf("after the rotation the old key has %d, the new one %d", old.status, now.status)
		}
		if r := o.ask(o.token.Token, `mutation { revokeKey(id: "`+id+`") { id revokedAt } }`); r.get("revokeKey", "revokedAt") == nil {
			t.Errorf("revoked: %s", r.body)
		}
		if r := o.ask(fresh, `{ subscriptions { count } }`); r.status != 401 {
			t.Errorf("the revoked key has %d", r.status)
		}
		if r := o.ask(o.token.Token, `mutation { rotateKey(id: "`+id+`") { id } }`); r.code() != "CONFLICT" {
			t.Errorf("a revoked key is rotated: %s", r.body)
		}

		o.guard.Close() // writes what was counted; another process goes on
		next := access.New(access.Config{DB: o.db, Redis: o.redis, Grace: time.Minute})
		t.Cleanup(next.Close)
		o.server = o.serve(func(c *HandlerConfig) { c.Auth = next })
		month := o.db.Now().Format("2006-01")
		r := o.ask(o.token.Token, `{ account { id name createdAt
			plan { name requests { minute day month } watchedFlights liveLegs }
			keys { id plan createdAt rotatedAt revokedAt lastUsedAt }
			usage { month requests watchedFlights days { requests } keys { id requests } }
			last: usage(month: "2001-09") { month requests watchedFlights days { day } keys { id } }
			auditLog { id at actor actorId action target detail requestId } } }`)
		if r.status != 200 || len(r.Errors) > 0 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for path, want := range map[string]string{
			"id": o.token.ID, "name": "Acme", "plan": `map[liveLegs:3 name:free requests:map[day:500 minute:10 month:5000] watchedFlights:3]`,
			"usage": `map[days:[map[requests:2]] keys:[map[id:` + id + ` requests:2]] month:` + month + ` requests:2 watchedFlights:0]`,
			"last":  `map[days:[] keys:[] month:2001-09 requests:0 watchedFlights:0]`,
		} {
			if got := fmt.Sprint(r.get("account", path)); got != want {
				t.Errorf("%s is %s, want %s", path, got, want)
			}
		}
		keys, _ := r.get("account", "keys").([]any)
		if len(keys) != 2 {
			t.Fatalf("keys: %v", keys)
		}
		first, second := keys[0].(map[string]any), keys[1].(map[string]any)
		if first["id"] != o.key.ID || first["rotatedAt"] != nil || first["revokedAt"] != nil || first["lastUsedAt"] != nil || first["plan"] != "free" ||
			second["id"] != id || second["rotatedAt"] == nil || second["revokedAt"] == nil || second["lastUsedAt"] == nil {
			t.Errorf("keys: %v", keys)
		}
		tokenID := strings.Split(o.token.Token, "_")[1]
		var acts []string
		log, _ := r.get("account", "auditLog").([]any)
		for _, e := range log {
			e := e.(map[string]any)
			acts = append(acts, fmt.Sprint(e["actor"], e["actorId"], e["action"], e["target"], e["detail"], e["requestId"]))
		}
		want := []string{
			fmt.Sprint("account_token", tokenID, "key.revoked", id, nil, nil), fmt.Sprint("account_token", tokenID, "key.rotated", id, nil, nil),
			fmt.Sprint("account_token", tokenID, "key.created", id, nil, "req-7"), fmt.Sprint("operator", nil, "key.created", o.key.ID, nil, nil),
			fmt.Sprint("operator", nil, "token.issued", tokenID, nil, nil), fmt.Sprint("operator", nil, "account.created", o.token.ID, "plan free", nil),
		}
		if fmt.Sprint(acts) != fmt.Sprint(want) {
			t.Errorf("the log is %q, want %q", acts, want)
		}
		for _, secret := range []string{key, fresh, o.key.Key, o.token.Token} {
			if strings.Contains(r.body, secret[len(secret)-26:]) {
				t.Errorf("a secret is told: %s", r.body)
			}
		}
		for field, query := range map[string]string{
			"month": `usage(month: "2026-13") { month }`, "limit": `auditLog(limit: 201) { id }`,
		} {
			if r := o.ask(o.token.Token, `{ account { `+query+` } }`); r.code() != "INVALID_REQUEST" || !strings.Contains(r.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %s", query, r.body)
			}
		}
	})
}

// Each kind of credential is good for its own fields only.
func TestWrongKindOfCredential(t *testing.T) {
	eachOffice(t, "unlimited", func(o *office) {
		leg := `{carrier: "AA", flightNumber: "100", date: "` + today + `"`
		for _, query := range []string{
			`{ flight(leg: ` + leg + `}) { flightKey } }`, `{ subscription(id: "sub_1") { id } }`, `{ subscriptions { count } }`,
			`{ countries { code } }`, `{ country(code: "IS") { code } }`,
			`mutation { createSubscription(input: ` + leg + `, webhookUrl: "https://example.com/"}) { id } }`,
			`mutation { updateSubscription(id: "sub_1", input: {}) { id } }`, `mutation { deleteSubscription(id: "sub_1") }`,
			`mutation { pauseSubscription(id: "sub_1") { id } }`, `mutation { resumeSubscription(id: "sub_1") { id } }`,
			`mutation { testSubscription(id: "sub_1") { eventId } }`, `mutation { revealSecret(id: "sub_1") { secret } }`,
			`mutation { rotateSecret(id: "sub_1") { secret } }`,
		} {
			if r := o.ask(o.token.Token, query); r.status != 200 || len(r.Errors) != 1 || r.code() != "API_KEY_REQUIRED" {
				t.Errorf("%s with the token: %d %s", query, r.status, r.body)
			}
		}
		own := []string{`{ account { id } }`, `mutation { createKey { id } }`, `mutation { rotateKey(id: "` + o.key.ID + `") { id } }`, `mutation { revokeKey(id: "` + o.key.ID + `") { id } }`}
		for _, query := range own {
			if r := o.ask(o.key.Key, query); r.status != 200 || len(r.Errors) != 1 || r.code() != "ACCOUNT_TOKEN_REQUIRED" {
				t.Errorf("%s with a key: %d %s", query, r.status, r.body)
			}
		}
		ctx := t.Context() // and in Go
		if _, err := o.r.Query().Account(ctx); flight.CodeOf(err) != flight.CodeMissingAPIKey {
			t.Errorf("nobody: %v", err)
		}
		who, err := o.guard.Authenticate(ctx, o.other.Token)
		if err != nil {
			t.Fatal(err)
		}
		ctx = access.With(ctx, who)
		_, keys := o.r.Account().Keys(ctx, &Account{ID: o.token.ID})
		_, usage := o.r.Account().Usage(ctx, &Account{ID: o.token.ID}, nil)
		_, log := o.r.Account().AuditLog(ctx, &Account{ID: o.token.ID}, 10)
		for _, err := range []error{keys, usage, log} {
			wantCode(t, err, flight.CodeNotFound)
		}
		// A token over a websocket, and what it may not do there.
		c := dial(t, o.server)
		c.send(`{"type":"connection_init","payload":{"x-api-key":"` + o.token.Token + `"}}`)
		c.want("", "connection_ack", "")
		c.send(`{"id":"1","type":"subscribe","payload":{"query":"{ account { name } }"}}`)
		c.want("1", "next", `{"account":{"name":"Acme"}}`)
		c.want("1", "complete", "")
		c.subscribe("2", live)
		c.want("2", "next", "API_KEY_REQUIRED")
	})
}

// Another account's key is answered as one that does not exist, to the byte.
func TestAnotherAccountsKey(t *testing.T) {
	eachOffice(t, "unlimited", func(o *office) {
		const absent = "aaaaaaaaaaaaaaaa"
		for _, field := range []string{"rotateKey", "revokeKey"} {
			ask := func(id string) string {
				r := o.ask(o.other.Token, `mutation { `+field+`(id: "`+id+`") { id } }`)
				if r.code() != "NOT_FOUND" {
					t.Errorf("%s of %s: %s", field, id, r.body)
				}
				return strings.ReplaceAll(r.body, id, "ID")
			}
			if none, theirs := ask(absent), ask(o.key.ID); none != theirs {
				t.Errorf("%s tells them apart:\n%s\n%s", field, none, theirs)
			}
		}
		if r := o.ask(o.key.Key, `{ subscriptions { count } }`); r.status != 200 {
			t.Errorf("the key was touched: %s", r.body)
		}
		if r := o.ask(o.other.Token, `{ account { name keys { id } auditLog { target } } }`); strings.Contains(r.body, o.key.ID) || r.get("account", "name") != "Bcme" {
			t.Errorf("another's key is listed: %s", r.body)
		}
	})
}

// A disabled account is told so, and only who has its secret.
func TestDisabledOverGraphQL(t *testing.T) {
	eachOffice(t, "unlimited", func(o *office) {
		if _, err := o.accounts.Disable(t.Context(), "Acme"); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{o.key.Key, o.token.Token} {
			if r := o.ask(key, `{ __typename }`); r.status != http.StatusForbidden || r.code() != "ACCOUNT_DISABLED" || r.Data != nil {
				t.Errorf("%d %s", r.status, r.body)
			}
			c := dial(t, o.server)
			c.send(`{"type":"connection_init","payload":{"x-api-key":"` + key + `"}}`)
			c.wantClose(closeForbidden)
		}
	})
}

// What a key has opened ends within seconds when the key is refused.
func TestRefusedKeyEndsStreams(t *testing.T) {
	eachOffice(t, "unlimited", func(o *office) {
		other, err := o.keys.Create(t.Context(), "Bcme", "")
		if err != nil {
			t.Fatal(err)
		}
		stays := dial(t, o.server, "X-Api-Key", other.Key)
		stays.send(`{"type":"connection_init"}`)
		stays.want("", "connection_ack", "")
		stays.subscribe("1", live)
		stays.want("1", "next", `"gate":"B1"`)
		key := o.key
		for name, end := range map[string]func() error{
			"rotation":   func() error { _, err := o.keys.Rotate(t.Context(), key.ID); return err },
			"revocation": func() error { _, err := o.keys.Revoke(t.Context(), key.ID); return err },
			"disabling":  func() error { _, err := o.accounts.Disable(t.Context(), "Acme"); return err },
		} {
			if _, err := o.accounts.Enable(t.Context(), "Acme"); err != nil {
				t.Fatal(err)
			}
			if key, err = o.keys.Create(t.Context(), "Acme", ""); err != nil {
				t.Fatal(err)
			}
			var sockets []*client // the key comes with the request, or in connection_init
			for _, header := range [][]string{{"X-Api-Key", key.Key}, nil} {
				c := dial(t, o.server, header...)
				c.send(`{"type":"connection_init","payload":{"x-api-key":"` + key.Key + `"}}`)
				c.want("", "connection_ack", "")
				sockets = append(sockets, c)
			}
			sockets[0].subscribe("1", live)
			sockets[0].want("1", "next", `"gate":"B1"`)
			body, _ := json.Marshal(map[string]any{"query": live, "variables": legVariable()})
			stream, err := http.DefaultClient.Do(request(t, "POST", o.server.URL, string(body), "X-Api-Key", key.Key, "Accept", "text/event-stream"))
			if err != nil {
				t.Fatal(err)
			}
			if err := end(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, c := range sockets {
				c.wantClose(closeForbidden)
			}
			text, err := io.ReadAll(stream.Body) // which ends
			_ = stream.Body.Close()
			if err != nil || !strings.Contains(string(text), `"code":"INVALID_API_KEY"`) || !strings.HasSuffix(string(text), "event: complete\ndata:\n\n") {
				t.Errorf("%s: the stream ended with %v: %s", name, err, text)
			}
		}
		o.move("C1") // who has another key hears on
		stays.want("1", "next", `"to":"C1"`)
	})
}

// A socket that stays open goes by the plan of now.
func TestPlanChangeReachesSockets(t *testing.T) {
	eachOffice(t, "unlimited", func(o *office) {
		c := dial(t, o.server, "X-Api-Key", o.key.Key)
		c.send(`{"type":"connection_init"}`)
		c.want("", "connection_ack", "")
		create := func(id string) {
			c.send(`{"id":"` + id + `","type":"subscribe","payload":{"query":"mutation { createSubscription(input: {carrier: \"AA\", flightNumber: \"100\", date: \"` + today + `\", webhookUrl: \"https://example.com/\"}) { status } }"}}`)
		}
		for i := range 3 {
			create(fmt.Sprint(i))
			c.want(fmt.Sprint(i), "next", `"status":"ACTIVE"`)
			c.want(fmt.Sprint(i), "complete", "")
		}
		if _, err := o.accounts.SetPlan(t.Context(), "Acme", "free"); err != nil {
			t.Fatal(err)
		}
		create("3")
		c.want("3", "next", "WATCHED_FLIGHT_LIMIT")
	})
}
