package webhook

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

var discardLog = log.New(io.Discard, "", 0)

// dripping writes head and then one byte at a time until the sender has had
// enough: to end it is all that closing the connection can do.
func dripping(head, drop string) func(*net.TCPConn, *bufio.Reader) {
	return func(c *net.TCPConn, r *bufio.Reader) {
		readRequest(r)
		io.WriteString(c, head)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(c, drop); err != nil {
				return
			}
		}
	}
}

// flooding writes head and then more without end.
func flooding(head, more string) func(*net.TCPConn, *bufio.Reader) {
	return func(c *net.TCPConn, r *bufio.Reader) {
		readRequest(r)
		io.WriteString(c, head)
		more := strings.Repeat(more, 1+(32<<10)/len(more))
		for {
			if _, err := io.WriteString(c, more); err != nil {
				return
			}
		}
	}
}

const okHead = "HTTP/1.1 200 OK\r\n"

// TestReceiverFromHell: whatever a receiver does, the attempt ends in time and
// its result says what happened.
func TestReceiverFromHell(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handle  func(*net.TCPConn, *bufio.Reader)
		status  int
		class   string
		outcome Outcome
		body    string
		after   time.Duration
		slow    bool // the receiver lets the time run out
	}{
		{name: "hangs before reading", handle: func(_ *net.TCPConn, r *bufio.Reader) { r.Peek(1); untilClosed(r) }, class: ClassTimeout, outcome: Retryable, slow: true},
		{name: "reads and never answers", handle: func(_ *net.TCPConn, r *bufio.Reader) { readRequest(r); untilClosed(r) }, class: ClassTimeout, outcome: Retryable, slow: true},
		{name: "half a status line, then hangs", handle: func(c *net.TCPConn, r *bufio.Reader) { answering("HTTP/1.1 2")(c, r); untilClosed(r) }, class: ClassTimeout, outcome: Retryable, slow: true},
		{name: "drips headers", handle: dripping(okHead+"X-Slow: ", "a"), class: ClassTimeout, outcome: Retryable, slow: true},
		{name: "drips 1xx", handle: dripping("", "HTTP/1.1 102 Processing\r\n\r\n"), class: ClassTimeout, outcome: Retryable, slow: true},
		{name: "drips the body", handle: dripping(okHead+"\r\n", "a"), status: 200, outcome: Delivered, body: "a*", slow: true},
		{name: "drips the body of an error", handle: dripping("HTTP/1.1 500 No\r\nContent-Length: 9000\r\n\r\n", "a"), status: 500, class: ClassHTTP5xx, outcome: Retryable, body: "a*", slow: true},
		{name: "body announced and never sent", handle: func(c *net.TCPConn, r *bufio.Reader) {
			answering(okHead+"Content-Length: 10\r\n\r\n")(c, r)
			untilClosed(r)
		}, status: 200, outcome: Delivered, slow: true},

		{name: "closes at once", handle: func(*net.TCPConn, *bufio.Reader) {}, class: ClassConnectionReset, outcome: Retryable},
		{name: "closes without an answer", handle: answering(""), class: ClassConnectionReset, outcome: Retryable},
		{name: "closes in the status line", handle: answering("HTTP/1.1 20"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "closes in a header", handle: answering(okHead + "Content-Le"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "closes after a header", handle: answering(okHead + "Content-Length: 2\r\n"), class: ClassConnectionReset, outcome: Retryable},
		{name: "closes in the body", handle: answering(okHead + "Content-Length: 100\r\n\r\nthanks"), status: 200, outcome: Delivered, body: "thanks"},
		{name: "resets", handle: func(c *net.TCPConn, r *bufio.Reader) { readRequest(r); c.SetLinger(0) }, class: ClassConnectionReset, outcome: Retryable},
		{name: "resets unread", handle: func(c *net.TCPConn, r *bufio.Reader) { r.Peek(1); c.SetLinger(0) }, class: ClassConnectionReset, outcome: Retryable},

		{name: "endless body", handle: flooding(okHead+"\r\n", "b"), status: 200, outcome: Delivered, body: "b*"},
		{name: "1 GB announced", handle: flooding(okHead+"Content-Length: 1073741824\r\n\r\n", "b"), status: 200, outcome: Delivered, body: "b*"},
		{name: "endless header", handle: flooding(okHead+"X-Big: ", "b"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "endless headers", handle: flooding(okHead, "X-More: b\r\n"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "endless 1xx", handle: flooding("", "HTTP/1.1 103 Early Hints\r\n\r\n"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "garbage", handle: answering("\x00\xff\x16\x03garbage\r\n\r\n"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "another protocol", handle: answering("220 mail.example ESMTP\r\n"), class: ClassMalformedResponse, outcome: Retryable},
		{name: "bad chunk", handle: answering(okHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n"), status: 200, outcome: Delivered, body: "ok"},
		{name: "body not UTF-8", handle: answering("HTTP/1.1 400 Bad\r\n\r\na\xff\x00b"), status: 400, class: ClassHTTP4xx, outcome: Rejected, body: "a\uFFFD\uFFFDb"},
		{name: "compressed", handle: answering(okHead + "Content-Encoding: gzip\r\n\r\n\x1f\x8bnot unpacked"), status: 200, outcome: Delivered, body: "\x1f\uFFFDnot unpacked"},

		{name: "100, 103, then 200", handle: answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + okHead + "\r\nok"), status: 200, outcome: Delivered, body: "ok"},
		{name: "101", handle: answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw"), status: 101, class: ClassHTTPOther, outcome: Rejected},
		{name: "302 without a place", handle: answering("HTTP/1.1 302 Found\r\n\r\n"), status: 302, class: ClassRedirect, outcome: Rejected},
		{name: "304", handle: answering("HTTP/1.1 304 Not Modified\r\n\r\n"), status: 304, class: ClassRedirect, outcome: Rejected},
		{name: "404", handle: answering("HTTP/1.1 404 Not Found\r\n\r\nno"), status: 404, class: ClassHTTP4xx, outcome: Rejected, body: "no"},
		{name: "408", handle: answering("HTTP/1.1 408 Request Timeout\r\nRetry-After: 60\r\n\r\n"), status: 408, class: ClassHTTP4xx, outcome: Retryable},
		{name: "429", handle: answering("HTTP/1.1 429 Slow\r\n\r\n"), status: 429, class: ClassHTTP4xx, outcome: Retryable},
		{name: "429 with seconds", handle: answering("HTTP/1.1 429 Slow\r\nRetry-After: 60\r\n\r\n"), status: 429, class: ClassHTTP4xx, outcome: Retryable, after: time.Minute},
		{name: "503 with a date", handle: answering("HTTP/1.1 503 No\r\nRetry-After: Thu, 01 Jan 2026 00:02:00 GMT\r\n\r\n"), status: 503, class: ClassHTTP5xx, outcome: Retryable, after: 2 * time.Minute},
		{name: "500", handle: answering("HTTP/1.1 500 No\r\nRetry-After: 60\r\n\r\noops"), status: 500, class: ClassHTTP5xx, outcome: Retryable, body: "oops"},
		{name: "999", handle: answering("HTTP/1.1 999 Request Denied\r\n\r\n"), status: 999, class: ClassHTTPOther, outcome: Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rr := newRawReceiver(t, tt.handle)
			c := Config{AllowPrivate: true}
			if tt.slow {
				c.Timeout, c.BodyTimeout = 300*time.Millisecond, 50*time.Millisecond
			}
			s := newTestSender(t, c)
			r := testRequest(rr.url)
			r.Headers = map[string]string{"Authorization": "Bearer headersecret"}
			start := time.Now()
			res := s.Send(t.Context(), r)
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %s", took)
			}
			if res.StatusCode != tt.status || res.ErrorClass != tt.class || res.Outcome != tt.outcome || res.RetryAfter != tt.after {
				t.Errorf("got %+v", res)
			}
			if n := rr.connections.Load(); n != 1 {
				t.Errorf("%d connections were made", n)
			}
			checkBody(t, res.ResponseBody, tt.body)
			checkText(t, res)
		})
	}
}

// checkBody compares a body; "x*" stands for one or more x.
func checkBody(t *testing.T, got []byte, want string) {
	t.Helper()
	if len(got) > MaxResponseBody || !utf8.Valid(got) {
		t.Errorf("%d bytes kept, valid %t", len(got), utf8.Valid(got))
	}
	if of, ok := strings.CutSuffix(want, "*"); ok {
		if len(got) == 0 || strings.Trim(string(got), of) != "" {
			t.Errorf("body %q, want only %s", got, of)
		}
	} else if string(got) != want {
		t.Errorf("body %q, want %q", got, want)
	}
}

// checkText: a sentence for every failure, without secrets.
func checkText(t *testing.T, res Result) {
	t.Helper()
	if (res.Error == "") != (res.Outcome == Delivered) {
		t.Errorf("error %q on %s", res.Error, res.Outcome)
	}
	for _, secret := range []string{testSecret, "urlsecret", "headersecret", "token"} {
		if strings.Contains(res.Error, secret) {
			t.Errorf("the error holds %q: %s", secret, res.Error)
		}
	}
}

// TestRedirectNotFollowed: not even to an address that may be contacted.
func TestRedirectNotFollowed(t *testing.T) {
	target := newRawReceiver(t, answering("HTTP/1.1 204 No Content\r\n\r\n"))
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
			readRequest(r)
			resp := http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Location": {target.url}}}
			resp.Write(c)
		})
		s := newTestSender(t, Config{AllowPrivate: true})
		if res := s.Send(t.Context(), testRequest(rr.url)); res.StatusCode != status || res.ErrorClass != ClassRedirect || res.Outcome != Rejected {
			t.Errorf("%d: %+v", status, res)
		}
	}
	if n := target.connections.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestSlowAnswer: it is the status that has to be there in time, the latency is
// the status's, and a kept connection that was timed out on is not used again.
func TestSlowAnswer(t *testing.T) {
	release := make(chan struct{})
	rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
		readRequest(r)
		<-release
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		untilClosed(r)
	})
	s := newTestSender(t, Config{AllowPrivate: true, Timeout: 60 * time.Millisecond})
	res := s.Send(t.Context(), testRequest(rr.url))
	close(release)
	if res.ErrorClass != ClassTimeout || res.Latency < 60*time.Millisecond || !strings.Contains(res.Error, "60ms") {
		t.Errorf("%+v", res)
	}
	if res := s.Send(t.Context(), testRequest(rr.url)); res.Outcome != Delivered {
		t.Errorf("afterwards: %+v", res)
	}
	if n := rr.connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// TestNoSecondSending: a kept connection that is closed on the second request
// fails that attempt. net/http would send it again, unlogged, if the customer's
// headers made it look safe to.
func TestNoSecondSending(t *testing.T) {
	for _, header := range []string{"x-other", "Idempotency-Key", "X-Idempotency-Key", "idempotency-key"} {
		var requests atomic.Int32
		rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
			readRequest(r)
			requests.Add(1)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			readRequest(r)
			requests.Add(1)
		})
		s := newTestSender(t, Config{AllowPrivate: true})
		r := testRequest(rr.url)
		r.Headers = map[string]string{header: "a"}
		if res := s.Send(t.Context(), r); res.Outcome != Delivered {
			t.Errorf("%s, first: %+v", header, res)
		}
		if res := s.Send(t.Context(), r); res.ErrorClass != ClassConnectionReset || res.Outcome != Retryable {
			t.Errorf("%s, second: %+v", header, res)
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%s: %d requests", header, n)
		}
	}
}
