package graph

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Account is who owns subscriptions and keys.
type Account struct {
	ID, Name  string
	CreatedAt flight.Time
	Plan      *AccountPlan
}

// AccountPlan is what an account may use; nil is no limit.
type AccountPlan struct {
	Name                     string
	Requests                 *RequestLimits
	WatchedFlights, LiveLegs *int64
	Connections, Streams     *int64
}

// RequestLimits are the requests that fit into each window; nil is no limit.
type RequestLimits struct{ Minute, Day, Month *int64 }

// AccountUsage is what an account has used in a UTC month.
type AccountUsage struct {
	Month                    string // "2026-11"
	Requests, WatchedFlights int64
	Days                     []UsageDay
	Keys                     []KeyUsage
}

// UsageDay is the requests of a UTC day.
type UsageDay struct {
	Day      string // "2026-11-21"
	Requests int64
}

// KeyUsage is the requests of an API key.
type KeyUsage struct {
	ID       string
	Requests int64
}

// AuditEntry is one act that the audit log tells of.
type AuditEntry struct {
	ID             string
	At             flight.Time
	Actor, ActorID string
	Action, Target string
	Detail         string
	RequestID      string // "": it had none
}

// Account returns the account whose token was sent. CodeAccountTokenRequired
// for an API key.
func (q *queries) Account(ctx context.Context) (*Account, error) {
	who, err := owner(ctx)
	if err != nil {
		return nil, err
	}
	a, err := q.r.cfg.DB.Account(ctx, who.Account)
	if err != nil {
		return nil, err
	}
	return &Account{ID: a.ID, Name: a.Name, CreatedAt: flight.TimeOf(a.CreatedAt), Plan: planOf(q.r.cfg.Plans.Of(a.Plan))}, nil
}

func planOf(p access.Plan) *AccountPlan {
	limit := func(n int64) *int64 {
		if n == access.NoLimit {
			return nil
		}
		return &n
	}
	return &AccountPlan{Name: p.Name, WatchedFlights: limit(p.WatchedFlights), LiveLegs: limit(p.LiveLegs), Connections: limit(p.Connections), Streams: limit(p.Streams), Requests: &RequestLimits{
		Minute: limit(p.Requests[access.Minute]), Day: limit(p.Requests[access.Day]), Month: limit(p.Requests[access.Month]),
	}}
}

// accounts are the use cases that read what belongs to an account, which the
// caller has read before.
type accounts struct{ r *Resolver }

// check refuses an account other than the one whose token was sent.
func (*accounts) check(ctx context.Context, a *Account) (access.Identity, error) {
	who, err := owner(ctx)
	if err == nil && a.ID != who.Account {
		err = flight.Errorf(flight.CodeNotFound, "There is no such account.")
	}
	return who, err
}

// Keys returns the account's keys, revoked ones too, oldest first.
func (s *accounts) Keys(ctx context.Context, a *Account) ([]access.Key, error) {
	who, err := s.check(ctx, a)
	if err != nil {
		return nil, err
	}
	return s.r.cfg.Keys.For(who).List(ctx)
}

// Usage returns what the account has used in a month, "2026-11"; nil is the
// present one. CodeInvalid when it is no month.
func (s *accounts) Usage(ctx context.Context, a *Account, month *string) (*AccountUsage, error) {
	who, err := s.check(ctx, a)
	if err != nil {
		return nil, err
	}
	start := s.r.cfg.DB.Now()
	if month != nil {
		if start, err = time.Parse("2006-01", *month); err != nil {
			var v flight.Invalid
			v.Add("month", "must be a month such as 2026-11")
			return nil, v.Err()
		}
	}
	rows, err := s.r.cfg.DB.UsageOf(ctx, who.Account, start)
	if err != nil {
		return nil, err
	}
	u := sumUsage(start.Format("2006-01"), rows)
	watched, err := s.r.cfg.DB.WatchedFlightsIn(ctx, who.Account, u.Month)
	u.WatchedFlights = int64(watched)
	return u, err
}

// sumUsage adds up rows of days, in order, and of the month.
func sumUsage(month string, rows []db.Usage) *AccountUsage {
	u := &AccountUsage{Month: month, Days: []UsageDay{}, Keys: []KeyUsage{}}
	for _, r := range rows {
		if r.Period == month {
			u.Requests += r.Requests
			u.Keys = append(u.Keys, KeyUsage{r.KeyID, r.Requests})
			continue
		}
		if last := len(u.Days) - 1; last >= 0 && u.Days[last].Day == r.Period {
			u.Days[last].Requests += r.Requests
		} else {
			u.Days = append(u.Days, UsageDay{r.Period, r.Requests})
		}
	}
	return u
}

// AuditLog returns the newest acts, newest first. CodeInvalid when limit is out
// of range.
func (s *accounts) AuditLog(ctx context.Context, a *Account, limit int) ([]AuditEntry, error) {
	who, err := s.check(ctx, a)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	if checkLimit(&v, limit); len(v) > 0 {
		return nil, v.Err()
	}
	rows, err := s.r.cfg.DB.Audit(ctx, who.Account, limit)
	out := make([]AuditEntry, len(rows))
	for i, r := range rows {
		out[i] = AuditEntry{r.ID, flight.TimeOf(r.At), r.Actor, r.ActorID, r.Action, r.Target, r.Detail, r.Request}
	}
	return out, err
}

// CreateKey makes an API key of the account. CodeAccountTokenRequired for an
// API key, CodeConflict when the account has had [access.MaxKeys] this month.
func (m *mutations) CreateKey(ctx context.Context) (*access.IssuedKey, error) {
	who, err := owner(ctx)
	if err != nil {
		return nil, err
	}
	return pointer(m.r.cfg.Keys.For(who).Create(ctx))
}

// RotateKey gives an API key of the account a new secret. Errors:
// CodeAccountTokenRequired, CodeNotFound when the account has no such key,
// CodeConflict when it is revoked.
func (m *mutations) RotateKey(ctx context.Context, id string) (*access.IssuedKey, error) {
	who, err := owner(ctx)
	if err != nil {
		return nil, err
	}
	return pointer(m.r.cfg.Keys.For(who).Rotate(ctx, id))
}

// RevokeKey ends an API key of the account for good. Errors:
// CodeAccountTokenRequired, CodeNotFound when the account has no such key.
func (m *mutations) RevokeKey(ctx context.Context, id string) (*access.Key, error) {
	who, err := owner(ctx)
	if err != nil {
		return nil, err
	}
	return pointer(m.r.cfg.Keys.For(who).Revoke(ctx, id))
}

func pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}
