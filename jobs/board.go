package jobs

import (
	"net/url"
	"time"

	"github.com/flightwire/flightwire/db"
)

// Limits bound what one process has under way at a time. A quarter of a host's
// places, and a third of an account's, is for its slow endpoints; the rest is
// for the prompt ones.
type Limits struct {
	Prompt, Slow int // attempts in each lane; 0: 256 and 128
	Host         int // to one host; 0: 128
	Endpoint     int // to one endpoint, a URL without its query; 0: half of Host
	Account      int // of one account; 0: three quarters of both lanes
}

func (l Limits) withDefaults() Limits {
	def := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	def(&l.Prompt, 256)
	def(&l.Slow, 128)
	def(&l.Host, 128)
	def(&l.Endpoint, max(1, l.Host/2))
	def(&l.Account, (l.Prompt+l.Slow)*3/4)
	return l
}

// share returns the share of a lane in what a host or an account may have.
func share(lane db.Lane, all, slowPart int) int {
	slow := max(1, all/slowPart)
	if lane == db.Slow {
		return slow
	}
	return max(1, all-slow)
}

const (
	boardRoom    = 16384            // events that a board holds in a lane at most
	hostRoom     = boardRoom / 2    // of which to one host
	firstWindow  = 8                // attempts to an endpoint that is not known
	slowWindow   = 2                // to one that hangs or fails
	slowMemory   = 10 * time.Minute // how long one is remembered that has nothing to do
	endpointRoom = 20000            // endpoints that are remembered
	askedMost    = 64               // endpoints of a host that are asked in a row
)

// board is what a dispatcher knows of the events that are due, and of its
// attempts under way. It decides which events may be claimed: never one for
// which there is no place. It is not safe for concurrent use, and tells no time
// itself.
//
// An endpoint that hangs or fails is slow: its events wait for the slow lane's
// places, whichever lane they are in, until it answers in time again. How many
// attempts an endpoint may have under way grows with each that is answered in
// time, so that one that hangs from the first does not take many places.
type board struct {
	limits    Limits
	lanes     [db.Lanes]laneState
	endpoints map[string]*endpoint
	hosts     map[string]*host
	accounts  map[string]*count
	held      map[string]bool // events that wait here or are under way
}

type laneState struct {
	underWay int         // attempts
	waiting  int         // events
	turn     line[*host] // that have events, each once; the first has been passed over for the longest
}

// count is what is waiting and under way of one host or account.
type count struct {
	underWay [db.Lanes]int
	waiting  int
}

type host struct {
	count
	name   string
	turn   [db.Lanes]line[*endpoint] // its endpoints that have events, as the lane has hosts
	inTurn [db.Lanes]bool
}

type endpoint struct {
	name     string
	host     *host
	slow     bool
	window   int // attempts that it may have under way
	underWay int
	seen     time.Time
	due      [db.Lanes]line[db.Due] // that wait, by where they wait
	inTurn   [db.Lanes]bool
}

// seat is an event that has a place for its attempt.
type seat struct {
	db.Due
	endpoint *endpoint
	lane     db.Lane // whose place it has
	left     bool    // it has given that back
}

func newBoard(l Limits) *board {
	return &board{
		limits: l.withDefaults(), endpoints: make(map[string]*endpoint),
		hosts: make(map[string]*host), accounts: make(map[string]*count), held: make(map[string]bool),
	}
}

// endpointOf names what limits go by: the URL without its query, and its host.
func endpointOf(raw string) (name, host string) {
	u, err := url.Parse(raw)
	if err != nil {
		return raw, raw
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath(), u.Hostname()
}

// offer has the board hold an event that is due. It reports whether it does:
// not when there is no room for it, and then it must be looked for again.
func (b *board) offer(d db.Due, now time.Time) bool {
	if b.held[d.EventID] {
		return true
	}
	e := b.endpoint(d.URL, now)
	lane := d.Lane
	if e.slow {
		lane = db.Slow
	}
	if b.lanes[lane].waiting >= boardRoom || e.host.waiting >= hostRoom {
		b.forget(e, d.Account)
		return false
	}
	b.held[d.EventID] = true
	e.host.waiting++
	b.account(d.Account).waiting++
	b.line(e, lane, d)
	return true
}

// line has an event wait in an endpoint's line of a lane.
func (b *board) line(e *endpoint, lane db.Lane, d db.Due) {
	e.due[lane].push(d)
	b.lanes[lane].waiting++
	if !e.inTurn[lane] {
		e.inTurn[lane] = true
		e.host.turn[lane].push(e)
	}
	if !e.host.inTurn[lane] {
		e.host.inTurn[lane] = true
		b.lanes[lane].turn.push(e.host)
	}
}

func (b *board) endpoint(raw string, now time.Time) *endpoint {
	name, hostName := endpointOf(raw)
	e := b.endpoints[name]
	if e == nil {
		if len(b.endpoints) >= endpointRoom {
			b.forgetOld(now)
		}
		e = &endpoint{name: name, window: min(firstWindow, b.limits.Endpoint)}
		b.endpoints[name] = e
	}
	if e.host == nil || b.hosts[hostName] != e.host {
		e.host = b.host(hostName)
	}
	e.seen = now
	return e
}

func (b *board) host(name string) *host {
	h := b.hosts[name]
	if h == nil {
		h = &host{name: name}
		b.hosts[name] = h
	}
	return h
}

func (b *board) account(id string) *count {
	c := b.accounts[id]
	if c == nil {
		c = new(count)
		b.accounts[id] = c
	}
	return c
}

// take seats up to most of the events that wait in a lane, from each host in
// turn, and of that from each endpoint in turn.
func (b *board) take(lane db.Lane, most int) (seats []*seat) {
	turn := &b.lanes[lane].turn
	for passed := 0; passed < turn.len() && len(seats) < most && b.free(lane) > 0; {
		h := turn.pop()
		s := b.takeFrom(h, lane)
		if h.inTurn[lane] = h.turn[lane].len() > 0; h.inTurn[lane] {
			turn.push(h)
			passed++
		}
		if s != nil {
			seats = append(seats, s)
			passed = 0
		}
	}
	return seats
}

// takeFrom seats one event of a host. It returns nil where the host is full, or
// none of some endpoints that are asked in turn may have a place.
func (b *board) takeFrom(h *host, lane db.Lane) *seat {
	if h.underWay[lane] >= share(lane, b.limits.Host, 4) {
		return nil
	}
	turn := &h.turn[lane]
	for range min(turn.len(), askedMost) {
		e := turn.pop()
		if e.slow && lane == db.Prompt {
			b.demote(e)
			continue
		}
		d := e.due[lane].first()
		fits := b.fits(e, d, lane)
		if fits {
			e.due[lane].pop()
		}
		if e.inTurn[lane] = e.due[lane].len() > 0; e.inTurn[lane] {
			turn.push(e)
		}
		if fits {
			b.seat(e, d, lane)
			return &seat{Due: d, endpoint: e, lane: lane}
		}
	}
	return nil
}

// free returns how many more attempts a lane has places for. Attempts that turn
// out to hang go on in the slow lane beyond its places; however many there are,
// both lanes together stay below a bound.
func (b *board) free(lane db.Lane) int {
	places := b.limits.Prompt
	if lane == db.Slow {
		places = b.limits.Slow
	}
	all := b.lanes[db.Prompt].underWay + b.lanes[db.Slow].underWay
	return min(places-b.lanes[lane].underWay, 3*(b.limits.Prompt+b.limits.Slow)-all)
}

// fits reports whether an attempt keeps the limits of its endpoint and account.
func (b *board) fits(e *endpoint, d db.Due, lane db.Lane) bool {
	return e.underWay < e.window && b.account(d.Account).underWay[lane] < share(lane, b.limits.Account, 3)
}

// demote moves the line of an endpoint that has become slow to the slow lane.
func (b *board) demote(e *endpoint) {
	e.inTurn[db.Prompt] = false
	for e.due[db.Prompt].len() > 0 {
		b.lanes[db.Prompt].waiting--
		b.line(e, db.Slow, e.due[db.Prompt].pop())
	}
}

func (b *board) seat(e *endpoint, d db.Due, lane db.Lane) {
	b.lanes[lane].waiting--
	b.lanes[lane].underWay++
	e.underWay++
	for _, c := range []*count{&e.host.count, b.account(d.Account)} {
		c.waiting--
		c.underWay[lane]++
	}
}

// overdue notes that an attempt lasts too long for its lane: it goes on in the
// slow one, and its endpoint is slow.
func (b *board) overdue(s *seat) {
	if s.left {
		return
	}
	b.slow(s.endpoint)
	if s.lane == db.Slow {
		return
	}
	s.lane = db.Slow
	b.lanes[db.Prompt].underWay--
	b.lanes[db.Slow].underWay++
	for _, c := range []*count{&s.endpoint.host.count, b.accounts[s.Account]} {
		c.underWay[db.Prompt]--
		c.underWay[db.Slow]++
	}
}

func (b *board) slow(e *endpoint) { e.slow, e.window = true, slowWindow }

// health is what an attempt says of its endpoint.
type health int

const (
	unseen health = iota // nothing: the attempt was not made
	well                 // it answers in time
	ill                  // it hangs or fails
)

// leave gives the place of an attempt back.
func (b *board) leave(s *seat, h health, now time.Time) {
	e := s.endpoint
	switch h {
	case well:
		e.slow, e.window = false, min(e.window+1, b.limits.Endpoint)
	case ill:
		b.slow(e)
	}
	delete(b.held, s.EventID)
	s.left = true
	b.lanes[s.lane].underWay--
	e.underWay--
	e.host.underWay[s.lane]--
	b.accounts[s.Account].underWay[s.lane]--
	e.seen = now
	b.forget(e, s.Account)
}

// forget drops what nothing waits for and nothing is under way of.
func (b *board) forget(e *endpoint, account string) {
	if e.host.count == (count{}) {
		delete(b.hosts, e.host.name)
	}
	if c := b.accounts[account]; c != nil && *c == (count{}) {
		delete(b.accounts, account)
	}
	if !e.slow && e.idle() {
		delete(b.endpoints, e.name)
	}
}

func (e *endpoint) idle() bool {
	return e.underWay == 0 && e.due[db.Prompt].len() == 0 && e.due[db.Slow].len() == 0
}

// forgetOld drops slow endpoints that have had nothing to do for a while, and
// all of the idle ones where that leaves too many.
func (b *board) forgetOld(now time.Time) {
	for _, memory := range []time.Duration{slowMemory, 0} {
		for name, e := range b.endpoints {
			if e.idle() && now.Sub(e.seen) >= memory {
				delete(b.endpoints, name)
			}
		}
		if len(b.endpoints) < endpointRoom {
			return
		}
	}
}
