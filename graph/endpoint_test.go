package graph

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// keyring is a Guard for tests: it knows one key.
type keyring struct{ account string }

const goodKey = "fw_good_key"

func (k keyring) Authenticate(_ context.Context, presented string) (access.Identity, error) {
	switch presented {
	case goodKey:
		return access.Identity{Account: k.account, KeyID: "good", Plan: "unlimited"}, nil
	case "":
		return access.Identity{}, flight.Errorf(flight.CodeMissingAPIKey, "Send a key.")
	case "broken":
		return access.Identity{}, errors.New("connect to 10.0.0.7: refused")
	}
	return access.Identity{}, flight.Errorf(flight.CodeInvalidAPIKey, "Send a valid key.")
}

func (k keyring) Admit(ctx context.Context, presented string, _ int) (access.Identity, access.Quota, error) {
	id, err := k.Authenticate(ctx, presented)
	return id, access.Quota{}, err
}

func (k keyring) Recent(string) bool { return false }

// serve puts a rig behind the endpoint.
func (g *rig) serve(change func(*HandlerConfig)) *httptest.Server {
	id, _ := access.From(g.ctx)
	c := HandlerConfig{Auth: keyring{id.Account}}
	if change != nil {
		change(&c)
	}
	s := httptest.NewServer(NewHandler(g.r, c))
	g.t.Cleanup(s.Close)
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
	Data   map[string]any
	Errors []struct {
		Message    string
		Path       []any
		Locations  []any
		Extensions map[string]any
	}
}

func (r *reply) code() any {
	if len(r.Errors) == 0 {
		return nil
	}
	return r.Errors[0].Extensions["code"]
}

func do(t *testing.T, req *http.Request) *reply {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{status: resp.StatusCode, header: resp.Header, body: string(body)}
	if err := json.Unmarshal(body, r); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	return r
}

func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", goodKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	return req
}

func post(t *testing.T, url, query string, variables map[string]any, header ...string) *reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return do(t, request(t, "POST", url, string(body), header...))
}

func legVariable() map[string]any {
	return map[string]any{"leg": map[string]any{"carrier": "AA", "flightNumber": "100", "date": today}}
}

const flightQuery = `query($leg: LegInput!) { flight(leg: $leg) {
	flightKey operatedBy providerFlightId diverted { gate }
	departure { gate terminal bestTimeUtc airport { iata icao country { code } } }
	status { phase label description } timeline { title source events } alternates { selected } } }`
