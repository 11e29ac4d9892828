package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"

	"go.opentelemetry.io/otel/trace"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// IntakeConfig says what an Intake works with.
type IntakeConfig struct {
	DB        *db.DB
	Client    *Client
	Providers []Provider    // one at least, in the order in which they are asked
	Clock     flight.Clock  // the world's; zero: wall time
	PollEvery time.Duration // a fixed poll interval; 0: adaptive
	Hold      time.Duration // world time for which a value that vanished still counts; 0: none does
	// OnlyProcess says that no other process asks: calls are not shared through
	// Redis.
	OnlyProcess bool

	Timeout time.Duration // of one upstream call; 0: 6 s, which a poll's lease outlasts
	Tracer  trace.Tracer  // of polls, calls and what they bring; nil: none
	Step    func(string)  // tests' failpoints; nil: none

	leaseMargin time.Duration // tests: what a poll's lease outlasts its call by; 0: 2 s
}

// Intake asks the upstream and hands what it answers to the one door, for
// look-ups and polls alike. It is safe for concurrent use.
type Intake struct {
	IntakeConfig
	providers []*Provider
	calls     singleflight.Group
}

const (
	upstreamTimeout = 6 * time.Second
	pollLeaseMargin = 2 * time.Second
)

// NewIntake returns an Intake.
func NewIntake(c IntakeConfig) *Intake {
	if c.Timeout == 0 {
		c.Timeout = upstreamTimeout
	}
	if c.leaseMargin == 0 {
		c.leaseMargin = pollLeaseMargin
	}
	if c.Step == nil {
		c.Step = func(string) {}
	}
	in := &Intake{IntakeConfig: c}
	for _, p := range c.Providers {
		in.providers = append(in.providers, newProvider(p))
	}
	return in
}

// World returns the world time now.
func (in *Intake) World() flight.Time { return in.Clock.World(in.DB.Now()) }

// Ask asks the upstream for a flight and returns what stands afterwards.
// Callers that ask for the same flight at once, in whatever process, share one
// call, and a look-up may share that of a poll. fresh makes it one that was
// begun for the sake of callers who want the upstream's word. Errors:
// CodeFlightNotFound and the upstream codes, CodeUpstreamUnavailable also where
// the source's limits allow no call, or ctx's when ctx ends first.
func (in *Intake) Ask(ctx context.Context, key flight.Key, fresh bool) (db.Standing, error) {
	a, err := in.shared(ctx, key, nil, flight.RankLookup, fresh)
	if err != nil {
		return db.Standing{}, err
	}
	return a.accepted.Standing, nil
}

// answer is what one call to the upstream gave, and what the door made of it.
type answer struct {
	db.Answer
	accepted db.Accepted
}

// shared joins the call for key that is under way, or makes it. The call goes
// on when the caller who made it leaves, for the sake of the others. A fresh one
// is joined only by its like: whoever asks for a refresh is not to get what was
// asked for before.
func (in *Intake) shared(ctx context.Context, key flight.Key, claim *db.PollClaim, rank flight.Rank, fresh bool) (answer, error) {
	name := key.String()
	if fresh {
		name += " fresh"
	}
	call := func() (got any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.Timeout+acceptTimeout)
		defer cancel()
		defer rescue(ctx, &err, key, &flight.Error{Code: flight.CodeInternal, Message: "Something went wrong."})
		a, err := in.alone(ctx, name, func() (answer, error) { return in.ask(ctx, key, claim, rank) })
		if errors.Is(err, errElsewhere) {
			return in.elsewhere(ctx, key)
		}
		return a, err
	}
	select {
	case r := <-in.calls.DoChan(name, call):
		a, _ := r.Val.(answer)
		return a, r.Err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// rescue turns a panic into the error given. The panic of one flight's answer
// must not end the process, and with it everyone's flights, poll after poll.
func rescue(ctx context.Context, err *error, key flight.Key, as *flight.Error) {
	if p := recover(); p != nil {
		slog.ErrorContext(ctx, "panic", "flight", key.String(), "panic", p, "stack", string(debug.Stack()))
		as.Cause = fmt.Errorf("panic: %v", p)
		*err = as
	}
}

// acceptTimeout bounds the transaction that follows a call.
const acceptTimeout = 10 * time.Second

func (in *Intake) ask(ctx context.Context, key flight.Key, claim *db.PollClaim, rank flight.Rank) (answer, error) {
	askedAt := in.DB.Now()
	a := answer{Answer: db.Answer{Key: key, AskedAt: askedAt, Now: in.Clock.World(askedAt), Hold: in.Hold, Poll: claim}}
	p, legs, err := in.answer(ctx, a.Answer, rank)
	missing := flight.CodeOf(err) == flight.CodeFlightNotFound
	if err != nil && !missing {
		return answer{}, err
	}
	a.Source, a.Schedule, a.Legs = p.Source.Name(), in.schedule(p), legs
	in.Step("poll.asked")
	accepted, acceptErr := in.accept(ctx, a.Answer)
	if acceptErr != nil {
		return answer{}, acceptErr
	}
	a.accepted = accepted
	in.Step("poll.accepted")
	in.after(ctx, a.accepted)
	return a, err
}

// upstreamError makes a time-out of the call an error that callers can read.
func upstreamError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && flight.CodeOf(err) == flight.CodeInternal {
		return &flight.Error{Code: flight.CodeUpstreamTimeout, Message: "The upstream did not answer in time. Try again in a moment.", Cause: err}
	}
	return err
}

// after wakes whoever waits for what was accepted.
func (in *Intake) after(ctx context.Context, a db.Accepted) {
	changesAccepted.Add(float64(len(a.Changed)))
	ctx, cancel := context.WithTimeout(ctx, ringTimeout)
	defer cancel()
	in.deliver(ctx, a.Due)
	in.Client.announce(ctx, a)
	in.Step("poll.announced")
}

// deliver has events sent that have just become due.
func (in *Intake) deliver(ctx context.Context, due []db.Due) {
	if len(due) == 0 {
		return
	}
	if err := in.Client.deliver(ctx, due); err != nil {
		slog.WarnContext(ctx, "deliveries could not be woken; the sweep will", "error", err)
	}
}

// lease is how long a poll is claimed for: it outlasts the call.
func (in *Intake) lease() time.Duration { return in.Timeout + in.leaseMargin }

// poll does the work of one claim. Its call may be one that was under way for
// another leg of the flight.
func (in *Intake) poll(ctx context.Context, claim db.PollClaim) (err error) {
	ctx, span := in.tracePoll(ctx, claim)
	defer func() { finish(span, err) }()
	if claim.Until.Sub(in.DB.Now()) < in.lease() { // it has waited for long
		if ok, err := in.DB.ConfirmPoll(ctx, claim, in.lease()); err != nil || !ok {
			return err
		}
	}
	rank, err := in.rank(ctx, claim)
	if err != nil {
		return err
	}
	a, err := in.shared(ctx, claim.Key, &claim, rank, false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTimeout)
	defer cancel()
	if short, ok := errors.AsType[*shortage](err); ok {
		pollsDone.WithLabelValues("put_off").Inc()
		return in.putOff(ctx, claim, rank, short)
	}
	pollsDone.WithLabelValues(result(err)).Inc()
	switch flight.CodeOf(err) {
	case "", flight.CodeFlightNotFound:
		if a.Poll != nil && *a.Poll == claim {
			return nil
		}
		if a.Key == (flight.Key{}) { // another process said that there is no such flight
			a.Answer = in.nothing(claim.Key)
		}
		a.Poll = &claim
		accepted, err := in.accept(ctx, a.Answer) // changes nothing any more, but ends this claim
		in.after(ctx, accepted)
		return err
	case flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout:
		slog.WarnContext(ctx, "the upstream failed; polling backs off", "flight", claim.Key.String(), "error", err)
		return in.failed(ctx, claim, err)
	}
	return err // our own fault: the claim runs out, and the poll is made again
}

// rank returns how urgent a poll is, where that makes a difference.
func (in *Intake) rank(ctx context.Context, claim db.PollClaim) (flight.Rank, error) {
	if !in.limited() {
		return flight.RankAtHand, nil
	}
	return in.DB.PollRank(ctx, claim, in.World())
}

// putOff ends a claim for which the source's limits had no call.
func (in *Intake) putOff(ctx context.Context, claim db.PollClaim, rank flight.Rank, short *shortage) error {
	now := in.DB.Now()
	world := in.Clock.World(now)
	wait := in.Clock.World(now.Add(short.wait)).Std().Sub(world.Std()) // limits are of wall time
	due, err := in.DB.PutOffPoll(ctx, claim, world, in.Schedule().PutOff(rank, world, wait, short.reason))
	in.Step("poll.put_off")
	in.deliver(ctx, due)
	return err
}

// failed ends a claim after an upstream error.
func (in *Intake) failed(ctx context.Context, claim db.PollClaim, err error) error {
	var retryAfter time.Duration
	if e, ok := errors.AsType[*flight.Error](err); ok {
		retryAfter = e.RetryAfter
	}
	due, err := in.DB.FailPoll(ctx, claim, in.World(), in.Schedule(), retryAfter)
	in.deliver(ctx, due)
	return err
}
