package graph

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// purse is a key with so many requests left, of the minute.
type purse struct {
	keyring
	mu   sync.Mutex
	left int
	cost []int // of each operation that asked
}

func (p *purse) Admit(ctx context.Context, presented string, cost int) (access.Identity, access.Quota, error) {
	id, err := p.Authenticate(ctx, presented)
	if err != nil {
		return id, access.Quota{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cost = append(p.cost, cost)
	q := access.Quota{Limits: access.Limits{100, 1000, access.NoLimit}, At: time.Unix(1_700_000_000, 0)}
	if cost > p.left {
		q.Used[access.Minute] = int64(100 - p.left)
		return id, q, &flight.Error{Code: flight.CodeQuotaExceeded, Message: "The minute window has no room.", Window: "minute", RetryAfter: 1500 * time.Millisecond}
	}
	p.left -= cost
	q.Used[access.Minute] = int64(100 - p.left)
	return id, q, nil
}

func legText(more string) string {
	return fmt.Sprintf(`{carrier: "AA", flightNumber: "100", date: "%s"%s}`, today, more)
}

// An operation costs one request, and one for each further distinct leg.
func TestMetering(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say(leg("100", "JFK", "LHR"), leg("200", "DFW", "MSY"), leg("200", "MSY", "MIA"))
	g.flight(LegInput{Carrier: "AA", FlightNumber: "200", Date: today}, false)
	p := &purse{keyring: keyring{func() string { id, _ := access.From(g.ctx); return id.Account }()}, left: 1_000_000}
	s := g.serve(func(c *HandlerConfig) { c.Auth = p })
	for _, number := range []string{"100", "300"} { // those of a board
		g.subscribeTo(g.ctx, leaving(number, 60))
	}
	g.source.say(leg("100", "JFK", "LHR"), leg("200", "DFW", "MSY"), leg("200", "MSY", "MIA"))
	date := `, date: "` + today + `"`
	two := `{carrier: "AA", flightNumber: "200"` + date
	for name, c := range map[string]struct {
		query string
		cost  int
	}{
		"no leg":                      {`{ subscriptions { count } }`, 1},
		"introspection":               {`{ __schema { queryType { name } } }`, 1},
		"one leg":                     {`{ flight(leg: ` + legText("") + `) { flightKey } }`, 1},
		"one leg and a list":          {`{ flight(leg: ` + legText("") + `) { flightKey } subscriptions { count } }`, 1},
		"one leg by two names":        {`{ a: flight(leg: ` + legText("") + `) { flightKey } b: flight(leg: {carrier: "aal", flightNumber: "0100"` + date + `}) { flightKey } }`, 1},
		"two flights":                 {`{ a: flight(leg: ` + legText("") + `) { flightKey } b: flight(leg: ` + two + `}) { flightKey } }`, 2},
		"two legs of a flight":        {`{ a: flight(leg: ` + two + `, origin: "DFW"}) { flightKey } b: flight(leg: ` + two + `, origin: "msy"}) { flightKey } }`, 2},
		"a leg by default and origin": {`{ a: flight(leg: ` + two + `}) { flightKey } b: flight(leg: ` + two + `, origin: "DFW"}) { flightKey } c: flight(leg: ` + two + `, destination: "MSY"}) { flightKey } }`, 1},
		"never seen, by two names":    {`{ a: flight(leg: {carrier: "AA", flightNumber: "777"` + date + `}) { flightKey } b: flight(leg: {carrier: "AA", flightNumber: "777"` + date + `, origin: "JFK"}) { flightKey } }`, 2},
		"left out by @skip":           {`{ a: flight(leg: ` + legText("") + `) { flightKey } b: flight(leg: ` + two + `}) @skip(if: true) { flightKey } }`, 1},
		"in a fragment":               {`query { ...F a: flight(leg: ` + legText("") + `) { flightKey } } fragment F on Query { b: flight(leg: ` + two + `}) { flightKey } }`, 2},
		"what is no leg":              {`{ a: flight(leg: {carrier: "A", flightNumber: "x"` + date + `}) { flightKey } b: flight(leg: ` + legText("") + `) { flightKey } }`, 1},
		"two watched by webhook": {`mutation { a: createSubscription(input: {webhookUrl: "https://example.com/", carrier: "AA", flightNumber: "100"` + date + `}) { id }
			b: createSubscription(input: {webhookUrl: "https://example.com/", carrier: "AA", flightNumber: "200", origin: "DFW"` + date + `}) { id } }`, 2},
		"three live legs":           {`subscription { flightsChanged(legs: [` + legText("") + `, ` + two + `, origin: "DFW"}, ` + two + `, origin: "MSY"}]) { cursor } }`, 3},
		"two live legs of three":    {`subscription { flightsChanged(legs: [` + legText("") + `, ` + legText("") + `, ` + two + `}]) { cursor } }`, 2},
		"one live leg, no list":     {`subscription { flightsChanged(legs: ` + legText("") + `) { cursor } }`, 1},
		"a log":                     {`subscription { subscriptionEvents(id: "sub_1") { cursor } }`, 1},
		"a board to look at":        {`{ flightBoard(airport: "JFK", direction: DEPARTURES) { totalCount } }`, 1},
		"a live board":              {`subscription { board(airport: "KJFK", direction: DEPARTURES) { cursor } }`, 2},
		"a live board with nothing": {`subscription { board(airport: "SFO", direction: ARRIVALS, hoursBack: 0) { cursor } }`, 1},
		"a live board that is none": {`subscription { board(airport: "!", direction: DEPARTURES) { cursor } }`, 1},
		"invalid":                   {`{ nothing }`, 1},
		"malformed":                 {``, 1},
	} {
		p.cost = nil
		r := post(t, s.URL, c.query, nil)
		if len(p.cost) != 1 || p.cost[0] != c.cost {
			t.Errorf("%s costs %v, want %d: %s", name, p.cost, c.cost, r.body)
		}
		if r.header.Get("X-RateLimit-Limit-Day") != "1000" {
			t.Errorf("%s: %v", name, r.header)
		}
	}
	p.cost = nil // by variables, as clients do
	post(t, s.URL, `query($a: LegInput!, $b: LegInput!) { a: flight(leg: $a) { flightKey } b: flight(leg: $b) { flightKey } }`, map[string]any{
		"a": map[string]any{"carrier": "AA", "flightNumber": "100", "date": today}, "b": map[string]any{"carrier": "AA", "flightNumber": "200", "date": today}})
	if len(p.cost) != 1 || p.cost[0] != 2 {
		t.Errorf("two flights by variables cost %v", p.cost)
	}
}

// A full window is a 429 over HTTP, for a stream too, and nothing is executed.
func TestQuotaOverHTTP(t *testing.T) {
	g := sqliteRig(t, nil)
	id, _ := access.From(g.ctx)
	p := &purse{keyring: keyring{id.Account}, left: 1}
	s := g.serve(func(c *HandlerConfig) { c.Auth = p })
	calls := g.source.calls.Load()
	two := `{ a: flight(leg: ` + legText("") + `) { flightKey } b: flight(leg: {carrier: "AA", flightNumber: "200", date: "` + today + `"}) { flightKey } }`
	for _, accept := range []string{"application/json", "application/graphql-response+json", "text/event-stream"} {
		r := post(t, s.URL, two, nil, "Accept", accept, "X-Request-Id", "req-7")
		x := map[string]any{}
		if len(r.Errors) > 0 {
			x = r.Errors[0].Extensions
		}
		if r.status != http.StatusTooManyRequests || r.code() != "QUOTA_EXCEEDED" || r.Data != nil || r.header.Get("Retry-After") != "2" ||
			r.header.Get("X-RateLimit-Remaining-Minute") != "1" || r.header.Get("X-RateLimit-Reset-Minute") != "1700000040" {
			t.Errorf("%s: %d %v %s", accept, r.status, r.header, r.body)
		}
		for name, want := range map[string]any{"window": "minute", "retryAfterSeconds": 2.0, "statusCode": 429.0, "error": "TooManyRequests", "path": "/", "requestId": "req-7"} {
			if x[name] != want {
				t.Errorf("%s: %s is %v, want %v", accept, name, x[name], want)
			}
		}
		if at, ok := x["timestamp"].(string); !ok || !strings.HasSuffix(at, "Z") {
			t.Errorf("the time is %v", x["timestamp"])
		}
	}
	if n := g.source.calls.Load(); n != calls {
		t.Errorf("refused operations asked the upstream %d times", n-calls)
	}
	if r := post(t, s.URL, `{ flight(leg: `+legText("")+`) { flightKey } }`, nil); r.status != 200 || len(r.Errors) > 0 {
		t.Errorf("what is left does not pass: %s", r.body)
	}
}

// Over a websocket it is an error message of that operation; the connection
// stays, and its key is looked at again each time.
func TestQuotaOverWebsocket(t *testing.T) {
	g := sqliteRig(t, nil)
	id, _ := access.From(g.ctx)
	p := &purse{keyring: keyring{id.Account}, left: 1}
	s := g.serve(func(c *HandlerConfig) { c.Auth = p })
	c := dial(t, s)
	c.send(`{"type": "connection_init", "payload": {"x-api-key": "` + goodKey + `"}}`)
	c.want("", "connection_ack", "")
	op := func(id string) {
		c.send(fmt.Sprintf(`{"id": %q, "type": "subscribe", "payload": {"query": %q}}`, id, `{ flight(leg: `+legText("")+`) { flightKey } }`))
	}
	op("1")
	c.want("1", "next", `"AA100:`)
	c.want("1", "complete", "")
	op("2")
	m := c.want("2", "error", `"code":"QUOTA_EXCEEDED"`)
	for _, field := range []string{`"window":"minute"`, `"retryAfterSeconds":2`, `"statusCode":429`, `"error":"TooManyRequests"`, `"path":"/"`, `"timestamp":"`, `"requestId":"req_`} {
		if !strings.Contains(string(m.Payload), field) {
			t.Errorf("no %s in %s", field, m.Payload)
		}
	}
	p.mu.Lock()
	p.left = 5
	p.mu.Unlock()
	op("3")
	c.want("3", "next", `"AA100:`)
	if want := []int{1, 1, 1}; fmt.Sprint(p.cost) != fmt.Sprint(want) {
		t.Errorf("charged %v", p.cost)
	}
}

// fewLegs lets each account watch one leg.
type fewLegs struct {
	mu   sync.Mutex
	legs map[string]int
}

func (f *fewLegs) Watch(_ context.Context, who access.Identity, leg string) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.legs) > 0 && f.legs[leg] == 0 {
		return nil, flight.Errorf(flight.CodeLiveLegLimit, "%s watches one leg already.", who.Account)
	}
	f.legs[leg]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.legs[leg]--; f.legs[leg] == 0 {
			delete(f.legs, leg)
		}
	}, nil
}

func TestLiveLegLimit(t *testing.T) {
	few := &fewLegs{legs: map[string]int{}}
	g := sqliteRig(t, func(c *ResolverConfig) { c.Live = few })
	g.source.say(leg("100", "JFK", "LHR"), leg("200", "DFW", "MSY"))
	ctx, stop := context.WithCancel(g.ctx)
	defer stop()
	messages, err := g.r.Subscription().FlightChanged(ctx, aa100, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-messages
	bad := "nonsense"
	if _, err := g.r.Subscription().FlightChanged(g.ctx, aa100, &bad); flight.CodeOf(err) != flight.CodeInvalid {
		t.Errorf("got %v", err)
	}
	aa200 := LegInput{Carrier: "AA", FlightNumber: "200", Date: today}
	_, err = g.r.Subscription().FlightChanged(g.ctx, aa200, nil)
	wantCode(t, err, flight.CodeLiveLegLimit)
	stop()
	eventually(t, "a viewer that has gone is counted out", func() bool {
		few.mu.Lock()
		defer few.mu.Unlock()
		return len(few.legs) == 0
	})
	ctx, stop = context.WithCancel(g.ctx)
	defer stop()
	if messages, err = g.r.Subscription().FlightChanged(ctx, aa200, nil); err != nil {
		t.Fatal(err)
	}
	<-messages
	stop()
	for range messages {
	}
}
