package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
)

// brief are time-outs after which a claim is soon taken over.
const brief = 400 * time.Millisecond

// A worker that is held past its claim changes nothing that its successor did.
func TestStalledDelivery(t *testing.T) {
	for _, c := range []struct {
		step     string
		attempts []string // that the receiver sees
	}{
		{"deliver.claimed", []string{"2"}}, // its claim has run out: it does not send
		{"deliver.sent", []string{"1", "2"}},
	} {
		t.Run(c.step, func(t *testing.T) {
			eachMode(t, func(t *testing.T, m dbtest.Mode) {
				g, halted := newGate(c.step), make(chan struct{})
				stalled := rigWith(t, m, func(s *setup) {
					s.Gate, s.SendTimeout = g, brief
					s.Step = func(step string) {
						if step == "worker.halted" {
							close(halted)
						}
					}
				})
				recv := newReceiver(t, func(int) int { return 204 })
				stalled.source.say(leg())
				s := stalled.subscribe(t, stalled.account(t), recv.URL)
				wait(t, g.held, "the first worker to be held")
				go stalled.stop() // it claims nothing meanwhile, and waits for what it has begun
				if c.step == "deliver.sent" {
					wait(t, halted, "the first worker to claim no more")
				}
				successor := stalled.other(t, func(s *setup) { s.SendTimeout = brief })
				successor.until(t, "the successor has delivered", func() bool { return successor.settled(t) })
				g.open()
				stalled.stop()

				want := "[subscription.created 1 interrupted subscription.created 2 succeeded]"
				if got := fmt.Sprint(successor.log(t, s.ID)); got != want {
					t.Errorf("the log says %s, not %s", got, want)
				}
				if n := one[int](t, successor, `SELECT delivered_count FROM subscription_state`); n != 1 {
					t.Errorf("%d deliveries are counted", n)
				}
				var body string
				for _, n := range c.attempts {
					got := recv.next(t)
					if body == "" {
						body = string(got.Body)
					}
					if got.attempt() != n || string(got.Body) != body {
						t.Errorf("attempt %s came, not %s, or with another body", got.attempt(), n)
					}
				}
				if len(recv.got) > 0 {
					t.Error("the receiver got it once more")
				}
				successor.change(t, "C1") // the line goes on
				recv.expect(t, "C1")
			})
		})
	}
}

// The same for polls: what a held process was told before is of no account
// after its successor's answer.
func TestStalledPoll(t *testing.T) {
	for _, step := range []string{"poll.claimed", "poll.begun", "poll.asked", "poll.accepted", "poll.announced"} {
		t.Run(step, func(t *testing.T) {
			eachMode(t, func(t *testing.T, m dbtest.Mode) {
				g := newGate(step)
				first := rigWith(t, m, func(s *setup) { s.Stopped, s.PollEvery = true, time.Second })
				recv := newReceiver(t, func(int) int { return 204 })
				first.source.say(leg())
				s := first.subscribe(t, first.account(t), recv.URL)
				first.source.say(atGate("OLD"))
				stalled := first.other(t, func(s *setup) { s.PollEvery, s.SendTimeout, s.Gate = time.Second, brief, g })
				recv.expect(t, "subscription.created")
				wait(t, g.held, "the first worker to be held")
				accepted := step == "poll.accepted" || step == "poll.announced"
				first.source.say(atGate("NEW"))
				successor := first.other(t, func(s *setup) { s.PollEvery, s.SendTimeout = time.Second, brief })
				if accepted {
					recv.expect(t, "OLD")
				}
				recv.expect(t, "NEW")
				g.open()
				stalled.stop()
				first.source.say(atGate("NEWER"))
				recv.expect(t, "NEWER")
				successor.until(t, "everything is settled", func() bool { return successor.settled(t) })
				want := 3
				if accepted {
					want = 4
				}
				if n := len(successor.log(t, s.ID)); n != want || len(recv.got) > 0 {
					t.Errorf("%d attempts, not %d; %d more came", n, want, len(recv.got))
				}
			})
		})
	}
}
