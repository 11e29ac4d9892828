package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

// clock is the wall time of budgets as a test moves it.
type clock struct{ at atomic.Int64 } // µs

func newClock() *clock {
	c := new(clock)
	c.at.Store(time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.at.Load()).UTC() }
func (c *clock) forward(d time.Duration) { c.at.Add(d.Microseconds()) }

// budget makes one process's part of the limits.
func (c *clock) budget(t *testing.T, m dbtest.Mode, l jobs.CallLimits) *jobs.Budget {
	t.Helper()
	b := jobs.NewBudget(jobs.BudgetConfig{DB: m.DB, Redis: m.Redis, Provider: "script", Limits: l, Now: c.now})
	t.Cleanup(b.Close)
	return b
}

// limited is a process without a worker that has limits.
func limited(t *testing.T, m dbtest.Mode, b *jobs.Budget) func(*setup) {
	return func(s *setup) {
		s.Stopped, s.Providers[0].Budget = true, b
		s.OnlyProcess = m.Config.URL == "" // the in-process Redis is not made for the scripts of so many
	}
}

// numbered is the key of one of many flights.
func numbered(n int) flight.Key {
	return flight.Key{Carrier: key.Carrier, Number: fmt.Sprint(1000 + n), Date: key.Date}
}

// lookUp looks up n flights at once, on one process after the other, and
// returns how many calls were made and the last refusal.
func lookUp(t *testing.T, n int, processes ...*rig) (made int64, refusal *flight.Error) {
	t.Helper()
	var callers sync.WaitGroup
	var passed atomic.Int64
	var mu sync.Mutex
	for i := range 64 {
		callers.Go(func() {
			for k := i; k < n; k += 64 {
				_, err := processes[k%len(processes)].intake.Ask(t.Context(), numbered(k), false)
				switch flight.CodeOf(err) {
				case flight.CodeFlightNotFound: // it was asked
					passed.Add(1)
				case flight.CodeUpstreamUnavailable:
					mu.Lock()
					refusal, _ = errors.AsType[*flight.Error](err)
					mu.Unlock()
				default:
					t.Errorf("look-up %d: %v", k, err)
				}
			}
		})
	}
	callers.Wait()
	return passed.Load(), refusal
}

// 64 callers on two processes make exactly as many calls as there are; the rest
// are told when to come again.
func TestBudgetIsExact(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		c, limits := newClock(), jobs.CallLimits{PerMinute: 100, PerMonth: 150}
		r := rigWith(t, m, limited(t, m, c.budget(t, m, limits)))
		o := r.other(t, limited(t, m, c.budget(t, m, limits)))
		steps := []struct {
			later time.Duration
			want  int64
			retry time.Duration
		}{
			{0, 20, 740741 * time.Microsecond},                // a fifth of the rate at once
			{30 * time.Second, 20, 740741 * time.Microsecond}, // it is full again
			{10 * time.Second, 13, 370372 * time.Microsecond}, // 13.5 came back
			{time.Minute, 20, 740741 * time.Microsecond},
		}
		for _, s := range steps {
			c.forward(s.later)
			made, refusal := lookUp(t, 192, r, o)
			if made != s.want || refusal == nil || (refusal.RetryAfter-s.retry).Abs() > 10*time.Microsecond {
				t.Errorf("%v later: %d calls, not %d, and %+v", s.later, made, s.want, refusal)
			}
		}
		for range 4 { // 77 more of the month
			c.forward(time.Minute)
			lookUp(t, 64, r, o)
		}
		c.forward(time.Minute)
		made, refusal := lookUp(t, 192, r, o)
		if total := r.total(); made != 0 || total != 150 {
			t.Errorf("%d more calls, %d in all, of 150", made, total)
		}
		if end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); refusal == nil || refusal.RetryAfter != end.Sub(c.now()) {
			t.Errorf("the month is used up: %+v", refusal)
		}
		c.forward(10 * 24 * time.Hour)
		if made, _ := lookUp(t, 64, r, o); made != 20 {
			t.Errorf("%d calls in the next month, not 20", made)
		}
	})
}

// total is how often the upstream was asked.
func (r *rig) total() (n int) {
	r.source.mu.Lock()
	defer r.source.mu.Unlock()
	for _, calls := range r.source.calls {
		n += calls
	}
	return n
}

// The month outlives Redis, but for what no process has written yet, and the
// bucket as far as a process has seen it.
func TestBudgetOutlivesRedis(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		c, limits := newClock(), jobs.CallLimits{PerMinute: 50, Burst: 20, PerMonth: 50}
		first, second := c.budget(t, m, limits), c.budget(t, m, limits)
		r := rigWith(t, m, limited(t, m, first))
		o := r.other(t, limited(t, m, second))
		flush := func() {
			t.Helper()
			if err := m.Redis.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if made, _ := lookUp(t, 192, r, o); made != 20 {
			t.Fatalf("%d calls, not 20", made)
		}
		first.Settle()
		second.Settle()
		flush()
		if made, _ := lookUp(t, 1, r); made != 0 {
			t.Error("a process forgets with Redis how empty the bucket is")
		}
		c.forward(time.Minute)
		if made, _ := lookUp(t, 192, r, o); made != 20 {
			t.Errorf("%d calls a minute later, not 20", made)
		}
		first.Close() // which writes too
		second.Close()
		if n := one[int](t, r, `SELECT calls FROM provider_calls WHERE provider = 'script' AND month = '2026-11'`); n != 40 {
			t.Errorf("SQL has %d calls of the processes that have ended, not 40", n)
		}
		flush()
		c.forward(time.Minute)
		anew := r.other(t, limited(t, m, c.budget(t, m, limits)))
		if made, _ := lookUp(t, 192, anew); made != 10 {
			t.Errorf("%d calls by a new process, not the 10 that are left", made)
		}
	})
}

// Without Redis each process makes a quarter of the rate, and goes by the month
// as SQL has it; afterwards Redis has all that was made meanwhile.
func TestBudgetWithoutRedis(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var l line
		c, limits := newClock(), jobs.CallLimits{PerMinute: 40, PerMonth: 14}
		m = l.through(t, m)
		first, second := c.budget(t, m, limits), c.budget(t, m, limits)
		r := rigWith(t, m, limited(t, m, first))
		o := r.other(t, limited(t, m, second))
		if made, _ := lookUp(t, 3, r); made != 3 {
			t.Fatalf("%d calls with Redis, not 3", made)
		}
		first.Settle()
		l.set(true)
		for _, p := range []*rig{r, o} { // burst of 8 and 40 a minute: 2 and 10
			if made, refusal := lookUp(t, 64, p); made != 2 || refusal.RetryAfter > 7*time.Second {
				t.Errorf("%d calls without Redis, not 2: %+v", made, refusal)
			}
		}
		for _, b := range []*jobs.Budget{first, second, first} {
			b.Settle()
		}
		c.forward(20 * time.Second)
		if made, _ := lookUp(t, 64, r); made != 2 {
			t.Errorf("%d calls 20 s later, not 2", made)
		}
		l.set(false)
		for deadline := time.Now().Add(patience); m.Redis.Ping(t.Context()).Err() != nil; { // the client takes a moment to believe it
			if time.Now().After(deadline) {
				t.Fatal("Redis does not come back")
			}
		}
		c.forward(time.Minute)
		if made, _ := lookUp(t, 64, r); made != 5 {
			t.Errorf("%d calls with Redis again, not the 5 that are left of 14", made)
		}
		if made, _ := lookUp(t, 64, o); made != 0 {
			t.Errorf("%d calls more than the month has", made)
		}
	})
}

// counter counts what a client of Redis sends.
type counter struct{ trips atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.trips.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.trips.Add(1)
		return next(ctx, cmds)
	}
}

// Without limits Redis is not asked at all; with them once for each call.
func TestBudgetRoundTrips(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		if jobs.NewBudget(jobs.BudgetConfig{DB: m.DB, Redis: m.Redis, Provider: "script"}) != nil {
			t.Error("there is a budget without limits")
		}
		var sent counter
		var l line
		counted := l.through(t, m)
		counted.Redis.AddHook(&sent)
		for _, want := range []int64{0, 1} {
			var b *jobs.Budget
			if want > 0 {
				b = newClock().budget(t, counted, jobs.CallLimits{PerMinute: 1000, PerMonth: 1000})
			}
			r := rigWith(t, counted, func(s *setup) {
				limited(t, counted, b)(s)
				s.OnlyProcess = true // shared calls have round trips of their own
			})
			lookUp(t, 1, r) // loads the script, and seeds the month
			before := sent.trips.Load()
			for range 5 {
				lookUp(t, 1, r)
			}
			if got := sent.trips.Load() - before; got != 5*want {
				t.Errorf("%d round trips for 5 calls, not %d", got, 5*want)
			}
		}
	})
}

// departing is a leg that departs in d.
func departing(n int, d time.Duration) flight.Snapshot {
	l := leg()
	l.FlightNumber, l.ProviderFlightID = numbered(n).Number, fmt.Sprint(n)
	l.Departure.Times.ScheduledGate = &flight.FlightTime{UTC: flight.TimeOf(began.Add(d))}
	l.Arrival.Times.ScheduledGate = &flight.FlightTime{UTC: flight.TimeOf(began.Add(d + 7*time.Hour))}
	return l
}

// When the rate is short a flight that is about to depart goes on being polled,
// and those far away wait, with what is known of them; when it is not any more
// they are polled again.
func TestShortRateIsForFlightsAtHand(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const far = 10
		c, limits := newClock(), jobs.CallLimits{PerMinute: 600, Burst: 21} // one comes back in 104 ms
		back := time.Minute/580 + time.Microsecond
		r := rigWith(t, m, func(s *setup) { s.PollEvery, s.Providers[0].Budget = time.Second, c.budget(t, m, limits) })
		legs := []flight.Snapshot{departing(0, 5*time.Minute)}
		for n := range far {
			legs = append(legs, departing(n+1, 100*time.Hour))
		}
		r.source.say(legs...)
		account, recv := r.account(t), newReceiver(t, func(int) int { return 204 })
		c.forward(-time.Hour)
		for n := range far + 1 { // 11 look-ups of 21 calls
			r.subscribeTo(t, account, recv.URL, numbered(n))
		}
		enough := make(chan struct{})
		r.source.on(func(_ context.Context, call int) {
			c.forward(back) // the call comes back, and no more than that
			if call == 5 {
				close(enough)
			}
		})
		wait(t, enough, "five polls of the flight at hand")
		r.source.mu.Lock()
		for k, calls := range r.source.calls {
			if k != numbered(0) {
				t.Errorf("%s was polled %d times while the rate was short", k, calls)
			}
		}
		r.source.mu.Unlock()
		r.until(t, "all others are put off", func() bool {
			return one[int](t, r, `SELECT count(*) FROM flights WHERE poll_reason = 'over the call rate' AND poll_failures = 0 AND version = 1`) == far
		})
		if n := one[int](t, r, `SELECT count(*) FROM updates`); n != far+1 {
			t.Errorf("%d versions of %d legs", n, far+1)
		}
		r.source.on(func(context.Context, int) { c.forward(time.Minute) })
		for n := range far + 1 {
			r.until(t, "everybody is polled", func() bool { return r.source.count(numbered(n)) > 0 || c.until(time.Minute) })
		}
	})
}

// until moves the clock and returns false, for conditions.
func (c *clock) until(d time.Duration) bool {
	c.forward(d)
	return false
}

// Of a month that is nearly used up polls leave the last to look-ups; when
// nothing is left these are refused too, and polls say why.
func TestMonthIsUsedUp(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		c := newClock()
		c.forward(-20 * 24 * time.Hour) // the month begins: 5 % are for look-ups
		r := rigWith(t, m, func(s *setup) {
			s.PollEvery, s.Providers[0].Budget = time.Second, c.budget(t, m, jobs.CallLimits{PerMonth: 6})
		})
		r.source.say(departing(0, 5*time.Minute))
		r.subscribeTo(t, r.account(t), newReceiver(t, func(int) int { return 204 }).URL, numbered(0))
		reason := func() string { return one[string](t, r, `SELECT poll_reason FROM flights`) }
		r.until(t, "polls leave the rest", func() bool { return reason() == "the month's last calls are kept for what is more urgent" })
		if n := r.total(); n != 5 {
			t.Errorf("%d calls, not 5 of 6", n)
		}
		if _, err := r.intake.Ask(t.Context(), numbered(0), false); err != nil {
			t.Errorf("the look-up for which it was left: %v", err)
		}
		if _, err := r.intake.Ask(t.Context(), numbered(0), false); flight.CodeOf(err) != flight.CodeUpstreamUnavailable {
			t.Errorf("a look-up too many: %v", err)
		}
		if _, err := r.sql.ExecContext(t.Context(), `UPDATE flights SET next_poll_at = $1`, db.At(m.DB.Now())); err != nil {
			t.Fatal(err)
		}
		r.until(t, "the poll says why", func() bool { return reason() == "the month's calls are used up" })
		if n := one[int](t, r, `SELECT version FROM flights WHERE poll_failures = 0`); n != 1 || r.total() != 6 {
			t.Errorf("version %d after %d calls", n, r.total())
		}
	})
}

// The next poll is planned by how short the calls run.
func TestScheduleKnowsTheLoad(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		b := newClock().budget(t, m, jobs.CallLimits{PerMonth: 20}) // a third of the month is left
		r := rigWith(t, m, func(s *setup) { s.Stopped, s.PollEvery, s.Providers[0].Budget = true, 0, b })
		r.source.say(departing(0, time.Hour))
		r.subscribeTo(t, r.account(t), "https://example.com/hook", numbered(0))
		planned := func() time.Duration {
			t.Helper()
			if _, err := r.intake.Ask(t.Context(), numbered(0), false); err != nil {
				t.Fatal(err)
			}
			next := one[db.Time](t, r, `SELECT next_poll_at FROM flights WHERE resolved`)
			return next.Std().Sub(m.DB.Now())
		}
		if d := planned(); d > 10*time.Minute {
			t.Errorf("with two of 20 calls made the next poll is in %v, not in 9 min", d)
		}
		for range 15 {
			if _, err := r.intake.Ask(t.Context(), numbered(1), false); flight.CodeOf(err) != flight.CodeFlightNotFound {
				t.Fatal(err)
			}
		}
		if d := planned(); d < 20*time.Minute || d > 31*time.Minute {
			t.Errorf("with 18 of 20 calls made the next poll is in %v, not in 27 min", d)
		}
	})
}
