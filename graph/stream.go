package graph

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// streams are the use cases that go on.
type streams struct{ r *Resolver }

// cursor is a place in a log: of a leg's updates, behind the one of that
// version, or of a subscription's events or attempts.
type cursor struct {
	id    string // of the leg or the subscription
	place int64
}

// String returns the opaque form.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.id + "." + strconv.FormatInt(c.place, 10)))
}

func parseCursor(s string) (c cursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return cursor{}, false
	}
	id, version, ok := strings.Cut(string(b), ".")
	n, err := strconv.ParseInt(version, 10, 64)
	return cursor{id, n}, ok && err == nil && id != "" && n >= 0
}

var errCursor = &flight.Error{
	Code: flight.CodeInvalid, Message: "after: must be the cursor of a message about this leg; leave it out to begin with the present state",
	Fields: []flight.FieldError{{Field: "after", Message: "must be the cursor of a message about this leg"}},
}

// FlightChanged follows one leg until ctx ends, which closes the channel. The
// first message is the present state, without changes; with after, what came
// since comes instead, where there is any. Each change comes once, in order; a
// client that is slow lags, and reads on from the database. Errors: those of
// Query.Flight; CodeInvalid for a cursor of something else; CodeLiveLegLimit
// when the account watches as many legs as it may.
func (s *streams) FlightChanged(ctx context.Context, leg LegInput, after *string) (<-chan *FlightUpdate, error) {
	if _, err := account(ctx); err != nil {
		return nil, err
	}
	var v flight.Invalid
	key, sel := s.r.parseLeg(&v, leg)
	if err := faults(leg.Faults, v); err != nil {
		return nil, err
	}
	flightID, err := s.find(ctx, key, sel)
	if err != nil {
		return nil, err
	}
	leave, err := s.count(ctx, flightID)
	if err != nil {
		return nil, err
	}
	messages, err := s.open(ctx, flightID, after, leave)
	if err != nil {
		leave()
	}
	return messages, err
}

// find returns the row of the leg that is meant. Errors: those of Query.Flight.
func (s *streams) find(ctx context.Context, key flight.Key, sel flight.Selector) (string, error) {
	standing, err := s.r.lookups.flight(ctx, key, false)
	if err != nil {
		return "", err
	}
	snapshot, err := standing.Legs.Select(sel)
	if err != nil {
		return "", err
	}
	return standing.IDOf(snapshot), nil
}

// count counts a viewer of a leg in. CodeLiveLegLimit when the account watches
// as many as it may.
func (s *streams) count(ctx context.Context, flightID string) (leave func(), err error) {
	who, _ := access.From(ctx)
	if s.r.cfg.Live == nil {
		return func() {}, nil
	}
	return s.r.cfg.Live.Watch(ctx, who, flightID)
}

// open starts a viewer of a leg, which calls leave when it ends.
func (s *streams) open(ctx context.Context, flightID string, after *string, leave func()) (<-chan *FlightUpdate, error) {
	h := s.r.live
	// The present comes before what came since, or a change between the two is lost.
	present, err := h.db.LatestUpdate(ctx, flightID)
	if err != nil {
		return nil, err
	}
	begin := present.Version
	first := presentState(present)
	first.Cursor = cursor{flightID, present.Version}.String()
	if after != nil {
		at, ok := parseCursor(*after)
		if !ok || at.id != flightID || at.place > present.Version {
			return nil, errCursor
		}
		since, err := h.db.UpdatesAfter(ctx, flightID, at.place, 1)
		if err != nil {
			return nil, err
		}
		if len(since) > 0 {
			begin, first = at.place, nil
		}
	}
	r, isFirst := h.legs.join(flightID, "", present.Version, begin)
	if isFirst {
		if err := h.watch(ctx, []string{flightID}); err != nil {
			r.leave()
			return nil, err
		}
	}
	out := make(chan *FlightUpdate)
	go func() {
		defer close(out)
		defer leave()
		defer r.leave()
		forward(ctx, r, first, func(u db.Update) *FlightUpdate {
			m := changeOf(u)
			m.Cursor = cursor{flightID, u.Version}.String()
			return m
		}, out)
	}()
	return out, nil
}

// presentState is the message that tells how a leg stands; its cursor is the
// caller's.
func presentState(u db.Update) *FlightUpdate {
	return &FlightUpdate{Flight: u.Snapshot, Changes: []flight.Change{}}
}

// changeOf is the message that tells of an update; its cursor is the caller's.
func changeOf(u db.Update) *FlightUpdate {
	return &FlightUpdate{Flight: u.Snapshot, Changes: u.Changes, PreviousFetchedAt: u.PreviousFetchedAt}
}
