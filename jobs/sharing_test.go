package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

// Identical look-ups of all processes are one call, whatever comes of it, and a
// poll joins them.
func TestProcessesShareACall(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const callers = 200
		awaited := make(chan struct{}, callers)
		process := func(s *setup) {
			s.Stopped = true
			s.Step = func(name string) {
				if name == "call.awaited" {
					awaited <- struct{}{}
				}
			}
		}
		r := rigWith(t, m, process)
		processes := []*rig{r, r.other(t, process)}
		r.source.say(leg())
		for round, c := range []struct {
			fail error
			want flight.Code
		}{
			{nil, ""}, {flight.NotFound(key), flight.CodeFlightNotFound},
			{&flight.Error{Code: flight.CodeUpstreamUnavailable, Message: "Not now.", RetryAfter: time.Minute}, flight.CodeUpstreamUnavailable},
			{nil, ""},
		} {
			release := make(chan struct{})
			r.source.fail(c.fail)
			r.source.on(func(context.Context, int) { <-release })
			var all sync.WaitGroup
			var joinedIn []*joined
			for i := range callers {
				j := join(t.Context())
				joinedIn = append(joinedIn, j)
				all.Go(func() {
					st, err := processes[i%2].intake.Ask(j, key, round%2 == 0)
					if flight.CodeOf(err) != c.want || err == nil && len(st.Legs) != 1 {
						t.Errorf("%d legs, %v; want %q", len(st.Legs), err, c.want)
					}
				})
			}
			for _, j := range joinedIn {
				wait(t, j.in, "a caller to join")
			}
			wait(t, awaited, "one process to wait for the other's call")
			close(release)
			all.Wait()
			if n := r.source.count(key); n != 1 {
				t.Errorf("round %d: %d calls", round, n)
			}
		}
	})
}

// A poll that finds another process asking waits for it, and its claim ends
// with what that one heard.
func TestPollSharesALookup(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		awaited := make(chan struct{}, 8)
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		s := r.subscribeTo(t, r.account(t), recv.URL, key) // due in an hour
		release := make(chan struct{})
		r.source.say(atGate("C1"))
		r.source.on(func(context.Context, int) { <-release })
		lookup := r.ask(t, t.Context())
		wait(t, r.source.asked, "the look-up's call")
		if _, err := m.DB.PauseSubscription(t.Context(), s.Account, s.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := m.DB.ResumeSubscription(t.Context(), s.Account, s.ID, r.intake.World()); err != nil { // due now
			t.Fatal(err)
		}
		r.other(t, func(s *setup) {
			s.Step = func(name string) {
				if name == "call.awaited" {
					awaited <- struct{}{}
				}
			}
		})
		wait(t, awaited, "the poll to wait for the look-up")
		close(release)
		if got := wait(t, lookup, "the look-up"); got.err != nil {
			t.Fatal(got.err)
		}
		r.until(t, "the claim has ended", func() bool {
			return one[int](t, r, `SELECT count(*) FROM flights WHERE poll_token = '' AND next_poll_at IS NOT NULL`) == 1
		})
		if n := r.source.count(key); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// A process that dies over its call holds up nobody for longer than its
// time-out.
func TestCallOfADeadProcess(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.Stopped, s.SendTimeout = true, 300*time.Millisecond })
		r.source.say(leg())
		if err := m.Redis.Set(t.Context(), "fw:asking:{"+key.String()+"}", "dead", 450*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.intake.Ask(t.Context(), key, false); err != nil || r.source.count(key) != 1 {
			t.Errorf("%v after %d calls", err, r.source.count(key))
		}
	})
}

// A thousand distinct look-ups on two processes keep to the provider's rate to
// the call, and whoever gets none is told so at once, and when to come back.
func TestDistinctLookupsKeepTheRate(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		c, limits := newClock(), jobs.CallLimits{PerMinute: 500}
		r := rigWith(t, m, limited(t, m, c.budget(t, m, limits)))
		o := r.other(t, limited(t, m, c.budget(t, m, limits)))
		made, refusal := lookUp(t, 1000, r, o)
		if most := int64(100); made != most || int64(r.total()) != most || refusal == nil || refusal.RetryAfter <= 0 { // a fifth of the rate at once
			t.Errorf("%d found out, %d calls, want %d; refused with %+v", made, r.total(), most, refusal)
		}
	})
}
