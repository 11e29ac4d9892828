package resttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object is a JSON object. The nil object is empty.
type object map[string]any

// at follows names down; nil where the path ends.
func (o object) at(path ...string) object {
	for _, name := range path {
		next, _ := o[name].(map[string]any)
		o = next
	}
	return o
}

// pointer returns the JSON pointer of a path.
func pointer(path ...string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(escape.Replace(name))
	}
	return b.String()
}

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// follow returns the object at a pointer, and where it really is: references on
// the way are followed.
func (c *Checker) follow(at string) (place string, o object) {
	var v any = map[string]any(c.doc)
	for name := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		switch holder := v.(type) {
		case map[string]any:
			v = holder[unescape.Replace(name)]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(holder) {
				return at, nil
			}
			v = holder[i]
		}
	}
	o, _ = v.(map[string]any)
	if ref, _ := o["$ref"].(string); ref != "" {
		return c.follow(strings.TrimPrefix(ref, "#"))
	}
	return at, o
}

// route returns the path of the document that a URL has, "" for none, and the
// values of its parameters.
func (c *Checker) route(u *url.URL) (found string, values map[string]string) {
	if u.Path == "" || path.Clean(u.Path) != u.Path {
		return "", nil
	}
	parts := strings.Split(u.EscapedPath(), "/")
	for pattern := range c.doc.at("paths") {
		if v := match(strings.Split(pattern, "/"), parts); v != nil && (found == "" || len(v) < len(values)) {
			found, values = pattern, v
		}
	}
	return found, values
}

// match returns the values of a pattern's parameters; nil when the path is
// another.
func match(pattern, parts []string) map[string]string {
	if len(pattern) != len(parts) {
		return nil
	}
	values := map[string]string{}
	for i, p := range pattern {
		text, err := url.PathUnescape(parts[i])
		name, isParameter := strings.CutPrefix(p, "{")
		switch {
		case err != nil || text == "" && isParameter || !isParameter && p != text:
			return nil
		case isParameter:
			values[strings.TrimSuffix(name, "}")] = text
		}
	}
	return values
}

// request holds a request that was served against an operation.
func (c *Checker) request(x Exchange, at string, path map[string]string) error {
	var all []error
	item := at[:strings.LastIndexByte(at, '/')]
	query := x.Request.URL.Query()
	for _, list := range []string{item, at} {
		_, holder := c.follow(list)
		parameters, _ := holder["parameters"].([]any)
		for i := range parameters {
			place, p := c.follow(list + pointer("parameters", fmt.Sprint(i)))
			name, _ := p["name"].(string)
			var values []string
			switch p["in"] {
			case "path":
				values = []string{path[name]}
			case "query":
				values = query[name]
			case "header":
				values = lines(x.Request.Header, name)
			}
			if err := c.parameter(p, place, values); err != nil {
				all = append(all, fmt.Errorf("the parameter %s was taken: %w", name, err))
			}
		}
	}
	_, op := c.follow(at)
	if op.at("requestBody") == nil {
		return errors.Join(all...)
	}
	media, _, _ := mime.ParseMediaType(x.Request.Header.Get("Content-Type"))
	if media != "application/json" {
		all = append(all, fmt.Errorf("a body of the type %q was taken", media))
	}
	if err := c.json(x.RequestBody, at+pointer("requestBody", "content", "application/json", "schema")); err != nil {
		all = append(all, fmt.Errorf("the request was taken: %w", err))
	}
	return errors.Join(all...)
}

// lines returns a header as one text, if it is there: several lines of a header
// are one list.
func lines(h http.Header, name string) []string {
	if values := h.Values(name); len(values) > 0 {
		return []string{strings.Join(values, ", ")}
	}
	return nil
}

func (c *Checker) parameter(p object, at string, values []string) error {
	switch {
	case p["in"] == "header" && p["name"] == "x-request-id": // of which any is taken
		return nil
	case len(values) == 0 && p["required"] == true:
		return errors.New("it is not there, and required")
	case len(values) == 0 || values[0] == "" && p["required"] != true:
		return nil
	case len(values) > 1:
		return fmt.Errorf("it is there %d times", len(values))
	}
	return c.text(values[0], at+pointer("schema"))
}

// text holds what a header or a parameter says against a schema.
func (c *Checker) text(text, at string) error {
	_, schema := c.follow(at)
	if schema["type"] == "integer" {
		return c.json([]byte(text), at)
	}
	return c.value(text, at)
}

func (c *Checker) json(text []byte, at string) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w: %.200s", err, text)
	}
	if err := c.value(v, at); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

func (c *Checker) value(v any, at string) error {
	c.mu.Lock()
	schema := c.schemas[at]
	if schema == nil {
		var err error
		if schema, err = c.compiler.Compile(name + "#" + at); err != nil {
			c.mu.Unlock()
			return err
		}
		c.schemas[at] = schema
	}
	c.mu.Unlock()
	return schema.Validate(v)
}

// Value holds a value against a named schema of the document.
func (c *Checker) Value(schema string, text []byte) error {
	return c.json(text, pointer("components", "schemas", schema))
}

// Examples returns what is wrong with the examples of the document: of bodies,
// parameters and schemas.
func (c *Checker) Examples() error {
	var all []error
	c.walk("", map[string]any(c.doc), func(at string, o object) {
		if o["schema"] == nil {
			return
		}
		named := o.at("examples")
		for name := range named {
			place, example := c.follow(at + pointer("examples", name))
			if err := c.value(example["value"], at+pointer("schema")); err != nil {
				all = append(all, fmt.Errorf("%s: %w", place, err))
			}
		}
		if one, there := o["example"]; there {
			if err := c.value(one, at+pointer("schema")); err != nil {
				all = append(all, fmt.Errorf("%s: %w", at, err))
			}
		}
		list, _ := o.at("schema")["examples"].([]any)
		for _, one := range list {
			if err := c.value(one, at+pointer("schema")); err != nil {
				all = append(all, fmt.Errorf("%s: %w", at, err))
			}
		}
	})
	return errors.Join(all...)
}

// walk visits every object of the document but those inside examples.
func (c *Checker) walk(at string, v any, visit func(at string, o object)) {
	switch v := v.(type) {
	case map[string]any:
		visit(at, v)
		for name, value := range v {
			if name != "value" && name != "examples" && name != "example" {
				c.walk(at+pointer(name), value, visit)
			}
		}
	case []any:
		for i, value := range v {
			c.walk(at+pointer(fmt.Sprint(i)), value, visit)
		}
	}
}

// Operations lists what the document has, as "METHOD path".
func (c *Checker) Operations() []string {
	var list []string
	for path, item := range c.doc.at("paths") {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				list = append(list, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Codes lists the error codes of the document with their statuses.
func (c *Checker) Codes() map[string]int {
	codes := map[string]int{}
	for response := range c.doc.at("components", "responses") {
		at := pointer("components", "responses", response, "content", "application/json")
		_, media := c.follow(at)
		for code := range media.at("examples") {
			_, example := c.follow(at + pointer("examples", code))
			number, _ := example.at("value")["statusCode"].(json.Number)
			status, _ := number.Int64()
			codes[code] = int(status)
		}
	}
	return codes
}

// Failure returns what is wrong with a failure, wherever it may be answered: nil
// if a response of the document for its code allows it. Allow, which depends on
// the path, may be missing.
func (c *Checker) Failure(status int, header http.Header, body []byte) error {
	var failure struct{ Code string }
	if err := json.Unmarshal(body, &failure); err != nil {
		return err
	}
	header = header.Clone()
	if header.Get("Allow") == "" && status == http.StatusMethodNotAllowed {
		header.Set("Allow", "GET")
	}
	x := Exchange{Request: &http.Request{Method: http.MethodGet}, Status: status, Header: header, Body: body}
	err := fmt.Errorf("the document has no code %q", failure.Code)
	for response := range c.doc.at("components", "responses") {
		at := pointer("components", "responses", response)
		_, media := c.follow(at + pointer("content", "application/json"))
		if media.at("examples", failure.Code) != nil {
			if err = c.answer(x, at); err == nil {
				return nil
			}
		}
	}
	return err
}

// Event returns what is wrong with a webhook, nil if nothing is.
func (c *Checker) Event(header http.Header, body []byte) error {
	at := pointer("webhooks", "event", "post")
	_, op := c.follow(at)
	all := []error{c.json(body, at+pointer("requestBody", "content", "application/json", "schema"))}
	parameters, _ := op["parameters"].([]any)
	for i := range parameters {
		place, p := c.follow(at + pointer("parameters", fmt.Sprint(i)))
		name, _ := p["name"].(string)
		if err := c.parameter(p, place, header.Values(name)); err != nil {
			all = append(all, fmt.Errorf("the header %s: %w", name, err))
		}
	}
	return errors.Join(all...)
}
