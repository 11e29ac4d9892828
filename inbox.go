package main

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// inbox is a receiver of webhooks for trying things out: it verifies each
// signature as a customer should, and shows what arrived. It keeps the last
// ones, in memory.
type inbox struct {
	secret func(ctx context.Context, subscriptionID string) (string, error)
	stop   <-chan struct{} // closed when pages must not be told any more

	mu       sync.Mutex
	received []received // oldest first
	total    int
	changed  chan struct{} // closed and replaced with every arrival
}

const (
	inboxPath = "/dev/inbox"
	inboxSize = 200
	inboxBody = 1 << 20
)

// received is a webhook that arrived.
type received struct {
	Number         int               `json:"number"` // counts from 1
	ReceivedAt     flight.Time       `json:"receivedAt"`
	Verified       bool              `json:"verified"`
	Fault          string            `json:"fault,omitempty"` // why it is not
	EventID        string            `json:"eventId"`
	EventType      string            `json:"eventType"`
	SubscriptionID string            `json:"subscriptionId"`
	Attempt        int               `json:"attempt"`
	Headers        map[string]string `json:"headers"`
	Body           json.RawMessage   `json:"body"` // a JSON string where the body is no JSON
}

func newInbox(secret func(context.Context, string) (string, error), stop <-chan struct{}) *inbox {
	return &inbox{secret: secret, stop: stop, changed: make(chan struct{})}
}

func (b *inbox) register(mux *http.ServeMux) {
	mux.HandleFunc("POST "+inboxPath, b.receive)
	mux.HandleFunc("GET "+inboxPath, b.page)
	mux.HandleFunc("GET "+inboxPath+".json", b.list)
	mux.HandleFunc("GET "+inboxPath+"/stream", b.stream)
}

// receive takes a webhook. It answers 401 to one whose signature is wrong, as
// a receiver should, and keeps it all the same.
func (b *inbox) receive(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, inboxBody))
	if err != nil {
		writeJSON(w, http.StatusRequestEntityTooLarge, map[string]string{"fault": "The body is too long or did not arrive."})
		return
	}
	in := received{
		ReceivedAt: flight.TimeOf(now), Headers: map[string]string{}, Body: rawJSON(body),
		EventID: r.Header.Get("x-service-event-id"), EventType: r.Header.Get("x-service-event-type"),
		SubscriptionID: r.Header.Get("x-service-subscription-id"),
	}
	in.Attempt, _ = strconv.Atoi(r.Header.Get("x-service-delivery-attempt")) // 0: it does not say
	for name, values := range r.Header {
		in.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	status := http.StatusOK
	if in.Fault = b.verify(r.Context(), r.Header, in.SubscriptionID, body, now); in.Fault != "" {
		status = http.StatusUnauthorized
	}
	in.Verified = in.Fault == ""
	b.add(in)
	writeJSON(w, status, map[string]any{"verified": in.Verified, "fault": in.Fault})
}

// verify returns what is wrong with a webhook, "" when nothing is.
func (b *inbox) verify(ctx context.Context, h http.Header, id string, body []byte, now time.Time) string {
	if id == "" {
		return "There is no x-service-subscription-id, so this is no webhook of this service."
	}
	secret, err := b.secret(ctx, id)
	if flight.CodeOf(err) == flight.CodeSubscriptionMissing {
		return "The demo account has no such subscription, so there is no secret to verify with."
	}
	if err == nil {
		err = webhook.Verify(secret, h.Get("x-service-signature"), body, now)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, webhook.ErrNoSignature), errors.Is(err, webhook.ErrMalformed), errors.Is(err, webhook.ErrExpired), errors.Is(err, webhook.ErrMismatch):
		return err.Error()
	}
	return "The secret could not be read."
}

func rawJSON(body []byte) json.RawMessage {
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		return compact.Bytes()
	}
	text, _ := json.Marshal(string(body)) // a string always can
	return text
}

func (b *inbox) add(in received) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total++
	in.Number = b.total
	b.received = append(b.received, in)
	if len(b.received) > inboxSize {
		b.received = slices.Delete(b.received, 0, len(b.received)-inboxSize)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *inbox) list(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	data := slices.Clone(b.received)
	total := b.total
	b.mu.Unlock()
	slices.Reverse(data)
	writeJSON(w, http.StatusOK, map[string]any{"count": len(data), "total": total, "data": slices.Concat([]received{}, data)})
}

// stream tells the page that something arrived.
func (b *inbox) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		b.mu.Lock()
		total, changed := b.total, b.changed
		b.mu.Unlock()
		if _, err := fmt.Fprintf(w, "data: %d\n\n", total); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-b.stop:
			return
		}
	}
}

//go:embed inbox.html
var inboxPage string

func (b *inbox) page(w http.ResponseWriter, _ *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; style-src 'nonce-"+nonce+"'; script-src 'nonce-"+nonce+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, strings.ReplaceAll(inboxPage, "{{nonce}}", nonce))
}
