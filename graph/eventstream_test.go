package graph

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// eventStream is a client of server-sent events.
type eventStream struct {
	t     *testing.T
	lines *bufio.Scanner
	leave context.CancelFunc
}

// openStream asks for an operation as server-sent events.
func openStream(t *testing.T, url, query string, header ...string) *eventStream {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	late := time.AfterFunc(30*time.Second, leave)
	resp, err := http.DefaultClient.Do(request(t, "POST", url, string(body), append(header, "Accept", typeStream)...).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { late.Stop(); leave(); _ = resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(got, typeStream) {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	return &eventStream{t, bufio.NewScanner(resp.Body), leave}
}

// want reads the next event.
func (s *eventStream) want(event, data string) {
	s.t.Helper()
	name := ""
	for s.lines.Scan() {
		line := s.lines.Text()
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			name = text
		}
		if text, ok := strings.CutPrefix(line, "data:"); ok {
			if name != event || !strings.Contains(text, data) {
				s.t.Errorf("got %s %s, want %s %s", name, text, event, data)
			}
			return
		}
	}
	s.t.Fatalf("the stream ended before %s %s: %v", event, data, s.lines.Err())
}
