// Package resttest holds what is said over REST, and in webhooks, against the
// OpenAPI document. It is for tests.
//
// It promises that an answer passes only if its path, method and status are in
// the document, it has every header that is required there and no other, and
// its body has the documented form, with no field that is unknown. A request
// that was served must be one that the document allows.
package resttest

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Checker knows a document. It may be used by many at once.
type Checker struct {
	doc      object
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by place in the document
}

const name = "openapi.json"

// New reads a document. It judges what passes through it, not itself.
func New(document []byte) (*Checker, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the document is no object")
	}
	c := &Checker{doc: doc, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	return c, c.compiler.AddResource(name, v)
}

// Exchange is a request and its answer.
type Exchange struct {
	Request     *http.Request // its URL and header
	RequestBody []byte        // as much of it as was read
	Anyhow      bool          // the request need not be what the document allows
	Status      int
	Header      http.Header
	Body        []byte
}

// Check returns everything that is wrong with an exchange, nil if nothing is.
func (c *Checker) Check(x Exchange) error {
	err := c.check(x)
	if err != nil {
		return fmt.Errorf("%s %s answered %d: %w", x.Request.Method, x.Request.URL.RequestURI(), x.Status, err)
	}
	return nil
}

func (c *Checker) check(x Exchange) error {
	path, values := c.route(x.Request.URL)
	if path == "" {
		return c.only(x, http.StatusNotFound, "RouteNotFound")
	}
	item := c.doc.at("paths", path)
	method := strings.ToLower(x.Request.Method)
	if x.Request.Method == http.MethodHead && item.at("get") != nil {
		method = "get"
	}
	op := item.at(method)
	switch {
	case x.Request.Method == http.MethodOptions && x.Header.Get("Access-Control-Allow-Methods") != "": // a preflight of CORS
		return c.status(x, http.StatusNoContent)
	case x.Request.Method == http.MethodOptions:
		return errors.Join(c.status(x, http.StatusNoContent), allow(x, item))
	case op == nil || x.Request.Method != strings.ToUpper(x.Request.Method): // methods are in capitals
		return errors.Join(c.only(x, http.StatusMethodNotAllowed, "MethodNotAllowed"), allow(x, item))
	}
	at := pointer("paths", path, method)
	var request error
	if x.Status < 400 && !x.Anyhow {
		request = c.request(x, at, values)
	}
	status := fmt.Sprint(x.Status)
	if op.at("responses", status) == nil {
		return errors.Join(request, errors.New("the document has no such status here"))
	}
	return errors.Join(request, c.answer(x, at+pointer("responses", status)))
}

func (c *Checker) status(x Exchange, want int) error {
	if x.Status != want {
		return fmt.Errorf("want %d", want)
	}
	return nil
}

// only holds an answer against a response that belongs to no operation.
func (c *Checker) only(x Exchange, status int, response string) error {
	if err := c.status(x, status); err != nil {
		return err
	}
	return c.answer(x, pointer("components", "responses", response))
}

// allow holds the Allow header against the methods of a path.
func allow(x Exchange, item object) error {
	want := []string{"OPTIONS"}
	for method := range item {
		if item.at(method) != nil {
			want = append(want, strings.ToUpper(method))
		}
		if method == "get" {
			want = append(want, "HEAD")
		}
	}
	slices.Sort(want)
	if got := x.Header.Get("Allow"); got != strings.Join(want, ", ") {
		return fmt.Errorf("the header Allow is %q, want %q", got, want)
	}
	return nil
}

// answer holds status, headers and body against a response.
func (c *Checker) answer(x Exchange, at string) error {
	at, response := c.follow(at)
	err := c.headers(x.Header, at, response)
	if x.Request.Method == http.MethodHead {
		return err
	}
	content := response.at("content")
	if content == nil {
		if len(x.Body) > 0 {
			err = errors.Join(err, errors.New("there is a body, and the document has none"))
		}
		return err
	}
	media, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type"))
	if content.at(media) == nil {
		return errors.Join(err, fmt.Errorf("the document has no body of the type %q", media))
	}
	if media != "application/json" {
		if len(x.Body) == 0 {
			err = errors.Join(err, errors.New("the body is empty"))
		}
		return err
	}
	return errors.Join(err, c.json(x.Body, at+pointer("content", media, "schema")))
}

// silent are headers that HTTP brings with it, and CORS where it is on.
var silent = []string{"Content-Length", "Content-Type", "Date", "Connection", "Vary", "Referrer-Policy", "X-Content-Type-Options"}

func (c *Checker) headers(sent http.Header, at string, response object) error {
	header := http.Header{} // as a client reads it, however it was spelled
	for name, values := range sent {
		header[http.CanonicalHeaderKey(name)] = values
	}
	var all []error
	documented := map[string]bool{}
	for name := range response.at("headers") {
		place, h := c.follow(at + pointer("headers", name))
		name = http.CanonicalHeaderKey(name)
		documented[name] = true
		switch values := header.Values(name); {
		case len(values) == 0 && h["required"] == true:
			all = append(all, fmt.Errorf("the header %s is not there", name))
		case len(values) > 1:
			all = append(all, fmt.Errorf("the header %s is there %d times", name, len(values)))
		case len(values) == 1:
			if err := c.text(values[0], place+pointer("schema")); err != nil {
				all = append(all, fmt.Errorf("the header %s: %w", name, err))
			}
		}
	}
	for name, values := range header {
		switch {
		case documented[name] || slices.Contains(silent, name) || strings.HasPrefix(name, "Access-Control-"):
		case name == "Cache-Control" && slices.Equal(values, []string{"no-store"}):
		default:
			all = append(all, fmt.Errorf("the header %s: %q is not in the document", name, values))
		}
	}
	return errors.Join(all...)
}
