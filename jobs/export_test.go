package jobs

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight/webhook"
)

// SetLeaseMargin shortens the lease of deliveries: the time-out and margin.
func (c *WorkerConfig) SetLeaseMargin(margin time.Duration) { c.leaseMargin = margin }

// SetLeaseMargin shortens the lease of polls: the time-out and margin.
func (c *IntakeConfig) SetLeaseMargin(margin time.Duration) { c.leaseMargin = margin }

// Settle is one round of what a Budget does every few seconds.
func (b *Budget) Settle() { b.settle(true) }

// SetHouseEvery shortens the interval between two passes over what is old.
func (c *WorkerConfig) SetHouseEvery(every time.Duration) { c.houseEvery = every }

// SetRhythm makes a worker look for polls and tasks more rarely, so that hours
// of virtual time pass quickly.
func (c *WorkerConfig) SetRhythm(every time.Duration) { c.planEvery, c.taskEvery = every, every }

// TraceNothing does what an attempt does for its trace where there is no tracer.
func TraceNothing() {
	_, done := (&dispatcher{}).traceAttempt(context.Background(), &db.Attempt{}, 0)
	done(nil, webhook.Result{})
}

// SetCallTimeout sets how long Redis has to answer before a call. It is for
// TestMain alone.
func SetCallTimeout(d time.Duration) { callTimeout = d }
