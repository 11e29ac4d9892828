package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"
)

// crew are the processes of a storm: with servers one that serves the API and
// two workers, embedded one for all.
type crew struct {
	t       *testing.T
	mode    mode
	sky     *sky
	env     []string
	key     string
	api     *service
	workers []*worker
	hired   int // workers so far
	kills   int
}

// worker is a process whose calls the sky knows by its name.
type worker struct {
	*service
	name string
}

func newCrew(t *testing.T, m mode, sky *sky, env []string) *crew {
	c := &crew{t: t, mode: m, sky: sky, env: env}
	if m.command == "dev" {
		c.workers = []*worker{c.hire()}
	} else {
		c.api = m.work(t, append(slices.Clip(env), "FLIGHTWIRE_ROLE=api", "CIRIUM_BASE_URL="+sky.base("api"))...)
		c.workers = []*worker{c.hire(), c.hire()}
	}
	c.key = m.newKey(t)
	c.api.client.key = c.key
	return c
}

// hire starts a worker, which embedded serves the API as well.
func (c *crew) hire() *worker {
	c.hired++
	w := &worker{name: fmt.Sprint("worker", c.hired)}
	env := append(slices.Clip(c.env), "CIRIUM_BASE_URL="+c.sky.base(w.name))
	if c.mode.command == "dev" {
		w.service = c.mode.work(c.t, env...)
		w.client.key, c.api = c.key, w.service
	} else {
		w.service = c.mode.work(c.t, append(env, "FLIGHTWIRE_ROLE=worker")...)
	}
	return w
}

// ravage kills workers one after the other while the storm lasts, either at a
// random moment or the next time that it comes to a random step between a poll
// and a recorded delivery, and starts each again.
func (c *crew) ravage(dice *rand.Rand, z stormSize) {
	began := time.Now()
	for i := range z.kills {
		// Somewhere in its part of the storm.
		part := z.lasts / time.Duration(z.kills)
		at := began.Add(time.Duration(i)*part + time.Duration(dice.Int64N(int64(part))))
		time.Sleep(time.Until(at)) // the moment is the point
		n := dice.IntN(len(c.workers))
		victim := c.workers[n]
		if dice.IntN(3) == 0 {
			victim.Kill()
		} else {
			step := steps[dice.IntN(len(steps))]
			victim.arm(step, "kill")
			select {
			case <-victim.done:
			case <-time.After(2 * time.Second): // it does not come by there any more
				victim.Kill()
			}
		}
		c.sky.died(victim.name)
		c.kills++
		if code := victim.Wait(); code != -1 {
			c.t.Errorf("a worker ended with exit code %d before it was killed:\n%s", code, victim.out.String())
		}
		c.workers[n] = c.hire()
	}
}

// settled returns when the service has recorded that all was delivered.
func (c *crew) settled(events int, deadline time.Time) {
	c.t.Helper()
	delivered, failed := 0, 0
	for ; time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		delivered, failed = 0, 0
		for offset, rows := 0, 200; rows == 200; offset += rows {
			var page struct {
				Count int
				Data  []struct{ DeliveredCount, FailedCount int }
			}
			if status := c.api.do("GET", fmt.Sprintf("/v1/subscriptions?limit=200&offset=%d", offset), nil, &page); status != http.StatusOK {
				c.t.Fatalf("the list of subscriptions answered %d", status)
			}
			rows = page.Count
			for _, s := range page.Data {
				delivered, failed = delivered+s.DeliveredCount, failed+s.FailedCount
			}
		}
		if delivered >= events {
			break
		}
	}
	if delivered != events || failed != 0 {
		c.t.Errorf("%d events are recorded as delivered and %d as failed, want %d and 0", delivered, failed, events)
	}
}

// stop ends all of them as SIGTERM does.
func (c *crew) stop() {
	c.t.Helper()
	for _, w := range c.workers {
		w.stop()
	}
	if c.mode.command != "dev" {
		c.api.Signal(syscall.SIGTERM)
		if code := c.api.Wait(); code != 0 {
			c.t.Errorf("a clean stop of the API ended with exit code %d", code)
		}
	}
}

// stormRules must hold of the logs in the end; each broken query lists what
// breaks it.
var stormRules = []struct{ name, broken string }{
	{"an event is not delivered", `SELECT id FROM events WHERE status <> 'delivered' OR lease_token <> '' OR next_attempt_at IS NOT NULL`},
	{"the sequence has holes", `SELECT st.subscription_id FROM subscription_state st LEFT JOIN events e ON e.subscription_id = st.subscription_id
		GROUP BY st.subscription_id, st.seq HAVING count(e.id) <> st.seq OR min(e.seq) <> 1 OR max(e.seq) <> st.seq`},
	{"the log has not every attempt once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
		GROUP BY e.id, e.attempts HAVING count(d.id) <> e.attempts OR count(DISTINCT d.attempt) <> e.attempts OR min(d.attempt) <> 1 OR max(d.attempt) <> e.attempts`},
	{"an event was not delivered just once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'succeeded'
		GROUP BY e.id HAVING count(d.id) <> 1`},
	{"interruptions are not the log's", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'interrupted'
		GROUP BY e.id, e.interruptions HAVING count(d.id) <> e.interruptions`},
	{"the counters are not the log's", `SELECT st.subscription_id FROM subscription_state st
		WHERE st.failed_count <> 0 OR st.delivered_count <> (SELECT count(*) FROM deliveries d WHERE d.subscription_id = st.subscription_id AND d.status = 'succeeded')`},
}

// checkStormLog holds the logs against what was received.
func checkStormLog(t *testing.T, m mode, e *ear) {
	t.Helper()
	d := m.sql(t)
	for _, rule := range stormRules {
		var broken []string
		if err := d.Select(&broken, rule.broken); err != nil {
			t.Fatalf("%s: %v", rule.name, err)
		}
		for _, id := range broken {
			t.Errorf("%s: %s", rule.name, id)
		}
	}
	var log []struct {
		Subscription string `db:"subscription_id"`
		ID           string `db:"id"`
	}
	if err := d.Select(&log, `SELECT subscription_id, id FROM events ORDER BY subscription_id, seq`); err != nil {
		t.Fatal(err)
	}
	inLog := map[string][]string{}
	for _, l := range log {
		inLog[l.Subscription] = append(inLog[l.Subscription], l.ID)
	}
	for sub, ids := range inLog {
		var received []string
		for _, h := range e.events[sub] {
			received = append(received, h.ID)
		}
		if !slices.Equal(received, ids) {
			t.Errorf("%s: received %v, the log has %v", sub, received, ids)
		}
	}
	if len(inLog) != len(e.events) {
		t.Errorf("%d subscriptions heard something, the log has %d", len(e.events), len(inLog))
	}
}
