// Package jobs does what nobody waits for: it polls upstreams, delivers
// webhooks, and sweeps up what was not woken.
//
// It promises that SQL is the queue of record and Redis only the alarm clock.
// An asynq task says "poll this leg" or "there is something to deliver"; the
// claim in SQL decides who does it. So a task may be lost, doubled or late and
// nothing is lost, nothing is sent under two ids, and nothing waits longer
// than a sweep.
package jobs
