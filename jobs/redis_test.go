package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

// Redis may forget everything between any two steps: nothing is lost, and
// nothing comes twice.
func TestRedisFlush(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var mu sync.Mutex
		flushed := map[string]bool{}
		steps := []string{
			"poll.claimed", "poll.enqueued", "poll.begun", "poll.asked", "poll.accepted", "poll.announced",
			"deliver.claimed", "deliver.sent", "deliver.recorded",
		}
		r := rigWith(t, m, func(s *setup) {
			s.PollEvery, s.SendTimeout, s.RetryBase = time.Second, brief, 10*time.Millisecond
			s.Step = func(step string) {
				mu.Lock()
				defer mu.Unlock()
				if !flushed[step] {
					flushed[step] = true
					if err := m.Redis.FlushDB(context.Background()).Err(); err != nil {
						t.Error(err)
					}
				}
			}
		})
		recv := newReceiver(t, func(n int) int { return []int{503, 503, 204}[min(n, 3)-1] })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		for range 3 {
			recv.expect(t, "subscription.created")
		}
		for i := range 3 {
			r.source.say(atGate(fmt.Sprint("C", i))) // a poll finds it
			recv.expect(t, fmt.Sprint("C", i))
		}
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		mu.Lock()
		defer mu.Unlock()
		for _, step := range steps {
			if !flushed[step] {
				t.Errorf("nothing was flushed at %s", step)
			}
		}
		want := "[subscription.created 1 retrying subscription.created 2 retrying subscription.created 3 succeeded" +
			" flight.updated 1 succeeded flight.updated 1 succeeded flight.updated 1 succeeded]"
		if got := fmt.Sprint(r.log(t, s.ID)); got != want {
			t.Errorf("the log says\n%s, not\n%s", got, want)
		}
	})
}

// line is a connection to Redis that can be cut.
type line struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// through returns the mode with its Redis at the end of a line.
func (l *line) through(t *testing.T, m dbtest.Mode) dbtest.Mode {
	o := *m.Redis.(*redis.Client).Options()
	dial := o.Dialer
	o.MaxRetries = -1
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.cut {
			return nil, errors.New("the line is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			l.conns = append(l.conns, conn)
		}
		return conn, err
	}
	client := redis.NewClient(&o)
	t.Cleanup(func() { _ = client.Close() })
	m.Redis = client
	return m
}

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// While Redis is away flights are polled and events delivered all the same,
// retries too.
func TestRedisAway(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		var l line
		r := rigWith(t, l.through(t, m), func(s *setup) { s.PollEvery, s.RetryBase = time.Second, 10*time.Millisecond })
		recv := newReceiver(t, func(n int) int {
			if n == 3 {
				return 503
			}
			return 204
		})
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		l.set(true)
		for _, gate := range []string{"C1", "C2"} {
			r.source.say(atGate(gate))
			recv.expect(t, gate)
		}
		recv.expect(t, "C2") // again
		if st, err := r.intake.Ask(t.Context(), key, false); err != nil || st.Legs[0].Departure.Gate != "C2" {
			t.Errorf("a look-up returns %v, %v", st, err)
		}
		l.set(false)
		r.source.say(atGate("C3"))
		recv.expect(t, "C3")
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		if got, want := fmt.Sprint(r.log(t, s.ID)), "[subscription.created 1 succeeded flight.updated 1 succeeded flight.updated 1 retrying flight.updated 2 succeeded flight.updated 1 succeeded]"; got != want {
			t.Errorf("the log says\n%s, not\n%s", got, want)
		}
	})
}

// A task is only a hint: doubled, senseless or about what is gone, it does no
// harm and leaves nothing behind.
func TestTasksAreHints(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Hour)
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		wait(t, r.source.asked, "the look-up")
		wait(t, r.source.asked, "the first poll")
		r.source.on(nil)
		id := one[string](t, r, `SELECT id FROM flights`)
		queue := asynq.NewClientFromRedisClient(m.Redis)
		enqueue := func(kind string, payload []byte) {
			if _, err := queue.Enqueue(asynq.NewTask(kind, payload), asynq.Queue(kind), asynq.MaxRetry(0)); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []db.PollClaim{{FlightID: "flt_gone", Token: "x", Key: key}, {FlightID: id, Token: "another's", Key: key}} {
			payload, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			enqueue("poll", payload)
		}
		enqueue("poll", []byte("{"))
		for range 20 {
			enqueue("deliver", nil)
			if err := r.client.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.change(t, "C1")
		recv.expect(t, "C1")
		drain(t, m.Redis)
		r.stop()
		if n := r.source.count(key); n != 1 {
			t.Errorf("the upstream was asked %d times", n)
		}
		if n := len(recv.got); n > 0 {
			t.Errorf("%d deliveries more", n)
		}
		left, err := m.Redis.Keys(t.Context(), "asynq:{*}:t:*").Result()
		if err != nil || len(left) > 0 {
			t.Errorf("tasks are left behind: %v, %v", left, err)
		}
	})
}

// drain waits until no task waits in a queue.
func drain(t *testing.T, r redis.UniversalClient) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		polls, err := r.LLen(t.Context(), "asynq:{poll}:pending").Result()
		deliveries, err2 := r.LLen(t.Context(), "asynq:{deliver}:pending").Result()
		switch {
		case err != nil || err2 != nil:
			t.Fatal(err, err2)
		case polls+deliveries == 0:
			return
		case time.Now().After(deadline):
			t.Fatalf("%d tasks are still waiting", polls+deliveries)
		}
	}
}

// Wake-ups for one and the same thing do not pile up while nobody works.
func TestWakeUpsDoNotPileUp(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.Stopped = true })
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		for i := range 100 {
			if err := r.client.Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.client.DeliverAt(t.Context(), at.Add(time.Duration(i)*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		left, err := m.Redis.Keys(t.Context(), "asynq:{*}:t:*").Result()
		if err != nil || len(left) != 2 {
			t.Errorf("%d tasks wait, not one for now and one for later: %v", len(left), err)
		}
	})
}
