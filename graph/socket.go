package graph

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// The protocol graphql-transport-ws and its close codes, from
// github.com/enisdenjo/graphql-ws, PROTOCOL.md.
const (
	subprotocol = "graphql-transport-ws"

	closeBadRequest   websocket.StatusCode = 4400
	closeUnauthorized websocket.StatusCode = 4401
	closeForbidden    websocket.StatusCode = 4403
	closeSubprotocol  websocket.StatusCode = 4406
	closeInitTimeout  websocket.StatusCode = 4408
	closeDuplicate    websocket.StatusCode = 4409
	closeManyInits    websocket.StatusCode = 4429
)

// message is a message of the protocol, in either direction.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket is one websocket. Its reader is a goroutine of its own, because that of
// the request holds on to much; so is each operation.
type socket struct {
	h      *handler
	conn   *websocket.Conn
	header http.Header
	ctx    context.Context // of the operations; knows the account from the ack on; the reader's
	ready  bool            // acknowledged; the reader's
	key    string          // that was presented; checked again with every operation; the reader's until ready
	path   string          // of the request
	work   sync.WaitGroup

	unwatch func() // ends the watch on the key; the reader's

	// slots has one for each goroutine of an operation, those too that have
	// been completed and are not over yet: a client that starts and completes
	// faster than they end waits, unread.
	slots chan struct{}

	mu         sync.Mutex
	operations map[string]*operation
}

// operation is one that runs on a socket.
type operation struct {
	id     string
	cancel context.CancelFunc
}

// serveSocket takes a websocket over, which outlives its request. Any origin may
// connect: what counts is the key, which a browser does not add by itself as it
// does a cookie.
func (h *handler) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(lean{w}, r, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}, InsecureSkipVerify: true})
	if err != nil { // it has been answered
		return
	}
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &socket{h: h, conn: conn, header: r.Header, ctx: ctx, key: access.Presented(r), path: r.URL.Path, operations: make(map[string]*operation), unwatch: func() {}, slots: make(chan struct{}, h.MaxOperations)}
	release := h.Hold()
	go func() {
		defer release()
		defer end()
		s.serve(ctx, end)
	}()
}

// serve serves a websocket until it ends, which end makes its operations do.
func (s *socket) serve(ctx context.Context, end context.CancelFunc) {
	h, conn := s.h, s.conn
	defer s.work.Wait()
	defer func() { s.unwatch() }()
	defer end()
	defer func() { _ = conn.CloseNow() }()
	defer func() { // nothing else catches it in this goroutine
		if p := recover(); p != nil {
			_ = recovered(ctx, p)
		}
	}()
	if conn.Subprotocol() != subprotocol {
		s.close(closeSubprotocol, "Subprotocol not acceptable: use "+subprotocol)
		return
	}
	conn.SetReadLimit(h.MaxBody)
	late := time.AfterFunc(h.InitTimeout, func() { s.close(closeInitTimeout, "Connection initialisation timeout") })
	defer late.Stop()
	defer context.AfterFunc(h.Context, func() { s.close(websocket.StatusGoingAway, "The server stops: connect again") })()
	ping := s.keepAlive(ctx)
	defer ping.Stop()
	for {
		// A dead peer is found by pings, which then close the connection.
		_, text, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text, &m) != nil {
			s.close(closeBadRequest, "Invalid message")
			return
		}
		if !s.handle(m, late) {
			return
		}
	}
}

func (s *socket) close(code websocket.StatusCode, reason string) { _ = s.conn.Close(code, reason) }

// keepAlive pings now and then, by a timer and not by a goroutine that waits:
// there may be very many sockets.
func (s *socket) keepAlive(ctx context.Context) *time.Timer {
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(s.h.PingInterval, func() {
		<-armed
		ctx, cancel := context.WithTimeout(ctx, s.h.WriteTimeout)
		defer cancel()
		if s.conn.Ping(ctx) != nil {
			_ = s.conn.CloseNow()
			return
		}
		timer.Reset(s.h.PingInterval)
	})
	close(armed)
	return timer
}

// send writes a message. A client that does not take it in time is cut off, or
// it would hold the operation and everything behind it for ever.
func (s *socket) send(m message) bool {
	text, err := json.Marshal(m)
	if err != nil {
		slog.ErrorContext(s.ctx, "a websocket message could not be encoded", "error", err)
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.h.WriteTimeout)
	defer cancel()
	if s.conn.Write(ctx, websocket.MessageText, text) != nil {
		_ = s.conn.CloseNow()
		return false
	}
	return true
}

// handle does what a message asks for; false when the connection is over.
func (s *socket) handle(m message, late *time.Timer) bool {
	switch m.Type {
	case "connection_init":
		if s.ready {
			s.close(closeManyInits, "Too many initialisation requests")
			return false
		}
		return s.init(m.Payload, late)
	case "ping":
		return s.send(message{Type: "pong", Payload: m.Payload})
	case "pong":
		return true
	case "subscribe":
		return s.subscribe(m)
	case "complete":
		s.mu.Lock()
		defer s.mu.Unlock()
		if op := s.operations[m.ID]; op != nil {
			delete(s.operations, m.ID)
			op.cancel()
		}
		return true
	}
	s.close(closeBadRequest, "Invalid message type")
	return false
}

// init authenticates the connection, unless its request brought a key already,
// and acknowledges it.
func (s *socket) init(payload json.RawMessage, late *time.Timer) bool {
	if _, known := access.From(s.ctx); !known {
		s.key = presented(payload)
		id, err := s.h.Auth.Authenticate(s.ctx, s.key)
		switch flight.CodeOf(err) {
		case "":
			s.ctx = access.With(s.ctx, id)
		case flight.CodeMissingAPIKey, flight.CodeInvalidAPIKey:
			s.close(closeForbidden, "Forbidden: send a valid API key as x-api-key")
			return false
		case flight.CodeAccountDisabled:
			s.close(closeForbidden, "Forbidden: the account is disabled")
			return false
		default:
			slog.ErrorContext(s.ctx, "a websocket could not be authenticated", "error", err)
			s.close(websocket.StatusTryAgainLater, "Try again later")
			return false
		}
	}
	if !late.Stop() { // the close is on its way
		return false
	}
	s.ready = true
	s.unwatch = s.h.keys.watch(s.key, func() { s.close(closeForbidden, "Forbidden: the API key is not valid any more") })
	return s.send(message{Type: "connection_ack"})
}

// presented returns the key in the payload of connection_init, named as the
// headers are, in any case.
func presented(payload json.RawMessage) string {
	var values map[string]any
	if json.Unmarshal(payload, &values) != nil {
		return ""
	}
	r := http.Request{Header: make(http.Header)}
	for name, v := range values {
		if text, ok := v.(string); ok {
			r.Header.Set(name, text)
		}
	}
	return access.Presented(&r)
}

// subscribe starts an operation.
func (s *socket) subscribe(m message) bool {
	if !s.ready {
		s.close(closeUnauthorized, "Unauthorized")
		return false
	}
	var p params
	if m.ID == "" || !decode(m.Payload, &p) {
		s.close(closeBadRequest, "Invalid message")
		return false
	}
	ctx, cancel := context.WithCancel(graphql.StartOperationTrace(s.ctx))
	op := &operation{m.ID, cancel}
	s.mu.Lock()
	_, twice := s.operations[m.ID]
	full := len(s.operations) >= s.h.MaxOperations
	if !twice && !full {
		s.operations[m.ID] = op
	}
	s.mu.Unlock()
	switch {
	case twice:
		cancel()
		s.close(closeDuplicate, "Subscriber already exists")
		return false
	case full:
		cancel()
		return s.fail(op, gqlerror.List{{
			Message:    "Too many operations at once on this connection. Complete some, or open another connection.",
			Extensions: map[string]any{"code": "TOO_MANY_OPERATIONS"},
		}})
	}
	s.slots <- struct{}{}
	s.work.Go(func() {
		defer func() { <-s.slots }()
		defer cancel()
		s.run(ctx, op, &p)
	})
	return true
}

// run executes an operation to its end.
func (s *socket) run(ctx context.Context, op *operation, p *params) {
	errs := s.results(ctx, op, p)
	s.mu.Lock()
	running := s.operations[op.id] == op
	if running {
		delete(s.operations, op.id)
	}
	s.mu.Unlock()
	switch {
	case !running || ctx.Err() != nil: // the client has completed it, or left
	case errs != nil:
		s.fail(op, errs)
	default:
		s.send(message{ID: op.id, Type: "complete"})
	}
}

// results sends what an operation gives, and returns why it was not executed.
func (s *socket) results(ctx context.Context, op *operation, p *params) gqlerror.List {
	var oc *graphql.OperationContext
	var errs gqlerror.List
	cost, bad := 1, s.h.document(p)
	if bad == nil {
		oc, errs = s.h.exec.CreateOperationContext(ctx, p.raw(s.header))
	}
	if bad == nil && errs == nil {
		cost = s.h.resolver.requests(ctx, oc)
	}
	ctx, _, err := s.h.charge(ctx, s.key, s.header, cost) // who is asking may be on another plan by now
	switch {
	case err != nil:
		return gqlerror.List{s.refusal(ctx, err)}
	case bad != nil:
		return gqlerror.List{bad.graphQL()}
	case errs != nil:
		return s.h.exec.DispatchError(graphql.WithOperationContext(ctx, oc), errs).Errors
	}
	s.h.each(ctx, oc, func(resp *graphql.Response) bool {
		return s.send(message{ID: op.id, Type: "next", Payload: encode(ctx, resp)})
	})
	return nil
}

// fail ends an operation that was not executed.
func (s *socket) fail(op *operation, errs gqlerror.List) bool {
	payload, err := json.Marshal(errs[:min(len(errs), maxErrors)])
	if err != nil {
		slog.ErrorContext(s.ctx, "GraphQL errors could not be encoded", "error", err)
		return false
	}
	return s.send(message{ID: op.id, Type: "error", Payload: payload})
}
