package graph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

const (
	findLimit = 8 // legs that are looked for side by side
)

// FlightsChanged follows several legs on one stream, as FlightChanged follows
// one; legs that are named twice count once. First come the present states, in
// the order of legs, but for those of which something came since after. A
// message's cursor says how far the stream has come with each leg, so after may
// be the cursor of other legs too: those that it does not know begin with their
// present state. Errors: those of FlightChanged, under the index of the leg;
// CodeInvalid for no legs, or more than 50.
func (s *streams) FlightsChanged(ctx context.Context, legs []LegInput, after *string) (<-chan *FlightUpdate, error) {
	if _, err := account(ctx); err != nil {
		return nil, err
	}
	known := vector{}
	if after != nil {
		var ok bool
		if known, ok = parseVector(*after); !ok {
			return nil, errVector
		}
	}
	ids, err := s.findAll(ctx, legs)
	if err != nil {
		return nil, err
	}
	b := newBundle(s)
	first, err := b.open(ctx, ids, known)
	if err == nil && len(b.legs) < len(ids) {
		err = flight.Errorf(flight.CodeConflict, "A leg changed while it was looked for. Try again.")
	}
	if err != nil {
		b.close()
		return nil, err
	}
	out := make(chan *FlightUpdate)
	go func() {
		defer close(out)
		defer b.close()
		b.follow(ctx, first, out)
	}()
	return out, nil
}

// findAll returns the rows of the legs that are meant, each once.
func (s *streams) findAll(ctx context.Context, legs []LegInput) ([]string, error) {
	var form, v flight.Invalid
	if len(legs) < 1 || len(legs) > maxLegs {
		v.Add("legs", "must be 1 to %d legs", maxLegs)
		return nil, v.Err()
	}
	keys, selectors := make([]flight.Key, len(legs)), make([]flight.Selector, len(legs))
	for i, leg := range legs {
		var of flight.Invalid
		keys[i], selectors[i] = s.r.parseLeg(&of, leg)
		form = append(form, under(i, leg.Faults)...)
		v = append(v, under(i, of)...)
	}
	if err := faults(form, v); err != nil {
		return nil, err
	}
	ids, errs := make([]string, len(legs)), make([]error, len(legs))
	places := make(chan struct{}, findLimit)
	var finds sync.WaitGroup
	for i := range legs {
		places <- struct{}{}
		finds.Go(func() {
			defer func() { <-places }()
			ids[i], errs[i] = s.find(ctx, keys[i], selectors[i])
		})
	}
	finds.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, ofLeg(i, err)
		}
	}
	return distinctIDs(ids), nil
}

// ofLeg says of which leg an error is.
func ofLeg(i int, err error) error {
	e, ok := errors.AsType[*flight.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Message = fmt.Sprintf("legs[%d]: %s", i, e.Message)
	return &named
}

// under puts the faults of the i-th leg under its index.
func under(i int, of flight.Invalid) (v flight.Invalid) {
	for _, f := range of {
		v.Add(fmt.Sprintf("legs[%d].%s", i, f.Field), "%s", f.Message)
	}
	return v
}

// distinctIDs returns each id once, in the order given.
func distinctIDs(ids []string) (out []string) {
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// bundle is several legs on one stream. It belongs to one goroutine.
type bundle struct {
	s     *streams
	told  vector   // how far the client has been told
	legs  []string // in the order in which they were taken in
	seats map[string]*seat
}

// seat is a leg of a bundle.
type seat struct {
	*reader[db.Update]
	uncount func()
}

func newBundle(s *streams) *bundle {
	return &bundle{s: s, told: vector{}, seats: map[string]*seat{}}
}

// open takes legs in, and returns the present states of those of which nothing
// came after the versions that are known. Legs that are gone are left out.
// CodeLiveLegLimit when the account watches as many legs as it may; CodeInvalid
// for a version that never was.
func (b *bundle) open(ctx context.Context, ids []string, known vector) (first []db.Update, err error) {
	h := b.s.r.live
	// The present comes before what came since, or a change between the two is lost.
	presents, err := h.db.LatestUpdates(ctx, ids)
	if err != nil {
		return nil, err
	}
	since := vector{}
	for _, u := range presents {
		at, ok := known[u.FlightID]
		if ok && at > u.Version {
			return nil, errVector
		}
		if ok {
			since[u.FlightID], b.told[u.FlightID] = at, at
		}
	}
	moved, err := h.db.Moved(ctx, since)
	if err != nil {
		return nil, err
	}
	var unwatched []string
	for _, u := range presents {
		uncount, err := b.s.count(ctx, u.FlightID)
		if err != nil {
			return nil, err
		}
		begin := u.Version
		if moved[u.FlightID] {
			begin = since[u.FlightID]
		} else {
			first = append(first, u)
		}
		r, isFirst := h.legs.join(u.FlightID, "", u.Version, begin)
		b.seats[u.FlightID], b.legs = &seat{r, uncount}, append(b.legs, u.FlightID)
		if isFirst {
			unwatched = append(unwatched, u.FlightID)
		}
	}
	return first, h.watch(ctx, unwatched)
}

// drop gives up a leg.
func (b *bundle) drop(id string) {
	b.seats[id].leave()
	b.seats[id].uncount()
	delete(b.seats, id)
	delete(b.told, id)
	b.legs = slices.DeleteFunc(b.legs, func(leg string) bool { return leg == id })
}

// close gives up every leg.
func (b *bundle) close() {
	for _, seat := range b.seats {
		seat.leave()
		seat.uncount()
	}
}

// follow sends the present states, and then every update of every leg, until
// ctx ends.
func (b *bundle) follow(ctx context.Context, first []db.Update, out chan<- *FlightUpdate) {
	tell := func(m *FlightUpdate, u db.Update) bool {
		m.Cursor = b.tell(u)
		return send(ctx, out, m)
	}
	for _, u := range first {
		if !tell(presentState(u), u) {
			return
		}
	}
	for {
		moved, ok := b.pass(ctx, func(u db.Update) bool { return tell(changeOf(u), u) })
		if !ok || moved != nil && !awaitAny(ctx, moved) {
			return
		}
	}
}

// tell notes what the client is told of a leg, and returns the cursor behind it.
func (b *bundle) tell(u db.Update) string {
	b.told[u.FlightID] = u.Version
	return b.told.String()
}

// pass gives tell what there is of each leg. When there was nothing, moved has
// what is closed as soon as there may be; ok is false when tell was, or ctx
// ended.
func (b *bundle) pass(ctx context.Context, tell func(db.Update) bool) (moved []<-chan struct{}, ok bool) {
	some := false
	moved = make([]<-chan struct{}, 0, len(b.legs))
	for _, id := range b.legs {
		news, more, ok := b.seats[id].ready(ctx)
		if !ok {
			return nil, false
		}
		for _, u := range news {
			if !tell(u) {
				return nil, false
			}
		}
		some = some || len(news) > 0
		moved = append(moved, more)
	}
	if some {
		return nil, true
	}
	return moved, true
}

// awaitAny waits until one of the channels is closed; false when ctx ended.
func awaitAny(ctx context.Context, moved []<-chan struct{}) bool {
	cases := make([]reflect.SelectCase, 0, len(moved)+1)
	cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())})
	for _, c := range moved {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	chosen, _, _ := reflect.Select(cases)
	return chosen != 0
}
