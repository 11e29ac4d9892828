package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 4 << 20 // a flight with its whole history is under 100 KB
)

// ClientConfig says where a provider is and who we are there.
type ClientConfig struct {
	Name    string        // of the source, which causes of errors begin with
	BaseURL string        // without query
	Header  http.Header   // sent with every call: the credentials
	Secrets []string      // struck out of every error, as providers repeat them
	Timeout time.Duration // for one look-up, its bodies included; 0: 10 s

	// HTTPClient makes the calls; nil: one of its own. Its redirect policy is
	// not used: redirects are never followed, as they would carry the key away.
	HTTPClient *http.Client
}

// Client calls one provider. It promises what every source does: bounded
// answers, no redirects, and errors of type *flight.Error that name neither
// address nor credentials. It is safe for concurrent use.
type Client struct {
	name    string
	base    string
	header  http.Header
	secrets []string
	timeout time.Duration
	http    http.Client
}

// NewClient returns a client. Nothing is checked or called until the first Get.
func NewClient(cfg ClientConfig) *Client {
	c := &Client{
		name: cfg.Name, base: strings.TrimSuffix(cfg.BaseURL, "/"), header: cfg.Header,
		secrets: cfg.Secrets, timeout: cfg.Timeout,
	}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if cfg.HTTPClient != nil {
		c.http = *cfg.HTTPClient
	}
	if c.http.Transport == nil {
		c.http.Transport = newTransport()
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          32,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Within returns a context that ends when a look-up that begins now must have
// ended.
func (c *Client) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// Answer is what a provider answered, its body read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Get asks for a path with its query, which begins with a slash. Errors are
// CodeUpstreamTimeout, CodeUpstreamUnavailable when the provider cannot be
// reached, CodeUpstream for an answer that is too long, and what the permit of
// ctx says, see [WithPermit]. The status is the caller's to judge, see
// [Client.Refuse].
func (c *Client) Get(ctx context.Context, path string) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil { // err has the address in it
		return nil, c.Unintelligible(errors.New("the base URL is no URL"))
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "flightwire")
	if err := permitted(ctx); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if n > maxBody {
		return nil, c.Unintelligible(fmt.Errorf("the answer is over %d bytes", maxBody))
	}
	return &Answer{resp.StatusCode, resp.Header, body.Bytes()}, nil
}

// Unintelligible returns the error for an answer that cannot be used. cause is
// for the log alone.
func (c *Client) Unintelligible(cause error) *flight.Error {
	err := refusalError(Senseless)
	err.Cause = errors.New(c.name + ": " + c.redact(cause.Error()))
	return err
}

// unreachable returns the error for a call without an answer.
func (c *Client) unreachable(ctx context.Context, err error) *flight.Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	var network net.Error
	if ctx.Err() != nil || errors.As(err, &network) && network.Timeout() {
		timeout := flight.Errorf(flight.CodeUpstreamTimeout, "The flight data provider did not answer in time. Try again.")
		timeout.Cause = fmt.Errorf("%s: %w", c.name, cmp.Or(ctx.Err(), err))
		return timeout
	}
	down := flight.Errorf(flight.CodeUpstreamUnavailable, "The flight data provider cannot be reached at present. Try again later.")
	down.Cause = errors.New(c.name + ": " + c.redact(err.Error()))
	return down
}

// redact strikes the credentials out of a text.
func (c *Client) redact(text string) string {
	for _, secret := range c.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}
