package graph

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// BoardChange is what a message of a live board tells of a leg.
type BoardChange string

// The changes.
const (
	BoardAdded   BoardChange = "added"   // it stands on the board
	BoardChanged BoardChange = "changed" // something about it changed
	BoardRemoved BoardChange = "removed" // it stands there no longer
)

// BoardUpdate is one message of a live board.
type BoardUpdate struct {
	Cursor            string
	Change            BoardChange
	Leg               string           // its id, the same in every message about it
	Flight            *flight.Snapshot // nil when it is removed
	Changes           []flight.Change  // empty unless it is changed
	PreviousFetchedAt flight.Time
}

const (
	maxBoardLegs  = 200 // of a live board
	maxHoursBack  = 24
	maxHoursAhead = 72

	lookPause = 200 * time.Millisecond // between two looks at a board, at least
)

// boardKey says which board somebody follows.
type boardKey struct {
	account, airport string
	direction        db.Direction
	back, ahead      int // hours of world time
}

// Board follows the departures or the arrivals of an airport until ctx ends,
// which closes the channel: the legs of which the account has a subscription,
// whatever its status, and whose best known time there is no more than hoursBack
// ago and no more than hoursAhead ahead. First comes every leg that stands there;
// with after, what has become of the board since. Errors: CodeInvalid, also for
// more than 200 legs; CodeLiveLegLimit when the account would watch more legs
// than it may. A board that comes to that later ends, and says why when it is
// opened again.
func (s *streams) Board(ctx context.Context, airport string, direction BoardDirection, hoursBack, hoursAhead int, after *string) (<-chan *BoardUpdate, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	key := parseBoard(&v, acc, airport, direction, hoursBack, hoursAhead)
	if err := v.Err(); err != nil {
		return nil, err
	}
	known := vector{}
	if after != nil {
		var ok bool
		if known, ok = parseVector(*after); !ok {
			return nil, errVector
		}
	}
	h := s.r.live
	t := h.boards.join(key)
	b := &liveBoard{bundle: newBundle(s), out: make(chan *BoardUpdate)}
	first, err := b.begin(ctx, t, known)
	if err != nil {
		b.close()
		h.boards.leave(t)
		return nil, err
	}
	go func() {
		defer close(b.out)
		defer b.close()
		defer h.boards.leave(t)
		b.run(ctx, t, first, known)
	}()
	return b.out, nil
}

// parseBoard reads which board is meant. It records every fault in v.
func parseBoard(v *flight.Invalid, account, airport string, direction BoardDirection, hoursBack, hoursAhead int) boardKey {
	key := boardKey{account: account, airport: parseAirport(v, airport), direction: direction.parse(v), back: hoursBack, ahead: hoursAhead}
	if hoursBack < 0 || hoursBack > maxHoursBack {
		v.Add("hoursBack", "must be 0 to %d", maxHoursBack)
	}
	if hoursAhead < 1 || hoursAhead > maxHoursAhead {
		v.Add("hoursAhead", "must be 1 to %d", maxHoursAhead)
	}
	return key
}

// liveBoard is one client's board.
type liveBoard struct {
	*bundle
	out chan *BoardUpdate
}

// begin takes in what stands on the board, and returns what of it the client is
// to be told.
func (b *liveBoard) begin(ctx context.Context, t *boardTail, known vector) ([]db.Update, error) {
	legs, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(legs) > maxBoardLegs {
		var v flight.Invalid
		v.Add("hoursAhead", "must be less: more than %d legs stand on this board", maxBoardLegs)
		return nil, v.Err()
	}
	return b.open(ctx, legs, known)
}

// run tells what the client does not know of the board, and then what becomes
// of it.
func (b *liveBoard) run(ctx context.Context, t *boardTail, first []db.Update, known vector) {
	for id, version := range known { // what the client has on its board, and is not on it
		if b.seats[id] == nil {
			b.told[id] = version
		}
	}
	for id := range known {
		if b.seats[id] == nil && !b.remove(ctx, id) {
			return
		}
	}
	if !b.add(ctx, first) {
		return
	}
	for {
		legs, moved, full := t.now()
		if full || !b.settle(ctx, legs) {
			return
		}
		waits, ok := b.pass(ctx, func(u db.Update) bool {
			return send(ctx, b.out, &BoardUpdate{
				Cursor: b.tell(u), Change: BoardChanged, Leg: boardLeg(u.FlightID),
				Flight: u.Snapshot, Changes: u.Changes, PreviousFetchedAt: u.PreviousFetchedAt,
			})
		})
		if !ok || waits != nil && !awaitAny(ctx, append(waits, moved)) {
			return
		}
	}
}

// settle brings the seats in line with what stands on the board. false ends the
// stream.
func (b *liveBoard) settle(ctx context.Context, legs []string) bool {
	stands := make(map[string]bool, len(legs))
	var fresh []string
	for _, id := range legs {
		stands[id] = true
		if b.seats[id] == nil {
			fresh = append(fresh, id)
		}
	}
	for _, id := range slices.Clone(b.legs) {
		if !stands[id] {
			b.drop(id)
			if !b.remove(ctx, id) {
				return false
			}
		}
	}
	if len(fresh) == 0 {
		return true
	}
	first, err := b.open(ctx, fresh, nil)
	if flight.CodeOf(err) == flight.CodeLiveLegLimit {
		return false // told when it is opened again
	}
	if err != nil {
		if ctx.Err() == nil {
			slog.WarnContext(ctx, "legs could not be put on a live board; it is tried again", "legs", len(fresh), "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(readAgain):
		}
	}
	return b.add(ctx, first)
}

// add tells of legs that stand on the board and that the client does not know.
func (b *liveBoard) add(ctx context.Context, first []db.Update) bool {
	for _, u := range first {
		if _, known := b.told[u.FlightID]; known {
			continue
		}
		m := &BoardUpdate{Cursor: b.tell(u), Change: BoardAdded, Leg: boardLeg(u.FlightID), Flight: u.Snapshot, Changes: []flight.Change{}}
		if !send(ctx, b.out, m) {
			return false
		}
	}
	return true
}

// remove tells of a leg that stands on the board no longer. How it stands is not
// said: it may be no business of the account any more.
func (b *liveBoard) remove(ctx context.Context, id string) bool {
	delete(b.told, id)
	return send(ctx, b.out, &BoardUpdate{Cursor: b.told.String(), Change: BoardRemoved, Leg: boardLeg(id), Changes: []flight.Change{}})
}

// boards are the boards that are followed here. Each is read once, however many
// follow it.
type boards struct {
	db  *db.DB
	now func() flight.Time

	mu   sync.Mutex
	open map[boardKey]*boardTail
}

func newBoards(d *db.DB, now func() flight.Time) *boards {
	return &boards{db: d, now: now, open: make(map[boardKey]*boardTail)}
}

// read returns the legs that stand on a board, in the order of their times, and
// one more than there may be where there are too many.
func (bs *boards) read(ctx context.Context, key boardKey) ([]string, error) {
	now := bs.now()
	places, err := bs.db.Board(ctx, db.BoardRange{
		Account: key.account, Airport: key.airport, Direction: key.direction,
		From: now - milliseconds(time.Duration(key.back)*time.Hour), To: now + milliseconds(time.Duration(key.ahead)*time.Hour),
	}, db.BoardPlace{}, maxBoardLegs+1)
	if err != nil {
		return nil, err
	}
	legs := make([]string, len(places))
	for i, p := range places {
		legs[i] = p.FlightID
	}
	return legs, nil
}

// join counts a follower in. Each join is followed by one leave.
func (bs *boards) join(key boardKey) *boardTail {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	t := bs.open[key]
	if t == nil {
		ctx, stop := context.WithCancel(context.Background())
		t = &boardTail{boards: bs, key: key, bell: make(chan struct{}, 1), stop: stop, moved: make(chan struct{})}
		bs.open[key] = t
		go t.follow(ctx)
	}
	t.readers++
	return t
}

func (bs *boards) leave(t *boardTail) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if t.readers--; t.readers == 0 {
		delete(bs.open, t.key)
		t.stop()
	}
}

// ring has the boards of an account read.
func (bs *boards) ring(account string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for key, t := range bs.open {
		if key.account == account {
			t.ring()
		}
	}
}

func (bs *boards) ringAll() {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, t := range bs.open {
		t.ring()
	}
}

// boardTail is a board as it was last read.
type boardTail struct {
	boards  *boards
	key     boardKey
	bell    chan struct{} // one slot
	stop    context.CancelFunc
	readers int // under boards.mu

	looking sync.Mutex // one look at a time, so that none overtakes another

	mu    sync.Mutex
	legs  []string
	moved chan struct{} // closed when other legs stand on it
}

func (t *boardTail) ring() {
	select {
	case t.bell <- struct{}{}:
	default: // it is rung already
	}
}

// now returns the legs that stand on the board. moved is closed when there are
// others; full is true when there are too many.
func (t *boardTail) now() (legs []string, moved <-chan struct{}, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.legs, t.moved, len(t.legs) > maxBoardLegs
}

// follow reads the board whenever the bell rings, and every few seconds because
// time passes, until ctx ends.
func (t *boardTail) follow(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.bell:
		case <-tick.C:
		}
		if _, err := t.look(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "a live board could not be read; it is read again", "airport", t.key.airport, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookPause): // an account that subscribes to very much rings all the while
		}
	}
}

// look reads the board.
func (t *boardTail) look(ctx context.Context) ([]string, error) {
	t.looking.Lock()
	defer t.looking.Unlock()
	legs, err := t.boards.read(ctx, t.key)
	if err == nil {
		t.set(legs)
	}
	return legs, err
}

// set wakes the followers where other legs stand on the board than before.
func (t *boardTail) set(legs []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := slices.Equal(slices.Sorted(slices.Values(legs)), slices.Sorted(slices.Values(t.legs)))
	t.legs = legs
	if !same {
		close(t.moved)
		t.moved = make(chan struct{})
	}
}
