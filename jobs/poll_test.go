package jobs_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// One poll serves all subscriptions of a leg, whichever process makes it, and
// all their events are delivered once.
func TestOnePollForAll(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const subs, every = 50, time.Second
		r := newRig(t, m, every)
		r.other(t, func(s *setup) { s.PollEvery = every })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		account := r.account(t)
		st, err := r.intake.Ask(t.Context(), key, false)
		if err != nil {
			t.Fatal(err)
		}
		r.source.on(nil)
		for range subs {
			r.subscribeLeg(t, account, recv.URL, st.IDs[0])
		}
		for _, gate := range []string{"C1", "C2", "C3"} {
			r.source.say(atGate(gate))
			wait(t, r.source.asked, "a poll")
		}
		r.source.mu.Lock()
		for i, at := range r.source.times[1:] {
			if gap := at.Sub(r.source.times[i]); gap < every-50*time.Millisecond {
				t.Errorf("polls %v apart", gap)
			}
		}
		r.source.mu.Unlock()
		ids := map[string]bool{}
		for range 4 * subs {
			got := recv.next(t)
			if ids[got.Event.ID] || got.attempt() != "1" {
				t.Errorf("%s comes again, as attempt %s", got.Event.ID, got.attempt())
			}
			ids[got.Event.ID] = true
		}
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		if n := one[int](t, r, `SELECT count(*) FROM deliveries WHERE status = 'succeeded' AND attempt = 1`); n != 4*subs {
			t.Errorf("%d attempts for %d events", n, 4*subs)
		}
	})
}

// Polls spread over the processes that there are.
func TestPollsSpread(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const flights, rounds, processes = 40, 4, 3
		var made [processes]atomic.Int64
		process := func(i int) func(*setup) {
			return func(s *setup) {
				s.PollEvery = time.Second
				s.Step = func(name string) {
					if name == "poll.accepted" {
						made[i].Add(1)
					}
				}
			}
		}
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		account := r.account(t)
		var legs []flight.Snapshot
		for i := range flights {
			l := leg()
			l.FlightNumber, l.ProviderFlightID = strconv.Itoa(i+1), strconv.Itoa(i+1)
			legs = append(legs, l)
		}
		r.source.say(legs...)
		recv := newReceiver(t, func(int) int { return 204 })
		for _, l := range legs {
			r.subscribeTo(t, account, recv.URL, l.Key())
		}
		for i := range processes {
			r.other(t, process(i))
		}
		all := func() (n int64) {
			for i := range made {
				n += made[i].Load()
			}
			return n
		}
		r.until(t, "each flight was polled a few times", func() bool { return all() >= flights*rounds })
		for i := range made {
			if n := made[i].Load(); n < flights*rounds/processes/2 {
				t.Errorf("process %d made %d of %d polls", i, n, all())
			}
		}
	})
}

// The legs of one flight share its polls, and none of them is left behind.
func TestLegsArePolledTogether(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(int) int { return 204 })
		r.subscribeToBoth(t, recv.URL)
		// An upstream that takes its time, so that the polls of both meet.
		r.source.on(func(context.Context, int) { time.Sleep(200 * time.Millisecond) })
		start := time.Now()
		for time.Since(start) < 4*time.Second {
			wait(t, r.source.asked, "a poll")
		}
		if n := r.source.count(key); n > 6 {
			t.Errorf("%d calls in 4 s, not one a second for both", n)
		}
		var polled []db.Time
		if err := r.sql.Select(&polled, `SELECT last_polled_at FROM flights`); err != nil {
			t.Fatal(err)
		}
		for _, at := range polled {
			if ago := m.DB.Now().Sub(at.Std()); ago > 2500*time.Millisecond {
				t.Errorf("a leg was polled %v ago", ago)
			}
		}
	})
}

// While the upstream fails, what stands stays and polling backs off; then it
// goes on as before.
func TestPollingBacksOffAndRecovers(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.PollEvery, s.SendTimeout = time.Second, 400*time.Millisecond })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")

		const fault = 5 // calls that go wrong, each in its way, before the sixth does not
		asked := make(chan int, 100)
		var at, failures [fault + 2]atomic.Int64
		r.source.on(func(ctx context.Context, call int) {
			if call >= len(at) {
				return
			}
			at[call].Store(time.Now().UnixMilli())
			failures[call].Store(one[int64](t, r, `SELECT poll_failures FROM flights`))
			switch call {
			case 1:
				r.source.fail(flight.Errorf(flight.CodeUpstream, "no")) // from the next call on
			case 3:
				r.source.fail(&flight.Error{Code: flight.CodeUpstreamUnavailable, RetryAfter: 2 * time.Second})
			case 4:
				r.source.fail(nil)
			case 5:
				r.source.say(atGate("C1"))
				asked <- call
				panic("a strange answer")
			}
		})
		wait(t, asked, "the fifth poll")
		recv.expect(t, "C1")
		for call, want := range []int64{0, 0, 0, 1, 2, 3, 4} {
			if got := failures[call].Load(); got != want {
				t.Errorf("%d failures in a row before poll %d, not %d", got, call, want)
			}
		}
		// Call 4 was the one that was asked to wait for two seconds.
		if gap := time.Duration(at[5].Load()-at[4].Load()) * time.Millisecond; gap < 2*time.Second {
			t.Errorf("asked to wait for 2 s, it waited for %v", gap)
		}
		r.until(t, "the failures are forgotten", func() bool { return one[int](t, r, `SELECT poll_failures FROM flights`) == 0 })
		if n := one[int](t, r, `SELECT count(*) FROM updates`); n != 2 {
			t.Errorf("%d versions", n)
		}
	})
}

// An upstream that does not answer costs a time-out and nothing more; one that
// does not list a known leg any more is no failure.
func TestPollingOutlastsSilence(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.PollEvery, s.SendTimeout = time.Second, 400*time.Millisecond })
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		unlisted := make(chan int, 1)
		r.source.on(func(ctx context.Context, call int) {
			switch call {
			case 1:
				<-ctx.Done()
				r.source.say()
			case 3:
				unlisted <- one[int](t, r, `SELECT poll_failures FROM flights`)
				r.source.say(atGate("C1"))
			}
		})
		if n := wait(t, unlisted, "the third poll"); n != 0 {
			t.Errorf("%d failures after an answer without the leg", n)
		}
		if got := recv.expect(t, "C1")[0]; len(got.Event.Changes) != 1 {
			t.Errorf("%s", got.Body)
		}
	})
}

// subscribeLeg subscribes to a leg that stands.
func (r *rig) subscribeLeg(t *testing.T, account, url, flightID string) {
	t.Helper()
	if _, err := r.DB.CreateSubscription(t.Context(), db.NewSubscription{
		Account: account, Key: key, FlightID: flightID, WebhookURL: url, Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MDE=",
		Events: flight.AllChanges, DelayThreshold: 5, Now: r.intake.World(),
	}); err != nil {
		t.Fatal(err)
	}
}

// subscribeToBoth has the upstream list leg and an onward one, which it
// returns, and subscribes to both.
func (r *rig) subscribeToBoth(t *testing.T, url string) (onward flight.Snapshot) {
	t.Helper()
	onward = leg()
	onward.ProviderFlightID = "2"
	onward.Departure.Airport.IATA, onward.Arrival.Airport.IATA = "LHR", "FRA"
	r.source.say(leg(), onward)
	account := r.account(t)
	st, err := r.intake.Ask(t.Context(), key, false)
	if err != nil || len(st.IDs) != 2 {
		t.Fatal(st, err)
	}
	for _, id := range st.IDs {
		r.subscribeLeg(t, account, url, id)
	}
	return onward
}
