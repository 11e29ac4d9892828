package graph

import (
	"context"
	"log/slog"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

const (
	watchEvery = 5 * time.Second  // the legs watched here are announced again
	watchFor   = 30 * time.Second // how long an announcement holds
)

// hub knows what this process's viewers follow: legs, the logs of
// subscriptions, and boards.
type hub struct {
	db      *db.DB
	now     func() flight.Time
	process string

	legs     *tails[db.Update]
	events   *tails[db.LoggedEvent]
	attempts *tails[db.LoggedAttempt]
	boards   *boards
}

func newHub(d *db.DB, now func() flight.Time, process string) *hub {
	h := &hub{db: d, now: now, process: process, boards: newBoards(d, now)}
	h.legs = newTails("a leg", d.UpdatesAfter, func(u db.Update) int64 { return u.Version })
	h.events = newTails("a subscription's events", d.EventsAfter, func(e db.LoggedEvent) int64 { return e.Seq })
	h.attempts = newTails("a subscription's attempts", d.AttemptsAfter, func(a db.LoggedAttempt) int64 { return a.Seq })
	return h
}

// rang has everything read of which a ring tells, if it is followed here.
func (h *hub) rang(ring jobs.Ring) {
	if ring.FlightID != "" {
		h.legs.ring(ring.FlightID)
		if ring.Key != "" { // whoever subscribed to that flight may have been told
			h.events.ringTopic(ring.Key)
		} else {
			h.events.ringAll()
		}
	}
	for _, id := range ring.Subscriptions {
		h.events.ring(id)
		h.attempts.ring(id)
	}
	if ring.Account != "" {
		h.boards.ring(ring.Account)
	}
}

// rangAll has everything read that is followed here.
func (h *hub) rangAll() {
	h.legs.ringAll()
	h.events.ringAll()
	h.attempts.ringAll()
	h.boards.ringAll()
}

// watch keeps legs polled for the next while.
func (h *hub) watch(ctx context.Context, flightIDs []string) error {
	return h.db.Watch(ctx, h.process, flightIDs, h.db.Now().Add(watchFor), h.now())
}

// keepPolled announces the legs that are watched here until ctx ends. One that
// nobody watches any more stays polled until its announcement runs out.
func (h *hub) keepPolled(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids := h.legs.ids()
		if len(ids) == 0 {
			continue
		}
		if err := h.watch(ctx, ids); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "the legs of live viewers could not be announced; it is tried again", "legs", len(ids), "error", err)
		}
	}
}
