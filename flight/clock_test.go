package flight_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"pgregory.net/rapid"
)

func TestZeroClockShowsWallTime(t *testing.T) {
	var c flight.Clock
	wall := time.Date(2026, 3, 10, 12, 0, 0, 5e6, time.UTC)
	if got := c.World(wall); got.String() != "2026-03-10T12:00:00.005Z" {
		t.Errorf("world %v", got)
	}
	if got := c.Wall(flight.TimeOf(wall)); !got.Equal(wall) {
		t.Errorf("wall %v", got)
	}
}

func TestFastClock(t *testing.T) {
	start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	c := flight.Clock{Start: start, Epoch: time.Date(2013, 2, 8, 0, 0, 0, 0, time.UTC), Speed: 1440}
	for _, p := range []struct {
		wall  time.Duration
		world string
	}{{0, "2013-02-08 00:00"}, {time.Second, "2013-02-08 00:24"}, {time.Minute, "2013-02-09 00:00"}, {-time.Second, "2013-02-07 23:36"}} {
		if got := c.World(start.Add(p.wall)); got != utc(p.world) {
			t.Errorf("world after %v: %v, want %v", p.wall, got, p.world)
		}
		if got := c.Wall(utc(p.world)); !got.Equal(start.Add(p.wall)) {
			t.Errorf("wall at %v: %v", p.world, got.Sub(start))
		}
	}
	if got := c.Until(utc("2013-02-08 12:00"), start.Add(10*time.Second)); got != 20*time.Second {
		t.Errorf("until noon: %v", got)
	}
	if got := c.Until(utc("2013-02-08 12:00"), start.Add(time.Minute)); got != 0 {
		t.Errorf("until what has been: %v", got)
	}
	// A data directory that is kept for years runs on.
	if got := c.World(start.AddDate(1, 0, 0)); got.Std().Year() != 2013+1440-1 {
		t.Errorf("a year on: %v", got)
	}
}

// TestClockInverse: whoever sleeps until Wall(t) finds the world at t, not a
// moment before.
func TestClockInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := flight.Clock{
			Start: time.UnixMilli(rapid.Int64Range(1e12, 2e12).Draw(t, "start")).Add(time.Duration(rapid.IntRange(0, 999_999).Draw(t, "ns"))),
			Epoch: time.UnixMilli(rapid.Int64Range(1e12, 2e12).Draw(t, "epoch")),
			Speed: rapid.OneOf(rapid.SampledFrom([]float64{1, 60, 1440, 0.5}), rapid.Float64Range(0.1, 10_000)).Draw(t, "speed"),
		}
		at := flight.TimeOf(c.Epoch) + flight.Time(rapid.Int64Range(-1e10, 1e10).Draw(t, "world ms"))
		wall := c.Wall(at)
		if got := c.World(wall); got != at {
			t.Fatalf("World(Wall(%d)) = %d", at, got)
		}
		if later := c.World(wall.Add(time.Second)); later < at {
			t.Fatalf("the world went back from %v to %v", at, later)
		}
	})
}
