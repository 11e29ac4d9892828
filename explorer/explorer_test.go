package explorer

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, e *Explorer, method, path, encoding string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPage: what the page loads is there, from its own host, by a strict
// policy, and may be kept.
func TestPage(t *testing.T) {
	e := New("type Query { a: Int }", []byte(`{"data":{}}`))
	resp := get(t, e, "GET", "/graphql", "")
	page, policy := body(t, resp), resp.Header.Get("Content-Security-Policy")
	nonce := regexp.MustCompile(`nonce="(\w{20,})"`).FindStringSubmatch(page)
	if resp.StatusCode != 200 || nonce == nil || !strings.Contains(policy, "style-src 'self' 'nonce-"+nonce[1]+"'") || strings.Contains(page, "{{") {
		t.Fatalf("%d %s\n%s", resp.StatusCode, policy, page)
	}
	if strings.Contains(policy, "unsafe") || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Vary") != "Accept" {
		t.Errorf("%v", resp.Header)
	}
	if again := body(t, get(t, e, "GET", "/graphql", "")); strings.Contains(again, nonce[1]) {
		t.Error("the nonce comes twice")
	}
	named := regexp.MustCompile(`(?:src|href)="(graphql/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(named) != 2 {
		t.Fatalf("the page loads %v", named)
	}
	folder := "/" + named[0][1][:strings.LastIndex(named[0][1], "/")+1]
	for _, name := range []string{"page.css", "page.js", "document.js", "live.js", "results.js", "docs.js", "schema.graphqls", "schema.json"} {
		resp := get(t, e, "GET", folder+name, "gzip")
		if text := body(t, resp); resp.StatusCode != 200 || text == "" || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, resp.StatusCode, resp.Header)
		} else if strings.Contains(text, "http://") || strings.Contains(text, "https://") {
			t.Errorf("%s names another host", name)
		}
	}
	for _, name := range []string{"schema.graphqls", "0123456789abcdef/schema.graphqls"} { // by hand, and of an older page
		resp := get(t, e, "GET", Root+name, "")
		if text := body(t, resp); text != "type Query { a: Int }" || resp.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %s %v", name, text, resp.Header)
		}
	}
	for _, name := range []string{"", "page.html", "page", "../explorer.go", "a/b/page.js", "built/editor.js.gz"} {
		if resp := get(t, e, "GET", Root+name, ""); resp.StatusCode != 404 {
			t.Errorf("%q: %d", name, resp.StatusCode)
		}
	}
	if resp := get(t, e, "DELETE", Root+"page.js", ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestEditor: where it was built in it is small, and served as it was packed.
func TestEditor(t *testing.T) {
	e := New("type Query { a: Int }", []byte(`{"data":{}}`))
	if !e.HasEditor() {
		if resp := get(t, e, "GET", Root+"editor.js", "gzip"); resp.StatusCode != 404 {
			t.Errorf("%d without an editor", resp.StatusCode)
		}
		t.Skip("not run: the editor was not built in; make assets does")
	}
	packed := get(t, e, "GET", Root+"editor.js", "br, gzip")
	if n := len(body(t, packed)); packed.Header.Get("Content-Encoding") != "gzip" || n > 250<<10 {
		t.Errorf("%d bytes, %v", n, packed.Header)
	}
	plain := get(t, e, "GET", Root+"editor.js", "")
	if text := body(t, plain); plain.Header.Get("Content-Encoding") != "" || !strings.Contains(text, "export{") {
		t.Errorf("%v", plain.Header)
	}
}
