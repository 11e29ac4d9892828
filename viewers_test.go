package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestViewers lets clients follow flights live, each in one of the ways that
// there are, over websockets and server-sent events, on two API processes of
// which one is killed with kill -9 every few seconds and started again, while
// gates change. Whoever loses its connection goes on with its last cursor at
// whichever process answers. In the end each has seen every change of its flights
// exactly once and in order.
//
// FLIGHTWIRE_VIEWERS=full is for make viewers: 1,000 of them.
func TestViewers(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("two processes need servers")
	}
	size := fewViewers
	if os.Getenv("FLIGHTWIRE_VIEWERS") == "full" {
		size = manyViewers
	}
	size.run(t, serversMode(t))
}

// showing is how much there is to see, and for how many.
type showing struct {
	viewers, flights int
	every            time.Duration // a gate changes
	kills            int
	apart            time.Duration // two kills
}

var (
	fewViewers  = showing{viewers: 120, flights: 12, every: 100 * time.Millisecond, kills: 4, apart: 2 * time.Second}
	manyViewers = showing{viewers: 1000, flights: 50, every: 50 * time.Millisecond, kills: 20, apart: 3 * time.Second}
)

// viewersBound is how long after the last change everyone has seen it.
const viewersBound = time.Minute

func (a showing) run(t *testing.T, m mode) {
	gates := newGateChanges(t, a.flights)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(receiver.Close)
	env := []string{"FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_BASE_URL=" + gates.URL, "CIRIUM_APP_ID=id", "CIRIUM_APP_KEY=key", "FLIGHTWIRE_POLL_EVERY=1s"}
	api := append(slices.Clip(env), "FLIGHTWIRE_ROLE=api")
	apis := []*service{m.work(t, api...), m.work(t, api...)}
	worker := m.work(t, append(slices.Clip(env), "FLIGHTWIRE_ROLE=worker")...)
	key := m.newKey(t)
	var bases [2]atomic.Pointer[string]
	for i, s := range apis {
		bases[i].Store(&s.process.base)
		s.client.key = key
	}
	subs := gates.subscribe(t, apis[0], receiver.URL)

	var crowd sync.WaitGroup
	viewers := make([]*viewer, a.viewers)
	for i := range viewers {
		viewers[i] = newViewer(i, key, gates.keys, subs, func() string { return *bases[rand.IntN(2)].Load() })
		crowd.Go(viewers[i].watch)
	}
	leave := func() {
		for _, v := range viewers {
			v.stop()
		}
		crowd.Wait()
	}
	defer leave() // also where the test fails before its end
	for _, v := range viewers {
		eventually(t, "everyone has seen how things stand", v.began)
	}

	moving, stopped := make(chan struct{}), make(chan int)
	go func() { stopped <- gates.move(a.every, moving) }()
	for n := range a.kills {
		time.Sleep(a.apart) // the moment is the point
		i := n % 2
		apis[i].Kill()
		apis[i] = m.work(t, api...)
		bases[i].Store(&apis[i].process.base)
	}
	close(moving)
	changes := <-stopped
	last := time.Now()
	a.wait(t, viewers, gates)
	took := time.Since(last)
	leave()

	apis[0].client.key = key
	truth := map[string][]string{}
	for _, key := range gates.keys {
		truth[key] = gatesOf(t, apis[0], key)
	}
	messages, breaks := 0, 0
	for _, v := range viewers {
		v.check(t, truth)
		messages, breaks = messages+v.messages, breaks+v.breaks
	}
	if breaks < a.kills {
		t.Errorf("%d kills broke %d connections: the test tested less than it seems", a.kills, breaks)
	}
	for _, s := range append(apis, worker) {
		s.stop()
	}
	fmt.Printf("viewers: %d of %d flights, %d gates changed, %d API processes killed, %d connections broken or refused, %d messages, all seen %v after the last change\n",
		a.viewers, a.flights, changes, a.kills, breaks, messages, took.Round(10*time.Millisecond))
}

// wait returns when every viewer has seen the last gate of each of its flights.
func (a showing) wait(t *testing.T, viewers []*viewer, g *gateChanges) {
	t.Helper()
	deadline := time.Now().Add(viewersBound)
	for _, v := range viewers {
		for !v.seen(g.gate) {
			if time.Now().After(deadline) {
				t.Fatalf("viewer %d (%s) has not seen the end: %s", v.n, v.kind, v.state(g.gate))
			}
			time.Sleep(5 * time.Millisecond) // other processes tell it
		}
	}
}

// gateChanges is a Cirium server whose flights change their gates all the while.
type gateChanges struct {
	*httptest.Server
	keys []string // flight keys

	mu  sync.Mutex
	now map[string]int // by key
}

func newGateChanges(t *testing.T, flights int) *gateChanges {
	g := &gateChanges{now: map[string]int{}}
	for i := range flights {
		g.keys = append(g.keys, fmt.Sprintf("AA%d:%s", 1000+i, flightDate()))
	}
	template := (&provider{gate: "GATE"}).answer()
	body, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(r.URL.Path, "/flight/status/")
		parts := strings.Split(rest, "/")
		w.Header().Set("Content-Type", "application/json")
		gate := g.gate(parts[0] + parts[1] + ":" + flightDate())
		_, _ = strings.NewReplacer(`"100"`, strconv.Quote(parts[1]), `"flightId":1`, `"flightId":`+parts[1], "GATE", gate).WriteString(w, string(body))
	}))
	t.Cleanup(g.Close)
	return g
}

// gate returns where a flight leaves from now.
func (g *gateChanges) gate(key string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return fmt.Sprint("G", g.now[key])
}

// move changes the gates of one flight after the other until stop is closed, and
// returns how often.
func (g *gateChanges) move(every time.Duration, stop <-chan struct{}) (changes int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return changes
		case <-tick.C:
		}
		g.mu.Lock()
		g.now[g.keys[rand.IntN(len(g.keys))]]++
		g.mu.Unlock()
		changes++
	}
}

// subscribe makes a subscription of each flight, and returns their ids by key.
func (g *gateChanges) subscribe(t *testing.T, s *service, receiver string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, key := range g.keys {
		number, _, _ := strings.Cut(strings.TrimPrefix(key, "AA"), ":")
		var sub struct{ ID string }
		if status := s.do("POST", "/v1/subscriptions", map[string]any{
			"carrier": "AA", "flightNumber": number, "date": flightDate(), "webhookUrl": receiver,
		}, &sub); status != http.StatusCreated {
			t.Fatalf("subscribing to %s answered %d", key, status)
		}
		ids[key] = sub.ID
	}
	return ids
}

// gatesOf returns the gates of a flight since it was first known, oldest first,
// as its history has them.
func gatesOf(t *testing.T, s *service, key string) (all []string) {
	t.Helper()
	number, _, _ := strings.Cut(strings.TrimPrefix(key, "AA"), ":")
	for after := "null"; ; {
		var got struct {
			Data struct {
				Flight struct {
					History struct {
						Edges []struct {
							Node struct {
								Flight struct{ Departure struct{ Gate string } }
							}
						}
						PageInfo struct {
							HasNextPage bool
							EndCursor   string
						}
					}
				}
			}
		}
		query := fmt.Sprintf(`{ flight(leg: {carrier: "AA", flightNumber: %q, date: %q}) { history(first: 100, after: %s) {
			edges { node { flight { departure { gate } } } } pageInfo { hasNextPage endCursor } } } }`, number, flightDate(), after)
		if status := s.do("POST", "/graphql", map[string]any{"query": query}, &got); status != http.StatusOK {
			t.Fatalf("the history of %s answered %d", key, status)
		}
		h := got.Data.Flight.History
		for _, e := range h.Edges {
			all = append(all, e.Node.Flight.Departure.Gate)
		}
		if !h.PageInfo.HasNextPage {
			slices.Reverse(all)
			return slices.Compact(all)
		}
		after = strconv.Quote(h.PageInfo.EndCursor)
	}
}
