package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// viewer is a client that follows flights, and notes what it is told.
type viewer struct {
	n         int
	kind      string // the field that it subscribes to
	key       string
	query     string
	variables map[string]any
	keys      []string // of its flights
	base      func() string
	socket    bool
	stop      context.CancelFunc
	ctx       context.Context

	mu       sync.Mutex
	cursor   string
	gates    map[string][]string // what it saw of each flight, the present state at first
	faults   []string
	messages int
	breaks   int
}

// newViewer gives the n-th viewer something to follow, in turn.
func newViewer(n int, key string, flights []string, subs map[string]string, base func() string) *viewer {
	v := &viewer{n: n, key: key, base: base, socket: n/5%2 == 0, gates: map[string][]string{}, variables: map[string]any{}}
	v.ctx, v.stop = context.WithCancel(context.Background())
	v.keys = []string{flights[n%len(flights)]}
	leg := func(key string) map[string]any {
		number, date, _ := strings.Cut(strings.TrimPrefix(key, "AA"), ":")
		return map[string]any{"carrier": "AA", "flightNumber": number, "date": date}
	}
	const flight = `flight { flightKey departure { gate } } changes { to }`
	switch n % 5 {
	case 0, 1:
		v.kind, v.variables["leg"] = "flightChanged", leg(v.keys[0])
		v.query = `subscription($leg: LegInput!, $after: String) { message: flightChanged(leg: $leg, after: $after) { cursor ` + flight + ` } }`
	case 2:
		for i := range 4 {
			if key := flights[(n+1+i*5)%len(flights)]; !slices.Contains(v.keys, key) {
				v.keys = append(v.keys, key)
			}
		}
		var legs []any
		for _, key := range v.keys {
			legs = append(legs, leg(key))
		}
		v.kind, v.variables["legs"] = "flightsChanged", legs
		v.query = `subscription($legs: [LegInput!]!, $after: String) { message: flightsChanged(legs: $legs, after: $after) { cursor ` + flight + ` } }`
	case 3:
		v.kind, v.variables["id"] = "subscriptionEvents", subs[v.keys[0]]
		v.query = `subscription($id: ID!, $after: String) { message: subscriptionEvents(id: $id, after: $after) { cursor event { flightKey changes { to } } } }`
	case 4:
		v.kind, v.keys = "board", flights
		v.query = `subscription($after: String) { message: board(airport: "JFK", direction: DEPARTURES, hoursAhead: 72, after: $after) { cursor change ` + flight + ` } }`
	}
	return v
}

// watch follows until it is stopped, over as many connections as it takes.
func (v *viewer) watch() {
	for v.ctx.Err() == nil {
		follow := v.overStream
		if v.socket {
			follow = v.overSocket
		}
		err := follow(v.base())
		if v.ctx.Err() != nil {
			return
		}
		v.mu.Lock()
		v.breaks++
		if err == nil {
			v.faults = append(v.faults, "the stream was completed")
		}
		v.mu.Unlock()
		select {
		case <-v.ctx.Done():
		case <-time.After(time.Duration(50+rand.IntN(200)) * time.Millisecond):
		}
	}
}

func (v *viewer) request() map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	variables := map[string]any{}
	for name, value := range v.variables {
		variables[name] = value
	}
	if v.cursor != "" {
		variables["after"] = v.cursor
	}
	return map[string]any{"query": v.query, "variables": variables}
}

// overSocket follows over one websocket; nil when the server completed it.
func (v *viewer) overSocket(base string) error {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	late := time.AfterFunc(15*time.Second, cancel)
	conn, _, err := websocket.Dial(ctx, base+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPClient: viewersClient})
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	err = errors.Join(wsjson.Write(ctx, conn, map[string]any{"type": "connection_init", "payload": map[string]any{"x-api-key": v.key}}),
		wsjson.Write(ctx, conn, map[string]any{"id": "1", "type": "subscribe", "payload": v.request()}))
	for err == nil {
		var m struct {
			Type    string
			Payload json.RawMessage
		}
		if err = wsjson.Read(ctx, conn, &m); err != nil {
			return err
		}
		late.Stop()
		switch m.Type {
		case "next":
			v.take(m.Payload)
		case "complete":
			return nil
		case "error":
			return fmt.Errorf("refused: %s", m.Payload)
		}
	}
	return err
}

// viewersClient keeps no connections and checks nothing against the contract of
// REST.
var viewersClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// overStream follows over server-sent events; nil when the server completed
// them.
func (v *viewer) overStream(base string) error {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	late := time.AfterFunc(15*time.Second, cancel)
	body, err := json.Marshal(v.request())
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream", "x-api-key": v.key} {
		req.Header.Set(name, value)
	}
	resp, err := viewersClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	late.Stop()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			v.take(json.RawMessage(data))
		} else if lines.Text() == "event: complete" {
			return nil
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

// take notes a message.
func (v *viewer) take(payload json.RawMessage) {
	type flight struct {
		FlightKey string
		Departure struct{ Gate string }
	}
	type change struct{ To any }
	var p struct {
		Data struct {
			Message *struct {
				Cursor, Change string
				Flight         *flight
				Changes        []change
				Event          *struct {
					FlightKey string
					Changes   []change
				}
			}
		}
		Errors []any
	}
	err := json.Unmarshal(payload, &p)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages++
	m := p.Data.Message
	if err != nil || len(p.Errors) > 0 || m == nil || m.Cursor == "" {
		v.faults = append(v.faults, fmt.Sprintf("a message is %.300s", payload))
		return
	}
	v.cursor = m.Cursor
	switch {
	case v.kind == "subscriptionEvents" && m.Event == nil: // how the subscription stands
		return
	case v.kind == "subscriptionEvents":
		key, _, _ := strings.Cut(m.Event.FlightKey, "@")
		v.note(key, fmt.Sprint(m.Event.Changes[0].To), false)
	case m.Flight == nil:
		v.faults = append(v.faults, "a leg was removed")
	default:
		v.note(m.Flight.FlightKey, m.Flight.Departure.Gate, len(m.Changes) == 0)
	}
}

// note notes a gate. A present state after the first must be what was seen last.
func (v *viewer) note(key, gate string, present bool) {
	seen := v.gates[key]
	if present && len(seen) > 0 {
		if last := seen[len(seen)-1]; last != gate {
			v.faults = append(v.faults, fmt.Sprintf("%s: after %s the present state was %s", key, last, gate))
		}
		return
	}
	v.gates[key] = append(seen, gate)
}

// began reports whether it has been told how things stand.
func (v *viewer) began() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cursor != "" && (v.kind == "subscriptionEvents" || len(v.gates) == len(v.keys))
}

// seen reports whether the last that it saw of each flight is what is said now.
func (v *viewer) seen(now func(key string) string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, key := range v.keys {
		gates := v.gates[key]
		if len(gates) == 0 && now(key) == "G0" {
			continue // no event, and nothing changed
		}
		if len(gates) == 0 || gates[len(gates)-1] != now(key) {
			return false
		}
	}
	return true
}

// state says what it has seen, for a failure.
func (v *viewer) state(now func(key string) string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for _, key := range v.keys {
		fmt.Fprintf(&b, "%s is at %s, saw %v; ", key, now(key), v.gates[key])
	}
	fmt.Fprint(&b, v.faults)
	return b.String()
}

// check holds what it saw against what there was: all of it, from where it
// began.
func (v *viewer) check(t *testing.T, truth map[string][]string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range v.faults {
		t.Errorf("viewer %d (%s): %s", v.n, v.kind, f)
	}
	for _, key := range v.keys {
		want := truth[key]
		if v.kind == "subscriptionEvents" {
			want = want[1:] // the first is no change
		}
		if !slices.Equal(v.gates[key], want) {
			t.Errorf("viewer %d (%s) of %s saw\n%v, and there were\n%v", v.n, v.kind, key, v.gates[key], want)
		}
	}
}
