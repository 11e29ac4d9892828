package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/flight"
)

// The media types of GraphQL over HTTP. The older one answers 200 to whatever
// was well-formed; the newer one says with 400 that nothing was executed.
const (
	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
	typeStream   = "text/event-stream"

	maxErrors = 50 // of one answer
)

// params is the body of a request.
type params struct {
	Query         string         `json:"query"`
	DocumentID    string         `json:"documentId"` // in the place of query
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

// requestError is a request that is not GraphQL over HTTP.
type requestError struct {
	status  int
	code    string
	message string
}

func (e *requestError) graphQL() *gqlerror.Error {
	return &gqlerror.Error{Message: e.message, Extensions: map[string]any{"code": e.code}}
}

func badRequest(message string) *requestError {
	return &requestError{http.StatusBadRequest, "INVALID_REQUEST", message}
}

// read takes the parameters from a request, a POST with a JSON body or a GET.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, *requestError) {
	var p params
	var bad *requestError
	switch r.Method {
	case http.MethodPost:
		bad = readBody(&p, w, r, h.MaxBody)
	case http.MethodGet:
		bad = readURL(&p, r.URL.RawQuery)
	default:
		w.Header().Set("Allow", methods)
		bad = &requestError{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Send a POST with a JSON body, or a GET for a query."}
	}
	if bad == nil {
		bad = h.document(&p)
	}
	if bad != nil {
		return nil, bad
	}
	return p.raw(r.Header), nil
}

func (p *params) raw(header http.Header) *graphql.RawParams {
	return &graphql.RawParams{
		Query: p.Query, OperationName: p.OperationName, Variables: p.Variables, Extensions: p.Extensions, Headers: header,
	}
}

func readBody(p *params, w http.ResponseWriter, r *http.Request, limit int64) *requestError {
	media, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != typeJSON || !isUTF8(options["charset"]) {
		return &requestError{http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "Send Content-Type: application/json, in UTF-8."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return &requestError{http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The body is larger than this service takes."}
		}
		return badRequest("The body could not be read.")
	}
	if !decode(body, p) {
		return badRequest("The body must be a JSON object with the string query and, optionally, operationName, variables and extensions. Batches are not supported.")
	}
	return nil
}

func isUTF8(charset string) bool {
	return charset == "" || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// decode reads exactly one JSON value, its numbers as they are written.
func decode(text []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(into) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

func readURL(p *params, raw string) *requestError {
	q, err := url.ParseQuery(raw)
	if err != nil || !utf8.ValidString(q.Get("query")) {
		return badRequest("The query string of the URL is malformed.")
	}
	p.Query, p.OperationName, p.DocumentID = q.Get("query"), q.Get("operationName"), q.Get("documentId")
	for name, into := range map[string]*map[string]any{"variables": &p.Variables, "extensions": &p.Extensions} {
		if text := q.Get(name); text != "" && !decode([]byte(text), into) {
			return badRequest("The parameter " + name + " must be a JSON object.")
		}
	}
	return nil
}

// serveOnce answers a query or a mutation with one body.
func (h *handler) serveOnce(w http.ResponseWriter, r *http.Request) {
	ctx, op, errs, ok := h.admit(w, r)
	if !ok {
		return
	}
	if errs != nil {
		status := http.StatusOK
		if mediaOf(r) == typeResponse {
			status = http.StatusBadRequest
		}
		write(w, r, status, h.exec.DispatchError(graphql.WithOperationContext(ctx, op), errs))
		return
	}
	if bad := allowed(w, r, op.Operation.Operation); bad != nil {
		write(w, r, bad.status, &graphql.Response{Errors: gqlerror.List{bad.graphQL()}})
		return
	}
	h.each(ctx, op, func(resp *graphql.Response) bool {
		write(w, r, http.StatusOK, resp)
		return false
	})
}

// each gives every response of an operation to f, until there are no more, f
// returns false, or ctx ends. A panic becomes the last response. A response is
// f's until it returns: the next one is written over it.
func (h *handler) each(ctx context.Context, op *graphql.OperationContext, f func(*graphql.Response) bool) {
	defer func() {
		if p := recover(); p != nil {
			f(&graphql.Response{Errors: gqlerror.List{present(ctx, recovered(ctx, p))}})
		}
	}()
	data, keep := h.repeats.answer(ctx, op)
	if data != nil {
		f(&graphql.Response{Data: data})
		return
	}
	if op.Operation.Operation != ast.Subscription {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, h.Timeout, errTooSlow)
		defer end()
	}
	responses, ctx := h.exec.DispatchOperation(ctx, op)
	for {
		resp := responses(ctx)
		if resp == nil || left(ctx) {
			return
		}
		if keep != nil {
			keep(resp)
		}
		if !f(resp) {
			return
		}
	}
}

// left reports whether nobody waits for an answer any more. After a time-out
// somebody does.
func left(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) != error(errTooSlow)
}

// allowed says what may not be done over plain HTTP: change something by GET,
// which a link can do, and subscribe without a stream.
func allowed(w http.ResponseWriter, r *http.Request, op ast.Operation) *requestError {
	switch {
	case op == ast.Mutation && r.Method == http.MethodGet:
		w.Header().Set("Allow", "POST")
		return &requestError{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "A GET can only query. Send a mutation as a POST."}
	case op == ast.Subscription:
		return badRequest("A subscription needs a websocket (graphql-transport-ws) or Accept: text/event-stream.")
	}
	return nil
}

// mediaOf returns the type in which a request wants its answer.
func mediaOf(r *http.Request) string {
	for accept := range strings.SplitSeq(strings.Join(r.Header["Accept"], ","), ",") {
		media, options, err := mime.ParseMediaType(accept)
		if err == nil && media == typeResponse && options["q"] != "0" {
			return typeResponse
		}
	}
	return typeJSON
}

// refuse answers a request whose key was not accepted, or whose quota is used
// up.
func refuse(w http.ResponseWriter, r *http.Request, err *gqlerror.Error) {
	code, _ := err.Extensions["code"].(string)
	status := statusOf(flight.Code(strings.ToLower(code)))
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if seconds, ok := err.Extensions["retryAfterSeconds"].(int); ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	err.Path = nil
	write(w, r, status, &graphql.Response{Errors: gqlerror.List{err}})
}

// write sends an answer.
func write(w http.ResponseWriter, r *http.Request, status int, resp *graphql.Response) {
	header := w.Header()
	header.Set("Content-Type", mediaOf(r)+"; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = w.Write(encode(r.Context(), resp)) // the client may have left
}

// encode writes a response. Unlike graphql.Response's own form it has no data
// where nothing was executed, and it copies the data as it is.
func encode(ctx context.Context, resp *graphql.Response) []byte {
	b := make([]byte, 0, len(resp.Data)+256)
	b = append(b, '{')
	if len(resp.Errors) > 0 {
		errs, err := json.Marshal(resp.Errors[:min(len(resp.Errors), maxErrors)])
		if err != nil { // our own extensions only
			slog.ErrorContext(ctx, "GraphQL errors could not be encoded", "error", err)
			errs = []byte(`[{"message":"Something went wrong on our side.","extensions":{"code":"INTERNAL"}}]`)
		}
		b = append(append(b, `"errors":`...), errs...)
	}
	if len(resp.Data) > 0 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, `"data":`...), resp.Data...)
	}
	return append(b, '}')
}
