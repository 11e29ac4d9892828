package rest

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
)

// schemas are the named types.
func (d docs) schemas() []docsSchema {
	var list []docsSchema
	all := d.doc.at("components", "schemas")
	for _, name := range all.fields() {
		s := all.at(name)
		one := docsSchema{Name: name, Text: markdown(s.text("description"))}
		for _, v := range s.list("allOf") {
			one.Also = append(one.Also, d.typeOf(v.(*tree)))
		}
		for _, field := range s.at("properties").fields() {
			f := d.field(field, s.at("properties", field))
			f.Required = slices.Contains(s.list("required"), any(field))
			one.Fields = append(one.Fields, f)
		}
		if one.Fields == nil {
			one.Type, one.Notes = d.typeOf(s), notes(s)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b docsSchema) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// field puts a schema under a name into words.
func (d docs) field(name string, schema *tree) docsField {
	f := docsField{Name: name, Type: d.typeOf(schema), Text: markdown(schema.text("description")), Notes: notes(schema)}
	for _, v := range schema.list("examples") {
		f.Notes = append(f.Notes, note("example", v))
	}
	return f
}

// typeOf says what a schema takes. Named types are links.
func (d docs) typeOf(s *tree) template.HTML {
	if name := refName(s); name != "" {
		return template.HTML(fmt.Sprintf(`<a href="#schema-%[1]s">%[1]s</a>`, html.EscapeString(name)))
	}
	for _, several := range []string{"anyOf", "oneOf", "allOf"} {
		var parts []string
		for _, v := range s.list(several) {
			parts = append(parts, string(d.typeOf(v.(*tree))))
		}
		if parts != nil {
			return template.HTML(strings.Join(parts, " or "))
		}
	}
	if values := s.list("enum"); values != nil {
		return template.HTML(spell(values, " | "))
	}
	if s.has("const") {
		return template.HTML(spell([]any{s.get("const")}, ""))
	}
	kinds := s.list("type")
	if kinds == nil {
		kinds = []any{s.text("type")}
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, d.plain(fmt.Sprint(kind), s))
	}
	return template.HTML(strings.Join(parts, " or "))
}

// plain says a type of JSON that has no name of ours.
func (d docs) plain(kind string, s *tree) string {
	switch {
	case kind == "array":
		return "list of " + string(d.typeOf(s.at("items")))
	case kind == "object" && s.at("properties") != nil:
		return "object of " + html.EscapeString(strings.Join(s.at("properties").fields(), ", "))
	case kind == "object" && s.at("additionalProperties") != nil:
		return "object of " + string(d.typeOf(s.at("additionalProperties"))) + "s"
	case kind == "string" && s.text("format") != "":
		return "string (" + html.EscapeString(s.text("format")) + ")"
	}
	return html.EscapeString(kind)
}

// bounds are the keywords that the page tells beside a type.
var bounds = [][2]string{
	{"minimum", "at least"}, {"maximum", "at most"}, {"minLength", "characters, at least"}, {"maxLength", "characters, at most"},
	{"minItems", "entries, at least"}, {"maxItems", "entries, at most"}, {"maxProperties", "entries, at most"},
	{"default", "default"}, {"pattern", "pattern"},
}

func notes(s *tree) []template.HTML {
	var list []template.HTML
	for _, b := range bounds {
		if s.has(b[0]) {
			list = append(list, note(b[1], s.get(b[0])))
		}
	}
	return list
}

func note(what string, value any) template.HTML {
	return template.HTML(html.EscapeString(what) + " " + spell([]any{value}, ""))
}

// spell writes values as code.
func spell(values []any, between string) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, "<code>"+html.EscapeString(fmt.Sprint(v))+"</code>")
	}
	return strings.Join(parts, between)
}
