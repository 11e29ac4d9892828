package graph

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// fewOpen lets an account have so many open.
type fewOpen struct {
	connections, streams int

	mu                 sync.Mutex
	connected, follows int
}

func (f *fewOpen) Connect(context.Context, access.Identity) (func(), error) {
	return f.take(&f.connected, f.connections, flight.CodeConnectionLimit)
}

func (f *fewOpen) Follow(context.Context, access.Identity) (func(), error) {
	return f.take(&f.follows, f.streams, flight.CodeStreamLimit)
}

func (f *fewOpen) take(n *int, most int, code flight.Code) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *n == most {
		return nil, flight.Errorf(code, "There are %d of %d.", *n, most)
	}
	*n++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		*n--
	}, nil
}

func (f *fewOpen) open() (connections, streams int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connected, f.follows
}

// An account that has as many websockets as it may gets no other: the close code
// is one that clients do not answer with another try.
func TestConnectionLimit(t *testing.T) {
	few := &fewOpen{connections: 2, streams: 10}
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.Limit = few })
	first := dial(t, s).init()
	dial(t, s).init()
	c := dial(t, s)
	c.send(`{"type":"connection_init","payload":{"x-api-key":"` + goodKey + `"}}`)
	c.wantClose(closeTooMany)
	r := post(t, s.URL, live, legVariable(), "Accept", typeStream)
	if r.status != http.StatusTooManyRequests || r.code() != "CONNECTION_LIMIT" || r.Errors[0].Extensions["error"] != "TooManyRequests" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := post(t, s.URL, `{ __typename }`, nil); r.status != http.StatusOK {
		t.Errorf("what is over at once is no connection: %d", r.status)
	}
	openStream(t, s.URL, `{ __typename }`).want("next", "Query")
	first.send(`{"id":"1","type":"subscribe","payload":{"query":"{__typename}"}}`)
	first.want("1", "next", "Query")
	_ = first.conn.CloseNow()
	eventually(t, "one that is closed counts no more", func() bool { n, _ := few.open(); return n == 1 })
	dial(t, s).init()
}

// An account that follows as much as it may is told so, on any connection; what
// is over counts no more, and a query is no live operation.
func TestStreamLimit(t *testing.T) {
	few := &fewOpen{connections: 10, streams: 1}
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.Limit = few })
	c := dial(t, s).init()
	c.subscribe("1", live)
	c.want("1", "next", "")
	c.subscribe("2", live)
	m := c.want("2", "error", `"code":"STREAM_LIMIT"`)
	if !strings.Contains(string(m.Payload), `"statusCode":429`) {
		t.Errorf("%s", m.Payload)
	}
	c.subscribe("3", flightQuery)
	c.want("3", "next", "AA100")
	c.want("3", "complete", "")
	r := post(t, s.URL, live, legVariable(), "Accept", typeStream)
	if r.status != http.StatusTooManyRequests || r.code() != "STREAM_LIMIT" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n, _ := few.open(); n != 1 {
		t.Errorf("%d connections are counted", n)
	}
	c.send(`{"id":"1","type":"complete"}`)
	eventually(t, "one that is completed counts no more", func() bool { _, n := few.open(); return n == 0 })
	stream := openStream(t, s.URL, `subscription { flightChanged(leg: `+legText("")+`) { cursor } }`)
	stream.want("next", "cursor")
	c.subscribe("4", live)
	c.want("4", "error", "STREAM_LIMIT")
	stream.leave()
	eventually(t, "one that has left counts no more", func() bool { n, m := few.open(); return n == 1 && m == 0 })
}
