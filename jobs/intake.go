package jobs

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// IntakeConfig says what an Intake works with.
type IntakeConfig struct {
	DB        *db.DB
	Client    *Client
	Source    upstream.Source
	Clock     flight.Clock  // the world's; zero: wall time
	PollEvery time.Duration // a fixed poll interval; 0: adaptive
	Timeout   time.Duration // of one upstream call; 0: 6 s, which a poll's lease outlasts
	Step      func(string)  // tests' failpoints; nil: none
}

// Intake asks the upstream and hands what it answers to the one door, for
// look-ups and polls alike. It is safe for concurrent use.
type Intake struct {
	IntakeConfig
	calls singleflight.Group
}

const upstreamTimeout = 6 * time.Second

// NewIntake returns an Intake.
func NewIntake(c IntakeConfig) *Intake {
	if c.Timeout == 0 {
		c.Timeout = upstreamTimeout
	}
	if c.Step == nil {
		c.Step = func(string) {}
	}
	return &Intake{IntakeConfig: c}
}

// World returns the world time now.
func (in *Intake) World() flight.Time { return in.Clock.World(in.DB.Now()) }

// Ask asks the upstream for a flight and returns what stands afterwards.
// Callers that ask for the same flight at once share one call. Errors:
// CodeFlightNotFound and the upstream codes.
func (in *Intake) Ask(ctx context.Context, key flight.Key) (db.Standing, error) {
	a, err := in.shared(ctx, key, nil)
	return a.Standing, err
}

// shared joins the call for key that is under way, or makes it. The call goes
// on when the caller who made it leaves, for the sake of the others.
func (in *Intake) shared(ctx context.Context, key flight.Key, claim *db.PollClaim) (db.Accepted, error) {
	call := func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.Timeout+acceptTimeout)
		defer cancel()
		return in.ask(ctx, key, claim)
	}
	name := key.String()
	if claim != nil {
		name += " poll" // it must end its own claim
	}
	select {
	case r := <-in.calls.DoChan(name, call):
		a, _ := r.Val.(db.Accepted)
		return a, r.Err
	case <-ctx.Done():
		return db.Accepted{}, ctx.Err()
	}
}

// acceptTimeout bounds the transaction that follows a call.
const acceptTimeout = 10 * time.Second

func (in *Intake) ask(ctx context.Context, key flight.Key, claim *db.PollClaim) (db.Accepted, error) {
	askedAt := in.DB.Now()
	now := in.Clock.World(askedAt)
	callCtx, cancel := context.WithTimeout(ctx, in.Timeout)
	began := time.Now()
	legs, err := in.Source.Legs(callCtx, key, now)
	cancel()
	observeCall(in.Source.Name(), began, err)
	missing := flight.CodeOf(err) == flight.CodeFlightNotFound
	if err != nil && !missing {
		return db.Accepted{}, upstreamError(err)
	}
	in.Step("poll.asked")
	accepted, acceptErr := in.DB.Accept(ctx, db.Answer{
		Source: in.Source.Name(), Key: key, AskedAt: askedAt, Now: now, Legs: legs, Schedule: in.schedule(), Poll: claim,
	})
	if acceptErr != nil {
		return db.Accepted{}, acceptErr
	}
	in.Step("poll.accepted")
	changesAccepted.Add(float64(len(accepted.Changed)))
	in.after(ctx, accepted)
	if missing {
		return db.Accepted{}, err
	}
	return accepted, nil
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
	in.Client.announce(ctx, a)
	in.Step("poll.announced")
	if a.Events {
		in.wakeDelivery(ctx)
	}
}

func (in *Intake) wakeDelivery(ctx context.Context) {
	if err := in.Client.Deliver(ctx); err != nil {
		slog.WarnContext(ctx, "deliveries could not be woken; the sweep will", "error", err)
	}
}

func (in *Intake) schedule() flight.Schedule {
	return flight.Schedule{Fixed: in.PollEvery, Floor: in.Source.Floor(), Jitter: rand.Float64()}
}

// poll does the work of one claim.
func (in *Intake) poll(ctx context.Context, claim db.PollClaim) error {
	ok, err := in.DB.ConfirmPoll(ctx, claim, pollLease)
	if err != nil || !ok {
		return err
	}
	_, err = in.shared(ctx, claim.Key, &claim)
	pollsDone.WithLabelValues(result(err)).Inc()
	code := flight.CodeOf(err)
	switch code {
	case "", flight.CodeFlightNotFound:
		return nil
	case flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout:
	default:
		return err
	}
	slog.WarnContext(ctx, "the upstream failed; polling backs off", "flight", claim.Key.String(), "error", err)
	var retryAfter time.Duration
	if e, ok := errors.AsType[*flight.Error](err); ok {
		retryAfter = e.RetryAfter
	}
	events, err := in.DB.FailPoll(ctx, claim, in.World(), in.schedule(), retryAfter)
	if events {
		in.wakeDelivery(ctx)
	}
	return err
}
