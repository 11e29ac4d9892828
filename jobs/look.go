package jobs

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/flightwire/flightwire/db"
)

const (
	lookMost   = 512             // events that one look reads
	sweepPages = 16              // looks of one sweep; the next goes on where it ended
	freshFor   = 5 * time.Second // how long something counts as due lately: a sweep is not far
)

// look reads events that are due and has the board hold them. It reports
// whether there may be something to claim now.
//
// A wake-up means that something has just become due, so only the end of the
// line is looked at, however long it is. The sweep goes through all of it, some
// thousand events a second, and from its end to its beginning: what stands
// before there, and has no place, hides nobody for long and costs little.
func (d *dispatcher) look(ctx context.Context, l *lane) bool {
	if l.fresh.Swap(false) {
		for from := d.DB.DueSince(freshFor); ; {
			next, added := d.page(ctx, l, from)
			if next == (db.DuePlace{}) {
				return added || l.pages > 0
			}
			if d.crowded(l) {
				return added
			}
			from = next
		}
	}
	if l.pages == 0 || d.crowded(l) {
		return false
	}
	next, added := d.page(ctx, l, l.round)
	l.round = next
	if l.pages--; next == (db.DuePlace{}) {
		l.pages = 0
	}
	return added || l.pages > 0
}

// crowded reports whether enough waits on the board for now.
func (d *dispatcher) crowded(l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.board.lanes[l.lane].waiting > boardRoom/2
}

// page is one look. It returns where the next goes on, and whether the board
// has something that it had not.
func (d *dispatcher) page(ctx context.Context, l *lane, from db.DuePlace) (next db.DuePlace, added bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	due, next, err := d.DB.DueEvents(ctx, l.lane, from, lookMost)
	if err == nil {
		err = d.endInterrupted(ctx, due)
	}
	if err != nil {
		slog.ErrorContext(ctx, "due events could not be read; the sweep tries again", "error", err)
		return db.DuePlace{}, false
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range due {
		if !d.board.held[due[i].EventID] && d.board.offer(due[i], now) {
			added = true
		}
	}
	return next, added
}

// endInterrupted logs the attempts of processes that died.
func (d *dispatcher) endInterrupted(ctx context.Context, due []db.Due) error {
	out, err := d.DB.EndInterrupted(ctx, due)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(due, func(x db.Due) bool { return x.Interrupted() }) {
		d.Step("deliver.ended")
	}
	d.offer(out.Turns)
	return nil
}

// gaugeMost is up to where events that are due are counted.
const gaugeMost = 10000

// gauge shows how the lanes stand.
func (d *dispatcher) gauge(ctx context.Context) error {
	for lane, name := range laneNames {
		d.mu.Lock()
		underWay := d.board.lanes[lane].underWay
		d.mu.Unlock()
		lanePlaces.WithLabelValues(name).Set(float64(underWay))
		backlog, err := d.DB.Backlog(ctx, db.Lane(lane), gaugeMost)
		if err != nil {
			return err
		}
		age := 0.0
		if !backlog.Oldest.IsZero() {
			age = d.DB.Now().Sub(backlog.Oldest).Seconds()
		}
		queueDepth.WithLabelValues(name).Set(float64(backlog.Due))
		queueAge.WithLabelValues(name).Set(age)
	}
	return nil
}
