package webhook

import (
	"testing"
	"time"
)

// TestDefaults: a receiver has ten seconds, of an answer one KiB is kept, and a
// signature is good for five minutes.
func TestDefaults(t *testing.T) {
	s := NewSender(Config{})
	defer s.Close()
	if s.timeout != 10*time.Second {
		t.Errorf("an attempt may take %v", s.timeout)
	}
	if MaxResponseBody != 1<<10 || Tolerance != 5*time.Minute || MaxHeaders != 20 || MaxHeaderBytes != 4<<10 || MinSecret != 16 || MaxSecret != 256 {
		t.Error("a bound is not the documented one")
	}
}
