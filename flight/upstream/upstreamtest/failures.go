package upstreamtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Failure is a way in which an answer fails.
type Failure string

// The failures.
const (
	NotFound       Failure = "not found"
	BadCredentials Failure = "refused credentials"
	OverLimit      Failure = "over limit" // with a Retry-After of 17 seconds
	Unavailable    Failure = "unavailable"
	FaultIn200     Failure = "an error in a 200 body"
	Unintelligible Failure = "unintelligible" // JSON of another kind
	NoSense        Failure = "a flight that makes no sense"
)

// what each failure means to a caller.
var means = map[Failure]struct {
	code  flight.Code
	after time.Duration
}{
	NotFound:       {flight.CodeFlightNotFound, 0},
	BadCredentials: {flight.CodeUpstream, 0},
	OverLimit:      {flight.CodeUpstreamUnavailable, 17 * time.Second},
	Unavailable:    {flight.CodeUpstreamUnavailable, 0},
	FaultIn200:     {flight.CodeUpstreamUnavailable, 0},
	Unintelligible: {flight.CodeUpstream, 0},
	NoSense:        {flight.CodeUpstream, 0},
}

// Reply is an answer of a provider.
type Reply struct {
	Status int
	Header []string // pairs of name and value
	Body   string
	Log    string // what the operator must be able to read of it; with every failure but NotFound
}

// Says returns a reply. Of its headers each has its name before its value.
func Says(status int, body, log string, header ...string) Reply {
	return Reply{Status: status, Header: header, Body: body, Log: log}
}

// Provider is one that fails.
type Provider struct {
	Vendor
	Key     flight.Key
	Now     flight.Time
	Replies map[Failure]Reply
	Row     string    // a short row of a flight, of which an answer may not have megabytes
	Rows    [2]string // what stands before and after the rows
}

// Fail runs the table of failures for a provider that is asked over HTTP. Every
// reply is given a second time with the credentials in it, as providers repeat
// them.
func Fail(t *testing.T, p Provider) {
	for failure, want := range means {
		reply, ok := p.Replies[failure]
		if !ok {
			t.Errorf("%s: the provider has no reply", failure)
			continue
		}
		t.Run(string(failure), func(t *testing.T) {
			err := p.ask(t, Serve(t, reply.Status, []byte(reply.Body), reply.Header...))
			p.typed(t, err, want.code, want.after)
			if failure != NotFound && (err.Cause == nil || !strings.Contains(err.Cause.Error(), reply.Log)) {
				t.Errorf("the log says %v, not %q", err.Cause, reply.Log)
			}
		})
	}
	t.Run("no JSON", func(t *testing.T) {
		for _, body := range []string{"", "<html>hello", "null", `"flights"`, "7", "{", "["} {
			p.typed(t, p.ask(t, Serve(t, http.StatusOK, []byte(body))), flight.CodeUpstream, 0)
		}
	})
	t.Run("too long", func(t *testing.T) {
		p.typed(t, p.ask(t, Serve(t, http.StatusOK, []byte(strings.Repeat(" ", 5<<20)))), flight.CodeUpstream, 0)
	})
	t.Run("too many flights", func(t *testing.T) {
		body := p.Row + strings.Repeat(","+p.Row, (3<<20)/len(p.Row))
		p.typed(t, p.ask(t, Serve(t, http.StatusOK, []byte(p.Rows[0]+body+p.Rows[1]))), flight.CodeUpstream, 0)
	})
	t.Run("the credentials in every text", func(t *testing.T) {
		for failure, reply := range p.Replies {
			for _, secret := range p.Secrets {
				body := strings.ReplaceAll(reply.Body, "SECRET", secret)
				if body == reply.Body && failure == BadCredentials {
					t.Error("no SECRET in the reply that refuses the credentials")
				}
				p.typed(t, p.ask(t, Serve(t, reply.Status, []byte(body), reply.Header...)), means[failure].code, means[failure].after)
			}
		}
	})
	t.Run("redirect", p.redirect)
	t.Run("time-out", p.timeout)
	t.Run("closed port", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		srv.Close()
		p.typed(t, p.ask(t, srv.URL), flight.CodeUpstreamUnavailable, 0)
		p.typed(t, p.ask(t, "http://[broken"), flight.CodeUpstream, 0)
	})
	t.Run("no date", func(t *testing.T) {
		_, err := p.New("http://127.0.0.1:1", 0).Legs(t.Context(), flight.Key{Carrier: "AA", Number: "1", Date: "tomorrow"}, p.Now)
		if flight.CodeOf(err) != flight.CodeInvalid {
			t.Error(err)
		}
	})
}

// ask looks the flight up, which must fail.
func (p *Provider) ask(t *testing.T, base string) *flight.Error {
	t.Helper()
	return p.failed(t, p.New(base, 0), t.Context())
}

func (p *Provider) failed(t *testing.T, s upstream.Source, ctx context.Context) *flight.Error {
	t.Helper()
	legs, err := s.Legs(ctx, p.Key, p.Now)
	e, ok := err.(*flight.Error)
	if !ok || legs != nil {
		t.Fatalf("%d legs, %v", len(legs), err)
	}
	return e
}

// typed checks an error's code and wait, and that neither it nor its cause has
// a credential in it, nor the message an address.
func (p *Provider) typed(t *testing.T, err *flight.Error, code flight.Code, after time.Duration) {
	t.Helper()
	if err.Code != code || err.RetryAfter != after {
		t.Errorf("%v, retry after %v; want %s, %v", err, err.RetryAfter, code, after)
	}
	for _, secret := range p.Secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error says %q: %v", secret, err)
		}
	}
	if strings.Contains(err.Message, "http") || strings.Contains(err.Message, "127.0.0.1") || code != flight.CodeFlightNotFound && err.Cause == nil {
		t.Errorf("message %q, cause %v", err.Message, err.Cause)
	}
}

func (p *Provider) redirect(t *testing.T) {
	followed := make(chan struct{}, 1)
	elsewhere := ServeFunc(t, func(http.ResponseWriter, *http.Request) { followed <- struct{}{} })
	p.typed(t, p.ask(t, Serve(t, http.StatusFound, nil, "Location", elsewhere)), flight.CodeUpstream, 0)
	select {
	case <-followed:
		t.Error("the key was carried elsewhere")
	default:
	}
}

func (p *Provider) timeout(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hang := func(w http.ResponseWriter, r *http.Request, begin string) {
		if begin != "" {
			_, _ = w.Write([]byte(begin))
			w.(http.Flusher).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}
	for _, begin := range []string{"", "{", "["} {
		base := ServeFunc(t, func(w http.ResponseWriter, r *http.Request) { hang(w, r, begin) })
		p.typed(t, p.failed(t, p.New(base, 50*time.Millisecond), t.Context()), flight.CodeUpstreamTimeout, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		p.typed(t, p.failed(t, p.New(base, 0), ctx), flight.CodeUpstreamTimeout, 0)
		cancel()
	}
}

// FailWithin runs the part of the table that a source which asks nobody has:
// there is no such flight, and the caller's time has run out.
func FailWithin(t *testing.T, s upstream.Source, known, none flight.Key, now flight.Time) {
	if legs, err := s.Legs(t.Context(), none, now); flight.CodeOf(err) != flight.CodeFlightNotFound || legs != nil {
		t.Errorf("not found: %d legs, %v", len(legs), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if legs, err := s.Legs(ctx, known, now); flight.CodeOf(err) != flight.CodeUpstreamTimeout || legs != nil {
		t.Errorf("time-out: %d legs, %v", len(legs), err)
	}
}
