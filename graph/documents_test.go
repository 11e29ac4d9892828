package graph

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manifest writes a list of documents and reads it.
func manifest(t *testing.T, text string) (*Documents, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "documents.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadDocuments(path)
}

// TestDocuments: with a list, what stands in it is executed, by its id or its
// text, and nothing else.
func TestDocuments(t *testing.T) {
	const listed = `query Name { __typename }`
	text, _ := json.Marshal(map[string]string{"name": listed, "sha256:abc": `query A { a: __typename } query B { b: __typename }`, "live": live})
	d, err := manifest(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	g := sqliteRig(t, nil)
	s, open := g.serve(func(c *HandlerConfig) { c.Documents = d }), g.serve(nil)
	for _, c := range []struct{ url, body, code, has string }{
		{s.URL, `{"documentId":"name"}`, "", `"__typename":"Query"`},
		{s.URL, `{"query":"` + listed + `"}`, "", `"__typename":"Query"`},
		{s.URL, `{"documentId":"name","query":"` + listed + `"}`, "", `"__typename":"Query"`},
		{s.URL, `{"documentId":"sha256:abc","operationName":"B"}`, "", `"b":"Query"`},
		{s.URL, `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"abc"}},"operationName":"A"}`, "", `"a":"Query"`},
		{s.URL, `{"documentId":"other"}`, "PERSISTED_QUERY_NOT_FOUND", ""},
		{s.URL, `{"documentId":"name","query":"{ __typename }"}`, "PERSISTED_QUERY_NOT_FOUND", ""},
		{s.URL, `{"query":"{ __typename }"}`, "OPERATION_NOT_ALLOWED", ""},
		{s.URL, `{"query":"{ __schema { description } }"}`, "OPERATION_NOT_ALLOWED", ""},
		{s.URL, `{}`, "INVALID_REQUEST", ""},
		{open.URL, `{"documentId":"name"}`, "PERSISTED_QUERY_NOT_SUPPORTED", ""},
		{open.URL, `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"abc"}}}`, "PERSISTED_QUERY_NOT_SUPPORTED", ""},
		{open.URL, `{"query":"{ __typename }","extensions":{"persistedQuery":{"version":1,"sha256Hash":"abc"}}}`, "", `"__typename":"Query"`},
	} {
		r := do(t, request(t, "POST", c.url, c.body))
		got, _ := r.code().(string)
		if got != c.code || !strings.Contains(r.body, c.has) || (r.status == http.StatusOK) != (c.code == "") {
			t.Errorf("%s: %d %s", c.body, r.status, r.body)
		}
	}
	if r := do(t, request(t, "GET", s.URL+"?"+url.Values{"documentId": {"name"}}.Encode(), "")); r.Data["__typename"] != "Query" {
		t.Error(r.body)
	}
	c := dial(t, s).init()
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription { flightChanged(leg: {}) { cursor } }"}}`)
	c.want("1", "error", "OPERATION_NOT_ALLOWED")
	variables, _ := json.Marshal(legVariable())
	c.send(`{"id":"2","type":"subscribe","payload":{"documentId":"live","variables":` + string(variables) + `}}`)
	c.want("2", "next", `"gate":"B1"`)
}

// TestBadManifests: what cannot be executed is found when it is read, and
// named.
func TestBadManifests(t *testing.T) {
	for text, names := range map[string]string{
		`[]`: "JSON object", `{}`: "no documents", `{"a": 7}`: "JSON object", `{"": "{ __typename }"}`: "an id",
		`{"a": "{ __typename }", "b": "{ nosuch }"}`: `"b"`, `{"c": "fragment F on Query { __typename }"}`: `"c"`, `{"d": "{"}`: `"d"`,
	} {
		if _, err := manifest(t, text); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := LoadDocuments(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}
