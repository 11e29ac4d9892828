package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight/webhook"
)

// heard is one webhook as it came in.
type heard struct {
	ID, Type       string
	SubscriptionID string
	CreatedAt      time.Time
	Changes        []struct {
		Type, Path string
		From, To   any
	}
	received time.Time
	body     []byte
}

// post is a request as it came.
type post struct {
	header http.Header
	body   []byte
}

// ear is a receiver that verifies every signature and keeps what it heard.
type ear struct {
	*httptest.Server
	mu      sync.Mutex
	secrets map[string]string // by subscription
	events  map[string][]heard
	bodies  map[string][]byte // by event id
	faults  []string
	posts   []post
	refuse  func() bool   // whether to answer 503, called under the lock; nil: never
	arrived chan struct{} // one slot: something came
}

func newEar(t *testing.T) *ear {
	e := &ear{secrets: map[string]string{}, events: map[string][]heard{}, bodies: map[string][]byte{}, arrived: make(chan struct{}, 1)}
	e.Server = httptest.NewServer(http.HandlerFunc(e.take))
	t.Cleanup(func() {
		e.Close()
		for _, p := range e.posts { // not before, which would keep the sender waiting
			if err := checker().Event(p.header, p.body); err != nil {
				t.Error(err)
			}
		}
	})
	return e
}

func (e *ear) take(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	h := heard{received: now, body: body}
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.faults = append(e.faults, err.Error())
	}
	e.posts = append(e.posts, post{r.Header, body})
	// The event of the creation may come before its answer has told the secret.
	if secret := e.secrets[h.SubscriptionID]; secret != "" {
		if err := webhook.Verify(secret, r.Header.Get("x-service-signature"), body, now); err != nil {
			e.faults = append(e.faults, fmt.Sprintf("event %s: %v", h.ID, err))
		}
	} else if h.Type != "subscription.created" {
		e.faults = append(e.faults, "event "+h.ID+" of an unknown subscription")
	}
	if before, again := e.bodies[h.ID]; again {
		if !bytes.Equal(before, body) {
			e.faults = append(e.faults, "event "+h.ID+" came with two bodies")
		}
	} else {
		e.bodies[h.ID] = body
		e.events[h.SubscriptionID] = append(e.events[h.SubscriptionID], h)
	}
	if e.refuse != nil && e.refuse() {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

// heardType reports whether a subscription was sent an event of a type.
func (e *ear) heardType(sub, kind string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.events[sub], func(h heard) bool { return h.Type == kind })
}

// heardChange reports whether a subscription was sent a change of a type.
func (e *ear) heardChange(sub, change string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.events[sub] {
		for _, c := range h.Changes {
			if c.Type == change {
				return true
			}
		}
	}
	return false
}

// wait returns when cond, called under the lock, holds.
func (e *ear) wait(t *testing.T, what string, deadline time.Time, cond func() bool) {
	t.Helper()
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	for {
		e.mu.Lock()
		ok := cond()
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-e.arrived:
		case <-timeout.C:
			t.Fatalf("%s did not come in time", what)
		}
	}
}

// gates returns the gates that a subscriber was told of, in order.
func gates(events []heard) []string {
	var out []string
	for _, h := range events {
		for _, c := range h.Changes {
			if c.Type == "departure.gate.changed" {
				out = append(out, fmt.Sprint(c.To))
			}
		}
	}
	return out
}
