package flight_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

func TestRetryDelays(t *testing.T) {
	const base = 4 * time.Second
	for i, want := range []int{4, 8, 16, 32, 64, 128, 256, 512} {
		attempt, seconds := i+1, time.Duration(want)*time.Second
		if got, again := flight.Retry(attempt, base, 0, 0); !again || got != seconds {
			t.Errorf("after attempt %d: %v, again %v; want %v", attempt, got, again, seconds)
		}
		most, _ := flight.Retry(attempt, base, 0, 0.999999)
		if most <= seconds || most > seconds+seconds/10 {
			t.Errorf("after attempt %d with the most jitter: %v, want up to a tenth over %v", attempt, most, seconds)
		}
	}
	for _, attempt := range []int{9, 10, 100} {
		if delay, again := flight.Retry(attempt, base, time.Hour, 0.5); again || delay != 0 {
			t.Errorf("after attempt %d: %v, again %v", attempt, delay, again)
		}
	}
	if delay, again := flight.Retry(0, base, 0, 0); !again || delay != base {
		t.Errorf("before any counted attempt (all were interrupted): %v, again %v", delay, again)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct{ asked, want time.Duration }{
		{0, 16 * time.Second},
		{-time.Second, 16 * time.Second},
		{10 * time.Second, 16 * time.Second}, // shorter than ours
		{time.Minute, time.Minute},
		{time.Hour, time.Hour},
		{24 * time.Hour, time.Hour}, // capped
	} {
		if got, again := flight.Retry(3, 4*time.Second, c.asked, 0); !again || got != c.want {
			t.Errorf("asked for %v: %v, again %v; want %v", c.asked, got, again, c.want)
		}
	}
	if got, _ := flight.Retry(1, 10*time.Millisecond, 0, 0); got != 10*time.Millisecond {
		t.Errorf("a base of 10 ms: %v", got)
	}
}
