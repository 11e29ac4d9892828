package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/aeroapi"
	"github.com/flightwire/flightwire/flight/upstream/aerodatabox"
	"github.com/flightwire/flightwire/flight/upstream/cirium"
)

// The real upstreams that there are.
const (
	byCirium      = "cirium"
	byAeroAPI     = "aeroapi"
	byAeroDataBox = "aerodatabox"
)

// providers are the settings of the real upstreams: where each is, and who we
// are there.
type providers struct {
	CiriumBaseURL string `env:"CIRIUM_BASE_URL" placeholder:"URL" help:"Cirium FlightStats Flex; unset: the public base."`
	CiriumAppID   string `env:"CIRIUM_APP_ID" placeholder:"ID" help:"Cirium application id."`
	CiriumAppKey  string `env:"CIRIUM_APP_KEY" placeholder:"KEY" help:"Cirium application key."`

	AeroAPIBaseURL string `name:"aeroapi-base-url" env:"AEROAPI_BASE_URL" placeholder:"URL" help:"FlightAware AeroAPI v4; unset: the public base."`
	AeroAPIKey     string `name:"aeroapi-key" env:"AEROAPI_KEY" placeholder:"KEY" help:"AeroAPI key."`

	AeroDataBoxBaseURL string `name:"aerodatabox-base-url" env:"AERODATABOX_BASE_URL" placeholder:"URL" help:"AeroDataBox at RapidAPI or API.Market; unset: the public base at RapidAPI."`
	AeroDataBoxKey     string `name:"aerodatabox-key" env:"AERODATABOX_KEY" placeholder:"KEY" help:"Key of the marketplace that AeroDataBox is bought at."`
}

// vendor is one real upstream.
type vendor struct {
	name  string
	title string // in prose
	needs string // the settings that it cannot do without
	base  string // the setting of its address
}

// vendors lists the real upstreams.
var vendors = []vendor{
	{byCirium, "Cirium", "CIRIUM_APP_ID and CIRIUM_APP_KEY", "CIRIUM_BASE_URL"},
	{byAeroAPI, "FlightAware AeroAPI", "AEROAPI_KEY", "AEROAPI_BASE_URL"},
	{byAeroDataBox, "AeroDataBox", "AERODATABOX_KEY", "AERODATABOX_BASE_URL"},
}

// vendorOf returns the real upstream of that name.
func vendorOf(name string) (vendor, bool) {
	i := slices.IndexFunc(vendors, func(v vendor) bool { return v.name == name })
	if i < 0 {
		return vendor{}, false
	}
	return vendors[i], true
}

// credentials returns what a provider is asked with; an empty one is missing.
func (p *providers) credentials(name string) []string {
	switch name {
	case byCirium:
		return []string{p.CiriumAppID, p.CiriumAppKey}
	case byAeroAPI:
		return []string{p.AeroAPIKey}
	}
	return []string{p.AeroDataBoxKey}
}

// configured reports whether a provider has all that it needs.
func (p *providers) configured(name string) bool { return !slices.Contains(p.credentials(name), "") }

// check checks what is set, used or not, and that credentials can be sent.
func (p *providers) check() error {
	bases := map[string]string{byCirium: p.CiriumBaseURL, byAeroAPI: p.AeroAPIBaseURL, byAeroDataBox: p.AeroDataBoxBaseURL}
	for _, r := range vendors {
		if err := checkBase(r.base, bases[r.name]); err != nil {
			return err
		}
		for _, secret := range p.credentials(r.name) {
			if strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
				return usagef("%s: only printable characters without spaces can be sent", r.needs)
			}
		}
	}
	return nil
}

// checkUpstreams reads the list of upstreams: one that makes its flights up, or
// real ones, each once and with its credentials.
func (s *serving) checkUpstreams(c *Config) error {
	built := []string{simulated, replayed}
	for _, p := range vendors {
		built = append(built, p.name)
	}
	for name := range strings.SplitSeq(s.Upstream, ",") {
		name = strings.TrimSpace(name)
		p, isReal := vendorOf(name)
		switch {
		case !slices.Contains(built, name):
			return usagef("FLIGHTWIRE_UPSTREAM: there is no %q: have %s", name, strings.Join(built, ", "))
		case slices.Contains(c.Upstreams, name):
			return usagef("FLIGHTWIRE_UPSTREAM: %s stands there twice", name)
		case isReal && !s.configured(name):
			return usagef("FLIGHTWIRE_UPSTREAM=%s needs %s", name, p.needs)
		}
		c.Upstreams = append(c.Upstreams, name)
		if _, first := vendorOf(c.Upstreams[0]); len(c.Upstreams) > 1 && !(first && isReal) {
			return usagef("FLIGHTWIRE_UPSTREAM: %s: a made-up world stands alone; a list is of real providers", s.Upstream)
		}
	}
	return nil
}

// open returns a real upstream. base is the service's public address, client
// makes the calls; nil: one of the source's own.
func (p *providers) open(name, base string, client *http.Client) upstream.Source {
	switch name {
	case byCirium:
		return cirium.New(cirium.Config{BaseURL: p.CiriumBaseURL, AppID: p.CiriumAppID, AppKey: p.CiriumAppKey, FlagBase: base, HTTPClient: client})
	case byAeroAPI:
		return aeroapi.New(aeroapi.Config{BaseURL: p.AeroAPIBaseURL, Key: p.AeroAPIKey, FlagBase: base, HTTPClient: client})
	}
	return aerodatabox.New(aerodatabox.Config{BaseURL: p.AeroDataBoxBaseURL, Key: p.AeroDataBoxKey, FlagBase: base, HTTPClient: client})
}
