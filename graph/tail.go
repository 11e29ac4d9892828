package graph

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/flightwire/flightwire/flight"
)

const (
	lookEvery  = 5 * time.Second // a log is read again, rung or not
	readAtOnce = 64              // entries read in one go
	tailLength = 16              // entries kept in memory for those who follow
)

// tails are the ends of logs of one kind that are followed here, by the id of
// what they are about. Each is read once, however many follow it.
type tails[T any] struct {
	what string // for logs
	// read returns the entries after a place, oldest first.
	// CodeSubscriptionMissing when the log is gone for good.
	read  func(ctx context.Context, id string, after int64, limit int) ([]T, error)
	place func(T) int64

	mu   sync.Mutex
	open map[string]*tail[T]
}

func newTails[T any](what string, read func(context.Context, string, int64, int) ([]T, error), place func(T) int64) *tails[T] {
	return &tails[T]{what: what, read: read, place: place, open: make(map[string]*tail[T])}
}

// join counts a reader of a log in, who goes on behind the place at. end is
// where the log ended a moment ago, topic what it is rung by besides its id.
// Each join is followed by one leave.
func (ts *tails[T]) join(id, topic string, end, at int64) (r *reader[T], first bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.open[id]
	if t == nil {
		first = true
		ctx, stop := context.WithCancel(context.Background())
		t = &tail[T]{tails: ts, id: id, topic: topic, bell: make(chan struct{}, 1), stop: stop, from: end, upto: end, moved: make(chan struct{})}
		ts.open[id] = t
		go t.follow(ctx)
		t.ring() // something may have come since end was read
	}
	t.readers++
	return &reader[T]{t, at}, first
}

// leave counts a reader out. With the last one goes the tail.
func (r *reader[T]) leave() {
	ts := r.tail.tails
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if r.tail.readers--; r.tail.readers == 0 {
		delete(ts.open, r.tail.id)
		r.tail.stop()
	}
}

// ring makes a log be read, if it is followed here.
func (ts *tails[T]) ring(id string) {
	ts.mu.Lock()
	t := ts.open[id]
	ts.mu.Unlock()
	if t != nil {
		t.ring()
	}
}

// ringTopic makes the logs of a topic be read.
func (ts *tails[T]) ringTopic(topic string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.open {
		if t.topic == topic {
			t.ring()
		}
	}
}

// ringAll makes every log be read.
func (ts *tails[T]) ringAll() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.open {
		t.ring()
	}
}

// ids returns what is followed here.
func (ts *tails[T]) ids() []string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ids := make([]string, 0, len(ts.open))
	for id := range ts.open {
		ids = append(ids, id)
	}
	return ids
}

// tail is the end of a log, read once for all who follow it here.
type tail[T any] struct {
	tails   *tails[T]
	id      string
	topic   string        // "": none
	bell    chan struct{} // one slot: there may be something new
	stop    context.CancelFunc
	readers int // under tails.mu

	mu      sync.Mutex
	from    int64         // entries holds everything after this place
	upto    int64         // up to this one
	entries []T           // oldest first
	over    bool          // the log is gone: nothing comes any more
	moved   chan struct{} // closed when there are more, or when it is over
}

func (t *tail[T]) ring() {
	select {
	case t.bell <- struct{}{}:
	default: // it is rung already
	}
}

// follow reads the log whenever the bell rings, and every few seconds because a
// ring can be lost, until ctx ends or the log is gone.
func (t *tail[T]) follow(ctx context.Context) {
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
			news, err := t.tails.read(ctx, t.id, t.upto, readAtOnce) // upto is written here only
			switch {
			case flight.CodeOf(err) == flight.CodeSubscriptionMissing:
				t.end()
				return
			case err != nil && ctx.Err() == nil:
				slog.WarnContext(ctx, "news could not be read; they are read again", "of", t.tails.what, "id", t.id, "error", err)
			}
			t.add(news)
			more = len(news) == readAtOnce
		}
	}
}

// add appends news and wakes the readers.
func (t *tail[T]) add(news []T) {
	if len(news) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(t.entries, news...)
	if cut := len(all) - tailLength; cut > 0 {
		t.from = t.tails.place(all[cut-1])
		all = all[cut:]
	}
	t.entries = slices.Clone(all) // readers have the old one; nothing before it is held on to
	t.upto = t.tails.place(news[len(news)-1])
	close(t.moved)
	t.moved = make(chan struct{})
}

// end tells the readers that nothing comes any more.
func (t *tail[T]) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	close(t.moved)
	t.moved = make(chan struct{})
}

// after returns the entries after a place. behind is true when the tail does
// not reach back so far; everything up to from must then be read from the
// database. moved is closed when there are more.
func (t *tail[T]) after(at int64) (news []T, behind bool, from int64, over bool, moved <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < t.from {
		return nil, true, t.from, t.over, t.moved
	}
	i, _ := slices.BinarySearchFunc(t.entries, at+1, func(e T, v int64) int { return int(t.tails.place(e) - v) })
	return t.entries[i:], false, t.from, t.over, t.moved
}

// reader is somebody's place in a log. It belongs to one goroutine.
type reader[T any] struct {
	tail *tail[T]
	at   int64
}

// readAgain is the pause after the database failed a reader who is behind.
const readAgain = time.Second

// ready returns what is there after the reader's place and moves the place
// behind it. When there is nothing, moved is closed as soon as there may be.
// ok is false when nothing comes any more, because the log is gone or ctx ended.
func (r *reader[T]) ready(ctx context.Context) (news []T, moved <-chan struct{}, ok bool) {
	for {
		news, behind, from, over, moved := r.tail.after(r.at)
		if behind {
			if news, ok = r.catchUp(ctx); !ok {
				return nil, nil, false
			}
		}
		if n := len(news); n > 0 {
			r.at = r.tail.tails.place(news[n-1])
		}
		if behind && len(news) < readAtOnce { // nothing else lies before the tail
			r.at = max(r.at, from)
		}
		if len(news) > 0 || !behind {
			return news, moved, len(news) > 0 || !over
		}
	}
}

// catchUp reads on from the database for as long as it takes; ok is false when
// ctx ended, or the log is gone.
func (r *reader[T]) catchUp(ctx context.Context) (news []T, ok bool) {
	ts := r.tail.tails
	for {
		news, err := ts.read(ctx, r.tail.id, r.at, readAtOnce)
		switch {
		case err == nil:
			return news, true
		case flight.CodeOf(err) == flight.CodeSubscriptionMissing:
			return nil, false
		case ctx.Err() == nil:
			slog.WarnContext(ctx, "what a reader has missed could not be read; it is read again", "of", ts.what, "id", r.tail.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(readAgain):
		}
	}
}

// forward sends first, if there is one, and then a message for every entry
// after the reader's place, until ctx ends or the log is gone.
func forward[T, M any](ctx context.Context, r *reader[T], first *M, message func(T) *M, out chan<- *M) {
	if first != nil && !send(ctx, out, first) {
		return
	}
	for {
		news, moved, ok := r.ready(ctx)
		if !ok {
			return
		}
		for _, e := range news {
			if !send(ctx, out, message(e)) {
				return
			}
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

// send hands a message over, however long the client takes; false when ctx
// ended.
func send[M any](ctx context.Context, out chan<- *M, m *M) bool {
	select {
	case out <- m:
		return true
	case <-ctx.Done():
		return false
	}
}
