package resttest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// broken is the status of an answer that the document does not allow.
const broken = 599

// Handler returns next behind the checker. An answer that the document does
// not allow is replaced by a 599 that says why, so that whatever awaits it
// fails, and fails the test at its end. What a fuzz target asks may be anything:
// spaces around a value, say, are taken and not documented.
func (c *Checker) Handler(t testing.TB, next http.Handler) http.Handler {
	_, anyhow := t.(*testing.F)
	var mu sync.Mutex
	var first error
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if first != nil {
			t.Error(first)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		request := r.Clone(r.Context())
		if r.Body != nil {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, &sent), r.Body}
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		x := Exchange{Request: request, RequestBody: sent.Bytes(), Anyhow: anyhow, Status: rec.Code, Header: rec.Header(), Body: rec.Body.Bytes()}
		if err := c.Check(x); err != nil {
			mu.Lock()
			if first == nil {
				first = err
			}
			mu.Unlock()
			http.Error(w, err.Error(), broken)
			return
		}
		for name, values := range x.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(x.Status)
		_, _ = w.Write(x.Body)
	})
}
