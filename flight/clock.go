package flight

import (
	"math"
	"time"
)

// Clock maps wall time to world time: the time of flights, polls and
// completion. With simulator and replay it may run fast, from an epoch that
// all processes share; the zero Clock shows wall time.
type Clock struct {
	Start time.Time // wall time at which the world began
	Epoch time.Time // world time at Start
	Speed float64   // world seconds a wall second; 0 is the zero Clock
}

// World returns the world time at wall.
func (c Clock) World(wall time.Time) Time {
	if c.Speed == 0 {
		return TimeOf(wall)
	}
	passed := wall.Sub(c.Start).Seconds() * 1000 * c.Speed // in milliseconds a long life at speed does not overflow
	return TimeOf(c.Epoch) + Time(math.Round(passed))
}

// Wall returns the wall time at which the world shows t.
func (c Clock) Wall(t Time) time.Time {
	if c.Speed == 0 {
		return t.Std()
	}
	ahead := float64(t-TimeOf(c.Epoch)) / c.Speed * float64(time.Millisecond)
	return c.Start.Add(time.Duration(ahead))
}

// Until returns how much wall time passes from wall until the world shows t; 0
// when it has.
func (c Clock) Until(t Time, wall time.Time) time.Duration {
	return max(0, c.Wall(t).Sub(wall))
}
