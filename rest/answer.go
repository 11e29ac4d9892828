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
}

// Shared header values: what is set on every answer costs no allocation.
// Answers depend on the key, which caches in between do not know, so none
// keeps them.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

func (ans answer) write(w http.ResponseWriter) {
	h := w.Header()
	h["Cache-Control"] = noStore
	if ans.body == nil {
		w.WriteHeader(ans.status)
		return
	}
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(ans.body))}
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
