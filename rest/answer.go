package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// answer is what a handler says: a status and the bytes of a JSON body, or
// none. The bytes may be shared and are not changed.
type answer struct {
	status int
	body   []byte
	header http.Header // further headers, which win over those of every answer; may be shared; nil: none
}

// Shared header values: what is set on every answer costs no allocation.
// Answers depend on the key, which caches in between do not know, so none
// keeps them; those that do not say so in their header.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

func (ans answer) write(w http.ResponseWriter) {
	h := w.Header()
	h["Cache-Control"] = noStore
	if ans.body != nil {
		h["Content-Type"] = jsonType
		h["Content-Length"] = []string{strconv.Itoa(len(ans.body))}
	}
	for name, values := range ans.header {
		h[name] = values
	}
	if ans.body == nil {
		w.WriteHeader(ans.status)
		return
	}
	w.WriteHeader(ans.status)
	_, _ = w.Write(ans.body) // it fails when the client has gone: nobody to tell
}

// encode writes v as JSON, leaving <, > and & readable.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // only types of ours, all of which encode
		panic(fmt.Sprintf("rest: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
