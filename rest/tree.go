package rest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// tree is a JSON object whose fields keep their order. A value in it is a
// *tree, a []any, or a scalar. The nil tree is empty.
type tree struct {
	names  []string
	values map[string]any
}

// parseTree reads a YAML mapping.
func parseTree(text []byte) (*tree, error) {
	var m yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return treeOf(m), nil
}

func treeOf(m yaml.MapSlice) *tree {
	t := &tree{values: make(map[string]any, len(m))}
	for _, item := range m {
		name := fmt.Sprint(item.Key)
		if !slices.Contains(t.names, name) { // a merged field may be given anew
			t.names = append(t.names, name)
		}
		t.values[name] = valueOf(item.Value)
	}
	return t
}

func valueOf(v any) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		return treeOf(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = valueOf(v[i])
		}
		return list
	}
	return v
}

// merge adds the fields of other, which may share objects with t but nothing
// else.
func (t *tree) merge(other *tree) error {
	for _, name := range other.names {
		mine, there := t.values[name]
		if !there {
			t.names = append(t.names, name)
			t.values[name] = other.values[name]
			continue
		}
		a, isObject := mine.(*tree)
		b, isToo := other.values[name].(*tree)
		if !isObject || !isToo {
			return fmt.Errorf("%s stands twice", name)
		}
		if err := a.merge(b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// at follows names down; nil where the path ends.
func (t *tree) at(path ...string) *tree {
	for _, name := range path {
		t, _ = t.get(name).(*tree)
	}
	return t
}

func (t *tree) get(name string) any {
	if t == nil {
		return nil
	}
	return t.values[name]
}

func (t *tree) has(name string) bool {
	return t != nil && slices.Contains(t.names, name)
}

// text returns a field that is a string, else "".
func (t *tree) text(name string) string {
	s, _ := t.get(name).(string)
	return s
}

// is reports whether a field is true.
func (t *tree) is(name string) bool { return t.get(name) == true }

// list returns a field that is a list, else nil.
func (t *tree) list(name string) []any {
	l, _ := t.get(name).([]any)
	return l
}

// fields returns the names, in order.
func (t *tree) fields() []string {
	if t == nil {
		return nil
	}
	return t.names
}

// rewrite returns a copy in which f has replaced every string.
func rewrite(v any, f func(string) string) any {
	switch v := v.(type) {
	case *tree:
		c := &tree{names: v.names, values: make(map[string]any, len(v.values))}
		for name, value := range v.values {
			c.values[name] = rewrite(value, f)
		}
		return c
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = rewrite(v[i], f)
		}
		return list
	case string:
		return f(v)
	}
	return v
}

// MarshalJSON keeps the order of the fields.
func (t *tree) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range t.names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(name))
		b.WriteByte(':')
		b.Write(encode(t.values[name]))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// refName returns the last part of a reference, "" where t is none.
func refName(t *tree) string {
	ref := t.text("$ref")
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
