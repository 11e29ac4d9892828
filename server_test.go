package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSlowBody: a body that trickles in is given up on, also where a stream or
// another protocol is asked for.
func TestSlowBody(t *testing.T) {
	for _, header := range []string{"Accept: application/json", "Accept: text/event-stream", "Upgrade: websocket"} {
		s := &streams{bodyTimeout: 50 * time.Millisecond}
		s.ctx, s.cancel = context.WithCancel(t.Context())
		server := httptest.NewServer(s.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				w.WriteHeader(http.StatusRequestTimeout)
			}
		})))
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\n"+header+"\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", header, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("%s: %d", header, resp.StatusCode)
		}
		_ = conn.Close()
		server.Close()
		s.cancel()
	}
}
