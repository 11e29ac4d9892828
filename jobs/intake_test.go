package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

// joined is a context that says when somebody waits for its end: then the
// caller has joined a call.
type joined struct {
	context.Context
	once sync.Once
	in   chan struct{}
}

func (j *joined) Done() <-chan struct{} {
	j.once.Do(func() { close(j.in) })
	return j.Context.Done()
}

func join(ctx context.Context) *joined { return &joined{Context: ctx, in: make(chan struct{})} }

type answered struct {
	db.Standing
	err error
}

// ask asks in the background, and returns when the caller has joined a call.
func (r *rig) ask(t *testing.T, ctx context.Context) <-chan answered {
	t.Helper()
	j, out := join(ctx), make(chan answered, 1)
	go func() {
		st, err := r.intake.Ask(j, key, false)
		out <- answered{st, err}
	}()
	wait(t, j.in, "a caller to join")
	return out
}

// Callers who ask at once share one call, and who leaves takes nothing along.
func TestCoalescing(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		answer := make(chan struct{})
		r.source.say(leg())
		r.source.on(func(context.Context, int) { <-answer })
		leaving, leave := context.WithCancel(t.Context())
		first := r.ask(t, leaving) // it makes the call, and leaves
		var others []<-chan answered
		for range 50 {
			others = append(others, r.ask(t, t.Context()))
		}
		leave()
		if got := wait(t, first, "the caller who left"); !errors.Is(got.err, context.Canceled) || got.Legs != nil {
			t.Errorf("who left got %v", got)
		}
		close(answer)
		for _, ch := range others {
			if got := wait(t, ch, "an answer"); got.err != nil || len(got.Legs) != 1 || got.IDs[0] == "" || got.Versions[0] != 1 {
				t.Fatalf("an answer is %+v", got)
			}
		}
		if n := r.source.count(key); n != 1 {
			t.Errorf("%d calls", n)
		}
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil || r.source.count(key) != 2 {
			t.Errorf("the next caller makes the next call: %v", err)
		}
	})
}

// What goes wrong upstream comes out as the error that it is.
func TestUpstreamErrors(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.Stopped, s.IntakeConfig.Timeout = true, 100*time.Millisecond })
		hang := func(ctx context.Context, _ int) { <-ctx.Done() }
		for _, c := range []struct {
			what string
			fail error
			hook func(context.Context, int)
			want flight.Code
		}{
			{"refused", flight.Errorf(flight.CodeUpstream, "no"), nil, flight.CodeUpstream},
			{"down", &flight.Error{Code: flight.CodeUpstreamUnavailable, RetryAfter: time.Minute}, nil, flight.CodeUpstreamUnavailable},
			{"hangs", nil, hang, flight.CodeUpstreamTimeout},
			{"panics", nil, func(context.Context, int) { panic("a strange answer") }, flight.CodeUpstream},
			{"unknown", flight.NotFound(key), nil, flight.CodeFlightNotFound},
		} {
			r.source.on(c.hook)
			r.source.fail(c.fail)
			st, err := r.intake.Ask(t.Context(), key, false)
			if flight.CodeOf(err) != c.want || st.Legs != nil {
				t.Errorf("%s: %v, %v", c.what, st, err)
			}
		}
		r.source.on(nil)
		r.source.say(leg())
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil {
			t.Errorf("after all that: %v", err)
		}
	})
}

// A panic on our side of the door ends neither the process nor the next call.
func TestPanicBehindTheSource(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var once sync.Once
		r := rigWith(t, m, func(s *setup) {
			s.Stopped = true
			s.Step = func(step string) {
				if step == "poll.asked" {
					once.Do(func() { panic("a defect") })
				}
			}
		})
		r.source.say(leg())
		if _, err := r.intake.Ask(t.Context(), key, false); flight.CodeOf(err) != flight.CodeInternal {
			t.Errorf("the call that panics returns %v", err)
		}
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil {
			t.Errorf("the next returns %v", err)
		}
	})
}

// An answer that was asked for before what stands makes no event, however late
// it comes in.
func TestAnswersOvertakeEachOther(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		g := newGate("poll.asked")
		r := newRig(t, m, time.Hour)
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		r.until(t, "the poll with which the watch begins is done", func() bool {
			return one[int](t, r, `SELECT count(*) FROM flights WHERE poll_reason = 'watch began'`) == 0
		})
		slow := r.other(t, func(s *setup) { s.Stopped, s.Gate = true, g })

		r.source.say(atGate("OLD"))
		late := slow.ask(t, t.Context())
		wait(t, g.held, "the slow process to be held")
		r.change(t, "NEW")
		recv.expect(t, "NEW")
		g.open()
		if got := wait(t, late, "the late answer"); got.err != nil || got.Legs[0].Departure.Gate != "NEW" {
			t.Errorf("the slow caller gets %+v", got)
		}
		r.change(t, "NEWER")
		recv.expect(t, "NEWER")
		if n := one[int](t, r, `SELECT count(*) FROM events WHERE subscription_id = $1`, s.ID); n != 3 {
			t.Errorf("%d events", n)
		}
		if n := one[int](t, r, `SELECT count(*) FROM updates`); n != 3 {
			t.Errorf("%d versions", n)
		}
	})
}

// ringOf takes the next ring of a leg. The bell is one for a Redis server, and
// other tests ring it too.
func ringOf(t *testing.T, rings <-chan jobs.Ring, id string) jobs.Ring {
	t.Helper()
	for {
		if got := wait(t, rings, "a ring"); got.FlightID == id {
			return got
		}
	}
}

// The bell rings in every process for every accepted change, until the
// listener leaves.
func TestBell(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		ctx, leave := context.WithCancel(t.Context())
		rings, err := jobs.NewClient(m.Redis).Rings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Redis.Publish(t.Context(), "fw:bell", "noise").Err(); err != nil {
			t.Fatal(err)
		}
		r.source.say(leg())
		st, err := r.intake.Ask(t.Context(), key, false)
		if err != nil {
			t.Fatal(err)
		}
		for v := 1; v <= 3; v++ {
			want := jobs.Ring{FlightID: st.IDs[0], Key: key.String(), Version: int64(v)}
			if got := ringOf(t, rings, st.IDs[0]); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, not %+v", got, want)
			}
			r.change(t, fmt.Sprint("C", v))
			r.change(t, fmt.Sprint("C", v)) // no change: no ring
		}
		ringOf(t, rings, st.IDs[0])
		r.change(t, "unheard") // nobody takes this one
		leave()
		for range rings { // closed, perhaps after that one
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if rings, err := r.client.Rings(gone); err == nil {
			for range rings { // it does not listen on for somebody who has left
			}
		}
	})
}
