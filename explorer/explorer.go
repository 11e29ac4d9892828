// Package explorer is the page at /graphql for people: it writes, completes and
// runs GraphQL documents, shows live operations as they go on, and asks no host
// but its own. The page is ours and plain; where the editor was built in, which
// `make assets` makes of npm packages, that takes the place of its text boxes.
package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Root is below which the page's files are served, next to the page itself at
// /graphql.
const Root = "/graphql/explorer/"

//go:embed page built
var files embed.FS

// Explorer serves the page and its files. It is safe for concurrent use.
type Explorer struct {
	page    string // with {{files}} replaced
	version string // changes with any file
	files   map[string]file
}

// file is one of the page's files.
type file struct {
	media  string
	text   []byte
	packed []byte // compressed; nil: it is served as it is
}

var media = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".graphqls": "text/plain; charset=utf-8",
	".json": "application/json; charset=utf-8",
}

// New returns the explorer of a schema, which is given in the schema language
// and as the answer to an introspection query.
func New(schema string, introspection []byte) *Explorer {
	e := &Explorer{files: map[string]file{}}
	entries, _ := files.ReadDir("page") // it is there, or this would not compile
	for _, f := range entries {
		text, _ := files.ReadFile("page/" + f.Name())
		e.add(f.Name(), text)
	}
	e.add("schema.graphqls", []byte(schema))
	e.add("schema.json", introspection)
	if packed, err := files.ReadFile("built/editor.js.gz"); err == nil {
		if text, err := unpack(packed); err == nil { // else it is no editor
			e.files["editor.js"] = file{media[".js"], text, packed}
		}
	}
	e.version = e.digest()
	e.page = strings.ReplaceAll(string(e.files["page.html"].text), "{{files}}", strings.TrimPrefix(Root, "/")+e.version)
	delete(e.files, "page.html")
	return e
}

func (e *Explorer) add(name string, text []byte) {
	e.files[name] = file{media: media[path.Ext(name)], text: text}
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// digest names the files as they are.
func (e *Explorer) digest() string {
	var names []string
	for name := range e.files {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		sum := sha256.Sum256(e.files[name].text)
		_, _ = h.Write(append([]byte(name), sum[:]...))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// HasEditor reports whether the editor was built in.
func (e *Explorer) HasEditor() bool {
	_, ok := e.files["editor.js"]
	return ok
}

// ServeHTTP answers with a file below [Root], and with the page elsewhere.
func (e *Explorer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Send a GET.", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if below, ok := strings.CutPrefix(r.URL.Path, Root); ok {
		e.serveFile(w, r, below)
		return
	}
	// The editor makes style elements of its own, which need a nonce; and with
	// one the page is not to be kept.
	nonce := rand.Text()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+nonce+"'; "+
		"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, strings.ReplaceAll(e.page, "{{nonce}}", nonce)) // the client may have left
}

// serveFile answers with a file, named with the version or, for those who look
// by hand, without.
func (e *Explorer) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if version, rest, ok := strings.Cut(name, "/"); ok {
		name = rest
		if version == e.version {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
	}
	f, ok := e.files[name]
	if !ok {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "There is no such file of the explorer.", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", f.media)
	if f.packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(f.packed)
			return
		}
	}
	_, _ = w.Write(f.text)
}
