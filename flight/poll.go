package flight

import (
	"sync"
	"time"
)

// Schedule holds what the time of the next poll depends on besides the leg.
type Schedule struct {
	Fixed  time.Duration // in place of the adaptive interval and of Floor; 0 means adaptive
	Floor  time.Duration // never poll sooner than this: the upstream's own limit
	Jitter float64       // in [0, 1): spreads the interval by a tenth either way

	// Load says how short the upstream's call budget runs: 0 not at all, 1 that
	// it is used up. It stretches intervals, first of flights far from their
	// departure and arrival, of those near them last and least. Fixed and the
	// back-off after errors stay as they are.
	Load float64
}

// Poll is when a leg is looked at next, and why.
type Poll struct {
	At     Time
	Reason string
}

// Next returns the poll after one at now that left the leg at s. Intervals
// follow how flights really change: days ahead next to nothing does, around
// departure and arrival minutes count; poll_table.go has them. A long sleep
// ends when the watch may.
func (c Schedule) Next(s *Snapshot, now Time) Poll {
	every, reason := interval(s, now, c.Load)
	p := c.after(now, every, reason)
	end := watchedUntil(s) + Time(c.Jitter*float64(hours(1)/6)) // not every flight of a date at once
	if c.Fixed == 0 && end < p.At && end >= now+Time(max(c.Floor, 3*time.Minute).Milliseconds()) {
		return Poll{end, "its watch may end"}
	}
	return p
}

// NextUnlisted is Next for a leg that its upstream did not list at now: it is
// looked for again when it is to be known whether it is gone; see [Unlist].
func (c Schedule) NextUnlisted(s *Snapshot, now, until Time) Poll {
	p := c.Next(s, now)
	if c.Fixed > 0 || p.At <= until {
		return p
	}
	return Poll{max(until, now+Time(c.Floor.Milliseconds())), "not listed any more"}
}

// NextLookup returns the next time to look for a flight that no upstream has
// found yet.
func (c Schedule) NextLookup(date string, now Time) Poll {
	every, reason, yields := lookupInterval(date, now)
	return c.after(now, yields.stretch(every, c.Load), reason)
}

func lookupInterval(date string, now Time) (every time.Duration, reason string, _ yields) {
	if d, err := time.Parse(time.DateOnly, date); err == nil {
		switch ahead := d.Sub(now.Std()); {
		case ahead > 72*time.Hour:
			return 6 * time.Hour, "unresolved, more than three days ahead", yieldsFirst
		case ahead > 24*time.Hour:
			return time.Hour, "unresolved, more than a day ahead", yieldsFirst
		}
	}
	return 15 * time.Minute, "unresolved, on its date", yieldsNext
}

// AfterError returns the poll after failures upstream errors in a row, the
// last of which asked for retryAfter (0: it did not say), which is always
// kept to.
func (c Schedule) AfterError(now Time, failures int, retryAfter time.Duration) Poll {
	every := time.Minute << min(max(failures-1, 0), 5) // to about half an hour
	p := c.after(now, every, "upstream error")
	if least := now + Time(retryAfter.Milliseconds()); p.At < least {
		p = Poll{least, "upstream error, as it asked"}
	}
	return p
}

func (c Schedule) after(now Time, every time.Duration, reason string) Poll {
	if c.Fixed > 0 {
		return Poll{now + Time(c.Fixed.Milliseconds()), "fixed interval"}
	}
	every += time.Duration((c.Jitter - 0.5) / 5 * float64(every))
	return Poll{now + Time(max(every, c.Floor).Milliseconds()), reason}
}

// Reasons for which a watch ends.
const (
	EndedArrived = "The flight arrived."
	EndedLanded  = "The flight landed; no gate arrival was reported within an hour."
	EndedDate    = "The flight's date passed."
	EndedUnseen  = "The flight's date passed without the flight being found."
)

// WatchEnded decides whether the watch of a leg ends at now, and why: on
// arrival; an hour after a landing without a gate arrival; or 24 hours after
// the end of the flight's date at its origin, but never in the air or while an
// estimated departure or arrival is ahead.
func WatchEnded(s *Snapshot, now Time) (reason string, ended bool) {
	switch {
	case s.Status.Phase == PhaseArrived:
		return EndedArrived, true
	case s.Status.Phase == PhaseLanded && s.bestArrival().Known() && now >= s.bestArrival()+hours(1):
		return EndedLanded, true
	case s.Status.Phase.InAir() && !overdueForLong(s, now):
		return "", false
	case s.estimatedAhead(now):
		return "", false
	case now < watchedUntil(s):
		return "", false
	}
	return EndedDate, true
}

// watchedUntil returns when the watch of a leg ends by its date.
func watchedUntil(s *Snapshot) Time {
	return endOfDate(s.Date, s.Departure.Airport.Timezone) + hours(24)
}

func hours(n int) Time { return Time(n) * Time(time.Hour.Milliseconds()) }

// estimatedAhead reports whether an estimated departure or arrival is yet to
// come, wherever the arrival is.
func (s *Snapshot) estimatedAhead(now Time) bool {
	for _, e := range [...]*Endpoint{&s.Departure, &s.Arrival, s.Diverted} {
		if e != nil && known(e.Times.EstimatedGate, e.Times.EstimatedRunway) > now {
			return true
		}
	}
	return false
}

// overdueForLong tells a leg whose record was abandoned in the air from one
// that is there: two days after it should have landed, or after its date where
// no arrival is known, it is not flying.
func overdueForLong(s *Snapshot, now Time) bool {
	due := s.bestArrival()
	if !due.Known() {
		due = endOfDate(s.Date, s.Departure.Airport.Timezone)
	}
	return now > due+hours(48)
}

// SearchEnded decides whether the search for a flight that was never found
// ends at now: 24 hours after its date is over everywhere on earth.
func SearchEnded(date string, now Time) (reason string, ended bool) {
	if now < endOfDate(date, "")+hours(24) {
		return "", false
	}
	return EndedUnseen, true
}

var zones sync.Map // name → *time.Location; loading one is slow

// endOfDate returns the moment at which date ends in zone, in UTC-12 when the
// zone is unknown.
func endOfDate(date, zone string) Time {
	loc, ok := zones.Load(zone)
	if !ok {
		l, err := time.LoadLocation(zone)
		if err != nil || zone == "" {
			l = time.FixedZone("UTC-12", -12*3600)
		}
		loc, _ = zones.LoadOrStore(zone, l)
	}
	d, err := time.ParseInLocation(time.DateOnly, date, loc.(*time.Location))
	if err != nil {
		return 0
	}
	return TimeOf(d.AddDate(0, 0, 1))
}

// Freshness returns for how long a look-up that left the legs as they are may
// be answered again from the cache: by the leg that moves most.
func (l Legs) Freshness(now Time) time.Duration {
	fresh := 30 * time.Minute
	for _, s := range l {
		fresh = min(fresh, s.freshness(now))
	}
	return fresh
}

// NotFoundFreshness is the same for the answer that there is no such flight.
const NotFoundFreshness = 30 * time.Second

func (s *Snapshot) freshness(now Time) time.Duration {
	if s.Status.Phase == PhaseArrived {
		return 10 * time.Minute
	}
	if s.Status.Phase.InAir() {
		return time.Minute
	}
	nearest := 365 * 24 * time.Hour
	for _, t := range []Time{s.Departure.Times.Best(), s.bestArrival()} {
		if t.Known() {
			nearest = min(nearest, t.Std().Sub(now.Std()).Abs())
		}
	}
	switch {
	case nearest <= 3*time.Hour:
		return time.Minute
	case nearest <= 24*time.Hour:
		return 5 * time.Minute
	}
	return 30 * time.Minute
}
