package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Recording is what a provider answered to one look-up, with the credentials
// removed, for reporting a fault and for tests.
type Recording struct {
	Provider   string         `json:"provider"`
	Flight     string         `json:"flight"` // "BA178:2026-11-21"
	RecordedAt time.Time      `json:"recordedAt"`
	Outcome    string         `json:"outcome"` // what the look-up came to, in a line
	Calls      []RecordedCall `json:"calls"`
}

// RecordedCall is one call of a look-up.
type RecordedCall struct {
	Request string            `json:"request"` // "GET" and the path with its query; never a header
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // of the answer, the harmless ones
	Body    string            `json:"body,omitempty"`    // byte for byte where it is text
	Base64  string            `json:"base64,omitempty"`  // the body where it is none
	Error   string            `json:"error,omitempty"`   // why there is no answer
}

// removed stands in recordings for what was taken out.
const removed = "REMOVED"

// secretParameters are names of query parameters that carry credentials, with
// any provider.
var secretParameters = []string{"appid", "appkey", "apikey", "api_key", "api-key", "x-apikey", "key", "token", "access_token", "secret", "password"}

// keptHeaders are those of an answer that help to find a fault.
var keptHeaders = []string{"Content-Type", "Cache-Control", "Date", "Retry-After"}

// Recorder makes calls and records them: it is the transport of an HTTP client.
// It is for one look-up, and not safe for concurrent use.
type Recorder struct {
	Secrets []string          // credentials: wherever they stand, they are taken out
	Next    http.RoundTripper // makes the calls; nil: a transport of its own
	Calls   []RecordedCall
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.Next == nil {
		r.Next = newTransport()
	}
	call := RecordedCall{Request: r.Clean(req.Method + " " + withoutSecrets(req.URL))}
	resp, err := r.Next.RoundTrip(req)
	if err != nil {
		call.Error = r.Clean(err.Error())
		r.Calls = append(r.Calls, call)
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	err = errors.Join(err, resp.Body.Close())
	call.Status, call.Headers = resp.StatusCode, map[string]string{}
	for _, name := range keptHeaders {
		if v := resp.Header.Get(name); v != "" {
			call.Headers[name] = r.Clean(v)
		}
	}
	if err != nil {
		call.Error = r.Clean(err.Error())
	}
	if utf8.Valid(body) {
		call.Body = r.Clean(string(body))
	} else {
		call.Base64 = base64.StdEncoding.EncodeToString([]byte(r.Clean(string(body))))
	}
	r.Calls = append(r.Calls, call)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// withoutSecrets returns the path and the query of an address, without what
// parameters that carry credentials say.
func withoutSecrets(u *url.URL) string {
	query := u.Query()
	found := false
	for name := range query {
		for _, secret := range secretParameters {
			if strings.EqualFold(name, secret) {
				query[name], found = []string{removed}, true
			}
		}
	}
	if !found {
		return u.RequestURI()
	}
	return u.EscapedPath() + "?" + query.Encode()
}

// Clean takes the credentials out of a text, however they are spelled there.
func (r *Recorder) Clean(text string) string {
	for _, secret := range r.Secrets {
		if secret == "" {
			continue
		}
		quoted, _ := json.Marshal(secret) // a string can always be
		for _, spelling := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		} {
			text = replaceFold(text, spelling, removed)
		}
	}
	return text
}

// replaceFold replaces a word in either case of its ASCII letters.
func replaceFold(text, old, with string) string {
	lower, want := asciiLower(text), asciiLower(old)
	var b strings.Builder
	for {
		i := strings.Index(lower, want)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		b.WriteString(with)
		text, lower = text[i+len(want):], lower[i+len(want):]
	}
}

// asciiLower keeps the length of the text, unlike strings.ToLower.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Content returns the body of the answer.
func (c *RecordedCall) Content() ([]byte, error) {
	if c.Base64 != "" {
		return base64.StdEncoding.DecodeString(c.Base64)
	}
	return []byte(c.Body), nil
}
