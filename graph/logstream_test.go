package graph

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// take returns the next message of a stream.
func take[M any](t *testing.T, c <-chan *M) *M {
	t.Helper()
	select {
	case m, ok := <-c:
		if !ok {
			t.Fatal("the stream ended")
		}
		return m
	case <-time.After(15 * time.Second):
		t.Fatal("no message came")
	}
	return nil
}

// wantEnd reads a stream to its end.
func wantEnd[M any](t *testing.T, c <-chan *M) {
	t.Helper()
	for deadline := time.After(15 * time.Second); ; {
		select {
		case m, ok := <-c:
			if !ok {
				return
			}
			t.Errorf("before its end there came %+v", *m)
		case <-deadline:
			t.Fatal("the stream did not end")
		}
	}
}

func (g *rig) events(ctx context.Context, id string, after *string) <-chan *SubscriptionEvent {
	g.t.Helper()
	c, err := g.r.Subscription().SubscriptionEvents(ctx, id, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

func (g *rig) attempts(ctx context.Context, id string, after *string) <-chan *DeliveryAttempt {
	g.t.Helper()
	c, err := g.r.Subscription().DeliveryAttempts(ctx, id, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

// elsewhere is another process on the same database and Redis.
func (g *rig) elsewhere(m dbtest.Mode) *rig {
	g.t.Helper()
	d := m.DB
	if m.Name == "postgres" {
		var err error
		if d, err = db.Open(g.t.Context(), m.Config); err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { _ = d.Close() })
	}
	other := startRig(g.t, dbtest.Mode{Name: m.Name, DB: d, Redis: m.Redis}, nil)
	other.ctx = g.ctx
	return other
}

// deliver makes every attempt that is due, as a worker would, and tells of it.
func (g *rig) deliver(status flight.DeliveryStatus) (n int) {
	g.t.Helper()
	for {
		got, err := dbtest.ClaimEvents(g.t.Context(), g.db, 100, time.Minute)
		if err != nil {
			g.t.Fatal(err)
		}
		if len(got) == 0 {
			return n
		}
		for _, a := range got {
			r := db.Result{Attempt: a, Status: status, RetryAfter: time.Hour, StatusCode: 200 + n, AttemptedAt: time.Now()}
			if _, err := g.db.RecordResults(g.t.Context(), []db.Result{r}); err != nil {
				g.t.Fatal(err)
			}
			if err := g.r.cfg.Client.RingLogs(g.t.Context(), a.SubscriptionID); err != nil {
				g.t.Fatal(err)
			}
			n++
		}
	}
}

func wantEvent(t *testing.T, m *SubscriptionEvent, kind flight.EventType, to string) {
	t.Helper()
	if m.Event == nil || m.Subscription != nil || m.Cursor == "" || m.Event.Type != kind {
		t.Fatalf("want %s, got %+v", kind, m)
	}
	if to != "" && (len(m.Event.Changes) != 1 || fmt.Sprintf("%s", m.Event.Changes[0].To) != `"`+to+`"`) {
		t.Errorf("want the change to %s, got %+v", to, m.Event.Changes)
	}
}

func TestSubscriptionEvents(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newRig(t, m, nil)
		there := g.elsewhere(m)
		s := g.create(newInput())
		ctx, leave := context.WithCancel(g.ctx)
		c := g.events(ctx, s.ID, nil)
		first := take(t, c)
		if first.Event != nil || first.Subscription.ID != s.ID || strings.Contains(first.Subscription.Secret, s.Secret) || first.Subscription.Status != flight.SubscriptionActive {
			t.Fatalf("%+v", first)
		}
		g.move("C1")
		second := take(t, c)
		wantEvent(t, second, flight.EventUpdated, "C1")
		if _, err := g.r.Mutation().TestSubscription(g.ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		wantEvent(t, take(t, c), flight.EventTest, "")
		leave()
		wantEndOrMore(c)

		g.move("C2")
		g.move("C3")
		c = there.events(g.ctx, s.ID, &second.Cursor) // to another process
		wantEvent(t, take(t, c), flight.EventTest, "")
		wantEvent(t, take(t, c), flight.EventUpdated, "C2")
		last := take(t, c)
		wantEvent(t, last, flight.EventUpdated, "C3")
		again := there.events(g.ctx, s.ID, &last.Cursor) // nothing was missed, so the present state
		if u := take(t, again); u.Cursor != last.Cursor || u.Event != nil || u.Subscription == nil {
			t.Errorf("%+v", u)
		}
		g.move("C4") // recorded here, told there
		wantEvent(t, take(t, c), flight.EventUpdated, "C4")
		wantEvent(t, take(t, again), flight.EventUpdated, "C4")

		if _, err := g.r.Mutation().DeleteSubscription(g.ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, c)
		wantEnd(t, again)
		_, err := g.r.Subscription().SubscriptionEvents(g.ctx, s.ID, &last.Cursor)
		wantCode(t, err, flight.CodeSubscriptionMissing)
	})
}

// wantEndOrMore reads a stream whose client has left to its end.
func wantEndOrMore[M any](c <-chan *M) {
	for range c {
	}
}

// What is recorded and not sent is told too.
func TestMissedEventsAreTold(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.create(CreateSubscriptionInput{LegInput: aa100, WebhookURL: "https://example.com/other"}) // keeps the flight polled
		s := g.create(newInput())
		for range flight.FailuresToSuspend {
			if _, err := g.r.Mutation().TestSubscription(g.ctx, s.ID); err != nil {
				t.Fatal(err)
			}
		}
		c := g.events(g.ctx, s.ID, nil)
		take(t, c)
		g.deliver(flight.DeliveryFailed)
		wantEvent(t, take(t, c), flight.EventSuspended, "")
		g.move("C1")
		m := take(t, c)
		wantEvent(t, m, flight.EventUpdated, "C1")
		if m.Event.Status != flight.EventMissed {
			t.Errorf("%+v", m.Event)
		}
	})
}

func TestDeliveryAttempts(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newRig(t, m, nil)
		there := g.elsewhere(m)
		s := g.create(newInput())
		ctx, leave := context.WithCancel(g.ctx)
		c := g.attempts(ctx, s.ID, nil)
		first := take(t, c)
		if first.Attempt != nil || first.Subscription == nil {
			t.Fatalf("%+v", first)
		}
		g.deliver(flight.DeliveryRetrying)
		a := take(t, c)
		if a.Attempt == nil || a.Attempt.Status != flight.DeliveryRetrying || a.Attempt.EventType != flight.EventCreated || a.Subscription != nil {
			t.Fatalf("%+v", a)
		}
		leave()
		wantEndOrMore(c)
		const more = readAtOnce + tailLength + 3
		for i := range more {
			g.move(fmt.Sprint("G", i))
			if n := g.deliver(flight.DeliverySucceeded); n != 1 {
				t.Fatalf("%d were delivered", n)
			}
		}
		c = there.attempts(g.ctx, s.ID, &a.Cursor)
		seen := map[string]bool{}
		for range more {
			m := take(t, c)
			if m.Attempt == nil || seen[m.Attempt.ID] {
				t.Fatalf("%+v", m)
			}
			seen[m.Attempt.ID] = true
			a = m
		}
		g.move("last")
		g.deliver(flight.DeliveryFailed)
		if m := take(t, c); m.Attempt == nil || m.Attempt.Status != flight.DeliveryFailed || seen[m.Attempt.ID] {
			t.Errorf("%+v", m)
		}
		if _, err := g.r.Mutation().DeleteSubscription(g.ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, c)
	})
}

func TestLogStreamErrors(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.create(newInput())
	live := g.r.Subscription()
	rival := access.With(t.Context(), access.Identity{Account: g.account("rival")})
	events, attempts := take(t, g.events(g.ctx, s.ID, nil)).Cursor, take(t, g.attempts(g.ctx, s.ID, nil)).Cursor
	for name, open := range map[string]func(ctx context.Context, id string, after *string) error{
		"events": func(ctx context.Context, id string, after *string) error {
			_, err := live.SubscriptionEvents(ctx, id, after)
			return err
		},
		"attempts": func(ctx context.Context, id string, after *string) error {
			_, err := live.DeliveryAttempts(ctx, id, after)
			return err
		},
	} {
		wantCode(t, open(t.Context(), s.ID, nil), flight.CodeMissingAPIKey)
		wantCode(t, open(rival, s.ID, nil), flight.CodeSubscriptionMissing)
		for _, id := range []string{"", "sub_", "sub_00000000000000000000000000000000", "flt_1"} {
			wantCode(t, open(g.ctx, id, nil), flight.CodeSubscriptionMissing)
		}
		of := map[string]string{"events": attempts, "attempts": events}[name] // the other log's
		for _, bad := range []string{"", "x", "!!!", of, cursor{name + " sub_other", 0}.String(), cursor{name + " " + s.ID, 99}.String(), cursor{name + " " + s.ID, -1}.String()} {
			wantFields(t, open(g.ctx, s.ID, &bad), "after")
			wantCode(t, open(rival, s.ID, &bad), flight.CodeSubscriptionMissing)
		}
	}
}

// Many follow one subscription: its log is read by one, a reader who does not
// read holds nobody up, and when the last has left nothing is left.
func TestLogStreamIsShared(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.create(newInput())
	before := goleak.IgnoreCurrent()
	ctx, leave := context.WithCancel(g.ctx)
	slow := g.events(ctx, s.ID, nil)
	var quick []<-chan *SubscriptionEvent
	for range 20 {
		quick = append(quick, g.events(ctx, s.ID, nil))
	}
	if n := len(g.r.live.events.ids()); n != 1 {
		t.Errorf("%d tails of one log", n)
	}
	const many = readAtOnce + tailLength + 3
	for _, c := range quick {
		take(t, c)
	}
	for i := range many {
		g.move(fmt.Sprint("G", i))
		for _, c := range quick {
			wantEvent(t, take(t, c), flight.EventUpdated, fmt.Sprint("G", i))
		}
	}
	take(t, slow)
	for i := range many {
		wantEvent(t, take(t, slow), flight.EventUpdated, fmt.Sprint("G", i))
	}
	leave()
	for _, c := range append(quick, slow) {
		wantEndOrMore(c)
	}
	if n := len(g.r.live.events.ids()); n != 0 {
		t.Errorf("%d tails are left", n)
	}
	goleak.VerifyNone(t, before)
}

// Over both transports: messages, and a clean end when it is deleted.
func TestLogStreamsOverTransports(t *testing.T) {
	g := sqliteRig(t, nil)
	s := g.serve(nil)
	id := g.create(newInput()).ID
	socket := dial(t, s).init()
	socket.subscribe("1", `subscription { subscriptionEvents(id: "`+id+`") { cursor subscription { id secret } event { type changes { to } } } }`)
	socket.want("1", "next", `"subscription":{"id":"`+id+`","secret":"whsec_****`)
	socket.subscribe("2", `subscription { deliveryAttempts(id: "`+id+`") { cursor subscription { id } attempt { status attempt eventType } } }`)
	socket.want("2", "next", `"attempt":null`)
	stream := openStream(t, s.URL, `subscription { subscriptionEvents(id: "`+id+`") { event { type } } }`)
	stream.want("next", `{"event":null}`)
	g.move("C1")
	socket.want("1", "next", `"event":{"type":"FLIGHT_UPDATED","changes":[{"to":"C1"}]}`)
	stream.want("next", `{"event":{"type":"FLIGHT_UPDATED"}}`)
	g.deliver(flight.DeliverySucceeded)
	socket.want("2", "next", `"attempt":{"status":"SUCCEEDED","attempt":1,"eventType":"SUBSCRIPTION_CREATED"}`)
	socket.want("2", "next", `"eventType":"FLIGHT_UPDATED"`)
	if _, err := g.r.Mutation().DeleteSubscription(g.ctx, id); err != nil {
		t.Fatal(err)
	}
	ended := map[string]bool{}
	for range 2 {
		m := socket.next()
		ended[m.Type+m.ID] = true
	}
	if !ended["complete1"] || !ended["complete2"] {
		t.Error(ended)
	}
	stream.want("complete", "")
	socket.subscribe("1", `subscription { subscriptionEvents(id: "`+id+`") { cursor } }`)
	socket.want("1", "next", "SUBSCRIPTION_NOT_FOUND")
	socket.want("1", "complete", "")
	http.DefaultClient.CloseIdleConnections()
}
