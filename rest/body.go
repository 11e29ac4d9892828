package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/flightwire/flightwire/flight"
)

const (
	maxBody = 64 << 10 // bytes
	maxName = 100      // bytes of a field's name that a fault repeats
)

// object is a JSON object taken apart into the bytes of its fields. Each field
// is taken once, by its type; unknown then adds what nobody took. Faults are
// collected on the way.
type object struct {
	names  []string // as they stand
	values map[string]json.RawMessage
	at     string // what stands before a field's name in a fault
	faults *flight.Invalid
}

// readObject reads the JSON object that a request must carry.
func readObject(r *http.Request) (*object, error) {
	var v flight.Invalid
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		v.Add("Content-Type", "must be application/json")
		return nil, v.Err()
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if fault := jsonFault(body); fault != "" {
		v.Add("body", "%s", fault)
		return nil, v.Err()
	}
	o := splitObject(body, "", &v)
	if o == nil {
		v.Add("body", "must be a JSON object")
		return nil, v.Err()
	}
	return o, nil
}

// readBody reads a body that is not too large. Little of a larger one is read.
func readBody(r *http.Request) ([]byte, error) {
	tooLarge := flight.Errorf(codePayloadTooLarge, "The body must not be larger than %d bytes.", maxBody)
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case r.Context().Err() != nil:
		return nil, fmt.Errorf("read the body: %w", r.Context().Err())
	case err != nil:
		var v flight.Invalid
		v.Add("body", "ended before it was complete")
		return nil, v.Err()
	case len(body) > maxBody:
		return nil, tooLarge
	}
	return body, nil
}

// jsonFault says what makes body no JSON text, "" when it is one.
func jsonFault(body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "must be a JSON object; there is none"
	}
	if !utf8.Valid(body) {
		return "must be UTF-8"
	}
	var whole json.RawMessage
	err := json.Unmarshal(body, &whole)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("is not JSON: %v at byte %d", syntax, syntax.Offset)
	}
	if err != nil {
		return "is not JSON"
	}
	return ""
}

// splitObject takes valid JSON apart, noting names that stand twice; nil when
// it is no object.
func splitObject(raw []byte, at string, v *flight.Invalid) *object {
	o := &object{values: map[string]json.RawMessage{}, at: at, faults: v}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil
		}
		s, _ := name.(string)
		if _, there := o.values[s]; there {
			o.fault(s, "must not be repeated")
			continue
		}
		o.names = append(o.names, s)
		o.values[s] = value
	}
	return o
}

// take returns the bytes of a field; nil when it is left out or null.
func (o *object) take(name string) json.RawMessage {
	raw := o.values[name]
	delete(o.values, name)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// isNull reports whether a field is there and null.
func (o *object) isNull(name string) bool { return string(o.values[name]) == "null" }

// require notes a fault for each of the fields that is left out or null.
func (o *object) require(names ...string) {
	for _, name := range names {
		if _, there := o.values[name]; !there || o.isNull(name) {
			o.fault(name, "is required")
		}
	}
}

// unknown notes a fault for every field that nobody took.
func (o *object) unknown() {
	for _, name := range o.names {
		if _, left := o.values[name]; left {
			o.fault(name, "is not a field of this request")
		}
	}
}

func (o *object) fault(name, message string) {
	if name == "" {
		o.faults.Add(cmp.Or(strings.TrimSuffix(o.at, "."), "body"), "has a field without a name")
		return
	}
	if len(name) > maxName { // of an unknown field
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	o.faults.Add(o.at+name, "%s", message)
}

// text takes a string.
func (o *object) text(name string) string {
	raw := o.take(name)
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		o.fault(name, "must be a string")
	}
	return s
}

// integer takes a whole number, however it is written; nil when there is none.
func (o *object) integer(name string) *int {
	raw := o.take(name)
	if raw == nil {
		return nil
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		o.fault(name, "must be a whole number")
		return nil
	}
	n := int(f)
	return &n
}

// boolean takes true or false; false when it is left out.
func (o *object) boolean(name string) (b bool) {
	if raw := o.take(name); raw != nil && json.Unmarshal(raw, &b) != nil {
		o.fault(name, "must be true or false")
	}
	return b
}

// strings takes a list of strings; nil when there is none. What is no string
// is left out, and a list of which nothing is left counts as none.
func (o *object) strings(name string) []string {
	raw := o.take(name)
	if raw == nil {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		o.fault(name, "must be a list of strings")
		return nil
	}
	list := make([]string, 0, len(elements))
	for i, e := range elements {
		var s string
		if !isString(e) || json.Unmarshal(e, &s) != nil {
			o.fault(fmt.Sprintf("%s[%d]", name, i), "must be a string")
			continue
		}
		list = append(list, s)
	}
	if len(list) == 0 && len(elements) > 0 {
		return nil
	}
	return list
}

// stringMap takes an object of strings; nil when there is none.
func (o *object) stringMap(name string) map[string]string {
	raw := o.take(name)
	if raw == nil {
		return nil
	}
	inner := splitObject(raw, o.at+name+".", o.faults)
	if inner == nil {
		o.fault(name, "must be an object whose values are strings")
		return nil
	}
	m := make(map[string]string, len(inner.names))
	for _, key := range inner.names {
		var s string
		if e := inner.values[key]; !isString(e) || json.Unmarshal(e, &s) != nil {
			inner.fault(key, "must be a string")
			continue
		}
		m[key] = s
	}
	return m
}

// isString keeps null out, which decodes into a string without an error.
func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// object takes an object as its own bytes; nil when there is none.
func (o *object) object(name string) json.RawMessage {
	raw := o.take(name)
	if raw != nil && raw[0] != '{' {
		o.fault(name, "must be an object")
		return nil
	}
	return raw
}
