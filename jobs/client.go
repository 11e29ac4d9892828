package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// Task types and the queues that they wait in.
const (
	typePoll    = "poll"
	typeDeliver = "deliver"

	queuePoll    = "poll"
	queueDeliver = "deliver"
)

// How long to wait for Redis: nobody's work hangs on it.
const (
	ringTimeout   = time.Second     // to wake and to ring
	listenTimeout = 5 * time.Second // to begin to listen
)

// Client enqueues tasks and rings the bell. Its failures never lose anything:
// the sweep finds what was not enqueued, and readers of the bell read their
// cursors again now and then.
type Client struct {
	redis redis.UniversalClient
	asynq *asynq.Client
	local atomic.Pointer[dispatcher] // of this process's worker; nil: none
}

// NewClient returns a client over a connection that stays the caller's.
func NewClient(r redis.UniversalClient) *Client {
	return &Client{redis: r, asynq: asynq.NewClientFromRedisClient(r)}
}

// setLocal has events of this process sent by its own worker.
func (c *Client) setLocal(d *dispatcher) { c.local.Store(d) }

// Deliver says that there is something to deliver now. Where this process has a
// worker with a place free, that looks at once; else whichever has.
func (c *Client) Deliver(ctx context.Context) error {
	if d := c.local.Load(); d != nil && d.wake() {
		return nil
	}
	return c.enqueueDeliver(ctx)
}

// deliver has events sent that have just been recorded.
func (c *Client) deliver(ctx context.Context, due []db.Due) error {
	if d := c.local.Load(); d != nil && d.offer(due) {
		return nil
	}
	return c.enqueueDeliver(ctx)
}

// enqueueDeliver wakes whichever worker is free. Where a wake-up waits already
// it stands for this one too, so that they do not pile up while no worker runs.
func (c *Client) enqueueDeliver(ctx context.Context) error {
	if n, err := c.waiting(ctx, queueDeliver); err != nil || n > 0 {
		return wrap("enqueue a delivery", err)
	}
	_, err := c.asynq.EnqueueContext(ctx, asynq.NewTask(typeDeliver, nil), asynq.Queue(queueDeliver), asynq.MaxRetry(0))
	return wrap("enqueue a delivery", err)
}

// DeliverAt says that there will be something to deliver at the wall time at.
// One task a second is enough for all that is due in it.
func (c *Client) DeliverAt(ctx context.Context, at time.Time) error {
	due := at.Truncate(time.Second).Add(time.Second) // asynq counts whole seconds and may be early by one
	_, err := c.asynq.EnqueueContext(ctx, asynq.NewTask(typeDeliver, nil),
		asynq.Queue(queueDeliver), asynq.MaxRetry(0), asynq.ProcessAt(due), asynq.TaskID("deliver:"+strconv.FormatInt(due.Unix(), 10)))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil
	}
	return wrap("schedule a delivery", err)
}

// poll hands a claimed poll to whichever worker is free.
func (c *Client) poll(ctx context.Context, claim db.PollClaim) error {
	payload, err := json.Marshal(claim)
	if err != nil {
		return wrap("enqueue a poll", err)
	}
	_, err = c.asynq.EnqueueContext(ctx, asynq.NewTask(typePoll, payload), asynq.Queue(queuePoll), asynq.MaxRetry(0))
	return wrap("enqueue a poll", err)
}

// waiting returns how many tasks of a queue no worker has taken yet.
func (c *Client) waiting(ctx context.Context, queue string) (int, error) {
	n, err := c.redis.LLen(ctx, "asynq:{"+queue+"}:pending").Result()
	return int(n), err
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
