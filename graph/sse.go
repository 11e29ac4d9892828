package graph

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/access"
)

// stream writes server-sent events, each within the write timeout.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// send writes one piece of the stream; false when the client does not take it.
func (s *stream) send(parts ...[]byte) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return false
	}
	for _, p := range parts {
		if _, err := s.w.Write(p); err != nil {
			return false
		}
	}
	return s.control.Flush() == nil
}

var (
	sseNext     = []byte("event: next\ndata: ")
	sseEnd      = []byte("\n\n")
	sseComplete = []byte("event: complete\ndata:\n\n") // without data, browsers drop it
	sseComment  = []byte(":\n\n")
)

// event returns the data of one response's event.
func event(ctx context.Context, resp *graphql.Response) []byte {
	// A metadata object may be spread over lines, which would end the event.
	// Outside strings, where JSON has no line ends, a space means the same.
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, encode(ctx, resp))
}

// next writes one response as an event.
func (s *stream) next(data []byte) bool { return s.send(sseNext, data, sseEnd) }

// serveStream answers an operation with server-sent events, in the distinct
// connections mode of the graphql-sse protocol.
func (h *handler) serveStream(w http.ResponseWriter, r *http.Request) {
	ctx, op, errs, ok := h.admit(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.Context, cancel)()

	if errs == nil && op.Operation.Operation == ast.Mutation {
		if bad := allowed(w, r, ast.Mutation); bad != nil {
			write(w, r, bad.status, &graphql.Response{Errors: gqlerror.List{bad.graphQL()}})
			return
		}
	}
	leave, err := h.follow(ctx, op, errs)
	if err != nil {
		refuse(w, r, refusal(ctx, err, r.URL.Path, r.Header))
		return
	}
	defer leave()
	w.Header().Set("Content-Type", typeStream+"; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that waits for more would hold events back
	w.WriteHeader(http.StatusOK)
	s := &stream{w, http.NewResponseController(w), h.WriteTimeout}
	_ = s.control.SetReadDeadline(time.Time{}) // the request is read; a server's own limit must not end the stream
	if !s.send(sseComment) {
		return
	}
	if errs != nil {
		if s.next(event(ctx, h.exec.DispatchError(graphql.WithOperationContext(ctx, op), errs))) {
			s.send(sseComplete)
		}
		return
	}
	refused := make(chan struct{})
	defer h.keys.watch(access.Presented(r), func() { close(refused) })()
	h.pump(ctx, cancel, s, op, refused)
}

// pump writes responses until there are no more, or the key is refused, and
// comments in between, by which a client and the proxies before it see that the
// stream lives.
func (h *handler) pump(ctx context.Context, cancel context.CancelFunc, s *stream, op *graphql.OperationContext, refused <-chan struct{}) {
	next := make(chan []byte)
	go func() {
		defer close(next)
		h.each(ctx, op, func(resp *graphql.Response) bool {
			data := event(ctx, resp) // here: the executor writes the next response over this one
			select {
			case next <- data:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	defer func() { // the operation must not outlive the request
		cancel()
		for range next {
		}
	}()
	ping := time.NewTicker(h.PingInterval)
	defer ping.Stop()
	for {
		ok := true
		select {
		case data, more := <-next:
			if !more {
				if ctx.Err() == nil {
					s.send(sseComplete)
				}
				return
			}
			ok = s.next(data)
			ping.Reset(h.PingInterval)
		case <-refused:
			if s.next(event(ctx, &graphql.Response{Errors: gqlerror.List{present(ctx, errRefused)}})) {
				s.send(sseComplete)
			}
			return
		case <-ping.C:
			ok = s.send(sseComment)
		}
		if !ok {
			return
		}
	}
}

// follow counts a live operation and its connection in; what is over at once
// counts as neither. The errors are those of [OpenLimit].
func (h *handler) follow(ctx context.Context, op *graphql.OperationContext, errs gqlerror.List) (leave func(), err error) {
	if errs != nil || op.Operation.Operation != ast.Subscription {
		return func() {}, nil
	}
	who, _ := access.From(ctx)
	disconnect, err := h.Limit.Connect(ctx, who)
	if err != nil {
		return nil, err
	}
	unfollow, err := h.Limit.Follow(ctx, who)
	if err != nil {
		disconnect()
		return nil, err
	}
	return func() { unfollow(); disconnect() }, nil
}
