package jobs

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/flightwire/flightwire/db"
)

const (
	recordMost     = 256              // how many results one transaction records at most
	retryBacklog   = 1024             // wake-ups that wait for Redis
	recordBacklog  = 64               // groups of which viewers are to be told
	recordTimeout  = 10 * time.Second // of one transaction that records
	firstRecordGap = 50 * time.Millisecond

	// Under load, a group of fewer than recordEnough waits a moment for more,
	// and longer while more than aFew attempts are under way: a transaction for
	// a dozen costs the database almost what it does for a hundred.
	recordEnough = 128
	aFew         = 32
	recordSoon   = 2 * time.Millisecond
	recordLater  = 5 * time.Millisecond
)

// record writes results in groups: whatever has come in while the group before
// was being written, and a moment longer while more is under way.
func (d *dispatcher) record() {
	for r := range d.results {
		group := append(make([]db.Result, 0, recordMost), r)
		group = d.gather(group)
		if n := d.underWay(); n > 0 && len(group) < recordEnough {
			pause := recordSoon
			if n > aFew {
				pause = recordLater
			}
			time.Sleep(pause)
			group = d.gather(group)
		}
		d.recordGroup(group)
	}
}

// gather adds the results that are there.
func (d *dispatcher) gather(group []db.Result) []db.Result {
	for len(group) < recordMost {
		select {
		case r, ok := <-d.results:
			if !ok {
				return group
			}
			group = append(group, r)
		default:
			return group
		}
	}
	return group
}

// underWay returns how many attempts have places.
func (d *dispatcher) underWay() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.board.lanes[db.Prompt].underWay + d.board.lanes[db.Slow].underWay
}

// recordGroup writes one group, again and again while the database is away:
// what was sent and is not recorded would be sent once more.
func (d *dispatcher) recordGroup(group []db.Result) {
	deadline := time.Now().Add(d.lease()) // then the claims have run out
	for wait := firstRecordGap; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
		out, err := d.DB.RecordResults(ctx, group)
		cancel()
		if err == nil {
			d.Step("deliver.recorded")
			d.schedule(out.Retries)
			d.note(group)
			if !d.offer(out.Turns) && len(out.Turns) > 0 {
				d.passOn()
			}
			return
		}
		slog.Error("results of deliveries could not be recorded", "results", len(group), "error", err)
		if time.Now().Add(wait).After(deadline) {
			return // the attempts count as interrupted
		}
		time.Sleep(wait)
	}
}

// passOn wakes another process.
func (d *dispatcher) passOn() {
	ctx, cancel := context.WithTimeout(context.Background(), ringTimeout)
	defer cancel()
	if err := d.Client.enqueueDeliver(ctx); err != nil {
		slog.Warn("deliveries could not be passed on; the sweep finds them", "error", err)
	}
}

// schedule has the dispatchers woken when retries are due, once a second. It
// does not wait for Redis, which may be away while results pile up.
func (d *dispatcher) schedule(retries []time.Time) {
	slices.SortFunc(retries, time.Time.Compare)
	sameSecond := func(a, b time.Time) bool { return a.Unix() == b.Unix() }
	for _, at := range slices.CompactFunc(retries, sameSecond) {
		select {
		case d.retries <- at:
		default: // the sweep will find it
		}
	}
}

// alarm sets the alarm clock for the retries.
func (d *dispatcher) alarm() {
	for at := range d.retries {
		ctx, cancel := context.WithTimeout(context.Background(), ringTimeout)
		err := d.Client.DeliverAt(ctx, at)
		cancel()
		if err == nil {
			continue
		}
		slog.Warn("a retry could not be scheduled; the sweep will find it", "error", err)
		for len(d.retries) > 0 {
			<-d.retries
		}
	}
}

// note has viewers told of the attempts of a group. It does not wait for Redis:
// those who are not told see them at their next look.
func (d *dispatcher) note(group []db.Result) {
	ids := make([]string, len(group))
	for i, r := range group {
		ids[i] = r.Attempt.SubscriptionID
	}
	slices.Sort(ids)
	select {
	case d.logged <- slices.Compact(ids):
	default:
	}
}

// tell rings for the attempts that were recorded.
func (d *dispatcher) tell() {
	quiet := false
	for ids := range d.logged {
		err := d.Client.RingLogs(context.Background(), ids...)
		if err != nil && !quiet { // once, not for every group
			slog.Warn("viewers could not be told of attempts; they see them at their next look", "error", err)
		}
		quiet = err != nil
	}
}
