package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight/webhook"
)

// Leases and rhythms. A lease outlasts the work it covers; what a dead process
// had claimed is taken up again when it has run out and a sweep comes by.
const (
	pollLease     = upstreamTimeout + 2*time.Second
	pollPlaces    = 64 // polls that one process has claimed and not seen done
	planEvery     = 100 * time.Millisecond
	sweepEvery    = time.Second
	leaseMargin   = 3 * time.Second // what a delivery's lease outlasts its time-out by
	syncEvery     = time.Minute
	deliverPlaces = 256 // deliveries under way in one process
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
	Step      func(string)  // tests' failpoints; nil: none
}

// Worker polls and delivers until it is stopped. Any number of them may run on
// one database; none leads.
type Worker struct {
	WorkerConfig
	server     *asynq.Server
	dispatcher *dispatcher
	places     chan struct{} // free polls
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
	w := &Worker{WorkerConfig: c, places: make(chan struct{}, pollPlaces)}
	w.dispatcher = newDispatcher(c)
	w.server = asynq.NewServerFromRedisClient(c.Redis, asynq.Config{
		Concurrency:              pollPlaces,
		Queues:                   map[string]int{queuePoll: 1, queueDeliver: 1},
		TaskCheckInterval:        5 * time.Millisecond,
		DelayedTaskCheckInterval: time.Second,
		ShutdownTimeout:          upstreamTimeout + acceptTimeout,
		LogLevel:                 asynq.WarnLevel,
		Logger:                   asynqLogger{},
		ErrorHandler: asynq.ErrorHandlerFunc(func(ctx context.Context, t *asynq.Task, err error) {
			slog.ErrorContext(ctx, "a task failed; its claim runs out and is taken up again", "type", t.Type(), "error", err)
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
	mux.HandleFunc(typeDeliver, func(context.Context, *asynq.Task) error {
		w.dispatcher.wake()
		return nil
	})
	w.dispatcher.start()
	if err := w.server.Start(mux); err != nil {
		stop()
		w.dispatcher.stop()
		return fmt.Errorf("start the workers: %w", err)
	}
	w.loop(ctx, planEvery, w.plan)
	w.loop(ctx, sweepEvery, func(context.Context) error { w.dispatcher.wake(); return nil })
	w.loop(ctx, syncEvery, w.DB.SyncClock)
	return nil
}

// Stop claims nothing more, finishes what is under way, and returns.
func (w *Worker) Stop() {
	w.stop()
	w.loops.Wait()
	w.server.Shutdown()
	w.dispatcher.stop()
}

// loop runs f now and then until ctx ends.
func (w *Worker) loop(ctx context.Context, every time.Duration, f func(context.Context) error) {
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
			}
		}
	})
}

// plan claims the legs that are due, as many as there are free places, and
// hands each to whichever worker is free.
func (w *Worker) plan(ctx context.Context) error {
	for ctx.Err() == nil {
		free, err := w.freePolls(ctx)
		if err != nil || free <= 0 {
			return err
		}
		claims, err := w.DB.ClaimPolls(ctx, w.Intake.World(), free, pollLease)
		if err != nil || len(claims) == 0 {
			return err
		}
		w.Step("poll.claimed")
		for _, c := range claims {
			if err := w.Client.poll(ctx, c); err != nil {
				return err // the leases run out, and another plan claims them
			}
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
func (w *Worker) freePolls(ctx context.Context) (int, error) {
	waiting, err := w.Redis.LLen(ctx, "asynq:{"+queuePoll+"}:pending").Result()
	if err != nil {
		return 0, fmt.Errorf("look at the poll queue: %w", err)
	}
	return cap(w.places) - len(w.places) - int(waiting), nil
}

func (w *Worker) handlePoll(ctx context.Context, t *asynq.Task) error {
	var claim db.PollClaim
	if err := json.Unmarshal(t.Payload(), &claim); err != nil {
		return fmt.Errorf("a poll task made no sense: %w", errors.Join(err, asynq.SkipRetry))
	}
	w.places <- struct{}{}
	defer func() { <-w.places }()
	w.Step("poll.begun")
	return w.Intake.poll(ctx, claim)
}

func isDuplicate(err error) bool {
	return errors.Is(err, asynq.ErrTaskIDConflict) || errors.Is(err, asynq.ErrDuplicateTask)
}

// asynqLogger writes asynq's lines through slog.
type asynqLogger struct{}

func (asynqLogger) Debug(args ...any) { slog.Debug("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Info(args ...any)  { slog.Debug("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Warn(args ...any)  { slog.Warn("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Error(args ...any) { slog.Error("asynq: " + fmt.Sprint(args...)) }
func (asynqLogger) Fatal(args ...any) { slog.Error("asynq: " + fmt.Sprint(args...)) }
