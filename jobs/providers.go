package jobs

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Provider is an upstream and what its contract allows.
type Provider struct {
	Source upstream.Source
	Budget *Budget // nil: no limits

	breaker *gobreaker.CircuitBreaker[struct{}]
}

const (
	failuresToOpen = 8               // calls that fail in a row before a provider is left alone
	openFor        = 5 * time.Second // how long it is; then one call tries

	leastPatience = 2 * time.Second // what a provider gets of the time, where others come after it
	retries       = 2               // of a look-up, where no other provider can be asked
	retryAfter    = 150 * time.Millisecond
)

// newProvider returns p with a breaker of its own. A call has failed when the
// upstream could not answer; that it knows no such flight is an answer.
func newProvider(p Provider) *Provider {
	p.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: p.Source.Name(), Timeout: openFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failuresToOpen },
		IsSuccessful: func(err error) bool { return !unanswered(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) || isShortage(err) },
		OnStateChange: func(name string, _, now gobreaker.State) {
			observeBreaker(name, now == gobreaker.StateClosed)
			slog.Warn("an upstream's circuit breaker", "upstream", name, "state", now.String())
		},
	})
	observeBreaker(p.Source.Name(), true)
	return &p
}

// unanswered reports whether a call failed in such a way that another upstream
// may know better.
func unanswered(err error) bool {
	switch flight.CodeOf(err) {
	case flight.CodeUpstream, flight.CodeUpstreamUnavailable, flight.CodeUpstreamTimeout:
		return true
	}
	return false
}

// call makes one call, and the further ones that its answer needs, each counted
// and all under the breaker. The error of a breaker that is open is
// CodeUpstreamUnavailable.
func (p *Provider) call(ctx context.Context, key flight.Key, rank flight.Rank, ask func(context.Context) error) error {
	if p.breaker.State() == gobreaker.StateOpen { // before anything is counted
		return resting()
	}
	if err := p.Budget.take(ctx, rank); err != nil {
		return err
	}
	_, err := p.breaker.Execute(func() (none struct{}, err error) {
		began := time.Now()
		defer func() { observeCall(p.Source.Name(), began, err) }()
		defer rescue(ctx, &err, key, &flight.Error{Code: flight.CodeUpstream, Message: "The upstream's answer could not be read."})
		return none, upstreamError(ask(upstream.WithPermit(ctx, p.further(rank))))
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return resting()
	}
	return err
}

// further permits the calls of one look. The first was counted before it began.
func (p *Provider) further(rank flight.Rank) upstream.Permit {
	first := true
	return func(ctx context.Context) error {
		if first {
			first = false
			return nil
		}
		return p.Budget.takeFurther(ctx, rank)
	}
}

var errLeftAlone = errors.New("the circuit breaker is open")

func resting() error {
	return &flight.Error{Code: flight.CodeUpstreamUnavailable, RetryAfter: openFor, Cause: errLeftAlone,
		Message: "The upstream has failed several times in a row and is left alone for a moment. Try again in some seconds."}
}

// legs asks for a flight, and for the watched legs of a poll that the answer
// does not list any more.
func (in *Intake) legs(ctx context.Context, p *Provider, a db.Answer, rank flight.Rank) (flight.Legs, error) {
	var legs flight.Legs
	ctx, span := in.traceCall(ctx, p, a.Key)
	err := p.call(ctx, a.Key, rank, func(ctx context.Context) (err error) {
		legs, err = p.Source.Legs(ctx, a.Key, a.Now)
		return err
	})
	finish(span, err)
	if a.Poll == nil {
		return legs, err
	}
	return in.follow(ctx, p, a, rank, legs, err)
}

// answer asks the providers one after the other until one answers, within the
// time-out, and returns whose answer it is. First is the one that answered for
// the flight the last time: a leg stays with its provider while that answers.
// Without an answer the error is the first one's.
func (in *Intake) answer(ctx context.Context, a db.Answer, rank flight.Rank) (*Provider, flight.Legs, error) {
	ctx, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	order, last, err := in.order(ctx, a.Key)
	if err != nil {
		return nil, nil, err
	}
	var first error
	for i, p := range order {
		legs, err := in.patiently(ctx, p, a, rank, len(order)-1-i)
		if !unanswered(err) {
			if i > 0 && last != "" && flight.CodeOf(err) == flight.CodeFlightNotFound {
				continue // another does, who cannot be asked
			}
			return p, legs, err
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
		if i+1 < len(order) && !errors.Is(err, errLeftAlone) { // of which the breaker has told once
			slog.WarnContext(ctx, "an upstream did not answer; the next is asked", "flight", a.Key.String(), "upstream", p.Source.Name(), "error", err)
		}
	}
	return order[0], nil, first
}

// patiently asks one provider, after whom others may come: then it gets its
// part of the time. The last one is asked again where it failed at once and the
// question is somebody's look-up; polls have their own way of trying again.
func (in *Intake) patiently(ctx context.Context, p *Provider, a db.Answer, rank flight.Rank, others int) (flight.Legs, error) {
	if deadline, ok := ctx.Deadline(); ok && others > 0 {
		part := max(time.Until(deadline)/time.Duration(others+1), leastPatience)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, part)
		defer cancel()
	}
	for again := 0; ; again++ {
		legs, err := in.legs(ctx, p, a, rank)
		if others > 0 || rank != flight.RankLookup || again == retries || !transient(err) {
			return legs, err
		}
		wait := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(retryAfter<<again)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return legs, err
		case <-wait.C:
		}
	}
}

// transient reports whether the same call may succeed in a moment.
func transient(err error) bool {
	e, ok := errors.AsType[*flight.Error](err)
	return ok && e.Code == flight.CodeUpstreamUnavailable && e.RetryAfter == 0
}

// order returns the providers in the order in which they are asked for a
// flight, and the name of the one that answered for it the last time.
func (in *Intake) order(ctx context.Context, key flight.Key) (order []*Provider, last string, err error) {
	if len(in.providers) == 1 {
		return in.providers, "", nil
	}
	if last, err = in.DB.SourceOf(ctx, key); err != nil {
		return nil, "", err
	}
	for _, p := range in.providers {
		if p.Source.Name() == last {
			order = append([]*Provider{p}, order...)
		} else {
			order = append(order, p)
		}
	}
	return order, last, nil
}

// limited reports whether any provider's calls have limits.
func (in *Intake) limited() bool {
	for _, p := range in.providers {
		if p.Budget != nil {
			return true
		}
	}
	return false
}

// schedule plans the next poll of what a provider answered for.
func (in *Intake) schedule(p *Provider) flight.Schedule {
	return flight.Schedule{Fixed: in.PollEvery, Floor: p.Source.Floor(), Jitter: rand.Float64(), Load: p.Budget.load()}
}

// Schedule plans the first poll of a leg, each time with another jitter.
func (in *Intake) Schedule() flight.Schedule { return in.schedule(in.providers[0]) }
