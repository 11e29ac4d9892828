package rest_test

import (
	"testing"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

// An account token is no API key, and says so; it costs nothing.
func TestAccountTokenOverREST(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		token, err := access.NewAccounts(m.DB, m.Redis).IssueToken(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v1/subscriptions", "/v1/countries/IS", "/v1/flights/AA/100/2026-11-21"} {
			got := r.do(t, request{path: path, key: token.Token})
			got.want(t, 401, "invalid_api_key")
			var body struct{ Error, Message string }
			got.decode(t, &body)
			if body.Error != "Unauthorized" || body.Message != access.ErrToken.Message || got.header.Get("X-RateLimit-Limit-Minute") != "" {
				t.Errorf("%s: %v %s", path, got.header, got.body)
			}
		}
		r.do(t, request{path: "/v1/subscriptions", key: token.Token + "x"}).want(t, 401, "invalid_api_key")
	})
}

// A disabled account's key has 403, a wrong secret of it 401, whatever it asks
// for.
func TestDisabledAccountOverREST(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		accounts := access.NewAccounts(m.DB, m.Redis)
		if _, err := accounts.Disable(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		wrong := r.key[:len(r.key)-4] + "AAAA"
		for _, q := range []request{{path: "/v1/subscriptions"}, {path: "/v1/countries"}, {method: "POST", path: "/v1/subscriptions", body: createBody()}} {
			r.do(t, q).want(t, 403, "account_disabled")
			q.key = wrong
			r.do(t, q).want(t, 401, "invalid_api_key")
			q.key = r.other
			if got := r.do(t, q); got.status >= 400 {
				t.Errorf("another account: %d %s", got.status, got.body)
			}
		}
		if _, err := accounts.Enable(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		r.do(t, request{path: "/v1/subscriptions"}).want(t, 200, "")
	})
}

// Revealing and rotating a secret are in the audit log, under the request's id.
func TestSecretsAreAudited(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		var s struct{ ID string }
		r.do(t, request{method: "POST", path: "/v1/subscriptions", body: createBody()}).decode(t, &s)
		r.do(t, request{path: "/v1/subscriptions/" + s.ID + "/secret"}).want(t, 200, "")
		r.do(t, request{method: "POST", path: "/v1/subscriptions/" + s.ID + "/secret/rotate"}).want(t, 201, "")
		r.do(t, request{path: "/v1/subscriptions/" + s.ID + "/secret", key: r.other}).want(t, 404, "subscription_not_found")
		who, err := r.guard.Authenticate(t.Context(), r.key)
		if err != nil {
			t.Fatal(err)
		}
		log, err := m.DB.Audit(t.Context(), who.Account, 2)
		if err != nil || len(log) != 2 {
			t.Fatal(log, err)
		}
		for i, action := range []string{db.ActionSecretRotated, db.ActionSecretRevealed} {
			if e := log[i]; e.Action != action || e.Actor != db.ActorKey || e.ActorID != who.KeyID || e.Target != s.ID || e.Request != "req-7" {
				t.Errorf("entry %d is %+v", i, e)
			}
		}
	})
}
