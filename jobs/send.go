package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// promptAnswer is how long an attempt may last before its endpoint is slow.
const promptAnswer = time.Second

// send makes one attempt in its place. What a process has claimed it finishes,
// so it is not cancelled by a stop; the sender's time-out bounds it. A claim
// that has run out meanwhile, as when the process was stopped, is left to
// whoever has it.
func (d *dispatcher) send(a db.Attempt, s *seat, until time.Time) {
	ctx := context.Background()
	r := db.Result{Attempt: a, AttemptedAt: d.DB.Now()}
	if r.AttemptedAt.After(until) {
		slog.WarnContext(ctx, "a claim ran out before the attempt began", "event", a.EventID, "subscription", a.SubscriptionID)
		d.leave(s, unseen)
		return
	}
	if r.AttemptedAt.Sub(until.Add(-d.lease())) > db.SendWithin && !d.claimAgain(ctx, &r) {
		d.leave(s, unseen)
		return
	}
	a = r.Attempt
	attemptsUnderWay.Inc()
	defer attemptsUnderWay.Dec()
	patience := min(promptAnswer, d.Timeout/2)
	overdue := time.AfterFunc(patience, func() {
		d.mu.Lock()
		d.board.overdue(s)
		d.mu.Unlock()
		d.ringAll()
	})
	ctx, traced := d.traceAttempt(ctx, &a, r.AttemptedAt.Sub(until.Add(-d.lease())))
	got := d.attempt(ctx, a, r.AttemptedAt)
	overdue.Stop()
	d.Step("deliver.sent")
	h := well
	if got.Outcome == webhook.Retryable || got.Latency >= patience {
		h, r.Lane = ill, db.Slow
	}
	r.StatusCode, r.Error, r.Latency, r.ResponseBody = got.StatusCode, got.Error, got.Latency, string(got.ResponseBody)
	r.Status, r.RetryAfter = d.verdict(a, got)
	observeAttempt(ctx, &r, got.ErrorClass)
	traced(&r, got)
	d.results <- r
	d.leave(s, h)
}

// claimAgain renews the claim of an attempt that comes late, as when the process
// was stopped. It reports whether the attempt is still to be made.
func (d *dispatcher) claimAgain(ctx context.Context, r *db.Result) bool {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	again, ok, err := d.DB.ClaimAgain(ctx, r.Attempt)
	if err != nil {
		slog.ErrorContext(ctx, "a claim could not be renewed; the sweep takes it up", "event", r.Attempt.EventID, "error", err)
	}
	r.Attempt, r.AttemptedAt = again, d.DB.Now()
	return ok
}

// attempt sends a webhook, or says why it cannot be sent.
func (d *dispatcher) attempt(ctx context.Context, a db.Attempt, now time.Time) webhook.Result {
	if a.Fault != "" {
		slog.ErrorContext(ctx, "an event cannot be sent", "event", a.EventID, "subscription", a.SubscriptionID, "error", a.Fault)
		return webhook.Result{Outcome: webhook.Retryable, ErrorClass: "fault", Error: "The event could not be put together; the operator's log says why."}
	}
	return d.Sender.Send(ctx, webhook.Request{
		URL: a.URL, Secret: a.Secret, Headers: a.Headers, EventID: a.EventID, EventType: string(a.EventType),
		SubscriptionID: a.SubscriptionID, Attempt: a.Number, Body: a.Body, Now: now,
	})
}

// verdict says what an attempt comes to, and with retrying after how long.
func (d *dispatcher) verdict(a db.Attempt, got webhook.Result) (flight.DeliveryStatus, time.Duration) {
	switch got.Outcome {
	case webhook.Delivered:
		return flight.DeliverySucceeded, 0
	case webhook.Retryable:
		if delay, again := flight.Retry(a.Counted, d.RetryBase, got.RetryAfter, rand.Float64()); again {
			return flight.DeliveryRetrying, delay
		}
	}
	return flight.DeliveryFailed, 0
}
