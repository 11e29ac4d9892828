package rest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

var docsTemplate = template.Must(template.New("docs").Parse(docsHTML))

// The page is what the template shows: the document, put into words.
type (
	docsPage struct {
		Title, Version, Base string
		Summary, Intro       template.HTML
		CSS                  template.CSS
		Auth                 []docsField
		Groups               []docsGroup
		Headers              []docsField
		Errors               []docsError
		Schemas              []docsSchema
	}
	docsGroup struct {
		ID, Name   string
		Intro      template.HTML
		Operations []docsOperation
	}
	docsOperation struct {
		ID, Method, Path string
		Summary, Text    template.HTML
		Open             bool // needs no key
		Parameters       []docsField
		Body             template.HTML // its type; "": none
		BodyText         template.HTML
		BodyExamples     []docsExample
		Curl             string
		Responses        []docsResponse
	}
	docsField struct {
		Name, In             string
		Required, Deprecated bool
		Type, Text           template.HTML
		Notes                []template.HTML // bounds, default, example
	}
	docsResponse struct {
		Status   string
		Text     template.HTML
		Type     template.HTML
		Media    string
		Headers  []string
		Examples []docsExample
		Codes    []string // of an error
	}
	docsExample struct {
		Summary template.HTML
		Text    string
	}
	docsError struct {
		Code    string
		Status  any
		Summary template.HTML
		Example string
	}
	docsSchema struct {
		Name   string
		Text   template.HTML
		Also   []template.HTML // what it has besides
		Type   template.HTML   // of one that is no object
		Notes  []template.HTML
		Fields []docsField
	}
)

// renderDocs returns the page of a document, and the policy that it needs.
func renderDocs(doc *tree) (html []byte, policy string) {
	d := docs{doc}
	info := doc.at("info")
	p := docsPage{
		Title: info.text("title"), Version: info.text("version"), Base: d.base(),
		Summary: inline(info.text("summary")), Intro: markdown(info.text("description")), CSS: template.CSS(docsCSS),
		Groups: d.groups(), Headers: d.headers(), Errors: d.errors(), Schemas: d.schemas(),
	}
	for _, name := range doc.at("components", "securitySchemes").fields() {
		s := doc.at("components", "securitySchemes", name)
		p.Auth = append(p.Auth, docsField{Name: cmp.Or(s.text("name"), "Authorization: Bearer"), In: "header", Text: markdown(s.text("description"))})
	}
	var b bytes.Buffer
	if err := docsTemplate.Execute(&b, p); err != nil { // into memory, of what is built in
		panic("rest: the page of the document: " + err.Error())
	}
	sum := sha256.Sum256([]byte(docsCSS))
	return b.Bytes(), "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// docs reads a document for the page.
type docs struct{ doc *tree }

func (d docs) base() string {
	server, _ := d.doc.list("servers")[0].(*tree)
	return server.text("url")
}

// resolve follows references; what stands beside one wins.
func (d docs) resolve(v any) *tree {
	t, _ := v.(*tree)
	ref := t.text("$ref")
	if ref == "" {
		return t
	}
	target := d.resolve(d.doc.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	if len(t.names) == 1 {
		return target
	}
	both := &tree{values: map[string]any{}}
	for _, from := range []*tree{target, t} {
		for _, name := range from.fields() {
			if name != "$ref" && !both.has(name) {
				both.names = append(both.names, name)
			}
			both.values[name] = from.values[name]
		}
	}
	return both
}

// groups are the operations by their tags, and the webhooks.
func (d docs) groups() []docsGroup {
	var groups []docsGroup
	for _, v := range d.doc.list("tags") {
		tag := v.(*tree)
		g := docsGroup{ID: strings.ToLower(tag.text("name")), Name: tag.text("name"), Intro: markdown(tag.text("description"))}
		for _, path := range d.doc.at("paths").fields() {
			item := d.doc.at("paths", path)
			for _, method := range item.fields() {
				if op := item.at(method); op != nil && slices.Contains(op.list("tags"), any(g.Name)) {
					g.Operations = append(g.Operations, d.operation(method, path, op, item.list("parameters")))
				}
			}
		}
		groups = append(groups, g)
	}
	hooks := docsGroup{ID: "webhooks", Name: "Webhooks"}
	for _, name := range d.doc.at("webhooks").fields() {
		op := d.operation("post", "your webhookUrl", d.doc.at("webhooks", name, "post"), nil)
		op.Curl = ""
		hooks.Operations = append(hooks.Operations, op)
	}
	return append(groups, hooks)
}

func (d docs) operation(method, path string, op *tree, shared []any) docsOperation {
	o := docsOperation{
		ID: op.text("operationId"), Method: strings.ToUpper(method), Path: path,
		Summary: inline(op.text("summary")), Text: markdown(op.text("description")),
		Open: op.has("security"),
	}
	var parameters []*tree
	for _, v := range slices.Concat(shared, op.list("parameters")) {
		parameters = append(parameters, d.resolve(v))
	}
	slices.SortStableFunc(parameters, func(a, b *tree) int { return cmp.Compare(parameterOrder[a.text("in")], parameterOrder[b.text("in")]) })
	for _, p := range parameters {
		o.Parameters = append(o.Parameters, d.parameter(p))
	}
	var sent string
	if body := op.at("requestBody"); body != nil {
		_, media := d.media(body)
		o.Body, o.BodyText = d.typeOf(media.at("schema")), inline(body.text("description"))
		o.BodyExamples = d.examples(media)
		sent = o.BodyExamples[0].Text
	}
	o.Curl = d.curl(o, parameters, sent)
	for _, status := range op.at("responses").fields() {
		o.Responses = append(o.Responses, d.response(status, d.resolve(op.at("responses").get(status))))
	}
	return o
}

var parameterOrder = map[string]int{"path": 0, "query": 1, "header": 2}

func (d docs) parameter(p *tree) docsField {
	f := d.field(p.text("name"), p.at("schema"))
	f.In, f.Required, f.Deprecated, f.Text = p.text("in"), p.is("required"), p.is("deprecated"), markdown(p.text("description"))
	if p.has("example") {
		f.Notes = append(f.Notes, note("example", p.get("example")))
	}
	return f
}

func (d docs) response(status string, r *tree) docsResponse {
	out := docsResponse{Status: status, Text: inline(r.text("description"))}
	out.Headers = r.at("headers").fields()
	if !r.has("content") {
		return out
	}
	var media *tree
	out.Media, media = d.media(r)
	if status >= "4" {
		out.Codes = media.at("examples").fields()
		return out
	}
	out.Type, out.Examples = d.typeOf(media.at("schema")), d.examples(media)
	return out
}

// media returns the only form of a body.
func (d docs) media(body *tree) (string, *tree) {
	name := body.at("content").fields()[0]
	return name, body.at("content", name)
}

func (d docs) examples(media *tree) []docsExample {
	var list []docsExample
	for _, name := range media.at("examples").fields() {
		e := d.resolve(media.at("examples").get(name))
		list = append(list, docsExample{inline(e.text("summary")), pretty(e.get("value"))})
	}
	return list
}

// headers are those of answers, each once.
func (d docs) headers() []docsField {
	var list []docsField
	add := func(response *tree) {
		for _, name := range response.at("headers").fields() {
			h := d.resolve(response.at("headers").get(name))
			f := d.field(name, h.at("schema"))
			f.Text = inline(h.text("description"))
			if !slices.ContainsFunc(list, func(o docsField) bool { return o.Name == name }) {
				list = append(list, f)
			}
		}
	}
	for _, path := range d.doc.at("paths").fields() {
		for _, method := range d.doc.at("paths", path).fields() {
			responses := d.doc.at("paths", path, method, "responses")
			for _, status := range responses.fields() {
				add(d.resolve(responses.get(status)))
			}
		}
	}
	for _, name := range d.doc.at("components", "responses").fields() {
		add(d.doc.at("components", "responses", name))
	}
	return list
}

// errors are the codes, each once, by status.
func (d docs) errors() []docsError {
	var list []docsError
	all := d.doc.at("components", "responses")
	for _, name := range all.fields() {
		_, media := d.media(all.at(name))
		for _, code := range media.at("examples").fields() {
			e := d.resolve(media.at("examples").get(code))
			if !slices.ContainsFunc(list, func(o docsError) bool { return o.Code == code }) {
				list = append(list, docsError{code, e.at("value").get("statusCode"), inline(e.text("summary")), pretty(e.get("value"))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b docsError) int { return strings.Compare(fmt.Sprint(a.Status), fmt.Sprint(b.Status)) })
	return list
}

// pretty writes an example as one reads it.
func pretty(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	if err := json.Indent(&b, encode(v), "", "  "); err != nil { // it was just encoded
		panic("rest: an example: " + err.Error())
	}
	return b.String()
}

// curl returns a call to copy and paste, made of the examples.
func (d docs) curl(o docsOperation, parameters []*tree, body string) string {
	path, query, lines := o.Path, "", []string{}
	if !o.Open {
		lines = append(lines, `-H "x-api-key: $KEY"`)
	}
	for _, p := range parameters {
		name, value := p.text("name"), fmt.Sprint(p.get("example"))
		switch {
		case !p.has("example") || p.is("x-leave-out-of-examples") || name == "x-request-id":
		case p.text("in") == "path":
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		case p.text("in") == "query":
			query += "&" + name + "=" + value
		default:
			lines = append(lines, "-H '"+name+": "+value+"'")
		}
	}
	if query != "" {
		query = "?" + query[1:]
	}
	if body != "" {
		lines = append(lines, "-H 'content-type: application/json'", "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	first := "curl '" + d.base() + path + query + "'"
	if o.Method != "GET" {
		first = "curl -X " + o.Method + " '" + d.base() + path + query + "'"
	}
	return strings.Join(append([]string{first}, lines...), " \\\n  ")
}
