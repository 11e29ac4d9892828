package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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
	starved atomic.Bool   // events may wait for a place
	results chan db.Result
	retries chan time.Time // when to be woken

	cancel                           context.CancelFunc
	claims, sends, records, alarming sync.WaitGroup // what stops in this order
}

const (
	recordGroup    = 128              // how many results one transaction records at most
	retryBacklog   = 1024             // wake-ups that wait for Redis
	claimTimeout   = 10 * time.Second // of the transaction that claims
	recordTimeout  = 10 * time.Second // of one that records
	firstRecordGap = 50 * time.Millisecond
)

func newDispatcher(c WorkerConfig) *dispatcher {
	return &dispatcher{
		WorkerConfig: c,
		bell:         make(chan struct{}, 1),
		places:       make(chan struct{}, deliverPlaces),
		results:      make(chan db.Result, deliverPlaces),
		retries:      make(chan time.Time, retryBacklog),
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
	d.claims.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.bell:
				d.claim(ctx)
			}
		}
	})
	d.records.Go(d.record)
	d.alarming.Go(d.alarm)
}

// halt makes it claim nothing more.
func (d *dispatcher) halt() {
	d.cancel()
	d.claims.Wait()
}

// stop halts, waits for what is under way, and records it.
func (d *dispatcher) stop() {
	d.halt()
	d.sends.Wait()
	close(d.results)
	d.records.Wait()
	close(d.retries)
	d.alarming.Wait()
}

// lease is how long an event is claimed for: it outlasts the attempt.
func (d *dispatcher) lease() time.Duration { return d.Timeout + d.leaseMargin }

// claim takes what is due until there is no more, or no place for it.
func (d *dispatcher) claim(ctx context.Context) {
	for ctx.Err() == nil {
		free := d.free()
		if free == 0 {
			return
		}
		until := d.DB.Now().Add(d.lease())
		claimCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		attempts, err := d.DB.ClaimEvents(claimCtx, free, d.lease())
		cancel()
		if err != nil {
			slog.ErrorContext(ctx, "events could not be claimed; the sweep tries again", "error", err)
			return
		}
		if len(attempts) == 0 {
			return
		}
		d.Step("deliver.claimed")
		for _, a := range attempts {
			d.places <- struct{}{}
			deliveriesUnderWay.Inc()
			d.sends.Go(func() { d.send(a, until) })
		}
	}
}

// free returns how many places are free. When there is none, the next that
// becomes free wakes.
func (d *dispatcher) free() int {
	if n := cap(d.places) - len(d.places); n > 0 {
		return n
	}
	d.starved.Store(true)
	return cap(d.places) - len(d.places) // one may have become free just now
}

func (d *dispatcher) release(n int) {
	for range n {
		<-d.places
		deliveriesUnderWay.Dec()
	}
	if d.starved.Swap(false) {
		d.wake()
	}
}

// send makes one attempt. What a process has claimed it finishes, so it is not
// cancelled by a stop; the sender's time-out bounds it. A claim that has run
// out meanwhile, as when the process was stopped, is left to whoever has it.
func (d *dispatcher) send(a db.Attempt, until time.Time) {
	ctx := context.Background()
	r := db.Result{Attempt: a, AttemptedAt: d.DB.Now()}
	if r.AttemptedAt.After(until) {
		slog.WarnContext(ctx, "a claim ran out before the attempt began", "event", a.EventID, "subscription", a.SubscriptionID)
		d.release(1)
		return
	}
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
	r.Status, r.RetryAfter = d.verdict(a, got)
	attemptsMade.WithLabelValues(string(r.Status)).Observe(r.Latency.Seconds())
	slog.DebugContext(ctx, "delivery attempt", "event", a.EventID, "type", a.EventType, "subscription", a.SubscriptionID, "attempt", a.Number,
		"status", r.Status, "code", r.StatusCode, "class", got.ErrorClass, "latency_ms", r.Latency.Milliseconds())
	d.results <- r
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

// record writes results in groups: whatever has come in while the group before
// was being written.
func (d *dispatcher) record() {
	for r := range d.results {
		group := append(make([]db.Result, 0, recordGroup), r)
		for len(group) < recordGroup && len(d.results) > 0 {
			group = append(group, <-d.results)
		}
		due := d.recordGroup(group)
		d.release(len(group))
		if due {
			d.wake()
		}
	}
}

// recordGroup writes one group, again and again while the database is away:
// what was sent and is not recorded would be sent once more. due says whether
// an event may be attempted at once.
func (d *dispatcher) recordGroup(group []db.Result) (due bool) {
	deadline := time.Now().Add(d.lease()) // then the claims have run out
	for wait := firstRecordGap; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
		out, err := d.DB.RecordResults(ctx, group)
		cancel()
		if err == nil {
			d.Step("deliver.recorded")
			d.schedule(out.Retries)
			return out.Due
		}
		slog.Error("results of deliveries could not be recorded", "results", len(group), "error", err)
		if time.Now().Add(wait).After(deadline) {
			return false // the attempts count as interrupted
		}
		time.Sleep(wait)
	}
}

// schedule has the dispatchers woken when retries are due, once a second. It
// does not wait for Redis, which may be away while results pile up.
func (d *dispatcher) schedule(retries []time.Time) {
	slices.SortFunc(retries, time.Time.Compare)
	sameSecond := func(a, b time.Time) bool { return a.Unix() == b.Unix() }
	for _, at := range slices.CompactFunc(retries, sameSecond) {
		select {
		case d.retries <- at:
		default: // the sweep will find it
		}
	}
}

// alarm sets the alarm clock for the retries.
func (d *dispatcher) alarm() {
	for at := range d.retries {
		ctx, cancel := context.WithTimeout(context.Background(), ringTimeout)
		err := d.Client.DeliverAt(ctx, at)
		cancel()
		if err == nil {
			continue
		}
		slog.Warn("a retry could not be scheduled; the sweep will find it", "error", err)
		for len(d.retries) > 0 {
			<-d.retries
		}
	}
}
