package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"go.opentelemetry.io/otel/trace"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight/webhook"
)

// Leases and rhythms. A lease outlasts the work it covers; what a dead process
// had claimed is taken up again when it has run out and a sweep comes by.
const (
	pollPlaces  = 64          // polls that one process has claimed and not seen done
	pollWait    = time.Second // that a claimed poll may wait for a worker before its lease has to be renewed
	planEvery   = 100 * time.Millisecond
	taskEvery   = 5 * time.Millisecond
	sweepEvery  = time.Second
	leaseMargin = 3 * time.Second // what a delivery's lease outlasts its time-out by
	syncEvery   = time.Minute
	gaugeEvery  = 10 * time.Second
	passOnAfter = 25 * time.Millisecond // a wake-up for which there is no place
)

// WorkerConfig says what a Worker works with.
type WorkerConfig struct {
	DB        *db.DB
	Redis     redis.UniversalClient
	Client    *Client
	Intake    *Intake
	Sender    *webhook.Sender
	RetryBase time.Duration // first retry delay; 0: 4 s
	Timeout   time.Duration // the sender's; 0: 10 s
	Limits    Limits        // of what is under way
	Tracer    trace.Tracer  // of deliveries; nil: none
	Step      func(string)  // tests' failpoints; nil: none

	EventDays   int // days for which events and attempts are kept; 0: [DefaultEventDays]
	HistoryDays int // days after a flight for which its history is kept; 0: [DefaultHistoryDays]

	leaseMargin time.Duration // tests: what a delivery's lease outlasts its time-out by; 0: 3 s
	planEvery   time.Duration // tests: between two looks for polls that are due; 0: 100 ms
	taskEvery   time.Duration // tests: between two looks for tasks; 0: 5 ms
	houseEvery  time.Duration // tests: between two passes over what is old, give or take half of it; 0: 10 min
}

// Worker polls and delivers until it is stopped. Any number of them may run on
// one database; none leads.
type Worker struct {
	WorkerConfig
	server     *asynq.Server
	dispatcher *dispatcher
	places     chan struct{}  // polls under way
	polls      sync.WaitGroup // those made without Redis
	alone      bool           // Redis was away at the last plan
	replan     chan struct{}  // one slot: places have become free, and more may be due
	behind     atomic.Bool    // the last plan had fewer places than it could have used
	stop       context.CancelFunc
	loops      sync.WaitGroup
}

// NewWorker returns a Worker that has not started.
func NewWorker(c WorkerConfig) *Worker {
	if c.Step == nil {
		c.Step = func(string) {}
	}
	if c.RetryBase == 0 {
		c.RetryBase = 4 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.EventDays == 0 {
		c.EventDays = DefaultEventDays
	}
	if c.HistoryDays == 0 {
		c.HistoryDays = DefaultHistoryDays
	}
	if c.leaseMargin == 0 {
		c.leaseMargin = leaseMargin
	}
	if c.planEvery == 0 {
		c.planEvery = planEvery
	}
	if c.taskEvery == 0 {
		c.taskEvery = taskEvery
	}
	if c.houseEvery == 0 {
		c.houseEvery = houseEvery
	}
	w := &Worker{WorkerConfig: c, places: make(chan struct{}, pollPlaces), replan: make(chan struct{}, 1)}
	w.dispatcher = newDispatcher(c)
	w.server = asynq.NewServerFromRedisClient(c.Redis, asynq.Config{
		Concurrency:              pollPlaces,
		Queues:                   map[string]int{queuePoll: 1, queueDeliver: 1},
		TaskCheckInterval:        c.taskEvery,
		DelayedTaskCheckInterval: time.Second,
		ShutdownTimeout:          upstreamTimeout + acceptTimeout,
		LogLevel:                 asynq.WarnLevel,
		Logger:                   asynqLogger{},
		ErrorHandler: asynq.ErrorHandlerFunc(func(ctx context.Context, t *asynq.Task, err error) {
			slog.ErrorContext(ctx, "a task broke off; its claim runs out and is taken up again", "type", t.Type(), "error", err)
		}),
	})
	return w
}

// Start begins to work and returns.
func (w *Worker) Start() error {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	mux := asynq.NewServeMux()
	mux.HandleFunc(typePoll, w.handlePoll)
	mux.HandleFunc(typeDeliver, w.handleDeliver)
	w.dispatcher.start()
	w.Client.setLocal(w.dispatcher)
	if err := w.server.Start(mux); err != nil {
		stop()
		w.Client.setLocal(nil)
		w.dispatcher.stop()
		return fmt.Errorf("start the workers: %w", err)
	}
	w.loop(ctx, w.planEvery, w.replan, w.plan)
	w.loop(ctx, sweepEvery, nil, func(context.Context) error { w.dispatcher.wakeAll(); return nil })
	w.loop(ctx, gaugeEvery, nil, w.dispatcher.gauge)
	w.loop(ctx, syncEvery, nil, w.DB.SyncClock)
	w.loops.Go(func() { w.keepHouse(ctx) })
	return nil
}

// Stop claims nothing more, finishes what is under way, and returns. It is
// called once, after Start.
func (w *Worker) Stop() {
	w.stop()
	w.Client.setLocal(nil)
	w.dispatcher.halt()
	w.Step("worker.halted")
	w.loops.Wait()
	w.server.Shutdown()
	w.polls.Wait()
	w.dispatcher.stop()
}

// handleDeliver wakes the dispatcher. Where it has no place, another process
// may: the wake-up goes back into the queue.
func (w *Worker) handleDeliver(ctx context.Context, _ *asynq.Task) error {
	if w.dispatcher.wake() {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(passOnAfter):
	}
	if !w.dispatcher.hasRoom() {
		w.dispatcher.passOn()
	}
	return nil
}

// loop runs f now and then, and when bell is rung, until ctx ends.
func (w *Worker) loop(ctx context.Context, every time.Duration, bell <-chan struct{}, f func(context.Context) error) {
	w.loops.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				slog.ErrorContext(ctx, "background work failed; it is tried again", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-bell:
			}
		}
	})
}

// plan claims the legs that are due, as many as there are free places, and
// hands each to whichever worker is free; while Redis is away, to this one.
func (w *Worker) plan(ctx context.Context) error {
	for ctx.Err() == nil {
		free := w.freePolls(ctx)
		if w.behind.Store(free <= 0); free <= 0 {
			return nil
		}
		claimCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		claims, err := w.DB.ClaimPolls(claimCtx, w.Intake.World(), free, w.Intake.lease()+pollWait)
		cancel()
		if err != nil || len(claims) == 0 {
			return err
		}
		w.Step("poll.claimed")
		for _, c := range claims {
			w.hand(ctx, c)
		}
		w.Step("poll.enqueued")
		if len(claims) < free {
			return nil
		}
	}
	return nil
}

// freePolls returns how many more polls this process may claim: what waits in
// the queue counts, so that no lease runs out there.
func (w *Worker) freePolls(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringTimeout)
	defer cancel()
	waiting, err := w.Client.waiting(ctx, queuePoll)
	w.setAlone(ctx, err)
	return cap(w.places) - len(w.places) - waiting
}

// setAlone notes whether Redis is there, and tells the log when that changes.
func (w *Worker) setAlone(ctx context.Context, err error) {
	switch {
	case err != nil && !w.alone:
		slog.ErrorContext(ctx, "Redis is away; this process goes on polling by itself", "error", err)
	case err == nil && w.alone:
		slog.InfoContext(ctx, "Redis is back")
	}
	w.alone = err != nil
}

// hand passes a claimed poll on. A claim is always passed on, also when the
// process is about to stop.
func (w *Worker) hand(ctx context.Context, c db.PollClaim) {
	ctx = context.WithoutCancel(ctx)
	if !w.alone {
		enqueueCtx, cancel := context.WithTimeout(ctx, ringTimeout)
		err := w.Client.poll(enqueueCtx, c)
		cancel()
		if err == nil {
			return
		}
		w.setAlone(ctx, err)
	}
	w.places <- struct{}{}
	w.polls.Go(func() { w.poll(ctx, c) })
}

func (w *Worker) handlePoll(ctx context.Context, t *asynq.Task) error {
	var claim db.PollClaim
	if err := json.Unmarshal(t.Payload(), &claim); err != nil {
		return fmt.Errorf("a poll task made no sense: %w", errors.Join(err, asynq.RevokeTask))
	}
	w.places <- struct{}{}
	w.poll(ctx, claim)
	return nil // whatever came of it stands in SQL
}

// poll makes one poll in a place that is taken already.
func (w *Worker) poll(ctx context.Context, claim db.PollClaim) {
	defer w.pollDone()
	w.Step("poll.begun")
	if err := w.Intake.poll(ctx, claim); err != nil {
		slog.ErrorContext(ctx, "a poll failed; its claim runs out and is taken up again", "flight", claim.Key.String(), "error", err)
	}
}

// pollDone gives a place back. When half of them are free, and more could have
// been used, it has the next polls planned.
func (w *Worker) pollDone() {
	<-w.places
	if w.behind.Load() && len(w.places) <= cap(w.places)/2 {
		select {
		case w.replan <- struct{}{}:
		default: // it is about to plan anyway
		}
	}
}

// asynqLogger writes asynq's lines through slog.
type asynqLogger struct{}

func (asynqLogger) Debug(args ...any) { slog.Debug("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Info(args ...any)  { slog.Debug("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Warn(args ...any)  { slog.Warn("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Error(args ...any) { slog.Error("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Fatal(args ...any) { slog.Error("asynq: " + fmt.Sprint(args...)) }
