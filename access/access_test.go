package access

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func TestPresented(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"nothing":                {http.Header{}, ""},
		"x-api-key":              {http.Header{"X-Api-Key": {"k"}}, "k"},
		"bearer":                 {http.Header{"Authorization": {"Bearer k"}}, "k"},
		"scheme in any case":     {http.Header{"Authorization": {"bEARER k"}}, "k"},
		"spaces around":          {http.Header{"Authorization": {"Bearer   k "}}, "k"},
		"both: x-api-key":        {http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer other"}}, "k"},
		"empty x-api-key":        {http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer k"}}, "k"},
		"another scheme":         {http.Header{"Authorization": {"Basic a2V5"}}, ""},
		"scheme without a token": {http.Header{"Authorization": {"Bearer"}}, ""},
		"token without a scheme": {http.Header{"Authorization": {"fw_a_b"}}, ""},
	} {
		if got := Presented(&http.Request{Header: c.header}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFrom(t *testing.T) {
	if id, ok := From(context.Background()); ok {
		t.Errorf("a bare context carries %+v", id)
	}
	want := Identity{"acc_1", "Acme", testID, "pro", true, "req_1"}
	if id, ok := From(With(context.Background(), want)); !ok || id != want {
		t.Errorf("got %+v, %v", id, ok)
	}
}

func TestRequire(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g, keys := NewGuard(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		defer g.Close()
		key, err := keys.Create(t.Context(), "Acme", "pro")
		if err != nil {
			t.Fatal(err)
		}
		var reached []Identity
		var failures []flight.Code
		h := Require(g, func(w http.ResponseWriter, _ *http.Request, err error) {
			failures = append(failures, flight.CodeOf(err))
			w.WriteHeader(http.StatusUnauthorized)
		})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, _ := From(r.Context())
			reached = append(reached, id)
			w.WriteHeader(http.StatusTeapot)
		}))
		for _, c := range []struct {
			header, value string
			status        int
		}{
			{"x-api-key", key.Key, http.StatusTeapot},
			{"Authorization", "Bearer " + key.Key, http.StatusTeapot},
			{"Accept", "*/*", http.StatusUnauthorized},
			{"x-api-key", keyText(key.ID, testSecret), http.StatusUnauthorized},
		} {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set(c.header, c.value)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%s: status %d, want %d", c.header, w.Code, c.status)
			}
		}
		if len(reached) != 2 || reached[0] != reached[1] || reached[0].AccountName != "Acme" || reached[0].KeyID != key.ID {
			t.Errorf("the handler saw %+v", reached)
		}
		if len(failures) != 2 || failures[0] != flight.CodeMissingAPIKey || failures[1] != flight.CodeInvalidAPIKey {
			t.Errorf("refused with %v", failures)
		}
	})
}
