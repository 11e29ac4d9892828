package flight

import (
	"slices"
	"time"
)

// unlisted is the path of what is held while a leg that its upstream does not
// list any more still counts.
const unlisted = "leg"

// unlistedNote is the description of a leg that is listed no more.
const unlistedNote = "The data provider does not list this flight any more."

// Unlist returns what counts of a leg that the upstream which has it did not
// list at now, last being what counted before, with what it held. A leg that
// vanishes before its departure is not operational, code NO, once it has been
// missing for window, for half an hour and for a quarter of the time that was
// left to its departure, a day at most: an empty answer is a provider's
// commonest fault, and schedules are loaded anew. until is when that will be
// known; 0 when it makes no difference. Of any other leg what counted stays: one that was cancelled is
// often taken off the list, and one that has left is somewhere.
func Unlist(last *Snapshot, held []Held, now Time, window time.Duration) (effective *Snapshot, holds []Held, until Time) {
	since := now
	if i := slices.IndexFunc(held, isUnlisted); i >= 0 {
		since = held[i].Since
	}
	if !last.waits(since) {
		return last, Listed(held), 0
	}
	if until = last.unlistedUntil(since, window); now < until {
		return last, append(Listed(held), Held{Path: unlisted, Since: since}), until
	}
	gone := *last
	gone.FetchedAt = now
	gone.Status = StatusInfo{Code: StatusNotOperational, Phase: PhaseUnknown, Description: unlistedNote}
	gone.Complete()
	return &gone, nil, 0
}

// UnlistedUntil returns when it will be known whether a leg is gone that is held
// as missing; 0 when it is not. last and window are those of [Unlist].
func UnlistedUntil(last *Snapshot, held []Held, window time.Duration) Time {
	i := slices.IndexFunc(held, isUnlisted)
	if i < 0 {
		return 0
	}
	return last.unlistedUntil(held[i].Since, window)
}

func (s *Snapshot) unlistedUntil(since Time, window time.Duration) Time {
	wait := Time(max(window, DefaultHold).Milliseconds())
	if departs := s.Departure.Times.Best(); departs.Known() {
		wait = max(wait, min((departs-since)/4, hours(24)))
	}
	return since + wait
}

// Listed returns what a leg holds now that its upstream lists it again.
func Listed(held []Held) []Held {
	return slices.DeleteFunc(slices.Clone(held), isUnlisted)
}

func isUnlisted(h Held) bool { return h.Path == unlisted }

// waits reports whether at t the leg had its departure ahead of it.
func (s *Snapshot) waits(t Time) bool {
	if s.Status.Phase != PhaseScheduled && s.Status.Phase != PhaseBoarding {
		return false
	}
	departs := s.Departure.Times.Best()
	return !departs.Known() || t < departs
}
