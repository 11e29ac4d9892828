package graph

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

// client is a websocket client of the protocol.
type client struct {
	t    *testing.T
	conn *websocket.Conn
}

func dial(t *testing.T, s *httptest.Server, header ...string) *client {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	conn, resp, err := websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{Subprotocols: []string{subprotocol}, HTTPHeader: h})
	if err != nil {
		t.Fatal(err, resp)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t, conn}
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() (m message) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 15*time.Second)
	defer cancel()
	_, text, err := c.conn.Read(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		c.t.Fatal(err, string(text))
	}
	return m
}

func (c *client) want(id, typ, payload string) message {
	c.t.Helper()
	m := c.next()
	if m.ID != id || m.Type != typ || !strings.Contains(string(m.Payload), payload) {
		c.t.Errorf("got %s %s %s, want %s %s %s", m.ID, m.Type, m.Payload, id, typ, payload)
	}
	return m
}

func (c *client) wantClose(code websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 15*time.Second)
	defer cancel()
	for {
		_, text, err := c.conn.Read(ctx)
		if err == nil {
			c.t.Logf("before the close: %s", text)
			continue
		}
		if got := websocket.CloseStatus(err); got != code {
			c.t.Errorf("closed with %d (%v), want %d", got, err, code)
		}
		return
	}
}

func (c *client) init() *client {
	c.t.Helper()
	c.send(`{"type":"connection_init","payload":{"x-api-key":"` + goodKey + `"}}`)
	c.want("", "connection_ack", "")
	return c
}

func (c *client) subscribe(id, query string) {
	c.t.Helper()
	payload, err := json.Marshal(map[string]any{"query": query, "variables": legVariable()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(`{"id":"` + id + `","type":"subscribe","payload":` + string(payload) + `}`)
}

const live = `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor flight { departure { gate } } changes { to } } }`

func TestSocket(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.PingInterval = 10 * time.Millisecond })
	c := dial(t, s, "Origin", "https://dashboard.example").init()
	c.send(`{"type":"ping","payload":{"n":1}}`)
	c.want("", "pong", `{"n":1}`)
	c.subscribe("1", live)
	c.want("1", "next", `"gate":"B1"}},"changes":[]`)
	c.subscribe("2", flightQuery)
	c.want("2", "next", `"flightKey":"AA100:`)
	c.want("2", "complete", "")
	g.move("C1")
	c.want("1", "next", `"changes":[{"to":"C1"}]`)
	c.subscribe("2", `{ nosuch }`) // an id may be used again
	c.want("2", "error", `GRAPHQL_VALIDATION_FAILED`)
	c.send(`{"id":"1","type":"complete"}`)
	c.send(`{"id":"never","type":"complete"}`)
	eventually(t, "the viewer leaves", func() bool {
		return len(g.r.live.legs.ids()) == 0
	})
	c.subscribe("1", strings.Replace(live, "$leg)", `{carrier:"AA",flightNumber:"999",date:"`+today+`"})`, 1))
	c.want("1", "error", `GRAPHQL_VALIDATION_FAILED`) // an unused variable
	c.subscribe("1", `subscription { flightChanged(leg: {carrier:"AA",flightNumber:"999",date:"`+today+`"}) { cursor } }`)
	c.want("1", "next", `FLIGHT_NOT_FOUND`)
	c.want("1", "complete", "")
	c.subscribe("1", `subscription { a: flightChanged(leg: {carrier:"AA",flightNumber:"1",date:"`+today+`"}) { cursor } b: flightChanged(leg: {carrier:"AA",flightNumber:"2",date:"`+today+`"}) { cursor } }`)
	c.want("1", "error", `exactly one`)
	c.subscribe("1", strings.Replace(live, "flightChanged(leg: $leg)", "flightChanged(leg: $leg) @skip(if: true)", 1))
	c.want("1", "error", `exactly one`)
}

func TestSocketAuthentication(t *testing.T) {
	s := sqliteRig(t, nil).serve(nil)
	for _, payload := range []string{`{"x-api-key":"` + goodKey + `"}`, `{"Authorization":"Bearer ` + goodKey + `"}`, `{"X-API-Key":"` + goodKey + `","other":7}`} {
		c := dial(t, s)
		c.send(`{"type":"connection_init","payload":` + payload + `}`)
		c.want("", "connection_ack", "")
	}
	c := dial(t, s, "X-Api-Key", goodKey)
	c.send(`{"type":"connection_init"}`)
	c.want("", "connection_ack", "")
	for _, init := range []string{`{"type":"connection_init"}`, `{"type":"connection_init","payload":{"x-api-key":"wrong"}}`, `{"type":"connection_init","payload":[]}`} {
		c := dial(t, s)
		c.send(init)
		c.wantClose(closeForbidden)
	}
	c = dial(t, s)
	c.send(`{"type":"connection_init","payload":{"x-api-key":"broken"}}`)
	c.wantClose(websocket.StatusTryAgainLater)
	c = dial(t, s)
	c.subscribe("1", live)
	c.wantClose(closeUnauthorized)
	_, resp, err := websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{Subprotocols: []string{subprotocol}, HTTPHeader: http.Header{"X-Api-Key": {"wrong"}}})
	if err == nil || resp.StatusCode != 401 {
		t.Error(err, resp)
	}
}

func TestSocketProtocol(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.MaxOperations = 2 })
	for _, bad := range []string{`{`, `{"type":"start"}`, `{"type":7}`, `{"type":"subscribe","payload":{"query":"{a}"}}`, `{"id":"1","type":"subscribe"}`, `{"id":"1","type":"subscribe","payload":{"query":7}}`} {
		c := dial(t, s).init()
		c.send(bad)
		c.wantClose(closeBadRequest)
	}
	c := dial(t, s).init()
	c.send(`{"type":"connection_init"}`)
	c.wantClose(closeTooMany)

	c = dial(t, s).init()
	c.subscribe("1", live)
	c.want("1", "next", "")
	c.subscribe("2", live)
	c.want("2", "next", "")
	c.subscribe("3", live)
	c.want("3", "error", "TOO_MANY_OPERATIONS")
	c.subscribe("1", live)
	c.wantClose(closeDuplicate)

	c = dial(t, s).init()
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"` + strings.Repeat(" ", 70_000) + `"}}`)
	c.wantClose(websocket.StatusMessageTooBig)

	conn, _, err := websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{Subprotocols: []string{"graphql-ws"}})
	if err != nil {
		t.Fatal(err)
	}
	(&client{t, conn}).wantClose(closeSubprotocol)

	quick := g.serve(func(c *HandlerConfig) { c.InitTimeout = 10 * time.Millisecond })
	dial(t, quick).wantClose(closeInitTimeout)
}

func TestSocketStop(t *testing.T) {
	stop, stopNow := context.WithCancel(t.Context())
	s := sqliteRig(t, nil).serve(func(c *HandlerConfig) { c.Context = stop })
	c := dial(t, s).init()
	c.subscribe("1", live)
	c.want("1", "next", "")
	stopNow()
	c.wantClose(websocket.StatusGoingAway)
}

// TestSocketLeaks: whatever way a connection ends, nothing of it is left. One
// of the clients stops reading, and is cut off.
func TestSocketLeaks(t *testing.T) {
	g := sqliteRig(t, nil)
	g.flight(aa100, false)
	s := g.serve(func(c *HandlerConfig) { c.WriteTimeout, c.PingInterval = 100*time.Millisecond, 50*time.Millisecond })
	before := goleak.IgnoreCurrent()

	polite := dial(t, s).init()
	polite.subscribe("1", live)
	polite.want("1", "next", "")
	rude := dial(t, s).init()
	rude.subscribe("1", live)
	rude.want("1", "next", "")
	stuck := dialStuck(t, s)
	if err := polite.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	_ = rude.conn.CloseNow()
	eventually(t, "every viewer is counted out", func() bool {
		return len(g.r.live.legs.ids()) == 0
	})
	_ = stuck.Close()
	s.Close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// TestSocketFlood: ten thousand operations on one connection, and a thousand
// that are completed as soon as they are begun, run a hundred at a time at most;
// nothing of them is left.
func TestSocketFlood(t *testing.T) {
	g := sqliteRig(t, nil)
	g.flight(aa100, false)
	s := g.serve(nil)
	before, quiet := goleak.IgnoreCurrent(), runtime.NumGoroutine()
	c := dial(t, s).init()
	const many, at = 10_000, 100
	seen, most := map[string]int{}, 0
	readUntil := func(enough func(m message) bool) {
		for over := false; !over; most = max(most, runtime.NumGoroutine()) {
			m := c.next()
			seen[m.Type]++
			over = enough(m)
		}
	}
	payload, _ := json.Marshal(map[string]any{"query": live, "variables": legVariable()})
	begin := func(id string) error {
		return c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"`+id+`","type":"subscribe","payload":`+string(payload)+`}`))
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < many && err == nil; i++ {
			err = begin(strconv.Itoa(i))
		}
		written <- err
	}()
	readUntil(func(message) bool { return seen["next"]+seen["error"] == many })
	if err := <-written; err != nil || seen["next"] != at || seen["error"] != many-at {
		t.Errorf("%v: %v", seen, err)
	}
	go func() {
		var err error
		for i := 0; i < at && err == nil; i++ {
			err = c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"`+strconv.Itoa(i)+`","type":"complete"}`))
		}
		for i := 0; i < 1000 && err == nil; i++ {
			if err = begin("x"); err == nil {
				err = c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":"x","type":"complete"}`))
			}
		}
		if err == nil {
			err = begin("last")
		}
		written <- err
	}()
	readUntil(func(m message) bool { return m.ID == "last" && m.Type == "next" })
	if err := <-written; err != nil {
		t.Error(err)
	}
	if n := most - quiet; n > 4*at { // each has one of ours, one of the viewer and one of the executor
		t.Errorf("%d goroutines for %d operations at once", n, at)
	}
	_ = c.conn.CloseNow()
	s.Close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

// dialStuck connects by hand, asks for more than the buffers on the way take,
// and reads nothing.
func dialStuck(t *testing.T, s *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	frame := func(text string) string { // masked with zeros, which changes nothing
		return string([]byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}) + text
	}
	ask := `{"id":"live","type":"subscribe","payload":{"query":"subscription { flightChanged(leg: {carrier:\"AA\",flightNumber:\"100\",date:\"` + today + `\"}) { cursor } }"}}`
	var b strings.Builder
	b.WriteString("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + subprotocol + "\r\nX-Api-Key: " + goodKey + "\r\n\r\n")
	b.WriteString(frame(`{"type":"connection_init"}`) + frame(ask))
	ping := frame(`{"type":"ping","payload":"` + strings.Repeat("x", 60_000) + `"}`)
	if _, err := conn.Write([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	// Until the server has cut us off: it has, when our writes fail.
	go func() {
		for {
			if _, err := conn.Write([]byte(ping)); err != nil {
				return
			}
		}
	}()
	return conn
}
