package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight/webhook"
)

// temper is how a receiver behaves.
type temper int

const (
	well    temper = iota // takes everything
	hangs                 // never answers
	fails                 // always answers 500
	rejects               // always answers 410
	flaky                 // answers 503, 408 or 429 every other time
	stalls                // does not answer one time in three
	breaks                // closes or resets the connection every other time, before or in its answer
)

// temperOf makes three receivers in ten bad.
func temperOf(receiver int) temper {
	switch receiver % 20 {
	case 0:
		return hangs
	case 1:
		return fails
	case 2, 3:
		return flaky
	case 4:
		return stalls
	case 5:
		return []temper{breaks, rejects}[receiver/20%2]
	}
	return well
}

// audience are receivers, each on a host of its own.
type audience struct {
	*httptest.Server
	port string

	mu       sync.Mutex
	dice     *rand.Rand
	secrets  map[string]string // by subscription
	events   map[string]*noted // by id
	heard    map[string][]string
	requests int
	faults   []string
}

// noted is what a receiver saw of an event.
type noted struct {
	body    [sha256.Size]byte
	attempt int  // of the first request that came in
	taken   bool // answered 2xx at least once
}

// newAudience starts the receivers. They listen on every address of this machine,
// so 127.0.1.1, 127.0.1.2 and so on are hosts of their own.
func newAudience(t *testing.T, seed uint64, receivers int) *audience {
	t.Helper()
	if receivers > 250 {
		t.Fatal("there are not so many hosts")
	}
	c := &audience{dice: rand.New(rand.NewPCG(seed, 1)), secrets: map[string]string{}, events: map[string]*noted{}, heard: map[string][]string{}}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.take))
	c.Server.Listener = l
	c.Start()
	t.Cleanup(c.Close)
	_, c.port, _ = net.SplitHostPort(l.Addr().String())
	return c
}

// url is where the nth subscription has its webhooks sent.
func (c *audience) url(receiver, n int) string {
	return fmt.Sprintf("http://127.0.1.%d:%s/%d", receiver+1, c.port, n)
}

// know lets the signatures of a subscription be verified.
func (c *audience) know(subscription, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets[subscription] = secret
}

func (c *audience) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone; it has not been heard
	}
	host, _, _ := net.SplitHostPort(r.Host)
	receiver, _ := strconv.Atoi(strings.TrimPrefix(host, "127.0.1."))
	switch c.note(r, body, temperOf(receiver-1)) {
	case http.StatusNoContent:
		w.WriteHeader(http.StatusNoContent)
	case hang:
		select {
		case <-r.Context().Done():
		case <-time.After(10 * chaosTimeout): // the sender was killed and nobody closed for it
		}
	case cut:
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, []string{"", "HTTP/1.1 200 OK\r\nContent-Le"}[len(body)%2])
		if tcp, ok := conn.(*net.TCPConn); ok && len(body)%3 == 0 {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	case http.StatusInternalServerError:
		w.WriteHeader(http.StatusInternalServerError)
	case http.StatusGone:
		w.WriteHeader(http.StatusGone)
	default:
		w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusTooManyRequests}[len(body)%3])
	}
}

// What a receiver does besides answering a status.
const (
	hang = -iota - 1
	cut
	refuse
)

// note keeps what came and says what to do.
func (c *audience) note(r *http.Request, body []byte, of temper) int {
	id, subscription := r.Header.Get("x-service-event-id"), r.Header.Get("x-service-subscription-id")
	attempt, _ := strconv.Atoi(r.Header.Get("x-service-delivery-attempt"))
	sum := sha256.Sum256(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.verify(r.Header, subscription, id, body)
	e := c.events[id]
	if e == nil {
		e = &noted{body: sum, attempt: attempt}
		c.events[id] = e
		c.heard[subscription] = append(c.heard[subscription], id)
		var event struct{ ID, SubscriptionID string }
		if err := json.Unmarshal(body, &event); err != nil || event.ID != id || event.SubscriptionID != subscription {
			c.fault("the headers name event %s of %s, the body %+v (%v)", id, subscription, event, err)
		}
	} else if e.body != sum {
		c.fault("event %s came with two bodies", id)
	}
	what := c.mood(of)
	e.taken = e.taken || what == http.StatusNoContent
	return what
}

// verify holds a request against its signature. The event of a creation may
// come before its answer has told the secret.
func (c *audience) verify(h http.Header, subscription, id string, body []byte) {
	if secret := c.secrets[subscription]; secret != "" {
		if err := webhook.Verify(secret, h.Get("x-service-signature"), body, time.Now()); err != nil {
			c.fault("event %s: %v", id, err)
		}
	}
}

func (c *audience) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// mood throws the dice for what a receiver does.
func (c *audience) mood(of temper) int {
	bad := map[temper]struct{ sides, what int }{
		hangs: {1, hang}, fails: {1, http.StatusInternalServerError}, rejects: {1, http.StatusGone},
		flaky: {2, refuse}, stalls: {3, hang}, breaks: {2, cut},
	}
	if b := bad[of]; of != well && c.dice.IntN(b.sides) == 0 {
		return b.what
	}
	return http.StatusNoContent
}

// timetable is a Cirium server on which all flights change their gates at the
// same time.
type timetable struct {
	*httptest.Server
	mu   sync.Mutex
	gate string
}

func newTimetable(t *testing.T) *timetable {
	s := &timetable{gate: "G0"}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

// turn makes the nth change.
func (s *timetable) turn(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = fmt.Sprintf("G%d", n)
}

func (s *timetable) answer(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/flightstatus/rest/v2/json/flight/status/"), "/")
	s.mu.Lock()
	answer := (&provider{gate: s.gate}).answer()
	s.mu.Unlock()
	if len(parts) > 1 {
		leg := answer["flightStatuses"].([]any)[0].(map[string]any)
		leg["flightNumber"], leg["flightId"] = parts[1], parts[1]
		if id, err := strconv.Atoi(parts[1]); err == nil {
			leg["flightId"] = id
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
