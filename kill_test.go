package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every step between a poll and a recorded delivery, in the order in which
// they are passed. The service is killed at each.
var steps = []string{
	"poll.claimed",          // the claim is committed, no task yet
	"poll.enqueued",         // the task is in Redis
	"poll.begun",            // a worker has it
	"poll.asked",            // the upstream has answered
	"commit.accept",         // the update and its events are written, not committed
	"poll.accepted",         // committed, the bell not rung
	"poll.announced",        // rung, the delivery not woken
	"commit.claim events",   // an event is claimed, not committed
	"deliver.claimed",       // committed, not sent
	"deliver.sent",          // sent, not recorded
	"commit.record results", // recorded, not committed
	"deliver.recorded",      // committed
}

// interruptedAt are the steps at which an attempt was under way, so that the log
// must say that it was interrupted; perhapsInterruptedAt those at which the
// event is there for the dispatcher to take up beside the poll that made it.
var (
	interruptedAt        = []string{"deliver.claimed", "deliver.sent", "commit.record results"}
	perhapsInterruptedAt = []string{"poll.accepted", "poll.announced"}
)

// interruptions says how often an attempt at an event may have been cut off:
// no more than so often, and no less.
type interruptions struct{ least, most int }

// ofKill is what a kill at a step leaves in the log of the change's event.
func ofKill(step string) interruptions {
	switch {
	case slices.Contains(interruptedAt, step):
		return interruptions{1, 1}
	case slices.Contains(perhapsInterruptedAt, step):
		return interruptions{0, 1}
	}
	return interruptions{}
}

// Bounds of the decisions: what a dead process had claimed is taken up again
// within the delivery time-out and 5 seconds, or 10 seconds for a poll. A
// process needs some time to start besides, more so under the race detector.
const (
	testDeliveryTimeout = time.Second
	startAllowance      = 5 * time.Second
	takeUpBound         = 10*time.Second + testDeliveryTimeout + 5*time.Second + startAllowance
)

func killEnv(p *provider) []string {
	return []string{
		"FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_BASE_URL=" + p.URL, "CIRIUM_APP_ID=id", "CIRIUM_APP_KEY=key",
		"FLIGHTWIRE_POLL_EVERY=1s", "FLIGHTWIRE_DELIVERY_TIMEOUT=" + testDeliveryTimeout.String(), "FLIGHTWIRE_RETRY_BASE=1s",
	}
}

// subscribeAA100 subscribes and waits until the first event has been heard.
func subscribeAA100(t *testing.T, p *service, e *ear) (id string) {
	t.Helper()
	var sub struct{ ID, Secret string }
	if status := p.do("POST", "/v1/subscriptions", map[string]any{
		"carrier": "AA", "flightNumber": "100", "date": flightDate(), "webhookUrl": e.URL,
	}, &sub); status != http.StatusCreated {
		t.Fatalf("subscribing answered %d", status)
	}
	e.mu.Lock()
	e.secrets[sub.ID] = sub.Secret
	e.mu.Unlock()
	e.wait(t, "the first event", time.Now().Add(takeUpBound), func() bool { return len(e.events[sub.ID]) == 1 })
	return sub.ID
}

// TestKill kills the process at every step with kill -9 while a change goes
// from the upstream to the subscriber, starts it again, and expects the change
// under one id with one body, in time, and the log to tell what happened.
func TestKill(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		t.Parallel()
		atEveryStep(t, m, "kill", ofKill, func(s *service, env []string, step string) *service {
			if code := s.Wait(); code != -1 {
				t.Fatalf("the process was to be killed at %s and ended with exit code %d", step, code)
			}
			return m.serve(t, env...)
		})
	})
}

// atEveryStep sends a change through the service for each step, at which the
// process kills or stops itself; mend returns the service that goes on. In the
// end all has been delivered once, and the log has the interrupted attempts
// that the steps account for.
func atEveryStep(t *testing.T, m mode, action string, interrupted func(step string) interruptions, mend func(s *service, env []string, step string) *service) {
	t.Helper()
	upstream, ear := newProvider(t), newEar(t)
	env := killEnv(upstream)
	s := m.serve(t, env...)
	sub := subscribeAA100(t, s, ear)
	want, cutOff := []string{}, map[string]interruptions{}
	for i, step := range steps {
		gate := fmt.Sprintf("G%d", i+1)
		s.breakAt(t, upstream, gate, step, action)
		s = mend(s, env, step)
		ear.wait(t, "the change after the "+action+" at "+step, time.Now().Add(takeUpBound), func() bool {
			return slices.Contains(gates(ear.events[sub]), gate)
		})
		settle(t, s, sub, i+2) // what is sent and not recorded yet would be interrupted at the next step
		want, cutOff[gate] = append(want, gate), interrupted(step)
	}
	s.stop()
	if got := gates(ear.events[sub]); !slices.Equal(got, want) {
		t.Errorf("heard of gates %v, want %v", got, want)
	}
	for _, f := range ear.faults {
		t.Error(f)
	}
	checkLog(t, m, sub, ear, cutOff)
}

// breakAt arms a failpoint and changes the gate. A step that follows the
// upstream's answer is armed with that answer, so that it is reached with the
// change in hand.
func (p *service) breakAt(t *testing.T, upstream *provider, gate, step, action string) {
	t.Helper()
	if slices.Contains(steps[:3], step) {
		p.arm(step, action)
		upstream.change(gate, nil)
		return
	}
	upstream.change(gate, func() { p.arm(step, action) })
}

// settle waits until the service has recorded that all was delivered.
func settle(t *testing.T, p *service, sub string, delivered int) {
	t.Helper()
	var s struct{ DeliveredCount, FailedCount int }
	for deadline := time.Now().Add(takeUpBound); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if p.do("GET", "/v1/subscriptions/"+sub, nil, &s); s.DeliveredCount >= delivered {
			break
		}
	}
	if s.DeliveredCount != delivered || s.FailedCount != 0 {
		t.Errorf("%d delivered and %d failed, want %d and 0", s.DeliveredCount, s.FailedCount, delivered)
	}
}

// checkLog holds the event log and the attempt log against what was received;
// cutOff are the interrupted attempts to be found, by the gate that the event
// told of.
func checkLog(t *testing.T, m mode, sub string, e *ear, cutOff map[string]interruptions) {
	t.Helper()
	d := m.sql(t)
	var events []struct {
		ID       string `db:"id"`
		Seq      int    `db:"seq"`
		Status   string `db:"status"`
		Attempts int    `db:"attempts"`
	}
	if err := d.Select(&events, `SELECT id, seq, status, attempts FROM events WHERE subscription_id = $1 ORDER BY seq`, sub); err != nil {
		t.Fatal(err)
	}
	if len(events) != len(e.events[sub]) {
		t.Errorf("%d events in the log, %d received", len(events), len(e.events[sub]))
	}
	for i, ev := range events {
		if ev.Seq != i+1 || ev.Status != "delivered" {
			t.Errorf("event %d: %+v", i+1, ev)
		}
		if _, ok := e.bodies[ev.ID]; !ok {
			t.Errorf("event %s was never received", ev.ID)
		}
	}
	var log []struct {
		EventID string `db:"event_id"`
		Attempt int    `db:"attempt"`
		Status  string `db:"status"`
	}
	if err := d.Select(&log, `SELECT event_id, attempt, status FROM deliveries WHERE subscription_id = $1 ORDER BY event_id, attempt`, sub); err != nil {
		t.Fatal(err)
	}
	attempts, interrupted := map[string]int{}, map[string]int{}
	for _, l := range log {
		if attempts[l.EventID]++; l.Attempt != attempts[l.EventID] {
			t.Errorf("event %s: attempt %d is logged as its %dth", l.EventID, l.Attempt, attempts[l.EventID])
		}
		if l.Status == "interrupted" {
			interrupted[l.EventID]++
		}
	}
	for _, h := range e.events[sub] {
		gate := strings.Join(gates([]heard{h}), "")
		if got, want := interrupted[h.ID], cutOff[gate]; got < want.least || got > want.most {
			t.Errorf("event %s of gate %q: %d attempts are logged as interrupted, want %d to %d", h.ID, gate, got, want.least, want.most)
		}
	}
	for _, ev := range events {
		if attempts[ev.ID] != ev.Attempts {
			t.Errorf("event %s had %d attempts, %d are logged", ev.ID, ev.Attempts, attempts[ev.ID])
		}
	}
}

// TestRedisFlush holds the process at every step, empties Redis, and lets it go
// on: nothing is lost. In the embedded mode Redis dies with the process, which
// TestKill covers.
func TestRedisFlush(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		if m.command == "dev" {
			t.Log("the in-process Redis ends with its process: see TestKill")
			return
		}
		never := func(string) interruptions { return interruptions{} }
		atEveryStep(t, m, "stop", never, func(s *service, _ []string, _ string) *service {
			s.WaitStopped()
			if err := m.redis(t).FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			s.Signal(syscall.SIGCONT)
			return s
		})
	})
}

// TestStalledWorker stops one of two workers past its claim and lets it go on
// when its successor has done the work: it changes nothing.
func TestStalledWorker(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, m mode) {
		if m.command == "dev" {
			t.Log("the embedded database has one process; its own stall is TestKill's business")
			return
		}
		for i, step := range []string{"poll.begun", "poll.asked", "deliver.claimed", "deliver.sent"} {
			t.Run(step, func(t *testing.T) {
				upstream, ear := newProvider(t), newEar(t)
				m := serversMode(t)
				stalled := m.serve(t, killEnv(upstream)...)
				sub := subscribeAA100(t, stalled, ear)
				gate := fmt.Sprintf("S%d", i)
				stalled.breakAt(t, upstream, gate, step, "stop")
				stalled.WaitStopped()
				successor := m.serve(t, killEnv(upstream)...)
				ear.wait(t, "the change from the successor", time.Now().Add(takeUpBound), func() bool {
					return slices.Contains(gates(ear.events[sub]), gate)
				})
				settle(t, successor, sub, 2)
				before := m.dump(t, sub)
				stalled.Signal(syscall.SIGCONT)
				// It has gone on once it finishes what it holds, as a stop makes it.
				stalled.stop()
				if after := m.dump(t, sub); !bytes.Equal(before, after) {
					t.Errorf("the stalled worker changed what its successor wrote:\n%s\n%s", before, after)
				}
				checkLog(t, m, sub, ear, map[string]interruptions{gate: ofKill(step)})
				if got := gates(ear.events[sub]); !slices.Equal(got, []string{gate}) {
					t.Errorf("heard of gates %v", got)
				}
				for _, f := range ear.faults {
					t.Error(f)
				}
				successor.stop()
			})
		}
	})
}

// TestRestartInStorm ends the embedded default in the middle of a storm of
// deliveries, once as an operator would and once with kill -9, and expects
// every event to be delivered by the next start.
func TestRestartInStorm(t *testing.T) {
	t.Parallel()
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			m, upstream, ear := embeddedMode(t), newProvider(t), newEar(t)
			s := m.serve(t, killEnv(upstream)...)
			const many = 300
			subs := make([]string, many)
			for i := range subs {
				var sub struct{ ID, Secret string }
				if status := s.do("POST", "/v1/subscriptions", map[string]any{
					"carrier": "AA", "flightNumber": "100", "date": flightDate(), "webhookUrl": ear.URL,
				}, &sub); status != http.StatusCreated {
					t.Fatalf("subscribing answered %d", status)
				}
				ear.mu.Lock()
				ear.secrets[sub.ID] = sub.Secret
				ear.mu.Unlock()
				subs[i] = sub.ID
			}
			upstream.change("S1", nil)
			heardOf := func() (n int) {
				for _, id := range subs {
					if slices.Contains(gates(ear.events[id]), "S1") {
						n++
					}
				}
				return n
			}
			ear.wait(t, "the first third of the storm", time.Now().Add(takeUpBound), func() bool { return heardOf() >= many/3 })
			s.Signal(end)
			s.Wait()
			ear.mu.Lock()
			before := heardOf()
			ear.mu.Unlock()
			if before == many {
				t.Log("the storm was over before the end came")
			}
			s = m.serve(t, killEnv(upstream)...)
			ear.wait(t, "the rest of the storm", time.Now().Add(takeUpBound), func() bool { return heardOf() == many })
			for _, id := range subs {
				settle(t, s, id, 2)
			}
			s.stop()
			for _, id := range subs {
				if got := gates(ear.events[id]); !slices.Equal(got, []string{"S1"}) {
					t.Errorf("%s heard of gates %v", id, got)
				}
			}
			for _, f := range ear.faults {
				t.Error(f)
			}
		})
	}
}
