package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/graph"
)

// everyField is a query of all that a flight has, but its history.
const everyField = `query($leg: LegInput!) { flight(leg: $leg) {
	flightKey carrierCode flightNumber date providerFlightId fetchedAt source stale carrier { iata icao name } operatedBy
	codeshares { carrier name flightNumber } departure { ...E } arrival { ...E } diverted { ...E }
	status { code label description color phase delayed cancelled diverted departureGateDelayMinutes arrivalGateDelayMinutes }
	equipment { tailNumber iata name source } duration { scheduledMinutes estimatedMinutes actualMinutes }
	timeline { occurredAt title source events }
	alternates { providerFlightId carrier departureIata arrivalIata scheduledDepartureLocal scheduledArrivalLocal selected } fingerprint } }
fragment E on FlightEndpoint { airport { iata icao code name city state country { code name emoji flagSvg flagSvgSquare } timezone }
	terminal gate baggage bestTimeUtc delayMinutes
	times { scheduledGate { ...T } estimatedGate { ...T } actualGate { ...T } scheduledRunway { ...T } estimatedRunway { ...T } actualRunway { ...T } } }
fragment T on FlightTime { utc local timezone }`

// benchPlans is a plan file by which every window of the plan unlimited is
// counted, and none is ever full.
const benchPlans = `{"unlimited": {"minute": 1000000000, "day": 1000000000, "month": 1000000000}}`

// TestBenchGraphQL compares a query of every field of a cached flight with what
// gqlgen can do at best and with another server: the service with its key,
// three windows and limits; a bare gqlgen server whose resolver returns the
// same struct from memory; GraphQL Yoga on Node. Each is a process of its own
// and is asked in turns by the same client, so a noisy machine is noisy for all.
func TestBenchGraphQL(t *testing.T) {
	benchOnly(t)
	eachMode(t, func(t *testing.T, m mode) {
		plans := filepath.Join(t.TempDir(), "plans.json")
		write(t, plans, []byte(benchPlans))
		m.env = append(m.env, "FLIGHTWIRE_PLANS="+plans, "FLIGHTWIRE_CACHE_TTL=1h")
		ours := m.serve(t)
		leg := map[string]any{"carrier": "LH", "flightNumber": "400", "date": time.Now().AddDate(0, 0, 20).Format(time.DateOnly)}
		body, err := json.Marshal(map[string]any{"query": everyField, "variables": map[string]any{"leg": leg}})
		if err != nil {
			t.Fatal(err)
		}
		answer := ours.graphQL(t, body)
		servers := []*contender{{name: "flightwire", base: ours.process.base, key: ours.key, pid: ours.cmd.Process.Pid}}
		servers = append(servers, startBare(t, ours, leg, answer))
		if yoga := startYoga(t, ours, answer); yoga != nil {
			servers = append(servers, yoga)
		}
		const rounds, connections, span = 7, 32, 1500 * time.Millisecond
		for range rounds {
			for _, c := range servers {
				c.measure(t, body, answer, connections, span)
			}
		}
		for _, c := range servers {
			t.Logf("every field of a cached flight, %s, %s: %.0f/s, %.0f µs of CPU each (median of %d; %d bytes, %d connections)",
				m.name, c.name, median(c.rates), median(c.cpu), rounds, len(answer), connections)
		}
		t.Logf("%s: of a bare gqlgen server: rate %.2f, CPU %.2f (bound: 0.7)", m.name, median(servers[0].rates)/median(servers[1].rates), median(servers[1].cpu)/median(servers[0].cpu))
		if len(servers) > 2 {
			t.Logf("%s: times GraphQL Yoga: rate %.1f, CPU %.1f (bound: 5)", m.name, median(servers[0].rates)/median(servers[2].rates), median(servers[2].cpu)/median(servers[0].cpu))
		}
	})
}

// graphQL sends the request once and returns the answer, which must be whole.
func (s *service) graphQL(t *testing.T, body []byte) []byte {
	t.Helper()
	var answer json.RawMessage
	if status := s.do("POST", "/graphql", json.RawMessage(body), &answer); status != 200 || strings.Contains(string(answer), `"errors"`) || !strings.Contains(string(answer), `"fingerprint"`) {
		t.Fatalf("%d %s", status, answer)
	}
	return answer
}

// contender is a server that is measured.
type contender struct {
	name, base, key string
	pid             int
	rates, cpu      []float64 // of each round: answers a second; µs of CPU each
}

func (c *contender) measure(t *testing.T, body, answer []byte, connections int, span time.Duration) {
	t.Helper()
	before := cpuOf(t, c.pid)
	rate, n := postRate(t, c.base, c.key, body, answer, connections, span)
	c.rates = append(c.rates, rate)
	c.cpu = append(c.cpu, float64((cpuOf(t, c.pid)-before).Microseconds())/float64(n))
}

// startBare starts the bare gqlgen server with the flight that the service has.
func startBare(t *testing.T, s *service, leg map[string]any, answer []byte) *contender {
	t.Helper()
	var snapshot json.RawMessage
	path := fmt.Sprintf("/v1/flights/%s/%s/%s", leg["carrier"], leg["flightNumber"], leg["date"])
	if status := s.do("GET", path, nil, &snapshot); status != 200 {
		t.Fatalf("%d %s", status, snapshot)
	}
	file := filepath.Join(t.TempDir(), "flight.json")
	write(t, file, snapshot)
	p := &process{t: t, cmd: command(nil, []string{"FLIGHTWIRE_TEST_BARE=" + file}), done: make(chan struct{})}
	p.run("a bare gqlgen server")
	c := &contender{name: "bare gqlgen", base: p.base, pid: p.cmd.Process.Pid}
	bare := &service{process: p, client: client{t, p.base, ""}}
	body, _ := json.Marshal(map[string]any{"query": everyField, "variables": map[string]any{"leg": leg}})
	if got := bare.graphQL(t, body); string(got) != string(answer) {
		t.Fatalf("the bare server answers\n%s\nthe service\n%s", got, answer)
	}
	return c
}

// run starts a process that is killed at the end of the test, and returns when
// it listens.
func (p *process) run(name string) {
	p.t.Helper()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	p.t.Cleanup(p.Kill)
	p.until(name+" listens", func() bool {
		if m := listening.FindStringSubmatch(p.out.String()); m != nil {
			p.base = "http://" + m[1]
		}
		return p.base != ""
	})
}

// bareRoot resolves one field: a flight from memory.
type bareRoot struct {
	graph.ResolverRoot
	query bareQuery
}

type bareQuery struct {
	graph.QueryResolver
	flight *flight.Snapshot
}

func (r *bareRoot) Query() graph.QueryResolver { return &r.query }

func (r *bareQuery) Flight(context.Context, graph.LegInput, bool) (*flight.Snapshot, error) {
	return r.flight, nil
}

// documents is the least cache of documents that there can be.
type documents struct{ all sync.Map }

func (d *documents) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	doc, ok := d.all.Load(text)
	if !ok {
		return nil, false
	}
	return doc.(*ast.QueryDocument), true
}

func (d *documents) Add(_ context.Context, text string, doc *ast.QueryDocument) {
	d.all.Store(text, doc)
}

// serveBare is the bare gqlgen server: its executor with a cache of documents,
// behind its own transport, and nothing else.
func serveBare(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	snapshot, err := flight.DecodeSnapshot(text)
	if err != nil {
		return err
	}
	snapshot = snapshot.With(flight.Provenance{Source: "simulator"})
	exec := executor.New(graph.NewExecutableSchema(graph.Config{Resolvers: &bareRoot{query: bareQuery{flight: snapshot}}}))
	exec.SetQueryCache(new(documents))
	mux := http.NewServeMux()
	mux.HandleFunc("/graphql", func(w http.ResponseWriter, r *http.Request) {
		transport.POST{}.Do(w, r.WithContext(graphql.StartOperationTrace(r.Context())), exec)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("msg=listening addr=" + l.Addr().String())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(l)
}

// yogaServer is the same on GraphQL Yoga: the schema of the service, and a
// resolver that returns the same object from memory.
const yogaServer = `
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createSchema, createYoga } from "graphql-yoga";
const { data } = JSON.parse(readFileSync("answer.json", "utf8"));
const schema = createSchema({ typeDefs: readFileSync("schema.graphqls", "utf8"), resolvers: { Query: { flight: () => data.flight } } });
const server = createServer(createYoga({ schema, logging: false, graphiql: false, landingPage: false }));
server.listen(0, "127.0.0.1", () => console.log("msg=listening addr=127.0.0.1:" + server.address().port));
`

const yogaPackage = `{"private": true, "type": "module", "dependencies": {"graphql": "16.15.0", "graphql-yoga": "5.24.1"}}`

// startYoga fetches GraphQL Yoga into a folder of the test and starts it; nil
// where there is no Node.js, or npm cannot fetch.
func startYoga(t *testing.T, s *service, answer []byte) *contender {
	t.Helper()
	dir := t.TempDir()
	var schema strings.Builder
	resp, err := http.Get(s.process.base + "/graphql/explorer/schema.graphqls")
	if err == nil {
		_, err = fmt.Fprint(&schema, read(t, resp))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"server.mjs": yogaServer, "package.json": yogaPackage, "schema.graphqls": schema.String(), "answer.json": string(answer)} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	fetch := exec.Command("npm", "install", "--loglevel=error", "--no-audit", "--no-fund", "--prefer-offline")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Logf("without GraphQL Yoga: npm: %v\n%.400s", err, out)
		return nil
	}
	cmd := exec.Command("node", "server.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "NODE_ENV=production")
	p := &process{t: t, cmd: cmd, done: make(chan struct{})}
	p.run("GraphQL Yoga")
	yoga := &service{process: p, client: client{t, p.base, ""}}
	body, _ := json.Marshal(map[string]any{"query": everyField, "variables": map[string]any{"leg": map[string]any{"carrier": "LH", "flightNumber": "400", "date": "2026-01-01"}}})
	if got := yoga.graphQL(t, body); len(got) != len(answer) {
		t.Fatalf("GraphQL Yoga answers\n%s\nthe service\n%s", got, answer)
	}
	return &contender{name: "GraphQL Yoga", base: p.base, pid: cmd.Process.Pid}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

var errBenchAnswer = errors.New("the answer is another one")
