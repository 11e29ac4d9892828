package graph

import (
	"context"
	"encoding/base64"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// streams are the use cases that go on.
type streams struct{ r *Resolver }

// cursor is a place in a leg's updates: behind the one of that version.
type cursor struct {
	flightID string
	version  int64
}

// String returns the opaque form.
func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.flightID + "." + strconv.FormatInt(c.version, 10)))
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
// reader that is slow lags, and reads on from the database. Errors: those of
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
	standing, err := s.r.lookups.flight(ctx, key, false)
	if err != nil {
		return nil, err
	}
	snapshot, err := standing.Legs.Select(sel)
	if err != nil {
		return nil, err
	}
	leave, err := s.count(ctx, standing.IDOf(snapshot))
	if err != nil {
		return nil, err
	}
	messages, err := s.open(ctx, standing.IDOf(snapshot), after, leave)
	if err != nil {
		leave()
	}
	return messages, err
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
	w := &viewer{db: h.db, at: cursor{flightID, present.Version}}
	first := &FlightUpdate{Cursor: w.at.String(), Flight: present.Snapshot, Changes: []flight.Change{}}
	if after != nil {
		at, ok := parseCursor(*after)
		if !ok || at.flightID != flightID || at.version > present.Version {
			return nil, errCursor
		}
		since, err := h.db.UpdatesAfter(ctx, flightID, at.version, 1)
		if err != nil {
			return nil, err
		}
		if len(since) > 0 {
			w.at, first = at, nil
		}
	}
	t, isFirst := h.join(flightID, present.Version)
	if isFirst {
		if err := h.watch(ctx, []string{flightID}); err != nil {
			h.leave(t)
			return nil, err
		}
	}
	out := make(chan *FlightUpdate)
	go func() {
		defer close(out)
		defer leave()
		defer h.leave(t)
		w.run(ctx, t, first, out)
	}()
	return out, nil
}

// viewer is one live subscription.
type viewer struct {
	db *db.DB
	at cursor // of the last message
}

// readAgain is the pause after the database failed a viewer that is behind.
const readAgain = time.Second

// run sends first, if there is one, and then every update after the cursor,
// until ctx ends.
func (w *viewer) run(ctx context.Context, t *tail, first *FlightUpdate, out chan<- *FlightUpdate) {
	if first != nil && !send(ctx, out, first) {
		return
	}
	for {
		news, behind, from, moved := t.after(w.at.version)
		if behind {
			var ok bool
			if news, ok = w.catchUp(ctx, from); !ok {
				return
			}
		}
		for _, u := range news {
			w.at.version = u.Version
			if !send(ctx, out, &FlightUpdate{Cursor: w.at.String(), Flight: u.Snapshot, Changes: u.Changes, PreviousFetchedAt: u.PreviousFetchedAt}) {
				return
			}
		}
		if behind {
			if len(news) < readAtOnce { // nothing else lies before the tail
				w.at.version = max(w.at.version, from)
			}
			continue
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp reads on from the database for as long as it takes; ok is false when
// ctx ended.
func (w *viewer) catchUp(ctx context.Context, from int64) (news []db.Update, ok bool) {
	for {
		news, err := w.db.UpdatesAfter(ctx, w.at.flightID, w.at.version, readAtOnce)
		if err == nil {
			return news, true
		}
		if ctx.Err() == nil {
			slog.WarnContext(ctx, "a viewer's updates could not be read; they are read again", "flight", w.at.flightID, "from", from, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(readAgain):
		}
	}
}

// send hands a message over, however long the reader takes; false when ctx
// ended.
func send(ctx context.Context, out chan<- *FlightUpdate, u *FlightUpdate) bool {
	select {
	case out <- u:
		return true
	case <-ctx.Done():
		return false
	}
}
