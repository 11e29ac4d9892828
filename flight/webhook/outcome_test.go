package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	retryable := map[int]bool{408: true, 429: true}
	for status := 100; status < 1000; status++ {
		want := Rejected
		switch {
		case status >= 200 && status < 300:
			want = Delivered
		case status >= 500 && status < 600, retryable[status]:
			want = Retryable
		}
		if got := Classify(status, ""); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
		if (statusClass(status) == "") != (want == Delivered) || (statusText(status) == "") != (want == Delivered) {
			t.Errorf("%d: class %q, text %q", status, statusClass(status), statusText(status))
		}
	}
	for _, class := range []string{
		ClassTimeout, ClassDNS, ClassConnectionRefused, ClassUnreachable, ClassConnectionReset, ClassTLS,
		ClassBlockedAddress, ClassMalformedResponse, ClassNetwork, ClassCanceled,
	} {
		if got := Classify(0, class); got != Retryable {
			t.Errorf("%s: %s", class, got)
		}
	}
	for _, class := range []string{ClassInvalidURL, ClassInvalidHeader} {
		if got := Classify(0, class); got != Rejected {
			t.Errorf("%s: %s", class, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status int
		value  string
		want   time.Duration
	}{
		{429, "30", 30 * time.Second},
		{429, " 30 ", 30 * time.Second},
		{503, "0", 0},
		{503, "3600", time.Hour},
		{503, "3601", time.Hour},
		{503, "99999999999999999999999", time.Hour},
		{429, "", 0},
		{429, "-5", 0},
		{429, "1.5", 0},
		{429, "soon", 0},
		{429, "Thu, 01 Jan 2026 00:01:30 GMT", 90 * time.Second},
		{429, "Thursday, 01-Jan-26 00:01:30 GMT", 90 * time.Second},
		{429, "Thu Jan  1 00:01:30 2026", 90 * time.Second},
		{429, "Wed, 31 Dec 2025 23:59:00 GMT", 0},
		{429, "Fri, 31 Dec 9999 23:59:59 GMT", time.Hour},
		{500, "30", 0},
		{408, "30", 0},
		{200, "30", 0},
	} {
		resp := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.value}}}
		if got := retryAfter(resp, now); got != tt.want {
			t.Errorf("%d %q: %s, want %s", tt.status, tt.value, got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", "déjà vu €", "déjà vu €"},
		{"empty", "", ""},
		{"cut in a character", "ab€"[:4], "ab"},
		{"cut in four bytes", "ab\U0001F6EB"[:5], "ab"},
		{"only a cut character", "€"[:1], ""},
		{"NUL and invalid", "a\x00b\xffc", "a\uFFFDb\uFFFDc"},
		{"invalid at the end", "a\xff", "a\uFFFD"},
		{"stray continuation bytes", "a\x80\x80\x80\x80\x80", "a\uFFFD"},
		{"grown beyond the limit", strings.Repeat("\x00", 20), strings.Repeat("\uFFFD", 6)},
		{"too long", strings.Repeat("é", 12), strings.Repeat("é", 10)},
	} {
		if got := clean([]byte(tt.in), 20); string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
