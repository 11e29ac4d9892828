package graph

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

const (
	lookEvery  = 5 * time.Second  // a leg's updates are read again, rung or not
	watchEvery = 5 * time.Second  // the legs watched here are announced again
	watchFor   = 30 * time.Second // how long an announcement holds
	readAtOnce = 64               // updates read in one go
	tailLength = 16               // updates kept in memory for the viewers of a leg
)

// hub knows which legs this process's viewers watch. Each has one tail,
// however many watch it.
type hub struct {
	db      *db.DB
	now     func() flight.Time
	process string

	mu   sync.Mutex
	legs map[string]*tail
}

func newHub(d *db.DB, now func() flight.Time, process string) *hub {
	return &hub{db: d, now: now, process: process, legs: make(map[string]*tail)}
}

// join counts a viewer of a leg in, whose present version is given. Each join
// is followed by one leave.
func (h *hub) join(flightID string, version int64) (t *tail, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t = h.legs[flightID]
	if t == nil {
		first = true
		ctx, stop := context.WithCancel(context.Background())
		t = &tail{id: flightID, bell: make(chan struct{}, 1), stop: stop, from: version, upto: version, moved: make(chan struct{})}
		h.legs[flightID] = t
		go t.follow(ctx, h.db)
		t.ring() // something may have come since version was read
	}
	t.viewers++
	return t, first
}

// leave counts a viewer out. With the last one goes the tail; the leg stays
// polled until its announcement runs out.
func (h *hub) leave(t *tail) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.viewers--; t.viewers == 0 {
		delete(h.legs, t.id)
		t.stop()
	}
}

// ring makes a leg's updates be read, if it is watched here.
func (h *hub) ring(flightID string) {
	h.mu.Lock()
	t := h.legs[flightID]
	h.mu.Unlock()
	if t != nil {
		t.ring()
	}
}

// ringAll makes every leg's updates be read.
func (h *hub) ringAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.legs {
		t.ring()
	}
}

// watch keeps legs polled for the next while.
func (h *hub) watch(ctx context.Context, flightIDs []string) error {
	return h.db.Watch(ctx, h.process, flightIDs, h.db.Now().Add(watchFor), h.now())
}

// keepPolled announces the legs that are watched here until ctx ends.
func (h *hub) keepPolled(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		ids := slices.Collect(maps.Keys(h.legs))
		h.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		if err := h.watch(ctx, ids); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "the legs of live viewers could not be announced; it is tried again", "legs", len(ids), "error", err)
		}
	}
}

// tail is the end of a leg's updates, read once for all who watch it here.
type tail struct {
	id      string
	bell    chan struct{} // one slot: there may be something new
	stop    context.CancelFunc
	viewers int // under hub.mu

	mu      sync.Mutex
	from    int64         // updates holds every change after this version
	upto    int64         // up to this one
	updates []db.Update   // oldest first
	moved   chan struct{} // closed when there are more
}

func (t *tail) ring() {
	select {
	case t.bell <- struct{}{}:
	default: // it is rung already
	}
}

// follow reads the leg's updates whenever the bell rings, and every few
// seconds because a ring can be lost, until ctx ends.
func (t *tail) follow(ctx context.Context, d *db.DB) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.bell:
		case <-tick.C:
		}
		for more := true; more; {
			news, err := d.UpdatesAfter(ctx, t.id, t.upto, readAtOnce) // upto is written here only
			if err != nil && ctx.Err() == nil {
				slog.WarnContext(ctx, "a leg's updates could not be read; they are read again", "flight", t.id, "error", err)
			}
			t.add(news)
			more = len(news) == readAtOnce
		}
	}
}

// add appends news and wakes the viewers.
func (t *tail) add(news []db.Update) {
	if len(news) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(t.updates, news...)
	if cut := len(all) - tailLength; cut > 0 {
		t.from = all[cut-1].Version
		all = all[cut:]
	}
	t.updates = slices.Clone(all) // viewers read the old one; nothing before it is held on to
	t.upto = news[len(news)-1].Version
	close(t.moved)
	t.moved = make(chan struct{})
}

// after returns the updates after a version. behind is true when the tail does
// not reach back so far; everything up to from must then be read from the
// database. moved is closed when there are more.
func (t *tail) after(version int64) (news []db.Update, behind bool, from int64, moved <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if version < t.from {
		return nil, true, t.from, t.moved
	}
	i, _ := slices.BinarySearchFunc(t.updates, version+1, func(u db.Update, v int64) int { return int(u.Version - v) })
	return t.updates[i:], false, t.from, t.moved
}
