package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// dispatcher claims the events that are due, up to its free places, sends them
// side by side, and records their results in groups as they come in. A slow
// receiver holds its own place and nobody's group.
type dispatcher struct {
	WorkerConfig
	bell    chan struct{} // one slot: there is work now
	places  chan struct{} // deliveries under way
	results chan db.Result
	sends   sync.WaitGroup
	loops   sync.WaitGroup
	cancel  context.CancelFunc
}

// recordGroup bounds how many results one transaction records.
const recordGroup = 128

func newDispatcher(c WorkerConfig) *dispatcher {
	return &dispatcher{
		WorkerConfig: c,
		bell:         make(chan struct{}, 1),
		places:       make(chan struct{}, deliverPlaces),
		results:      make(chan db.Result, deliverPlaces),
	}
}

// wake makes the dispatcher look for work. It never blocks.
func (d *dispatcher) wake() {
	select {
	case d.bell <- struct{}{}:
	default: // it is about to look anyway
	}
}

func (d *dispatcher) start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.loops.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.bell:
				d.claim(ctx)
			}
		}
	})
	d.loops.Go(d.record)
}

// stop claims nothing more, waits for what is under way, and records it.
func (d *dispatcher) stop() {
	d.cancel()
	d.sends.Wait()
	close(d.results)
	d.loops.Wait()
}

// claim takes what is due until there is no more, or no place for it.
func (d *dispatcher) claim(ctx context.Context) {
	for ctx.Err() == nil {
		free := cap(d.places) - len(d.places)
		if free == 0 {
			return // a place that becomes free wakes
		}
		attempts, err := d.DB.ClaimEvents(context.WithoutCancel(ctx), free, d.Timeout+leaseMargin)
		if err != nil {
			if ctx.Err() == nil {
				slog.ErrorContext(ctx, "events could not be claimed; the sweep tries again", "error", err)
			}
			return
		}
		if len(attempts) == 0 {
			return
		}
		d.Step("deliver.claimed")
		for _, a := range attempts {
			d.places <- struct{}{}
			deliveriesUnderWay.Inc()
			d.sends.Go(func() { d.send(a) })
		}
	}
}

// send makes one attempt. What a process has claimed it finishes, so it is not
// cancelled by a stop; the sender's time-out bounds it.
func (d *dispatcher) send(a db.Attempt) {
	ctx := context.Background()
	r := db.Result{Attempt: a, AttemptedAt: d.DB.Now()}
	var got webhook.Result
	if a.Fault != "" {
		slog.ErrorContext(ctx, "an event cannot be sent", "event", a.EventID, "subscription", a.SubscriptionID, "error", a.Fault)
		got = webhook.Result{Outcome: webhook.Retryable, Error: "The event could not be put together; the operator's log says why."}
	} else {
		got = d.Sender.Send(ctx, webhook.Request{
			URL: a.URL, Secret: a.Secret, Headers: a.Headers, EventID: a.EventID, EventType: string(a.EventType),
			SubscriptionID: a.SubscriptionID, Attempt: a.Number, Body: a.Body, Now: r.AttemptedAt,
		})
	}
	d.Step("deliver.sent")
	r.StatusCode, r.Error, r.Latency, r.ResponseBody = got.StatusCode, got.Error, got.Latency, string(got.ResponseBody)
	switch got.Outcome {
	case webhook.Delivered:
		r.Status = flight.DeliverySucceeded
	case webhook.Rejected:
		r.Status = flight.DeliveryFailed
	default:
		r.Status = flight.DeliveryFailed
		if delay, again := flight.Retry(a.Counted, d.RetryBase, got.RetryAfter, rand.Float64()); again {
			r.Status, r.RetryAfter = flight.DeliveryRetrying, delay
		}
	}
	attemptsMade.WithLabelValues(string(r.Status)).Observe(r.Latency.Seconds())
	slog.DebugContext(ctx, "delivery attempt", "event", a.EventID, "type", a.EventType, "subscription", a.SubscriptionID, "attempt", a.Number,
		"status", r.Status, "code", r.StatusCode, "class", got.ErrorClass, "latency_ms", r.Latency.Milliseconds())
	d.results <- r
}

// record writes results in groups: whatever has come in while the group before
// was being written.
func (d *dispatcher) record() {
	for r := range d.results {
		group := append(make([]db.Result, 0, recordGroup), r)
		for len(group) < recordGroup && len(d.results) > 0 {
			group = append(group, <-d.results)
		}
		due := d.recordGroup(group)
		full := len(d.places) == cap(d.places)
		for range group {
			<-d.places
			deliveriesUnderWay.Dec()
		}
		if due || full {
			d.wake()
		}
	}
}

// recordGroup writes one group, again and again while the database is away:
// what was sent and is not recorded would be sent once more. due says whether
// an event may be attempted at once.
func (d *dispatcher) recordGroup(group []db.Result) (due bool) {
	deadline := time.Now().Add(d.Timeout + leaseMargin) // then the claims have run out
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		out, err := d.DB.RecordResults(ctx, group)
		if err == nil {
			d.Step("deliver.recorded")
			d.after(ctx, out)
			cancel()
			return out.Due
		}
		cancel()
		slog.Error("results of deliveries could not be recorded", "results", len(group), "error", err)
		if time.Now().Add(wait).After(deadline) {
			return false // the attempts count as interrupted
		}
		time.Sleep(wait)
	}
}

// after schedules the wake-ups for the retries of a group, one a second.
func (d *dispatcher) after(ctx context.Context, out db.Recorded) {
	slices.SortFunc(out.Retries, time.Time.Compare)
	var last int64
	for _, at := range out.Retries {
		if at.Unix() == last {
			continue
		}
		last = at.Unix()
		if err := d.Client.DeliverAt(ctx, at); err != nil {
			slog.Warn("a retry could not be scheduled; the sweep will find it", "error", err)
			return
		}
	}
}
