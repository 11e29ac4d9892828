package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// greeted opens a websocket and presents a key; what came back is the type of
// the answer, or how it was closed.
func greeted(t *testing.T, base, key string) (conn *websocket.Conn, answer string, code websocket.StatusCode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, base+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPClient: viewersClient})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	if err := wsjson.Write(ctx, conn, map[string]any{"type": "connection_init", "payload": map[string]any{"x-api-key": key}}); err != nil {
		t.Fatal(err)
	}
	var m struct{ Type string }
	if err := wsjson.Read(ctx, conn, &m); err != nil {
		return conn, "", websocket.CloseStatus(err)
	}
	return conn, m.Type, 0
}

// follow begins a live operation on a websocket; it returns why it is refused.
func follow(t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	query := fmt.Sprintf(`subscription { flightChanged(leg: {carrier: "AA", flightNumber: "100", date: %q}) { cursor } }`, flightDate())
	if err := wsjson.Write(ctx, conn, map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{"query": query}}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type    string
		Payload json.RawMessage
	}
	if err := wsjson.Read(ctx, conn, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type == "next" && !bytes.Contains(got.Payload, []byte("errors")) {
		return ""
	}
	return string(got.Payload)
}

// What an account has open counts over both processes; what a killed process had
// counts for a while and no longer.
func TestOpenLimits(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("two processes need servers")
	}
	m, plans := serversMode(t), planFile(t, `{"partner": {"minute": null, "day": null, "month": null, "watchedFlights": 3, "liveLegs": 1, "connections": 2, "streams": 1}}`)
	_, key := m.issue(t, "Acme", "partner", plans)
	var apis []*process
	for range 2 {
		apis = append(apis, startBinary(t, []string{"serve", "--role", "api"}, append([]string{plans, "FLIGHTWIRE_UPSTREAM=simulator"}, m.env...)))
	}
	first, answer, _ := greeted(t, apis[0].base, key)
	if answer != "connection_ack" {
		t.Fatal(answer)
	}
	second, answer, _ := greeted(t, apis[1].base, key)
	if answer != "connection_ack" {
		t.Fatal(answer)
	}
	for _, api := range apis {
		if _, answer, code := greeted(t, api.base, key); code != 4429 {
			t.Errorf("a third connection: %s %d", answer, code)
		}
	}
	if refused := follow(t, first); refused != "" {
		t.Error(refused)
	}
	if refused := follow(t, second); !strings.Contains(refused, `"STREAM_LIMIT"`) {
		t.Errorf("a second live operation: %s", refused)
	}
	apis[0].Kill()
	began := time.Now()
	eventually(t, "what the dead process had open counts no more", func() bool {
		_, answer, _ := greeted(t, apis[1].base, key)
		return answer == "connection_ack"
	})
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("that took %v", took)
	}
}
