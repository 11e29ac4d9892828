package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// TestStorm watches flights through ten minutes of a storm while worker
// processes are killed with kill -9 at random points and started again, and
// holds what each subscriber heard against the upstream's own record: every
// change that it said, once, in order. With servers there are two workers, one
// of which is killed each time; in the embedded mode the one process is.
//
// In the ordinary run there are fewer flights, because SQLite is slow under the
// race detector. FLIGHTWIRE_STORM=full is for make storm. What the upstream
// says and when it fails, who subscribes to what, and the dice for the kills
// come from FLIGHTWIRE_STORM_SEED.
func TestStorm(t *testing.T) {
	t.Parallel()
	size := gale
	if os.Getenv("FLIGHTWIRE_STORM") == "full" {
		size = hurricane
	}
	eachMode(t, func(t *testing.T, m mode) { size.run(t, m, stormSeed(t)) })
}

// stormSize is how much of a storm there is.
type stormSize struct {
	flights int
	changes int           // of each flight, or one more or less
	lasts   time.Duration // in which the ten minutes pass
	poll    time.Duration
	kills   int
}

var (
	gale      = stormSize{flights: 80, changes: 4, lasts: 15 * time.Second, poll: 3 * time.Second, kills: 4}
	hurricane = stormSize{flights: 500, changes: 10, lasts: time.Minute, poll: 3 * time.Second, kills: 20}
)

// stormBound is how long after the storm the last change may be heard.
const stormBound = 3 * time.Minute

func stormSeed(t *testing.T) uint64 {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FLIGHTWIRE_STORM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FLIGHTWIRE_STORM_SEED=%d", seed)
	return seed
}

// watcher is a subscription to a flight of the storm.
type watcher struct {
	id        string
	flight    *scripted
	filter    flight.ChangeSet
	threshold int
}

func (z stormSize) run(t *testing.T, m mode, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 0))
	sky, ear := newSky(t, seed, z.flights, z.changes, float64(stormLength)/float64(z.lasts)), newEar(t)
	refusals := rand.New(rand.NewPCG(seed, 1<<32))
	ear.refuse = func() bool { return refusals.IntN(40) == 0 }
	env := []string{
		"FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_APP_ID=id", "CIRIUM_APP_KEY=key",
		"FLIGHTWIRE_POLL_EVERY=" + z.poll.String(), "FLIGHTWIRE_HOLD_VANISHED=0s",
		"FLIGHTWIRE_DELIVERY_TIMEOUT=2s", "FLIGHTWIRE_RETRY_BASE=1s",
	}
	began := time.Now()
	crew := newCrew(t, m, sky, env)
	watchers := watch(t, crew.api, ear, sky, dice)

	sky.begin()
	stormBegan := time.Now()
	crew.ravage(dice, z)
	time.Sleep(time.Until(stormBegan.Add(z.lasts))) // the storm passes by the clock
	deadline := time.Now().Add(stormBound)
	sky.wait(t, deadline)
	stories := make(map[string][]chapter, len(watchers))
	total := 0
	for _, w := range watchers {
		stories[w.id] = w.story(t, w.flight.record(t))
		total += len(stories[w.id])
	}
	ear.wait(t, "every change", deadline, func() bool { return len(ear.bodies) >= total })
	crew.settled(total, deadline)
	took := time.Since(began)
	crew.stop()

	for _, w := range watchers {
		w.check(t, stories[w.id], ear)
	}
	for _, f := range ear.faults {
		t.Error(f)
	}
	checkStormLog(t, m, ear)
	if sky.again == 0 || crew.kills < z.kills {
		t.Errorf("%d kills cut off %d polls: the storm tested less than it seems", crew.kills, sky.again)
	}
	fmt.Printf("storm, %s, seed %d: %d flights, %d subscriptions, %d kills, %d calls (%d answers given again), %d events, %d requests to receivers, in %v\n",
		m.name, seed, z.flights, len(watchers), crew.kills, sky.calls, sky.again, total, len(ear.posts), took.Round(time.Second))
}

// watch subscribes to every flight, to some of them more than once.
func watch(t *testing.T, s *service, e *ear, sky *sky, dice *rand.Rand) (all []*watcher) {
	t.Helper()
	for i, f := range sky.flights {
		all = append(all, &watcher{flight: f, filter: flight.AllChanges, threshold: 5})
		for range map[bool]int{true: 1}[i%6 == 0] + map[bool]int{true: 2}[i%50 == 0] {
			w := &watcher{flight: f, filter: flight.AllChanges, threshold: 1 + dice.IntN(60)}
			if dice.IntN(2) == 0 {
				w.filter = flight.ChangeSet(1+dice.Uint32())&flight.AllChanges | 1
			}
			all = append(all, w)
		}
	}
	var clients sync.WaitGroup
	work := make(chan *watcher)
	for range 8 {
		clients.Go(func() {
			for w := range work {
				var sub struct{ ID, Secret string }
				status := s.do("POST", "/v1/subscriptions", map[string]any{
					"carrier": w.flight.key.Carrier, "flightNumber": w.flight.key.Number, "date": w.flight.key.Date, "webhookUrl": e.URL,
					"events": w.filter.Types(), "delayThresholdMinutes": w.threshold,
				}, &sub)
				if status != http.StatusCreated {
					t.Errorf("%s: subscribing answered %d", w.flight.key, status)
				}
				e.mu.Lock()
				e.secrets[sub.ID], w.id = sub.Secret, sub.ID
				e.mu.Unlock()
			}
		})
	}
	for _, w := range all {
		work <- w
	}
	close(work)
	clients.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// chapter is one event as it has to be.
type chapter struct {
	kind        string
	changes     string // as JSON
	fingerprint string // of the snapshot that it shows; "": none
}

// story is what a subscriber has to hear when said is what the upstream said.
func (w *watcher) story(t *testing.T, said []*flight.Snapshot) (story []chapter) {
	t.Helper()
	show := func(kind flight.EventType, changes []flight.Change, s *flight.Snapshot) {
		text := []byte("[]")
		if len(changes) > 0 {
			var err error
			if text, err = json.Marshal(changes); err != nil {
				t.Fatal(err)
			}
		}
		c := chapter{kind: string(kind), changes: string(text)}
		if s != nil {
			c.fingerprint = s.Fingerprint
		}
		story = append(story, c)
	}
	show(flight.EventCreated, nil, said[0])
	var told flight.Told
	for i, next := range said {
		if i == 0 || said[i-1] == nil {
			if i > 0 {
				show(flight.EventActivated, nil, next)
			}
			if next != nil {
				told = flight.ToldBy(next)
			}
			continue
		}
		diff := flight.Diff(said[i-1], next)
		if len(diff) == 0 {
			t.Errorf("%s: state %d of the script says nothing new", w.flight.key, i)
		}
		var changes []flight.Change
		if changes, told = flight.Tell(diff, next, w.filter, w.threshold, told); len(changes) > 0 {
			show(flight.EventUpdated, changes, next)
		}
		if next.Status.Phase == flight.PhaseArrived {
			show(flight.EventCompleted, nil, next)
		}
	}
	return story
}

// check holds what a subscriber heard against its story.
func (w *watcher) check(t *testing.T, story []chapter, e *ear) {
	t.Helper()
	var got []chapter
	for _, h := range e.events[w.id] {
		var body struct {
			Changes json.RawMessage
			Flight  *struct{ Fingerprint string }
		}
		if err := json.Unmarshal(h.body, &body); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, body.Changes); err != nil {
			t.Fatal(err)
		}
		c := chapter{kind: h.Type, changes: text.String()}
		if body.Flight != nil {
			c.fingerprint = body.Flight.Fingerprint
		}
		got = append(got, c)
	}
	if !slices.Equal(got, story) {
		t.Errorf("%s of %s was told\n%v\nand has to be told\n%v", w.id, w.flight.key, got, story)
	}
}
