package graph

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStream(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(func(c *HandlerConfig) { c.PingInterval = 20 * time.Millisecond })
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor flight { departure { gate } } changes { type to } } }`, "variables": legVariable()})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Fatal(got)
	}
	lines := bufio.NewScanner(resp.Body)
	pings := 0
	nextEvent := func() (event, data string) {
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == ":":
				pings++
			case strings.HasPrefix(line, "event: "):
				event = line[7:]
			case strings.HasPrefix(line, "data:"):
				return event, strings.TrimSpace(line[5:])
			}
		}
		t.Fatal("the stream ended:", lines.Err())
		return "", ""
	}
	if event, data := nextEvent(); event != "next" || !strings.Contains(data, `"gate":"B1"`) || !strings.Contains(data, `"changes":[]`) {
		t.Error(event, data)
	}
	for pings < 3 {
		lines.Scan()
		pings += len(lines.Text())
	}
	g.move("C1")
	if event, data := nextEvent(); event != "next" || !strings.Contains(data, `{"type":"DEPARTURE_GATE_CHANGED","to":"C1"}`) {
		t.Error(event, data)
	}
	leave()
	eventually(t, "the end of the stream", func() bool {
		g.r.live.mu.Lock()
		defer g.r.live.mu.Unlock()
		return len(g.r.live.legs) == 0
	})

	// A query, and a document that is wrong, come and complete.
	for query, want := range map[string]string{`{ __typename }`: `{"data":{"__typename":"Query"}}`, `{ nosuch }`: `GRAPHQL_VALIDATION_FAILED`} {
		body, _ := json.Marshal(map[string]any{"query": query})
		resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(all), want) || !strings.HasSuffix(string(all), "event: complete\ndata:\n\n") {
			t.Errorf("%s: %s %v", query, all, err)
		}
	}
}

// Changes that come at once are events of their own, each whole: the executor
// writes one response over the other.
func TestStreamOfMany(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	first := next(t, g.follow(g.ctx, nil))
	var want []string
	for i := range 30 {
		gate := strings.Repeat("X", i%3) + "Y" + strconv.Itoa(i)
		g.move(gate)
		want = append(want, gate)
	}
	variables := legVariable()
	variables["after"] = first.Cursor
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!, $after: String) { flightChanged(leg: $leg, after: $after) { changes { to } } }`, "variables": variables})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got []string
	for lines := bufio.NewScanner(resp.Body); len(got) < len(want) && lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var event struct {
			Data struct {
				FlightChanged struct{ Changes []struct{ To string } }
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil || len(event.Data.FlightChanged.Changes) != 1 {
			t.Fatal(data, err)
		}
		got = append(got, event.Data.FlightChanged.Changes[0].To)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestStop: streams end when the process wants to.
func TestStop(t *testing.T) {
	g := sqliteRig(t, nil)
	stop, stopNow := context.WithCancel(t.Context())
	s := g.serve(func(c *HandlerConfig) { c.Context = stop })
	body, _ := json.Marshal(map[string]any{"query": `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor } }`, "variables": legVariable()})
	resp, err := http.DefaultClient.Do(request(t, "POST", s.URL, string(body), "Accept", "text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	stopNow()
	all, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(all), "complete") {
		t.Errorf("%s %v", all, err)
	}
}
