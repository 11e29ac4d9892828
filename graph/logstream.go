package graph

import (
	"context"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// SubscriptionEvent is one message about the events of a subscription: how it
// stands, which comes first, or else an event.
type SubscriptionEvent struct {
	Cursor       string
	Subscription *flight.Subscription // its secret masked
	Event        *flight.SentEvent
}

// DeliveryAttempt is one message about the attempts to deliver to a
// subscription: how it stands, which comes first, or else an attempt.
type DeliveryAttempt struct {
	Cursor       string
	Subscription *flight.Subscription // its secret masked
	Attempt      *flight.Delivery
}

// SubscriptionEvents follows the events of a subscription, in the order of its
// sequence, until ctx ends or it is deleted, which closes the channel. The first
// message is the subscription as it stands; with after, the events since come
// instead, where there are any. Errors: CodeSubscriptionMissing; CodeInvalid for
// a cursor of something else.
func (s *streams) SubscriptionEvents(ctx context.Context, id string, after *string) (<-chan *SubscriptionEvent, error) {
	return followLog(ctx, s, id, after, logStream[db.LoggedEvent, SubscriptionEvent]{
		name: "events", tails: s.r.live.events,
		end: func(p db.LogPlaces) int64 { return p.Event },
		first: func(sub *flight.Subscription, c string) *SubscriptionEvent {
			return &SubscriptionEvent{Cursor: c, Subscription: sub}
		},
		next: func(e db.LoggedEvent, c string) *SubscriptionEvent {
			return &SubscriptionEvent{Cursor: c, Event: e.SentEvent}
		},
	})
}

// DeliveryAttempts follows the attempts to deliver to a subscription, in the
// order in which they are logged, as SubscriptionEvents follows its events.
func (s *streams) DeliveryAttempts(ctx context.Context, id string, after *string) (<-chan *DeliveryAttempt, error) {
	return followLog(ctx, s, id, after, logStream[db.LoggedAttempt, DeliveryAttempt]{
		name: "attempts", tails: s.r.live.attempts,
		end: func(p db.LogPlaces) int64 { return p.Attempt },
		first: func(sub *flight.Subscription, c string) *DeliveryAttempt {
			return &DeliveryAttempt{Cursor: c, Subscription: sub}
		},
		next: func(a db.LoggedAttempt, c string) *DeliveryAttempt {
			return &DeliveryAttempt{Cursor: c, Attempt: a.Delivery}
		},
	})
}

// logStream says how one of the logs of a subscription becomes messages.
type logStream[T, M any] struct {
	name  string // in cursors, so that those of one log are none of the other
	tails *tails[T]
	end   func(db.LogPlaces) int64
	first func(sub *flight.Subscription, cursor string) *M
	next  func(entry T, cursor string) *M
}

func followLog[T, M any](ctx context.Context, s *streams, id string, after *string, l logStream[T, M]) (<-chan *M, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	places, err := s.r.cfg.DB.LogPlaces(ctx, id) // before the state, which must not be older
	if err != nil {
		return nil, err
	}
	sub, err := masked(s.r.cfg.DB.Subscription(ctx, acc, id))
	if err != nil {
		return nil, err
	}
	at := func(place int64) string { return cursor{l.name + " " + id, place}.String() }
	end := l.end(places)
	begin, first := end, l.first(sub, at(end))
	if after != nil {
		c, ok := parseCursor(*after)
		if !ok || c.id != l.name+" "+id || c.place > end {
			return nil, errLogCursor
		}
		if c.place < end {
			begin, first = c.place, nil
		}
	}
	r, _ := l.tails.join(id, sub.FlightKey, end, begin)
	out := make(chan *M)
	go func() {
		defer close(out)
		defer r.leave()
		forward(ctx, r, first, func(e T) *M { return l.next(e, at(l.tails.place(e))) }, out)
	}()
	return out, nil
}

var errLogCursor = &flight.Error{
	Code: flight.CodeInvalid, Message: "after: must be the cursor of a message of this stream about this subscription; leave it out to begin with what comes next",
	Fields: []flight.FieldError{{Field: "after", Message: "must be the cursor of a message of this stream about this subscription"}},
}
