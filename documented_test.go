package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/flightwire/flightwire/rest"
	"github.com/flightwire/flightwire/rest/resttest"
)

// checker holds REST answers and webhooks against the OpenAPI document.
var checker = sync.OnceValue(func() *resttest.Checker {
	c, err := resttest.New(rest.Document("http://localhost", "legacy"))
	if err != nil {
		panic(err)
	}
	return c
})

// checked is the transport of http.DefaultClient in these tests: an answer from
// below /v1 that the document does not allow is an error, which no caller can
// overlook.
type checked struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return c.RoundTripper.RoundTrip(r)
	}
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err := checker().Check(resttest.Exchange{Request: r, RequestBody: sent, Status: resp.StatusCode, Header: resp.Header, Body: body}); err != nil {
		return nil, err
	}
	return resp, nil
}
