package webhook

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxResponseBody is how much of an answer's body is kept, in bytes.
	MaxResponseBody = 1024
	// MaxRetryAfter is the longest wait that a receiver can ask for.
	MaxRetryAfter = time.Hour

	// maxDrain is how much more is read and thrown away so that the connection
	// can be used again; what is longer costs the connection.
	maxDrain = 15 << 10
	// maxAnswerHeader bounds an answer's status line and headers.
	maxAnswerHeader = 64 << 10
)

// readAnswer reads the head of an answer's body and, where it is near, its end.
// What cannot be read is left out: the status has decided already.
func readAnswer(resp *http.Response) []byte {
	defer resp.Body.Close()
	if resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	var buf [MaxResponseBody]byte
	n, err := io.ReadFull(resp.Body, buf[:])
	if err == nil && resp.ContentLength <= MaxResponseBody+maxDrain {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain+1)
	}
	return clean(buf[:n], MaxResponseBody)
}

// clean returns at most limit bytes of b as text that every database takes:
// valid UTF-8 without NUL. Bytes that are neither become U+FFFD, but a
// character that b was cut in is left out.
func clean(b []byte, limit int) []byte {
	replacement := []byte("\uFFFD")
	text := bytes.ReplaceAll(bytes.ToValidUTF8(wholeRunes(b), replacement), []byte{0}, replacement)
	if len(text) > limit {
		text = wholeRunes(text[:limit])
	}
	return text
}

// wholeRunes returns b without the character that it was cut in, if it was.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// retryAfter returns the wait that an answer asks for: the Retry-After header
// of a 429 or 503, in seconds or as an HTTP date, from now, at most
// [MaxRetryAfter]. It is 0 when there is none, or none that can be read.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	value := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter // digits only, so an error is an overflow
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}
