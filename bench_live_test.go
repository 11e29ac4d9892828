package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fleet is a Cirium server that knows every flight, each at gate G0 until the
// test says otherwise.
type fleet struct {
	*httptest.Server
	calls atomic.Int64

	mu    sync.Mutex
	gates map[string]string    // by carrier and number
	said  map[string]time.Time // when the present gate was first told
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{gates: map[string]string{}, said: map[string]time.Time{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		_, rest, _ := strings.Cut(r.URL.Path, "/flight/status/")
		part := strings.Split(rest, "/")
		if len(part) < 2 {
			http.NotFound(w, r)
			return
		}
		name := part[0] + part[1]
		f.mu.Lock()
		gate := f.gates[name]
		if gate != "" && f.said[name].IsZero() {
			f.said[name] = time.Now()
		}
		f.mu.Unlock()
		if gate == "" {
			gate = "G0"
		}
		number, _ := strconv.Atoi(part[1])
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(ciriumAnswer(number*100+int(part[0][0]), part[0], part[1], gate))
	}))
	t.Cleanup(f.Close)
	return f
}

// move sends a flight to another gate.
func (f *fleet) move(name, gate string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates[name], f.said[name] = gate, time.Time{}
}

// told is when a flight's present gate was first told.
func (f *fleet) told(name string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said[name]
}

// quiet waits until the service has not asked for a while: polls that began
// with the watch are over.
func (f *fleet) quiet(t *testing.T) {
	t.Helper()
	last, since := int64(-1), time.Now()
	eventually(t, "the upstream is left alone", func() bool {
		if n := f.calls.Load(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// liveBench is the service with its viewers, each on a websocket of its own.
type liveBench struct {
	*testing.T
	s       *service
	fleet   *fleet
	mode    string
	viewers []*benchViewer
}

const (
	benchViewers = 10_000
	benchLive    = `subscription($leg: LegInput!) { flightChanged(leg: $leg) { cursor changes { type message to } flight { flightKey status { phase } departure { gate bestTimeUtc } } } }`
)

// TestBenchLive measures live viewers on one process: how soon all of one
// flight have heard of a change, what they cost of memory and CPU, and how soon
// those of 10,000 flights hear of 100 changes a second.
func TestBenchLive(t *testing.T) {
	benchOnly(t)
	eachMode(t, func(t *testing.T, m mode) {
		f := newFleet(t)
		m.env = append(m.env, "FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_BASE_URL="+f.URL, "CIRIUM_APP_ID=app", "CIRIUM_APP_KEY=key", "FLIGHTWIRE_POLL_EVERY=86400s")
		if m.command == "serve" {
			m.env = append(m.env, "FLIGHTWIRE_ROLE=api")
		}
		b := &liveBench{T: t, s: m.serve(t), fleet: f, mode: m.name}
		b.oneFlight()
		b.manyFlights()
	})
}

// oneFlight has 1,000 and then 10,000 viewers of one flight hear of changes.
func (b *liveBench) oneFlight() {
	b.watch(10, func(int) string { return "AA100" }) // what the first viewers make is not theirs
	empty := b.memory()
	perChange := map[int]float64{}
	for _, n := range []int{benchViewers / 10, benchViewers} {
		b.watch(n, func(int) string { return "AA100" })
		b.fleet.quiet(b.T)
		bytes := float64(b.memory()-empty) / float64(n-10)
		var last []float64
		rounds := 5 * benchViewers / n
		before := cpuOf(b.T, b.s.cmd.Process.Pid)
		for round := range rounds {
			gate := fmt.Sprintf("N%dR%d", n, round)
			b.fleet.move("AA100", gate)
			b.look("AA100")
			slowest := time.Duration(0)
			for _, v := range b.viewers {
				slowest = max(slowest, v.heard(b.T, gate).Sub(b.fleet.told("AA100")))
			}
			last = append(last, slowest.Seconds()*1000)
		}
		perChange[n] = float64((cpuOf(b.T, b.s.cmd.Process.Pid) - before).Microseconds()) / float64(rounds)
		b.Logf("%s: %d viewers of one flight: change to last receipt %.0f ms (median of %d; slowest %.0f; bound: 1,000), %.1f µs of CPU a receipt, %.1f KB of memory a viewer (bound: 25)",
			b.mode, n, median(last), rounds, slices.Max(last), perChange[n]/float64(n), bytes/1024)
	}
	b.Logf("%s: ten times the viewers cost %.1f times the CPU (bound: 11)", b.mode, perChange[benchViewers]/perChange[benchViewers/10])
	b.watch(0, nil)
}

// manyFlights has 10,000 viewers of as many flights hear of 100 changes a
// second.
func (b *liveBench) manyFlights() {
	const second, seconds = 100, 20
	name := func(i int) string { return []string{"BA", "LH"}[i%2] + fmt.Sprint(1+i/2) }
	b.watch(1, name)
	empty := b.memory()
	b.watch(benchViewers, name)
	b.fleet.quiet(b.T)
	bytes := float64(b.memory()-empty) / float64(benchViewers-1)
	before, began := cpuOf(b.T, b.s.cmd.Process.Pid), time.Now()
	var took []float64
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(time.Second / second)
	defer tick.Stop()
	for n := range second * seconds {
		<-tick.C
		i := n * 7919 % benchViewers
		all.Go(func() {
			gate := fmt.Sprint("M", n)
			b.fleet.move(name(i), gate)
			b.look(name(i))
			ms := b.viewers[i].heard(b.T, gate).Sub(b.fleet.told(name(i))).Seconds() * 1000
			mu.Lock()
			defer mu.Unlock()
			took = append(took, ms)
		})
	}
	all.Wait()
	cpu := (cpuOf(b.T, b.s.cmd.Process.Pid) - before).Seconds() / time.Since(began).Seconds()
	slices.Sort(took)
	b.Logf("%s: %d viewers of as many flights, %d changes a second: change to receipt median %.1f ms, 99th percentile %.1f ms (bound: 50), slowest %.1f ms; %.2f cores; %.1f KB of memory a viewer and flight",
		b.mode, benchViewers, second, took[len(took)/2], took[len(took)*99/100], took[len(took)-1], cpu, bytes/1024)
	b.watch(0, nil)
}

func legOf(name string) map[string]any {
	return map[string]any{"carrier": name[:2], "flightNumber": name[2:], "date": flightDate()}
}

// look has the service ask the upstream for a flight.
func (b *liveBench) look(name string) {
	b.Helper()
	var answer json.RawMessage
	in := map[string]any{"query": "query($leg: LegInput!) { flight(leg: $leg, refresh: true) { flightKey } }", "variables": map[string]any{"leg": legOf(name)}}
	if status := b.s.do("POST", "/graphql", in, &answer); status != 200 || bytes.Contains(answer, []byte(`"errors"`)) {
		b.Errorf("%d %s", status, answer)
	}
}

// watch has n viewers in all, each of the flight that name says. Those that are
// there stay, as far as they are among them.
func (b *liveBench) watch(n int, name func(int) string) {
	b.Helper()
	for _, v := range b.viewers[min(n, len(b.viewers)):] {
		_ = v.conn.Close()
	}
	from := min(n, len(b.viewers))
	b.viewers = slices.Grow(b.viewers[:from], n-from)[:n]
	var all sync.WaitGroup
	places := make(chan struct{}, 32)
	for i := from; i < n; i++ {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			v, err := newBenchViewer(b.s.process.base, b.s.key, benchLive, map[string]any{"leg": legOf(name(i))})
			if err != nil {
				b.Error(err)
				return
			}
			b.viewers[i] = v
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

var memoryInUse = regexp.MustCompile(`(?m)^go_memstats_(heap_inuse_bytes|stack_inuse_bytes|last_gc_time_seconds) (\S+)$`)

// memory returns the bytes of heap and stacks of the service when nothing
// happens: after several garbage collections, each of which halves the stacks
// that were larger for a moment.
func (b *liveBench) memory() (bytes int64) {
	b.Helper()
	for range 4 {
		asked := time.Now()
		b.s.Signal(syscall.SIGUSR1)
		eventually(b.T, "garbage is collected", func() bool {
			resp, err := http.Get(b.s.process.base + "/metrics")
			if err != nil {
				return false
			}
			bytes = 0
			collected := false
			for _, m := range memoryInUse.FindAllStringSubmatch(read(b.T, resp), -1) {
				value, _ := strconv.ParseFloat(m[2], 64)
				if m[1] == "last_gc_time_seconds" {
					collected = value > float64(asked.UnixNano())/1e9
				} else {
					bytes += int64(value)
				}
			}
			return collected
		})
	}
	return bytes
}

// collectGarbage does so whenever the process gets SIGUSR1.
func collectGarbage() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	for range asked {
		runtime.GC()
	}
}
