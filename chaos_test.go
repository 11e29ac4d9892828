package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

// TestChaos sends events to receivers of which three in ten fail or hang, while
// workers are killed with kill -9 and started again, Redis is emptied and
// restarted, PostgreSQL is restarted, and the lines to both are cut or spoilt.
// In the end every event must have been delivered, or have failed by the rules,
// and the log must say what the receivers saw.
//
// The ordinary run has some hundred events. FLIGHTWIRE_CHAOS=full is for make
// chaos and has 20,000. Who misbehaves and what happens when comes from
// FLIGHTWIRE_CHAOS_SEED.
func TestChaos(t *testing.T) {
	t.Parallel()
	size := scuffle
	if os.Getenv("FLIGHTWIRE_CHAOS") == "full" {
		size = bedlam
	}
	size.run(t, chaosSeed(t))
}

// chaosSize is how much chaos there is.
type chaosSize struct {
	flights, receivers, subscriptions int
	changes                           int // of each flight; with the creation each subscription has one event more
	disasters                         int
	lasts                             time.Duration // in which they come
	retryBase                         time.Duration // short, so that nine attempts fit into a run
}

var (
	scuffle = chaosSize{flights: 5, receivers: 20, subscriptions: 60, changes: 5, disasters: 5, lasts: 8 * time.Second, retryBase: 10 * time.Millisecond}
	bedlam  = chaosSize{flights: 100, receivers: 200, subscriptions: 2000, changes: 9, disasters: 30, lasts: 75 * time.Second, retryBase: 50 * time.Millisecond}
)

// chaosBound is how long after the last disaster the last event may be settled.
const chaosBound = 2 * time.Minute

// chaosTimeout is how long a receiver may take to answer.
const chaosTimeout = 500 * time.Millisecond

func chaosSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FLIGHTWIRE_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FLIGHTWIRE_CHAOS_SEED=%d", seed)
	return seed
}

func (z chaosSize) run(t *testing.T, seed uint64) {
	began := time.Now()
	b := newBacking(t)
	crowd, timetable := newAudience(t, seed, z.receivers), newTimetable(t)
	settings := []string{
		"FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_APP_ID=id", "CIRIUM_APP_KEY=key", "CIRIUM_BASE_URL=" + timetable.URL,
		"FLIGHTWIRE_POLL_EVERY=1s", "FLIGHTWIRE_HOLD_VANISHED=0s",
		"FLIGHTWIRE_DELIVERY_TIMEOUT=" + chaosTimeout.String(), "FLIGHTWIRE_RETRY_BASE=" + z.retryBase.String(),
	}
	c := &chaos{chaosSize: z, t: t, backing: b, settings: settings, dice: rand.New(rand.NewPCG(seed, 0)), db: b.direct.sql(t)}
	api := b.work(t, append(settings, "FLIGHTWIRE_ROLE=api")...)
	api.client.key = b.newKey(t)
	c.workers = []*service{c.hire(), c.hire()}
	subs := c.subscribe(api, crowd)

	raging := make(chan struct{})
	go func() {
		defer close(raging)
		c.rage()
	}()
	c.fly(timetable)
	<-raging
	if t.Failed() {
		t.FailNow()
	}
	c.settled(time.Now().Add(chaosBound))
	took := time.Since(began)
	for _, w := range append(c.workers, api) {
		w.Signal(syscall.SIGTERM)
	}
	for _, w := range append(c.workers, api) {
		if code := w.Wait(); code != 0 {
			t.Errorf("a clean stop ended with exit code %d", code)
		}
	}
	crowd.Close()
	said := (&verdict{t: t, db: c.db, crowd: crowd, subs: subs, events: z.changes + 1, retryBase: z.retryBase}).check()
	fmt.Printf("chaos, seed %d: %d subscriptions, %d receivers, %s; %d requests; %v; in %v\n",
		seed, len(subs), z.receivers, said, crowd.requests, c.done, took.Round(time.Second))
}

// chaos is a run.
type chaos struct {
	chaosSize
	*backing
	t        *testing.T
	settings []string
	dice     *rand.Rand
	db       *sqlx.DB // not through a line
	workers  []*service
	done     misery
}

// misery counts the disasters that there were.
type misery map[string]int

// hire starts a worker. It takes its time where the servers have not come to
// themselves, so the lines must be whole.
func (c *chaos) hire() *service {
	return c.work(c.t, append(c.settings, "FLIGHTWIRE_ROLE=worker")...)
}

// subscribe makes the subscriptions and returns the receiver's number of each.
func (c *chaos) subscribe(api *service, crowd *audience) map[string]int {
	c.t.Helper()
	subs := make(map[string]int, c.subscriptions)
	var mu sync.Mutex
	var clients sync.WaitGroup
	work := make(chan int)
	for range 8 {
		clients.Go(func() {
			for i := range work {
				receiver := i % c.receivers
				var sub struct{ ID, Secret string }
				status := api.do("POST", "/v1/subscriptions", map[string]any{
					"carrier": "AA", "flightNumber": strconv.Itoa(1000 + i/20%c.flights), "date": flightDate(),
					"webhookUrl": crowd.url(receiver, i),
				}, &sub)
				if status != http.StatusCreated {
					c.t.Errorf("subscribing answered %d", status)
				}
				mu.Lock()
				subs[sub.ID] = receiver
				mu.Unlock()
				crowd.know(sub.ID, sub.Secret)
			}
		})
	}
	for i := range c.subscriptions {
		work <- i
	}
	close(work)
	clients.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
	return subs
}

// fly changes every flight, and again as soon as each change has been taken in
// and its part of the time is over.
func (c *chaos) fly(timetable *timetable) {
	c.t.Helper()
	began := time.Now()
	for n := 1; n <= c.changes; n++ {
		timetable.turn(n)
		if n < c.changes {
			time.Sleep(time.Until(began.Add(time.Duration(n) * c.lasts / time.Duration(c.changes)))) // the pace of the chaos
		}
		c.until(fmt.Sprintf("change %d is taken in", n), time.Now().Add(time.Minute),
			`SELECT count(*) FROM flights WHERE resolved AND version < $1`, n+1)
	}
}

// settled returns when no event waits any more.
func (c *chaos) settled(deadline time.Time) {
	c.t.Helper()
	c.until("everything is settled", deadline, `SELECT count(*) FROM events WHERE status = 'pending'`)
}

// until waits until a query finds nothing more. A database that is away is
// asked again.
func (c *chaos) until(what string, deadline time.Time, query string, args ...any) {
	c.t.Helper()
	for {
		var left int
		err := c.db.Get(&left, query, args...)
		if err == nil && left == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain until %s: %d are left, %v", what, left, err)
		}
		time.Sleep(50 * time.Millisecond) // other processes do it
	}
}
