// Package aeroapi asks FlightAware's AeroAPI, version 4, for flights.
//
// It promises snapshots with every field that the answer has and errors that
// name neither address nor key: the key travels in a header only, and is struck
// out of what the provider says back. A look-up is one call, but for dates that
// lie across the border of what one of the provider's collections has, which
// are two, and for answers of several pages; see [plan].
//
// A snapshot describes the number that was asked for. Where that is a
// codeshare, the provider answers with the operator's flight: the snapshot's
// carrier and number are the codeshare's, the operator is in OperatedBy, and
// the operator's own number is among the codeshares.
//
// The provider has no boarding, no history of changes, and no aircraft type
// besides the planned one.
package aeroapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// PublicBase is the address of the provider's own service.
const PublicBase = "https://aeroapi.flightaware.com/aeroapi"

const (
	floor    = 60 * time.Second // its contracts are counted by the minute
	maxPages = 5                // of 15 flights each; one number has a few in two days
)

// Config says where the provider is and who we are there.
type Config struct {
	BaseURL  string        // of the API, without query; empty: [PublicBase]
	Key      string        // sent as the header x-apikey
	FlagBase string        // the service's public address, for the URLs of country flags
	Timeout  time.Duration // for one look-up; 0: 10 s

	HTTPClient *http.Client // makes the calls; nil: one of its own; redirects are never followed
}

// Source asks AeroAPI. It is safe for concurrent use.
type Source struct {
	client   *upstream.Client
	flagBase string
}

var _ upstream.Tracker = (*Source)(nil)

// New returns a source. Nothing is checked or called until the first look-up.
func New(cfg Config) *Source {
	credentials := http.Header{}
	credentials.Set("X-Apikey", cfg.Key)
	return &Source{
		client: upstream.NewClient(upstream.ClientConfig{
			Name: "aeroapi", BaseURL: cmp.Or(cfg.BaseURL, PublicBase), Header: credentials, Secrets: []string{cfg.Key},
			Timeout: cfg.Timeout, HTTPClient: cfg.HTTPClient,
		}),
		flagBase: cfg.FlagBase,
	}
}

// Name returns "aeroapi".
func (s *Source) Name() string { return "aeroapi" }

// Floor returns one minute.
func (s *Source) Floor() time.Duration { return floor }

// Legs asks for the legs of a flight, in the order of their departures. The
// key's carrier may be an IATA or an ICAO code. Only legs whose scheduled
// departure falls on the key's date, on the clocks of their origin, are
// returned.
func (s *Source) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	calls, err := plan(key, now)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.client.Within(ctx)
	defer cancel()
	var rows []row
	for _, c := range calls {
		more, err := s.rows(ctx, key, c)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	legs, err := decode(rows, key, now, s.flagBase)
	if err != nil {
		return nil, s.client.Unintelligible(err)
	}
	return upstream.Finish(key, legs, now)
}

// Leg asks for the leg with that fa_flight_id, behind which there may be a
// route. A leg keeps it when the airline gives it another number or moves it to
// another day.
func (s *Source) Leg(ctx context.Context, key flight.Key, id string, now flight.Time) (*flight.Snapshot, error) {
	ctx, cancel := s.client.Within(ctx)
	defer cancel()
	whole, _, _ := strings.Cut(id, "@")
	rows, err := s.rows(ctx, key, call{"/flights/" + url.PathEscape(whole), url.Values{"ident_type": {"fa_flight_id"}}})
	if err != nil {
		return nil, err
	}
	leg, err := decodeLeg(rows, key, id, now, s.flagBase)
	if err != nil {
		return nil, s.client.Unintelligible(err)
	}
	legs, err := upstream.Finish(key, leg, now)
	if err != nil {
		return nil, err
	}
	return legs[0], nil
}

// rows makes one call and reads all its pages. A collection that knows no such
// flight has no rows.
func (s *Source) rows(ctx context.Context, key flight.Key, c call) ([]row, error) {
	var rows []row
	query := c.query
	for range maxPages {
		got, err := s.client.Get(ctx, c.path+"?"+query.Encode())
		if err != nil {
			return nil, err
		}
		p, err := parse(got.Body)
		if refused := s.refusal(key, got, p); refused != nil {
			if refused.Code == flight.CodeFlightNotFound {
				return rows, nil
			}
			return nil, refused
		}
		if err != nil {
			return nil, s.client.Unintelligible(err)
		}
		rows = append(rows, p.rows()...)
		cursor := p.cursor()
		if cursor == "" {
			return rows, nil
		}
		query = withCursor(c.query, cursor)
	}
	return nil, s.client.Unintelligible(fmt.Errorf("the answer has over %d pages", maxPages))
}

// withCursor asks for a further page. Only the cursor of the provider's link is
// used: wherever it leads, the key goes to the base address alone.
func withCursor(query url.Values, cursor string) url.Values {
	next := url.Values{"cursor": {cursor}}
	for name, values := range query {
		next[name] = values
	}
	return next
}

// refusal returns the error that an answer is, or nil when it is none. An
// error in the body counts before the status: it can come with a 200.
func (s *Source) refusal(key flight.Key, got *upstream.Answer, p *page) *flight.Error {
	status, e := got.Status, fault{}
	if p != nil && p.isFault() {
		e = p.fault
		if n := int(e.Status); n >= 400 && n < 600 {
			status = n
		} else if status < 400 {
			status = http.StatusBadGateway // an error that does not say which
		}
	}
	if status == http.StatusOK {
		return nil
	}
	r := upstream.RefusalOf(status)
	if status == http.StatusPaymentRequired {
		r = upstream.OverLimit
	}
	return s.client.Refuse(key, got, r, upstream.Detail{Name: "title", Value: string(e.Title)},
		upstream.Detail{Name: "reason", Value: string(e.Reason)}, upstream.Detail{Name: "detail", Value: string(e.Detail)})
}

var errNoFlights = errors.New("the answer has no flights")
