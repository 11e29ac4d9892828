package flight

import "time"

// Rank says who goes first when a provider's calls run short.
type Rank int

// The ranks, first come those who go first.
const (
	RankLookup Rank = iota // a client waits for it
	RankAtHand             // a departure or an arrival is at hand
	RankSoon               // news is likely but can wait
	RankFar                // days or hours ahead, or over
)

// RankOf returns the rank of a poll of the leg at s.
func RankOf(s *Snapshot, now Time) Rank {
	table, to := tableOf(s, now)
	r, _ := rowAt(table, to, now)
	return r.yields.rank()
}

// RankOfSearch returns the rank of the search for a flight that no upstream has
// found yet.
func RankOfSearch(date string, now Time) Rank {
	_, _, y := lookupInterval(date, now)
	return y.rank()
}

func (y yields) rank() Rank {
	return [...]Rank{yieldsFirst: RankFar, yieldsNext: RankSoon, yieldsLast: RankAtHand}[y]
}

// putOff bounds by rank for how long a poll is put off.
var putOff = [...]struct{ least, most time.Duration }{
	RankLookup: {15 * time.Second, 15 * time.Minute},
	RankAtHand: {15 * time.Second, 15 * time.Minute},
	RankSoon:   {2 * time.Minute, 30 * time.Minute},
	RankFar:    {20 * time.Minute, 2 * time.Hour},
}

// PutOff returns the poll in place of one at now for which the provider's
// budget had no call. wait is how long it will have none; it is not waited for
// to its end where that is far, because limits may be raised. Jitter spreads
// the polls over half as long again.
func (c Schedule) PutOff(r Rank, now Time, wait time.Duration, reason string) Poll {
	bounds := putOff[r]
	if c.Fixed > 0 {
		bounds.least = min(bounds.least, c.Fixed)
	}
	every := min(max(wait, bounds.least), bounds.most)
	every += time.Duration(c.Jitter / 2 * float64(every))
	return Poll{now + Time(every.Milliseconds()), reason}
}

// Calls is where the calls to a provider stand.
type Calls struct {
	// Of the rate: how many calls may be made at this moment, after the one
	// that was just made; and how many may be at once at most, 0 where the rate
	// has no limit.
	Left, Burst float64

	// Of the month: how many were made and how many may be, 0 where there is no
	// limit; and which share of the month has passed.
	Used, Limit int64
	Passed      float64
}

// Load says how short the calls run, for [Schedule]: 0 not at all, 1 that only
// look-ups have any. It is the greater of two. Of the rate: how far the burst is
// spent, so that each rank is stretched before it is refused. Of the month: how
// far what is left falls behind an even pace to its end; at half of that pace
// it is 1.
func (c Calls) Load() float64 {
	return max(c.rateLoad(), c.monthLoad())
}

func (c Calls) rateLoad() float64 {
	if c.Burst <= 1 {
		return 0 // a burst of one is spent or not, which says nothing of how short it runs
	}
	return share((1 - c.Left/(c.Burst-1)) / (1 - RankAtHand.Reserve()))
}

func (c Calls) monthLoad() float64 {
	switch {
	case c.Limit <= 0:
		return 0
	case c.Used >= c.Limit:
		return 1
	case c.Passed >= 1:
		return 0
	}
	left := 1 - float64(c.Used)/float64(c.Limit)
	return share(2 * (1 - left/(1-max(c.Passed, 0))))
}

func share(x float64) float64 { return min(max(x, 0), 1) }

// Reserve returns which share of a burst a rank leaves to those before it.
func (r Rank) Reserve() float64 {
	return [...]float64{RankLookup: 0, RankAtHand: 0.25, RankSoon: 0.5, RankFar: 0.75}[r]
}

// MonthReserve returns which share of a month's calls a rank leaves to those
// before it, when a share of the month has passed. It melts, so that nothing is
// left over at the end.
func (r Rank) MonthReserve(passed float64) float64 {
	most := [...]float64{RankLookup: 0, RankAtHand: 0.05, RankSoon: 0.1, RankFar: 0.2}[r]
	return most * (1 - share(passed))
}
