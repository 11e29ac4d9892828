// Package aerodatabox asks AeroDataBox for flights.
//
// It promises one call per look-up, snapshots with every field that the answer
// has, and errors that name neither address nor key: the key travels in a
// header only, and is struck out of what the provider says back.
//
// The provider has a row for every number that a flight is sold under, with
// nothing that links them: rows with the same airports and scheduled times are
// one leg. The snapshot describes the number that was asked for; where the
// answer has the operator's row too, OperatedBy names the operator. Times are
// those of the airports' boards, which are at the gate, and observed ones at
// the runway. There is no history of changes, no aircraft type code, no id of a
// flight, and nobody says where a diverted one goes.
package aerodatabox

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// PublicBase is the address of the provider's service at RapidAPI.
const PublicBase = "https://aerodatabox.p.rapidapi.com"

// floor is how long the provider tells caches to keep an answer.
const floor = 300 * time.Second

// Config says where the provider is and who we are there.
type Config struct {
	BaseURL  string        // of the API, without query; empty: [PublicBase]
	Key      string        // sent as the header of the marketplace that the base belongs to
	FlagBase string        // the service's public address, for the URLs of country flags
	Timeout  time.Duration // for one look-up; 0: 10 s

	HTTPClient *http.Client // makes the calls; nil: one of its own; redirects are never followed
}

// Source asks AeroDataBox. It is safe for concurrent use.
type Source struct {
	client   *upstream.Client
	flagBase string
}

var _ upstream.Source = (*Source)(nil)

// New returns a source. Nothing is checked or called until the first look-up.
func New(cfg Config) *Source {
	base := cmp.Or(cfg.BaseURL, PublicBase)
	return &Source{
		client: upstream.NewClient(upstream.ClientConfig{
			Name: "aerodatabox", BaseURL: base, Header: credentials(base, cfg.Key), Secrets: []string{cfg.Key},
			Timeout: cfg.Timeout, HTTPClient: cfg.HTTPClient,
		}),
		flagBase: cfg.FlagBase,
	}
}

// credentials returns the headers of the marketplace that sells the API at
// base: API.Market's, else RapidAPI's, which also wants to know the host.
func credentials(base, key string) http.Header {
	host := ""
	if u, err := url.Parse(base); err == nil {
		host = u.Hostname()
	}
	h := http.Header{}
	if host == "api.market" || strings.HasSuffix(host, ".api.market") {
		h.Set("X-Api-Market-Key", key)
		return h
	}
	h.Set("X-Rapidapi-Key", key)
	h.Set("X-Rapidapi-Host", host)
	return h
}

// Name returns "aerodatabox".
func (s *Source) Name() string { return "aerodatabox" }

// Floor returns five minutes.
func (s *Source) Floor() time.Duration { return floor }

// Legs asks for the legs of a flight, in the order of their departures. The
// key's carrier may be an IATA or an ICAO code. Only legs whose scheduled
// departure falls on the key's date, on the clocks of their origin, are
// returned; rows without any departure time are of no date.
func (s *Source) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	date, err := time.Parse(time.DateOnly, key.Date)
	if err != nil {
		return nil, flight.Errorf(flight.CodeInvalid, "date: must be a calendar date in the form YYYY-MM-DD")
	}
	ctx, cancel := s.client.Within(ctx)
	defer cancel()
	got, err := s.client.Get(ctx, "/flights/number/"+url.PathEscape(key.Carrier+key.Number)+"/"+key.Date+"?dateLocalRole=Departure")
	if err != nil {
		return nil, err
	}
	if refused := s.refusal(key, got, date.Sub(now.Std()).Abs()); refused != nil {
		return nil, refused
	}
	rows, err := parse(got.Body)
	if err != nil {
		return nil, s.client.Unintelligible(err)
	}
	legs, err := decode(rows, key, now, s.flagBase)
	if err != nil {
		return nil, s.client.Unintelligible(err)
	}
	return upstream.Finish(key, legs, now)
}

// always is how far from now a date may lie that every plan covers. How far
// ahead and back others may lie depends on the plan and on what the provider
// has at present, and a date beyond that is a bad request to it.
const always = 48 * time.Hour

// refusal returns the error that an answer is, or nil when it is none. An
// object in place of the list is an error, whatever the status. away is how far
// the date lies from now.
func (s *Source) refusal(key flight.Key, got *upstream.Answer, away time.Duration) *flight.Error {
	var e struct {
		Message text `json:"message"`
	}
	_, err := upstream.Decode(got.Body, '{', &e)
	status := got.Status
	switch {
	case status == http.StatusOK && err == nil && e.Message != "":
		status = http.StatusBadGateway // an error that does not say which
	case status == http.StatusOK:
		return nil
	}
	r := upstream.RefusalOf(status)
	if status == http.StatusBadRequest && away > always {
		r = upstream.NoFlight // none yet, or none any more
	}
	return s.client.Refuse(key, got, r, upstream.Detail{Name: "message", Value: string(e.Message)})
}
