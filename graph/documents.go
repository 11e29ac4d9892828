package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/vektah/gqlparser/v2"
)

// Documents are those that an operator lets be executed, and no others.
type Documents struct {
	byID map[string]string
	text map[string]bool
}

const (
	maxManifest   = 16 << 20 // bytes
	maxDocumentID = 256
)

// LoadDocuments reads a manifest: a JSON object of documents by their ids, as
// Relay's compiler and GraphQL Code Generator write it. It fails where one of
// them does not fit the schema, and says which.
func LoadDocuments(path string) (*Documents, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	var manifest map[string]string
	switch {
	case len(text) > maxManifest:
		return nil, fmt.Errorf("it is longer than %d bytes", maxManifest)
	case json.Unmarshal(text, &manifest) != nil:
		return nil, errors.New(`it must be a JSON object of documents by their ids, such as {"flight": "query { … }"}`)
	case len(manifest) == 0:
		return nil, errors.New("it has no documents, so nothing could be executed")
	}
	d := &Documents{make(map[string]string, len(manifest)), make(map[string]bool, len(manifest))}
	for id, text := range manifest {
		if id == "" || len(id) > maxDocumentID {
			return nil, fmt.Errorf("an id must have 1 to %d characters", maxDocumentID)
		}
		if err := check(text); err != nil {
			return nil, fmt.Errorf("document %q: %w", id, err)
		}
		d.byID[plainID(id)] = text
		d.text[text] = true
	}
	return d, nil
}

// check says what is wrong with a document.
func check(text string) error {
	doc, errs := gqlparser.LoadQueryWithRules(parsedSchema, text, nil)
	if len(errs) > 0 {
		return errs[0]
	}
	if len(doc.Operations) == 0 {
		return errors.New("it has no operation")
	}
	return nil
}

// plainID is an id without the name of its hash, which some clients write.
func plainID(id string) string { return strings.TrimPrefix(id, "sha256:") }

// document puts the document into p that its id stands for, and refuses what
// may not be executed.
func (h *handler) document(p *params) *requestError {
	id := p.DocumentID
	if id == "" {
		persisted, _ := p.Extensions["persistedQuery"].(map[string]any)
		id, _ = persisted["sha256Hash"].(string)
	}
	switch d := h.Documents; {
	case d == nil && p.Query != "":
		return nil
	case d == nil && id != "":
		return &requestError{http.StatusBadRequest, "PERSISTED_QUERY_NOT_SUPPORTED", "There are no documents by id here. Send the document as query."}
	case p.Query == "" && id == "":
		return badRequest("The parameter query is missing.")
	case id != "":
		text, ok := d.byID[plainID(id)]
		if !ok || p.Query != "" && p.Query != text {
			return &requestError{http.StatusBadRequest, "PERSISTED_QUERY_NOT_FOUND", "There is no document of this id. Have it added to the list of this service."}
		}
		p.Query = text
	case !d.text[p.Query]:
		return &requestError{http.StatusBadRequest, "OPERATION_NOT_ALLOWED", "This service executes only documents of its list. Send the id of one as documentId, or its text to the letter."}
	}
	return nil
}
