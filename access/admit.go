package access

import (
	"context"
	"fmt"

	"github.com/flightwire/flightwire/flight"
)

// Admit is Authenticate, and takes cost requests from the key's minute, day
// and month, together in one script call: a request that does not fit into all
// three takes nothing. Requests that wait at the same time share the call and
// get exactly what is left, in the order of their coming.
//
// An account token has windows of its own, as large as a key's of its account's
// plan.
//
// The Quota says where the key stands then; it is zero where nothing was
// counted. Further errors: CodeQuotaExceeded with the Window and RetryAfter;
// CodeQuotaUnavailable with RetryAfter, when Redis does not answer and the key
// has had its small allowance, or the grace is over.
func (g *Guard) Admit(ctx context.Context, presented string, cost int) (Identity, Quota, error) {
	if presented == "" {
		return Identity{}, Quota{}, errMissing
	}
	id, secret, ok := splitKey(presented)
	if !ok {
		return Identity{}, Quota{}, errInvalid
	}
	who, quota, err := g.admit(ctx, id, secret, int64(max(cost, 1)))
	if err != nil && flight.CodeOf(err) == flight.CodeInternal {
		err = fmt.Errorf("admit the API key %s: %w", id, err)
	}
	return who, quota, err
}

// turns bounds how often Redis is asked for one request: once, once more with
// the key's row, and once with its counts; the rest for what Redis forgets in
// between and for a day that ends.
const turns = 6

func (g *Guard) admit(ctx context.Context, id, secret string, cost int64) (Identity, Quota, error) {
	q := question{id: id, hash: hashSecret(secret)}
	for range turns {
		a, t, err := g.asks.ask(ctx, q, cost)
		if ctx.Err() != nil {
			return Identity{}, Quota{}, ctx.Err()
		}
		if err != nil {
			return g.admitBlind(ctx, id, secret, cost)
		}
		e, known := parseEntry(a.reply.raw)
		if !known {
			if e, err = g.load(ctx, id); err != nil {
				return Identity{}, Quota{}, err
			}
			q.entry = e.String()
		}
		switch {
		case e.check(secret) != nil: // then nothing was taken
			return Identity{}, Quota{}, e.check(secret)
		case a.reply.counted:
			if q.seeded != "" {
				g.ledger.sown(id, a.reply.trip)
			}
			return g.outcome(e.identity(id, secret), a, t)
		case a.reply.lost:
			seed, err := g.ledger.read(ctx, id, a.reply)
			if err != nil {
				return g.admitBlind(ctx, id, secret, cost)
			}
			q.seeded, q.day, q.month = Day.period(a.reply.at), seed.day, seed.month
		}
	}
	return g.admitBlind(ctx, id, secret, cost)
}

// outcome is what an answered question means for one request.
func (g *Guard) outcome(who Identity, a *ask, t ticket) (Identity, Quota, error) {
	limits := g.plans.Of(who.Plan).Requests
	used, ok := a.reply.outcome(a.runs, t)
	quota := Quota{Limits: limits, Used: used, At: a.reply.at}
	if ok {
		admitted.Inc()
		return who, quota, nil
	}
	refused.Inc()
	w, _ := limits.full(used, t.cost)
	return who, quota, quota.refusal(w, t.cost)
}

// admitBlind decides without Redis.
func (g *Guard) admitBlind(ctx context.Context, id, secret string, cost int64) (Identity, Quota, error) {
	e, err := g.load(ctx, id)
	if err != nil {
		return Identity{}, Quota{}, err
	}
	if err := e.check(secret); err != nil {
		return Identity{}, Quota{}, err
	}
	now := g.now()
	if err := g.spare.take(id, g.plans.Of(e.plan).Requests, cost, now, g.asks.downFor()); err != nil {
		unavailable.Inc()
		return e.identity(id, secret), Quota{}, err
	}
	allowedBlind.Inc()
	g.ledger.add(id, cost, now)
	return e.identity(id, secret), Quota{}, nil
}
