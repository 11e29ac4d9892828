package main

import (
	"fmt"
	"syscall"
	"time"
)

// disaster is something that happens to the processes or to what they stand on.
type disaster struct {
	name     string
	restarts bool // it ends a server
	happen   func(c *chaos)
}

var disasters = []disaster{
	{"a worker killed", false, func(c *chaos) { c.kill(func(w *service) { w.Kill() }) }},
	{"a worker killed at a step", false, func(c *chaos) {
		step := steps[c.dice.IntN(len(steps))]
		c.kill(func(w *service) {
			w.arm(step, "kill")
			select {
			case <-w.done:
			case <-time.After(2 * time.Second): // it does not come by there any more
				w.Kill()
			}
		})
	}},
	{"both workers killed", false, func(c *chaos) {
		c.kill(func(w *service) { w.Kill() })
		c.kill(func(w *service) { w.Kill() })
	}},
	{"Redis emptied", false, func(c *chaos) { flush(c.t, c.direct.redis(c.t)) }},
	{"Redis restarted", true, func(c *chaos) {
		c.redisOwn.stop(syscall.SIGKILL)
		c.pause(time.Second)
		c.redisOwn.start()
	}},
	{"PostgreSQL restarted", true, func(c *chaos) {
		c.postgres.stop(syscall.SIGINT)
		c.pause(time.Second)
		c.postgres.start()
	}},
	{"PostgreSQL crashed", true, func(c *chaos) {
		c.postgres.stop(syscall.SIGQUIT)
		c.postgres.start()
	}},
	{"PostgreSQL crashed with a worker", true, func(c *chaos) {
		c.postgres.stop(syscall.SIGQUIT)
		c.kill(func(w *service) {
			w.Kill()
			c.postgres.start()
		})
	}},
	{"a line cut", false, func(c *chaos) { c.line().cut(time.Duration(c.dice.Int64N(int64(2 * time.Second)))) }},
	{"a line cut for an instant", false, func(c *chaos) { c.line().cut(0) }},
	{"a line resetting", false, func(c *chaos) { c.spoil(`{"type":"reset_peer","toxicity":0.3,"attributes":{"timeout":20}}`) }},
	{"a line swallowing answers", false, func(c *chaos) { c.spoil(`{"type":"timeout","toxicity":0.5,"attributes":{"timeout":0}}`) }},
	{"a line swallowing requests", false, func(c *chaos) {
		c.spoil(`{"type":"timeout","stream":"upstream","toxicity":0.5,"attributes":{"timeout":700}}`)
	}},
	{"a line slow", false, func(c *chaos) { c.spoil(`{"type":"latency","attributes":{"latency":60,"jitter":50}}`) }},
	{"a line cutting answers short", false, func(c *chaos) { c.spoil(`{"type":"limit_data","toxicity":0.5,"attributes":{"bytes":20000}}`) }},
}

// rage has one disaster after the other, each at a random moment of its part of
// the time; every kind comes before one comes again.
func (c *chaos) rage() {
	began := time.Now()
	c.done = misery{}
	var deck []disaster
	for i := range c.disasters {
		if len(deck) == 0 {
			for _, n := range c.dice.Perm(len(disasters)) {
				if c.restarting || !disasters[n].restarts {
					deck = append(deck, disasters[n])
				}
			}
		}
		part := c.lasts / time.Duration(c.disasters)
		at := began.Add(time.Duration(i)*part + time.Duration(c.dice.Int64N(int64(part))))
		time.Sleep(time.Until(at)) // the moment is the point
		d := deck[0]
		deck = deck[1:]
		c.t.Logf("%5.1f s: %s", time.Since(began).Seconds(), d.name)
		d.happen(c)
		c.done[d.name]++
		if c.t.Failed() {
			return
		}
	}
}

// kill has a worker ended by how, and starts another in its place.
func (c *chaos) kill(how func(*service)) {
	n := c.dice.IntN(len(c.workers))
	victim := c.workers[n]
	select {
	case <-victim.done:
		c.t.Errorf("a worker ended by itself:\n%s", victim.out.String())
	default:
	}
	how(victim)
	if code := victim.Wait(); code != -1 {
		c.t.Errorf("a worker ended with exit code %d before it was killed:\n%s", code, victim.out.String())
	}
	c.workers[n] = c.hire()
}

// pause waits up to most.
func (c *chaos) pause(most time.Duration) { time.Sleep(time.Duration(c.dice.Int64N(int64(most)))) }

// line returns one of the lines.
func (c *chaos) line() *line { return c.lines[c.dice.IntN(len(c.lines))] }

// spoil has a toxic on a line for a second or two.
func (c *chaos) spoil(toxic string) {
	c.line().spoil(toxic, time.Second+time.Duration(c.dice.Int64N(int64(time.Second))))
}

// String lists what has happened.
func (t misery) String() string {
	all, text := 0, ""
	for _, d := range disasters {
		if n := t[d.name]; n > 0 {
			text += fmt.Sprintf(", %s %d×", d.name, n)
			all += n
		}
	}
	return fmt.Sprintf("%d disasters%s", all, text)
}
