package access

import "time"

// tally counts in place of Redis where one process is alone: its Redis lives
// and dies with it, so that counters there would outlive nothing, and the
// script costs an in-process Redis ten times what a look at its key does. It
// decides as quotaScript does, and a test compares them. It belongs to one
// goroutine.
type tally struct {
	plans Plans
	month string // that the counters belong to
	keys  map[string]*tallied
}

// tallied is what one key has used of the windows of now.
type tallied struct {
	minute, day string
	used        counts
}

func newTally(plans Plans) *tally { return &tally{plans: plans} }

// take answers a question about a key whose entry has been read.
func (t *tally) take(q question, raw string, runs []run, now time.Time) reply {
	r := reply{raw: q.entry, at: now}
	if r.raw == "" {
		r.raw = raw
	}
	e, known := parseEntry(r.raw)
	if !known || e.off || e.hash != q.hash {
		return r
	}
	k := t.of(q, now)
	if k == nil {
		r.lost = true
		return r
	}
	r.counted, r.plan, r.used = true, e.plan, k.used
	r.passed = grant(t.plans.Of(e.plan).Requests.left(k.used), runs)
	n := r.taken(runs)
	for w := range k.used {
		k.used[w] += n
	}
	return r
}

// of returns the counters of a key; nil when SQL must be asked for one, as at
// the beginning of each day.
func (t *tally) of(q question, now time.Time) *tallied {
	if month := Month.period(now); month != t.month {
		t.month, t.keys = month, map[string]*tallied{}
	}
	minute, day := Minute.period(now), Day.period(now)
	k := t.keys[q.id]
	if k == nil || k.day != day {
		if q.seeded != day {
			return nil
		}
		if k == nil {
			k = &tallied{used: counts{Month: q.month}}
			t.keys[q.id] = k
		}
		k.day, k.used[Day] = day, q.day
	}
	if k.minute != minute {
		k.minute, k.used[Minute] = minute, 0
	}
	return k
}
