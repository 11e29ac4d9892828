// Package cirium asks Cirium's FlightStats Flex API for flights.
//
// It promises one upstream call per look-up, snapshots with every field that
// the answer has, and errors that name neither address nor credentials: those
// travel in headers only, and are struck out of what the provider says back.
//
// A snapshot describes the number that was asked for. Where that is a
// codeshare, the snapshot's carrier and number are the codeshare's, the
// operator is in OperatedBy, and the leg's other numbers are its codeshares.
package cirium

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
	"github.com/flightwire/flightwire/flight/upstream"
)

// PublicBase is the address of the provider's own service.
const PublicBase = "https://api.flightstats.com/flex"

const (
	defaultTimeout = 10 * time.Second
	floor          = 60 * time.Second // the provider's own alerts look once a minute
	maxBody        = 4 << 20          // a flight with its whole history is under 100 KB
)

// options are the extended options of every call. Without useHttpErrors an
// error comes as a 200; includeDeltas is the change history; includeNewFields
// is what irregular operations and the operating carrier once needed.
const options = "useHttpErrors+includeDeltas+includeNewFields+languageCode:en"

// Config says where the provider is and who we are there.
type Config struct {
	BaseURL  string        // of the Flex API, without query; empty: [PublicBase]
	AppID    string        // sent as the header appId
	AppKey   string        // sent as the header appKey
	FlagBase string        // the service's public address, for the URLs of country flags
	Timeout  time.Duration // for one call, its body included; 0: 10 s

	// HTTPClient makes the calls; nil: one of its own. Its redirect policy is
	// not used: redirects are never followed, as they would carry the key away.
	HTTPClient *http.Client
}

// Source asks Cirium. It is safe for concurrent use.
type Source struct {
	base, flagBase string
	appID, appKey  string
	client         http.Client
	timeout        time.Duration
}

var _ upstream.Tracker = (*Source)(nil)

// New returns a source. Nothing is checked or called until the first look-up.
func New(cfg Config) *Source {
	s := &Source{
		base:     strings.TrimSuffix(cmp.Or(cfg.BaseURL, PublicBase), "/"),
		flagBase: cfg.FlagBase,
		appID:    cfg.AppID,
		appKey:   cfg.AppKey,
		timeout:  cfg.Timeout,
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if cfg.HTTPClient != nil {
		s.client = *cfg.HTTPClient
	} else {
		s.client.Transport = newTransport()
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
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

// Name returns "cirium".
func (s *Source) Name() string { return "cirium" }

// Floor returns one minute.
func (s *Source) Floor() time.Duration { return floor }

// Legs asks for the legs of a flight, in the order of their departures; a leg
// that another one replaces comes last. The key's carrier may be an IATA, an
// ICAO or one of the provider's own codes.
//
// The answer to a number around midnight has its neighbours of the days before
// and after; only legs whose local departure date is the key's are returned.
func (s *Source) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	path, err := byNumber(key)
	if err != nil {
		return nil, err
	}
	ans, err := s.ask(ctx, key, path)
	if err != nil {
		return nil, err
	}
	legs, err := ans.legs(key, s.flagBase)
	if err != nil {
		return nil, s.unintelligible(err)
	}
	return upstream.Finish(key, legs, now)
}

// Leg asks for the leg with that flightId. A leg keeps it when the airline
// gives it another number or moves it to another day.
func (s *Source) Leg(ctx context.Context, key flight.Key, id string, now flight.Time) (*flight.Snapshot, error) {
	ans, err := s.ask(ctx, key, url.PathEscape(id)+"?")
	if err != nil {
		return nil, err
	}
	leg, err := ans.leg(key, id, s.flagBase)
	if err != nil {
		return nil, s.unintelligible(err)
	}
	legs, err := upstream.Finish(key, leg, now)
	if err != nil {
		return nil, err
	}
	return legs[0], nil
}

// ask makes one call. The path is that below the flight status service, up to
// the extended options.
func (s *Source) ask(ctx context.Context, key flight.Key, path string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	resp, body, err := s.call(ctx, s.base+"/flightstatus/rest/v2/json/flight/status/"+path+"extendedOptions="+options)
	if err != nil {
		return nil, err
	}
	ans, err := parse(body)
	if refused := s.refusal(key, resp, ans); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, s.unintelligible(err)
	}
	return ans, nil
}

// call sends the request and reads the whole answer.
func (s *Source) call(ctx context.Context, address string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil { // err has the address in it
		return nil, nil, s.unintelligible(errors.New("the base URL is no URL"))
	}
	// Names of the provider's own spelling; HTTP ignores their case.
	req.Header.Set("appId", s.appID)
	req.Header.Set("appKey", s.appKey)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "flightwire")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, s.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, nil, s.unreachable(ctx, err)
	}
	if n > maxBody {
		return nil, nil, s.unintelligible(fmt.Errorf("the answer is over %d bytes", maxBody))
	}
	return resp, body.Bytes(), nil
}

// byNumber returns the path of the by-flight call. utc=false: the date is local
// to the origin.
func byNumber(key flight.Key) (string, error) {
	d, err := time.Parse(time.DateOnly, key.Date)
	if err != nil {
		return "", flight.Errorf(flight.CodeInvalid, "date: must be a calendar date in the form YYYY-MM-DD")
	}
	return fmt.Sprintf("%s/%s/dep/%d/%d/%d?utc=false&", url.PathEscape(key.Carrier), url.PathEscape(key.Number), d.Year(), d.Month(), d.Day()), nil
}
