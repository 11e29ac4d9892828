package graph

import (
	"context"
	"log/slog"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// mutations are the use cases that change something.
type mutations struct{ r *Resolver }

// CreateSubscription looks the flight up and watches it. The answer holds the
// whole secret. A flight that is not found is waited for while its date is not
// over everywhere. Errors: CodeInvalid; CodeFlightNotFound when its date is
// over; CodeLegNotFound; CodeOriginRequired with the legs; the upstream codes;
// CodeWatchedFlightLimit when the plan allows no more this month.
//
// With an idempotency key that was used in the last 24 hours it returns the
// subscription that was made then, as it is now; it asks no upstream and counts
// nothing. CodeIdempotencyReused when that request was another one,
// CodeSubscriptionMissing when the subscription has been deleted.
func (m *mutations) CreateSubscription(ctx context.Context, input CreateSubscriptionInput, idempotencyKey *string) (*flight.Subscription, error) {
	who, err := identity(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	n := m.r.parseSubscription(&v, input)
	n.Account = who.Account
	if limit := m.r.cfg.Plans.Of(who.Plan).WatchedFlights; limit != access.NoLimit {
		n.Cap = db.WatchCap{Limit: int(limit), Capped: true}
	}
	if idempotencyKey != nil {
		checkIdempotencyKey(&v, *idempotencyKey)
		n.Idempotency = db.Idempotency{APIKey: who.KeyID, Key: *idempotencyKey, Request: digest(n, input.Secret)}
	}
	if err := faults(input.Faults, v); err != nil {
		return nil, err
	}
	if s, err := m.r.cfg.DB.Replay(ctx, n.Account, n.Idempotency); s != nil || err != nil {
		return s, err
	}
	s, err := m.create(ctx, n, false)
	if flight.CodeOf(err) == flight.CodeConflict { // what the cache knew is gone
		s, err = m.create(ctx, n, true)
	}
	if err != nil {
		return nil, err
	}
	m.deliver(ctx)
	m.rung(ctx, m.r.cfg.Client.RingAccount(ctx, s.Account, s.ID))
	return s, nil
}

func (m *mutations) create(ctx context.Context, n db.NewSubscription, refresh bool) (*flight.Subscription, error) {
	flightID, leg, err := m.resolve(ctx, n.Key, n.Selector, refresh)
	if err != nil {
		return nil, err
	}
	n.FlightID, n.Now = flightID, m.r.lookups.now()
	// The look-up was a poll as good as any: many subscriptions that are made at
	// once must not be as many polls in the next second.
	if schedule := m.r.cfg.Intake.Schedule(); leg != nil {
		n.PollAt = max(n.Now, schedule.Next(leg, leg.FetchedAt).At)
	} else {
		n.PollAt = schedule.NextLookup(n.Key.Date, n.Now).At
	}
	return m.r.cfg.DB.CreateSubscription(ctx, n)
}

// resolve returns the one leg that is meant and the id of its row; none when
// the flight is not found yet and worth waiting for.
func (m *mutations) resolve(ctx context.Context, key flight.Key, sel flight.Selector, refresh bool) (string, *flight.Snapshot, error) {
	standing, err := m.r.lookups.flight(ctx, key, refresh)
	if flight.CodeOf(err) == flight.CodeFlightNotFound {
		switch {
		case flight.DateEndedEverywhere(key.Date, m.r.lookups.now()):
			return "", nil, err
		case sel.FlightID != "": // ids come from a list of legs, and there is none
			return "", nil, flight.Errorf(flight.CodeLegNotFound, "No leg of this flight has that flightId: the flight is not found upstream yet. Leave flightId out to wait for it.")
		}
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	leg, err := standing.Legs.SelectOne(sel)
	if err != nil {
		return "", nil, err
	}
	return standing.IDOf(leg), leg, nil
}

// UpdateSubscription replaces what the input names; on an input that names
// nothing it changes nothing. The secret is masked. Errors: CodeInvalid,
// CodeSubscriptionMissing.
func (m *mutations) UpdateSubscription(ctx context.Context, id string, input UpdateSubscriptionInput) (*flight.Subscription, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	u := m.r.parseUpdate(&v, input)
	if err := faults(input.Faults, v); err != nil {
		return nil, err
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	return masked(m.r.cfg.DB.UpdateSubscription(ctx, acc, id, u))
}

// DeleteSubscription removes a subscription and returns its id.
// CodeSubscriptionMissing when the account has no such subscription.
func (m *mutations) DeleteSubscription(ctx context.Context, id string) (string, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return "", err
	}
	err = m.r.cfg.DB.DeleteSubscription(ctx, acc, id)
	if err == nil {
		m.rung(ctx, m.r.cfg.Client.RingAccount(ctx, acc, id))
	}
	return id, err
}

// PauseSubscription stops polling and delivering; on a paused one it changes
// nothing. The secret is masked. Errors: CodeSubscriptionMissing,
// CodeInvalidState when it is completed.
func (m *mutations) PauseSubscription(ctx context.Context, id string) (*flight.Subscription, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	return masked(m.r.cfg.DB.PauseSubscription(ctx, acc, id))
}

// ResumeSubscription takes polling and delivering up again; on one that is
// active or pending it changes nothing. The secret is masked. Errors:
// CodeSubscriptionMissing, CodeInvalidState when it is completed.
func (m *mutations) ResumeSubscription(ctx context.Context, id string) (*flight.Subscription, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := masked(m.r.cfg.DB.ResumeSubscription(ctx, acc, id, m.r.lookups.now()))
	if err == nil {
		m.deliver(ctx) // one whose flight was found meanwhile hears of it at once
		m.rung(ctx, m.r.cfg.Client.RingLogs(ctx, id))
	}
	return s, err
}

// TestSubscription sends a subscription.test event, in every state.
// CodeSubscriptionMissing when the account has no such subscription.
func (m *mutations) TestSubscription(ctx context.Context, id string) (*TestEvent, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	event, err := m.r.cfg.DB.TestSubscription(ctx, acc, id)
	if err != nil {
		return nil, err
	}
	m.deliver(ctx)
	m.rung(ctx, m.r.cfg.Client.RingLogs(ctx, id))
	return &TestEvent{EventID: event}, nil
}

// RevealSecret returns the whole secret, when the audit log has been told. It
// changes nothing else, but it is a
// mutation: showing a secret is an act of its own, which a query for many
// things at once must not do in passing, and which does not belong in the GET
// requests that logs and caches see.
// CodeSubscriptionMissing when the account has no such subscription.
func (m *mutations) RevealSecret(ctx context.Context, id string) (*SigningSecret, error) {
	who, err := identityFor(ctx, id)
	if err != nil {
		return nil, err
	}
	return signingSecret(m.r.cfg.DB.RevealSecret(ctx, who.Actor(), who.Account, id))
}

// RotateSecret makes a new secret and returns it whole: the next attempt is
// signed with it. CodeSubscriptionMissing when the account has no such
// subscription.
func (m *mutations) RotateSecret(ctx context.Context, id string) (*SigningSecret, error) {
	who, err := identityFor(ctx, id)
	if err != nil {
		return nil, err
	}
	return signingSecret(m.r.cfg.DB.RotateSecret(ctx, who.Actor(), who.Account, id, webhook.GenerateSecret()))
}

func signingSecret(s *flight.Subscription, err error) (*SigningSecret, error) {
	if err != nil {
		return nil, err
	}
	return &SigningSecret{SubscriptionID: s.ID, Secret: s.Secret}, nil
}

// deliver wakes the deliveries. What is written is written, so a failure is
// ours alone: the sweep finds the event.
func (m *mutations) deliver(ctx context.Context) {
	if err := m.r.cfg.Client.Deliver(ctx); err != nil {
		slog.WarnContext(ctx, "deliveries could not be woken; the sweep will", "error", err)
	}
}

// rung logs that viewers could not be told: they see it at their next look.
func (m *mutations) rung(ctx context.Context, err error) {
	if err != nil {
		slog.WarnContext(ctx, "viewers could not be told of a change; they see it at their next look", "error", err)
	}
}
