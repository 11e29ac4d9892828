package jobs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flightwire/flightwire/db"
)

// dispatcher claims the events that are due and have a place, sends them side by
// side, and records their results in groups as they come in. A slow receiver
// holds its own place and nobody's group.
type dispatcher struct {
	WorkerConfig
	mu      sync.Mutex
	board   *board
	lanes   [db.Lanes]lane
	results chan db.Result
	retries chan time.Time // when to be woken
	logged  chan []string  // subscriptions whose attempts were recorded
	halted  atomic.Bool

	cancel                           context.CancelFunc
	claims, sends, records, alarming sync.WaitGroup // what stops in this order
}

// lane is one lane's part of the dispatcher.
type lane struct {
	lane  db.Lane
	bell  chan struct{} // one slot: there may be something to claim
	fresh atomic.Bool   // what has become due lately is to be looked at
	sweep atomic.Bool   // so is everything that is due

	// What the lane's loop alone uses.
	round db.DuePlace // where the sweep has come to
	pages int         // that it may still read
}

const (
	claimMost    = 256              // events in one claim
	claimTimeout = 10 * time.Second // of one claim, and of one look
	resultRoom   = 512              // results that wait to be recorded

	// Under load, a claim of fewer than claimEnough waits a moment for more
	// places: a statement for one event costs the database almost what it does
	// for a dozen.
	claimEnough = 64
	claimSoon   = 3 * time.Millisecond
)

func newDispatcher(c WorkerConfig) *dispatcher {
	d := &dispatcher{
		WorkerConfig: c,
		board:        newBoard(c.Limits),
		results:      make(chan db.Result, resultRoom),
		retries:      make(chan time.Time, retryBacklog),
		logged:       make(chan []string, recordBacklog),
	}
	for i := range d.lanes {
		d.lanes[i].lane, d.lanes[i].bell = db.Lane(i), make(chan struct{}, 1)
	}
	return d
}

// wake makes the dispatcher look for what has become due lately. It never
// blocks, and reports whether there is a place for what it may find.
func (d *dispatcher) wake() (room bool) {
	for i := range d.lanes {
		d.lanes[i].fresh.Store(true)
		d.lanes[i].ring()
	}
	return d.hasRoom()
}

// hasRoom reports whether it would send more.
func (d *dispatcher) hasRoom() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.halted.Load() && d.board.free(db.Prompt) > 0
}

// wakeAll makes it look for everything that is due.
func (d *dispatcher) wakeAll() {
	for i := range d.lanes {
		d.lanes[i].sweep.Store(true)
		d.lanes[i].ring()
	}
}

func (l *lane) ring() {
	select {
	case l.bell <- struct{}{}:
	default: // it is about to look anyway
	}
}

// offer has events sent that have just become due. It reports whether the
// dispatcher will see to all of them.
func (d *dispatcher) offer(due []db.Due) bool {
	if d.halted.Load() {
		return false
	}
	all := true
	now := time.Now()
	d.mu.Lock()
	for i := range due {
		all = d.board.offer(due[i], now) && all
	}
	d.mu.Unlock()
	d.ringAll()
	return all
}

func (d *dispatcher) ringAll() {
	for i := range d.lanes {
		d.lanes[i].ring()
	}
}

func (d *dispatcher) start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	for i := range d.lanes {
		l := &d.lanes[i]
		d.claims.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-l.bell:
					d.claim(ctx, l)
				}
			}
		})
	}
	d.records.Go(d.record)
	d.alarming.Go(d.alarm)
	d.alarming.Go(d.tell)
}

// halt makes it claim nothing more.
func (d *dispatcher) halt() {
	d.halted.Store(true)
	d.cancel()
	d.claims.Wait()
}

// stop halts, waits for what is under way, and records it.
func (d *dispatcher) stop() {
	d.halt()
	d.sends.Wait()
	close(d.results)
	d.records.Wait()
	close(d.retries)
	close(d.logged)
	d.alarming.Wait()
}

// lease is how long an event is claimed for: it outlasts the attempt.
func (d *dispatcher) lease() time.Duration { return d.Timeout + d.leaseMargin }

// claim takes what is due in a lane until there is no more, or no place for it.
func (d *dispatcher) claim(ctx context.Context, l *lane) {
	if l.sweep.Swap(false) {
		l.pages = sweepPages
	}
	for ctx.Err() == nil {
		seats, more := d.take(l, nil)
		if more && len(seats) < claimEnough && len(seats) > 0 { // places become free one by one
			time.Sleep(claimSoon)
			seats, _ = d.take(l, seats)
		}
		if len(seats) > 0 {
			d.claimSeats(ctx, seats)
		} else if !d.look(ctx, l) {
			return
		}
	}
}

// take adds to seats what has a place now. more says whether something waits
// that has none.
func (d *dispatcher) take(l *lane, seats []*seat) (all []*seat, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = append(seats, d.board.take(l.lane, claimMost-len(seats))...)
	return all, d.board.lanes[l.lane].waiting > 0
}

// claimSeats claims the events that have places, and sends what it gets.
func (d *dispatcher) claimSeats(ctx context.Context, seats []*seat) {
	ids := make([]string, len(seats))
	byID := make(map[string]*seat, len(seats))
	for i, s := range seats {
		ids[i] = s.EventID
		byID[s.EventID] = s
	}
	until := d.DB.Now().Add(d.lease())
	claimCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	attempts, err := d.DB.ClaimEvents(claimCtx, ids, d.lease())
	cancel()
	if err != nil {
		slog.ErrorContext(ctx, "events could not be claimed; the sweep tries again", "error", err)
	}
	if len(attempts) > 0 {
		d.Step("deliver.claimed")
	}
	for _, a := range attempts {
		s := byID[a.EventID]
		delete(byID, a.EventID)
		d.sends.Go(func() { d.send(a, s, until) })
	}
	for _, s := range byID { // another process has them, or nobody needs them any more
		d.leave(s, unseen)
	}
}

// leave gives a place back and sees who can have it.
func (d *dispatcher) leave(s *seat, h health) {
	d.mu.Lock()
	d.board.leave(s, h, time.Now())
	d.mu.Unlock()
	d.ringAll()
}
