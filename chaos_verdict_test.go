package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// chaosRules must hold of the log in the end; each broken query lists what
// breaks it.
var chaosRules = []struct{ name, broken string }{
	{"an event still waits, or was not sent to an active subscription", `SELECT id FROM events WHERE status NOT IN ('delivered', 'failed') OR lease_token <> '' OR next_attempt_at IS NOT NULL`},
	{"the sequence has holes", `SELECT st.subscription_id FROM subscription_state st LEFT JOIN events e ON e.subscription_id = st.subscription_id
		GROUP BY st.subscription_id, st.seq HAVING count(e.id) <> st.seq OR min(e.seq) <> 1 OR max(e.seq) <> st.seq`},
	{"an event does not tell of the next version", `SELECT id FROM events WHERE version <> seq`},
	{"the log has not every attempt once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
		GROUP BY e.id, e.attempts HAVING count(d.id) <> e.attempts OR count(DISTINCT d.attempt) <> e.attempts OR min(d.attempt) <> 1 OR max(d.attempt) <> e.attempts`},
	{"an event's success is not in the log just once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'succeeded'
		GROUP BY e.id, e.status HAVING count(d.id) <> CASE WHEN e.status = 'delivered' THEN 1 ELSE 0 END`},
	{"an event's failure is not in the log just once", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'failed'
		GROUP BY e.id, e.status HAVING count(d.id) <> CASE WHEN e.status = 'failed' THEN 1 ELSE 0 END`},
	{"interruptions are not the log's", `SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id AND d.status = 'interrupted'
		GROUP BY e.id, e.interruptions HAVING count(d.id) <> e.interruptions`},
	{"the counters are not the log's", `SELECT st.subscription_id FROM subscription_state st
		WHERE st.delivered_count <> (SELECT count(*) FROM deliveries d WHERE d.subscription_id = st.subscription_id AND d.status = 'succeeded')
		OR st.failed_count <> (SELECT count(*) FROM deliveries d WHERE d.subscription_id = st.subscription_id AND d.status = 'failed')`},
	{"the log begins an event before the first attempt of the one before was over", `WITH first AS (SELECT event_id, min(attempted_at) AS began,
			min(attempted_at + latency_ms * interval '1 millisecond') FILTER (WHERE status <> 'interrupted') AS ended FROM deliveries GROUP BY event_id)
		SELECT e.id FROM events e JOIN events b ON b.subscription_id = e.subscription_id AND b.seq = e.seq - 1
		JOIN first fe ON fe.event_id = e.id JOIN first fb ON fb.event_id = b.id WHERE fe.began + interval '200 milliseconds' < fb.ended`},
}

// verdict holds what the service says against what the receivers saw.
type verdict struct {
	t      *testing.T
	db     *sqlx.DB
	crowd  *audience
	subs   map[string]int // the receiver of each
	events int            // that each has to have

	retryBase time.Duration
}

// entry is an event in the log.
type entry struct {
	ID           string `db:"id"`
	Subscription string `db:"subscription_id"`
	Status       string `db:"status"`
	tries        []try
}

// try is an attempt in the log.
type try struct {
	Event  string  `db:"event_id"`
	Number int     `db:"attempt"`
	Status string  `db:"status"`
	Code   int     `db:"status_code"`
	At     db.Time `db:"attempted_at"`
	Next   db.Time `db:"next_attempt_at"`
}

// check returns what became of the events, in words.
func (v *verdict) check() string {
	v.t.Helper()
	for _, fault := range v.crowd.faults {
		v.t.Error(fault)
	}
	for _, rule := range chaosRules {
		var broken []string
		v.sel(&broken, rule.broken)
		if len(broken) > 0 {
			v.t.Errorf("%s: %d times, as %v", rule.name, len(broken), broken[:min(3, len(broken))])
		}
	}
	log, lines := v.log()
	if len(lines) != len(v.subs) {
		v.t.Errorf("the log knows %d subscriptions, of %d", len(lines), len(v.subs))
	}
	count := map[string]int{}
	for id, line := range lines {
		if len(line) != v.events {
			v.t.Errorf("%s has %d events, not %d", id, len(line), v.events)
		}
		v.order(id, line, log)
		for _, event := range line {
			count[log[event].Status]++
			v.event(log[event])
			count["attempts"] += len(log[event].tries)
		}
	}
	for id := range v.crowd.events {
		if log[id] == nil {
			v.t.Errorf("a receiver was sent event %s, which is not in the log", id)
		}
	}
	return fmt.Sprintf("%d events delivered, %d failed, in %d attempts", count["delivered"], count["failed"], count["attempts"])
}

func (v *verdict) sel(to any, query string) {
	v.t.Helper()
	if err := v.db.Select(to, query); err != nil {
		v.t.Fatalf("%s: %v", query, err)
	}
}

// log reads all events and attempts, and the events of each subscription in
// their order.
func (v *verdict) log() (events map[string]*entry, lines map[string][]string) {
	v.t.Helper()
	var all []*entry
	var tries []try
	v.sel(&all, `SELECT id, subscription_id, status FROM events ORDER BY subscription_id, seq`)
	v.sel(&tries, `SELECT event_id, attempt, status, status_code, attempted_at, next_attempt_at FROM deliveries ORDER BY event_id, attempt`)
	events, lines = make(map[string]*entry, len(all)), map[string][]string{}
	for _, e := range all {
		events[e.ID] = e
		lines[e.Subscription] = append(lines[e.Subscription], e.ID)
	}
	for _, a := range tries {
		events[a.Event].tries = append(events[a.Event].tries, a)
	}
	return events, lines
}

// event holds an event against the rules of retries and what its receiver does.
func (v *verdict) event(e *entry) {
	counted := 0
	for i, a := range e.tries {
		if a.Status == "interrupted" {
			continue
		}
		counted++
		least := v.retryBase << (counted - 1)
		if wait := a.Next.Std().Sub(a.At.Std()); a.Status == "retrying" && wait < least {
			v.t.Errorf("event %s: after attempt %d the next was planned in %v, not %v", e.ID, a.Number, wait, least)
		}
		if i+1 < len(e.tries) && !a.Next.Std().IsZero() {
			// The clocks of two processes differ by a little, and by more where a line was slow when they were set.
			if early := a.Next.Std().Sub(e.tries[i+1].At.Std()); early > 100*time.Millisecond {
				v.t.Errorf("event %s: attempt %d came %v early", e.ID, e.tries[i+1].Number, early)
			}
		}
	}
	if len(e.tries) == 0 {
		v.t.Errorf("event %s was never attempted", e.ID)
		return
	}
	last := e.tries[len(e.tries)-1]
	seen := v.crowd.events[e.ID]
	switch of := temperOf(v.subs[e.Subscription]); {
	case e.Status == "delivered" && (seen == nil || !seen.taken):
		v.t.Errorf("event %s counts as delivered, and its receiver never took it", e.ID)
	case e.Status == "delivered" && (of == hangs || of == fails || of == rejects):
		v.t.Errorf("event %s was delivered to a receiver that takes nothing", e.ID)
	case e.Status == "failed" && of == rejects && last.Code == 410: // at once, or after time-outs
	case e.Status == "failed" && counted != flight.MaxAttempts:
		v.t.Errorf("event %s failed after %d attempts", e.ID, counted)
	case e.Status == "failed" && of == well:
		v.t.Errorf("event %s failed, and its receiver takes everything", e.ID)
	}
}

// order: a receiver hears of an event before it hears of a later one, unless a
// first attempt at the earlier was over before it was heard.
func (v *verdict) order(subscription string, line []string, log map[string]*entry) {
	heard := v.crowd.heard[subscription]
	for i, id := range line {
		at := slices.Index(heard, id)
		if at < 0 || overUnheard(log[id], v.crowd.events[id].attempt) {
			continue
		}
		for _, later := range line[i+1:] {
			if before := slices.Index(heard, later); before >= 0 && before < at {
				v.t.Errorf("%s heard of event %s before %s", subscription, later, id)
			}
		}
	}
}

// overUnheard reports whether an attempt before the one that was heard first
// is counted in the log.
func overUnheard(e *entry, first int) bool {
	return slices.ContainsFunc(e.tries, func(a try) bool { return a.Number < first && a.Status != "interrupted" })
}
