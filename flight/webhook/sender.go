package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Config says how a [Sender] sends. The zero Config is fit for production.
type Config struct {
	// Timeout bounds an attempt as a whole, from the look-up of the name to the
	// last byte read of the answer. An answer's status has to be there within
	// it. 0 means 10 s, the contract's.
	Timeout time.Duration
	// DialTimeout, TLSTimeout and BodyTimeout bound name look-up and connecting,
	// the TLS handshake, and reading the answer's body. 0 means half of Timeout.
	DialTimeout, TLSTimeout, BodyTimeout time.Duration
	// AllowPrivate lets deliveries go to addresses that are not public.
	AllowPrivate bool
	// LegacyPrefix gives the legacy header names, x-<prefix>-…. It has to pass
	// CheckLegacyPrefix. "" sends none.
	LegacyPrefix string
	// UserAgent is the user-agent header. "" means "flightwire".
	UserAgent string
	// RootCAs are the roots that receivers' certificates are verified against.
	// nil means the system's.
	RootCAs *x509.CertPool
	// MaxIdlePerHost and MaxIdle bound the connections kept for reuse, to one
	// host and port and in all. 0 means 128 and 2,048.
	MaxIdlePerHost, MaxIdle int
	// IdleTimeout is how long an unused connection is kept. 0 means 60 s.
	IdleTimeout time.Duration
	// Dial makes the connections, in place of the operating system, to a network
	// in memory for instance. It calls check with the network ("tcp4", "tcp6")
	// and each address and port that it is about to connect to, and goes no
	// further when that fails; check is nil with AllowPrivate. ctx ends with
	// DialTimeout. nil means the operating system's network.
	Dial func(ctx context.Context, network, address string, check Check) (net.Conn, error)

	resolver *net.Resolver  // tests: in place of the system's
	guard    *ssrf.Guardian // tests: in place of publicOnly
}

// Check refuses addresses that may not be contacted, as [net.Dialer.Control] does.
type Check func(network, address string, _ syscall.RawConn) error

// Sender sends webhooks. It is safe for concurrent use; one Sender, with its
// pool of connections, serves a process.
type Sender struct {
	timeout, bodyTimeout time.Duration
	legacyPrefix         string
	userAgent            []string
	names                headerNames
	transport            *http.Transport
}

// Request is one attempt at a delivery.
type Request struct {
	URL            string
	Secret         string
	Headers        map[string]string // the subscription's own; the caller keeps it
	EventID        string
	EventType      string
	SubscriptionID string
	Attempt        int       // from 1
	Body           []byte    // sent as it is; must not change before Send returns
	Now            time.Time // the timestamp that is signed; zero means time.Now()
}

// Result is what became of an attempt.
type Result struct {
	Outcome Outcome
	// StatusCode is the answer's, 0 when there was none.
	StatusCode int
	// ErrorClass is one of the Class constants, "" when delivered.
	ErrorClass string
	// Error says in one sentence what went wrong, for the customer to read: no
	// secrets, no addresses. "" when delivered.
	Error string
	// Latency is the time to the answer's headers, or to the failure.
	Latency time.Duration
	// ResponseBody is the head of the answer's body, at most MaxResponseBody
	// bytes of valid UTF-8 without NUL; nil when there is none.
	ResponseBody []byte
	// RetryAfter is the wait that a 429 or 503 asked for, at most MaxRetryAfter;
	// 0 when it did not.
	RetryAfter time.Duration
}

// NewSender returns a Sender. Close it when it is not needed any more.
func NewSender(c Config) *Sender {
	timeout := cmp.Or(c.Timeout, 10*time.Second)
	dialer := &net.Dialer{
		Timeout:   cmp.Or(c.DialTimeout, timeout/2),
		KeepAlive: 30 * time.Second,
		Resolver:  c.resolver,
	}
	if !c.AllowPrivate {
		// Control sees each address after name resolution, at every connect.
		dialer.Control = cmp.Or(c.guard, publicOnly).Safe
	}
	dial := dialer.DialContext
	if c.Dial != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialer.Timeout)
			defer cancel()
			return c.Dial(ctx, network, address, dialer.Control)
		}
	}
	return &Sender{
		timeout:      timeout,
		bodyTimeout:  cmp.Or(c.BodyTimeout, timeout/2),
		legacyPrefix: c.LegacyPrefix,
		userAgent:    []string{cmp.Or(c.UserAgent, "flightwire")},
		names:        newHeaderNames(c.LegacyPrefix),
		transport: &http.Transport{
			Proxy:       nil, // a proxy would connect in our place, unchecked
			DialContext: dial,
			TLSClientConfig: &tls.Config{
				RootCAs:            c.RootCAs,
				MinVersion:         tls.VersionTLS12,
				ClientSessionCache: tls.NewLRUClientSessionCache(1024),
			},
			TLSHandshakeTimeout:    cmp.Or(c.TLSTimeout, timeout/2),
			DisableCompression:     true, // an answer is never unpacked
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    cmp.Or(c.MaxIdlePerHost, 128),
			MaxIdleConns:           cmp.Or(c.MaxIdle, 2048),
			IdleConnTimeout:        cmp.Or(c.IdleTimeout, 60*time.Second),
			MaxResponseHeaderBytes: maxAnswerHeader,
			WriteBufferSize:        8 << 10, // a whole delivery in one write
			// A dead connection must not hold the streams of a host until
			// each has timed out.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		},
	}
}

// Close closes the connections that are kept for reuse. Deliveries under way go
// on; the Sender must not be used for new ones.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send makes one attempt at a delivery and says what became of it. It returns
// within the time-out, earlier when ctx ends: then the class is ClassCanceled,
// unless an answer was there already. It does not retry, except that a request
// of which nothing was written, because a kept connection was closed under it,
// is sent on another one.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	start := time.Now()
	if r.Now.IsZero() {
		r.Now = start
	}
	u, err := parseURL(r.URL)
	if err != nil {
		return failed(ClassInvalidURL, "the URL "+err.Error(), start)
	}
	header, err := s.header(r)
	if err != nil {
		return failed(ClassInvalidHeader, err.Error(), start)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.timeout, func() { cancel(errTimeout) })
	defer timer.Stop()

	var p progress
	req := newRequest(httptrace.WithClientTrace(ctx, p.trace()), u, header, r.Body)
	// RoundTrip, not Client.Do: nothing here follows redirects or keeps cookies.
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		phase := p.phase.Load()
		class := failureClass(err, context.Cause(ctx), phase)
		return failed(class, failureText(class, err, u.Hostname(), phase, s.timeout), start)
	}
	latency := time.Since(start)
	timer.Reset(min(s.bodyTimeout, s.timeout-latency))
	return Result{
		Outcome:      Classify(resp.StatusCode, ""),
		StatusCode:   resp.StatusCode,
		ErrorClass:   statusClass(resp.StatusCode),
		Error:        statusText(resp.StatusCode),
		Latency:      latency,
		ResponseBody: readAnswer(resp),
		RetryAfter:   retryAfter(resp, r.Now),
	}
}

func newRequest(ctx context.Context, u *url.URL, header http.Header, body []byte) *http.Request {
	req := (&http.Request{
		Method:        http.MethodPost,
		URL:           u,
		Host:          u.Host,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		ContentLength: int64(len(body)),
		Body:          http.NoBody,
	}).WithContext(ctx)
	if len(body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

func failed(class, text string, start time.Time) Result {
	return Result{Outcome: Classify(0, class), ErrorClass: class, Error: text, Latency: time.Since(start)}
}

// statusText is the sentence for an answer's status, "" for 2xx.
func statusText(status int) string {
	switch statusClass(status) {
	case "":
		return ""
	case ClassRedirect:
		return fmt.Sprintf("the receiver answered %d, and redirects are not followed", status)
	default:
		return fmt.Sprintf("the receiver answered %d %s", status, http.StatusText(status))
	}
}
