package flight

import "time"

// MaxAttempts is how often an event is attempted: once, and 8 retries.
const MaxAttempts = 9

// maxRetryAfter bounds how long a receiver's Retry-After is honoured.
const maxRetryAfter = time.Hour

// Retry decides what follows a retryable failure. attempt is the number of
// counted attempts so far, from 1 (an interrupted one does not count); base is
// the first delay, doubled after each attempt; retryAfter is what the receiver
// asked for, 0 if nothing; jitter in [0, 1) adds up to a tenth. again is false
// when the retries are used up.
func Retry(attempt int, base, retryAfter time.Duration, jitter float64) (delay time.Duration, again bool) {
	if attempt >= MaxAttempts {
		return 0, false
	}
	delay = base << max(attempt-1, 0)
	delay += time.Duration(jitter * float64(delay) / 10)
	return max(delay, min(retryAfter, maxRetryAfter)), true
}
