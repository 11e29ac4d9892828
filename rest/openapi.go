package rest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// The document is written by hand: api.yaml is its head, and each other file
// adds what belongs to one noun.
//
//go:embed openapi/*.yaml
var openapiFiles embed.FS

// What stands in the files for settings of the instance.
const (
	someBase   = "https://flights.example.com"
	someLegacy = "x-legacy-"
)

// source is the document as it is written.
var source = sync.OnceValues(func() (*tree, error) {
	files, err := openapiFiles.ReadDir("openapi") // in order: api.yaml is the first
	if err != nil {
		return nil, err
	}
	whole := &tree{values: map[string]any{}}
	for _, f := range files {
		text, err := openapiFiles.ReadFile("openapi/" + f.Name())
		if err != nil {
			return nil, err
		}
		part, err := parseTree(text)
		if err == nil {
			err = whole.merge(part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return whole, nil
})

// document returns the OpenAPI document of an instance: with its base URL as
// the server and in the examples, and with the legacy headers that it sends.
func document(baseURL, legacyPrefix string) *tree {
	whole, err := source()
	if err != nil { // it is built in, and tests read it
		panic("rest: the OpenAPI document: " + err.Error())
	}
	settings := strings.NewReplacer(someBase, strings.TrimRight(baseURL, "/"), someLegacy, "x-"+legacyPrefix+"-")
	doc := rewrite(whole, settings.Replace).(*tree)
	if legacyPrefix == "" {
		event := doc.at("webhooks", "event", "post")
		event.values["parameters"] = slices.DeleteFunc(event.list("parameters"), func(p any) bool {
			return p.(*tree).is("deprecated")
		})
	}
	return doc
}

// Document returns the OpenAPI document that an instance of these settings
// serves.
func Document(baseURL, legacyPrefix string) []byte { return encode(document(baseURL, legacyPrefix)) }

// page is an answer that anyone may keep for a while.
type page struct {
	body   []byte
	header http.Header
}

const keepPage = "public, max-age=300"

func newPage(contentType string, body []byte) *page {
	sum := sha256.Sum256(body)
	return &page{body, http.Header{
		"Cache-Control": {keepPage},
		"Content-Type":  {contentType},
		"Etag":          {`"` + hex.EncodeToString(sum[:8]) + `"`},
	}}
}

// newDocsPage is the page that people read.
func newDocsPage(doc *tree) *page {
	html, policy := renderDocs(doc)
	p := newPage("text/html; charset=utf-8", html)
	p.header["Content-Security-Policy"] = []string{policy}
	p.header["Referrer-Policy"] = []string{"no-referrer"}
	p.header["X-Content-Type-Options"] = []string{"nosniff"}
	return p
}

func (p *page) answer(r *http.Request) (answer, error) {
	if known(r.Header["If-None-Match"], p.header.Get("Etag")) {
		header := p.header.Clone()
		header.Del("Content-Type")
		return answer{status: http.StatusNotModified, header: header}, nil
	}
	return answer{status: http.StatusOK, body: p.body, header: p.header}, nil
}

// getOpenAPI answers GET /v1/openapi.json.
func (a *api) getOpenAPI(_ context.Context, r *http.Request) (answer, error) {
	return a.openapi().answer(r)
}

// getDocs answers GET /v1/docs.
func (a *api) getDocs(_ context.Context, r *http.Request) (answer, error) {
	return a.docs().answer(r)
}
