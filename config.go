package main

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/replay"
	"github.com/flightwire/flightwire/flight/webhook"
	"github.com/flightwire/flightwire/graph"
	"github.com/flightwire/flightwire/jobs"
)

// Config says what a process runs. The zero Config is `flightwire dev` in
// ./data with the simulator, without legacy headers and without a place to
// print to.
type Config struct {
	Serve bool   // for production: nothing embedded; false: dev
	Role  string // "api", "worker" or "all"; "": all

	Addr        string // listen address; "": 127.0.0.1:8080
	BaseURL     string // public address, for URLs in answers; "": that of Addr
	DataDir     string // folder of all that is embedded; "": ./data
	DatabaseURL string // PostgreSQL; "": SQLite in DataDir
	RedisURL    string // one, or a comma list for Cluster; "": an in-process one

	SecretKeys []string // 32 bytes in base64 each; none: dev keeps one in DataDir
	MigrateOff bool     // serve: wait for `migrate up` in place of migrating

	Upstreams  []string  // "simulator", "replay", or real ones in the order in which they are asked; nil: simulator
	Speed      float64   // of a simulated or replayed world; 0: as it runs already, else 1
	Start      time.Time // world time at which such a world begins; zero: the upstream's default
	ReplayFile string    // the day to replay; "": the shipped one
	Providers  providers // of the real upstreams

	Calls map[string]jobs.CallLimits // of the upstreams; those that are not in it have none

	PollEvery time.Duration  // a fixed poll interval; 0: adaptive
	Hold      time.Duration  // world time for which a value that vanished still counts; 0: none does
	CacheTTL  *time.Duration // a fixed freshness of look-ups; nil: adaptive

	EventDays   int // days for which events and attempts are kept; 0: 30
	HistoryDays int // days after a flight for which its history is kept; 0: 30

	RetryBase            time.Duration  // first webhook retry delay; 0: 4 s
	DeliveryTimeout      time.Duration  // webhook answer time-out; 0: 10 s
	AllowPrivateWebhooks *bool          // webhooks to addresses that are not public; nil: in dev only
	WebhookRoots         *x509.CertPool // that receivers' certificates are verified against; nil: the system's
	HostLimit            int            // webhooks under way to one host; 0: 128
	LegacyPrefix         string         // of the second set of event headers; "": none

	CORS access.CORS // origins whose pages may call; zero: none

	Documents *graph.Documents // of GraphQL, the only ones that are executed; nil: all are

	Plans      access.Plans   // nil: the built-in ones
	QuotaGrace *time.Duration // how long keys have a small allowance while Redis does not answer; nil: 5 min

	Stdout io.Writer          // where dev prints its addresses; nil: nowhere
	Ready  func(base string)  // called when the process is ready, with its own address; nil: not
	step   func(point string) // tests' failpoints; nil: none

	upstreams func([]upstream.Source) []upstream.Source // what tests make of the upstreams; nil: they stay
}

func (c Config) withDefaults() Config {
	defaultTo := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	defaultTo(&c.Role, roleAll)
	defaultTo(&c.Addr, "127.0.0.1:8080")
	defaultTo(&c.DataDir, "./data")
	if len(c.Upstreams) == 0 {
		c.Upstreams = []string{simulated}
	}
	if c.AllowPrivateWebhooks == nil {
		allow := !c.Serve
		c.AllowPrivateWebhooks = &allow
	}
	if c.QuotaGrace == nil {
		grace := access.DefaultGrace
		c.QuotaGrace = &grace
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Ready == nil {
		c.Ready = func(string) {}
	}
	return c
}

// The roles of a serving process.
const (
	roleAll    = "all"
	roleAPI    = "api"
	roleWorker = "worker"
)

// The upstreams that make their flights up, or play them again.
const (
	simulated = "simulator"
	replayed  = "replay"
)

// serving are the settings that dev and serve share.
type serving struct {
	storage
	Addr    string `default:"127.0.0.1:8080" env:"FLIGHTWIRE_ADDR" help:"Listen address."`
	BaseURL string `env:"FLIGHTWIRE_BASE_URL" placeholder:"URL" help:"Public base for URLs in answers; unset: http://<addr>."`

	Upstream   string   `default:"simulator" env:"FLIGHTWIRE_UPSTREAM" placeholder:"NAME" help:"Where flights come from: simulator, replay, cirium, aeroapi or aerodatabox. Of real ones a comma list, too: the next is asked when one cannot answer."`
	Speed      *float64 `env:"FLIGHTWIRE_SPEED" placeholder:"N" help:"World seconds in a second, for simulator and replay; kept in the database from the first start on."`
	Start      string   `env:"FLIGHTWIRE_START" placeholder:"TIME" help:"World time at which a simulated or replayed world begins, in RFC 3339. Unset: now, or two hours before the replayed day's first departure."`
	ReplayFile string   `env:"FLIGHTWIRE_REPLAY_FILE" placeholder:"PATH" help:"CSV of the day to replay; unset: the shipped one."`

	providers
	callLimits

	PollEvery *time.Duration `env:"FLIGHTWIRE_POLL_EVERY" placeholder:"DURATION" help:"A fixed poll interval in place of the adaptive one: whole seconds, at least 1s."`
	Hold      time.Duration  `name:"hold-vanished" default:"30m" env:"FLIGHTWIRE_HOLD_VANISHED" help:"How long an estimate, gate, terminal or belt that the upstream stops saying still counts; 0s: not at all."`
	CacheTTL  *time.Duration `env:"FLIGHTWIRE_CACHE_TTL" placeholder:"DURATION" help:"A fixed freshness of look-ups in place of the adaptive one; 0s turns the cache off."`

	EventDays   int `default:"30" env:"FLIGHTWIRE_EVENT_DAYS" placeholder:"DAYS" help:"How many days events and attempts are kept, 1 to 3650."`
	HistoryDays int `default:"30" env:"FLIGHTWIRE_HISTORY_DAYS" placeholder:"DAYS" help:"How many days after a flight its history is kept, 1 to 3650."`

	RetryBase            time.Duration `default:"4s" env:"FLIGHTWIRE_RETRY_BASE" help:"First webhook retry delay; each further one is twice as long."`
	DeliveryTimeout      time.Duration `default:"10s" env:"FLIGHTWIRE_DELIVERY_TIMEOUT" help:"How long a webhook's receiver may take to answer."`
	AllowPrivateWebhooks *bool         `negatable:"" env:"FLIGHTWIRE_ALLOW_PRIVATE_WEBHOOKS" help:"Let webhooks go to loopback and private addresses. Default: true in dev, false in serve."`
	WebhookRoots         string        `env:"FLIGHTWIRE_WEBHOOK_ROOTS" placeholder:"PATH" help:"PEM file of root certificates that receivers are trusted by beside the system's; unset: the system's alone."`
	HostLimit            int           `name:"webhook-host-limit" default:"128" env:"FLIGHTWIRE_WEBHOOK_HOST_LIMIT" placeholder:"N" help:"How many webhooks a process has under way to one host at most, 4 to 1024."`
	LegacyPrefix         string        `default:"legacy" env:"FLIGHTWIRE_LEGACY_PREFIX" help:"Event headers are also sent as x-<prefix>-…; empty: they are not."`

	CORSOrigins string `name:"cors-origins" env:"FLIGHTWIRE_CORS_ORIGINS" placeholder:"LIST" help:"Origins whose pages may call /v1 and /graphql from a browser: a comma list such as https://app.example.com, or * for all; unset: none."`

	PersistedQueries string `env:"FLIGHTWIRE_PERSISTED_QUERIES" placeholder:"PATH" help:"JSON file of GraphQL documents by id: only these are executed; unset: all are."`

	QuotaGrace time.Duration `default:"5m" env:"FLIGHTWIRE_QUOTA_GRACE" help:"While Redis does not answer: how long each key has a small allowance of requests; 0s: none."`

	LogLevel string `default:"info" env:"FLIGHTWIRE_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error."`
}

// config checks the settings and makes a Config of them.
func (s *serving) config() (Config, error) {
	c := Config{
		Addr: s.Addr, BaseURL: strings.TrimRight(s.BaseURL, "/"),
		ReplayFile: s.ReplayFile,
		Providers:  s.providers,
		CacheTTL:   s.CacheTTL, RetryBase: s.RetryBase, DeliveryTimeout: s.DeliveryTimeout,
		AllowPrivateWebhooks: s.AllowPrivateWebhooks, LegacyPrefix: s.LegacyPrefix,
	}
	for _, check := range []func(*Config) error{s.fill, s.checkAddresses, s.checkTimes, s.checkUpstream, s.checkCalls, s.checkGrace, s.checkWebhooks} {
		if err := check(&c); err != nil {
			return c, err
		}
	}
	if err := webhook.CheckLegacyPrefix(s.LegacyPrefix); err != nil {
		return c, usagef("FLIGHTWIRE_LEGACY_PREFIX: %w", err)
	}
	var err error
	if c.CORS, err = access.ParseCORS(s.CORSOrigins); err != nil {
		return c, usagef("FLIGHTWIRE_CORS_ORIGINS: %w", err)
	}
	if s.PersistedQueries != "" {
		if c.Documents, err = graph.LoadDocuments(s.PersistedQueries); err != nil {
			return c, usagef("FLIGHTWIRE_PERSISTED_QUERIES: %w", err)
		}
	}
	return c, nil
}

func (s *serving) checkAddresses(*Config) error {
	_, port, err := net.SplitHostPort(s.Addr)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return usagef("FLIGHTWIRE_ADDR: %q is not host:port, such as 127.0.0.1:8080", s.Addr)
	}
	if err := checkBase("FLIGHTWIRE_BASE_URL", s.BaseURL); err != nil {
		return err
	}
	return s.providers.check()
}

func checkBase(name, raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usagef("%s must be an http or https address without credentials and query, such as https://flights.example.com", name)
	}
	return nil
}

func (s *serving) checkTimes(c *Config) error {
	if s.PollEvery != nil {
		c.PollEvery = *s.PollEvery
		if c.PollEvery < time.Second || c.PollEvery%time.Second != 0 {
			return usagef("FLIGHTWIRE_POLL_EVERY: %v is not a number of whole seconds, at least 1s", c.PollEvery)
		}
	}
	if s.CacheTTL != nil && *s.CacheTTL < 0 {
		return usagef("FLIGHTWIRE_CACHE_TTL: %v is negative", *s.CacheTTL)
	}
	if s.Hold < 0 || s.Hold > 24*time.Hour {
		return usagef("FLIGHTWIRE_HOLD_VANISHED: %v is not between 0s and 24h", s.Hold)
	}
	c.Hold = s.Hold
	for name, days := range map[string]int{"FLIGHTWIRE_EVENT_DAYS": s.EventDays, "FLIGHTWIRE_HISTORY_DAYS": s.HistoryDays} {
		if days < 1 || days > 3650 {
			return usagef("%s: %d is not between 1 and 3650", name, days)
		}
	}
	c.EventDays, c.HistoryDays = s.EventDays, s.HistoryDays
	for name, d := range map[string]time.Duration{
		"FLIGHTWIRE_RETRY_BASE": s.RetryBase, "FLIGHTWIRE_DELIVERY_TIMEOUT": s.DeliveryTimeout,
	} {
		if d < time.Millisecond || d > time.Hour {
			return usagef("%s: %v is not between 1ms and 1h", name, d)
		}
	}
	return nil
}

func (s *serving) checkGrace(c *Config) error {
	if s.QuotaGrace < 0 || s.QuotaGrace > 24*time.Hour {
		return usagef("FLIGHTWIRE_QUOTA_GRACE: %v is not between 0s and 24h", s.QuotaGrace)
	}
	c.QuotaGrace = &s.QuotaGrace
	return nil
}

func (s *serving) checkWebhooks(c *Config) error {
	if s.HostLimit < 4 || s.HostLimit > 1024 {
		return usagef("FLIGHTWIRE_WEBHOOK_HOST_LIMIT: %d is not between 4 and 1024", s.HostLimit)
	}
	c.HostLimit = s.HostLimit
	if s.WebhookRoots == "" {
		return nil
	}
	roots, err := webhook.LoadRoots(s.WebhookRoots)
	if err != nil {
		return usagef("FLIGHTWIRE_WEBHOOK_ROOTS: %w", err)
	}
	c.WebhookRoots = roots
	return nil
}

func (s *serving) checkUpstream(c *Config) error {
	if err := s.checkUpstreams(c); err != nil {
		return err
	}
	if s.Speed != nil {
		c.Speed = *s.Speed
		if !(c.Speed >= 0.01 && c.Speed <= 1e5) { // NaN too
			return usagef("FLIGHTWIRE_SPEED: %g is not between 0.01 and 100000", c.Speed)
		}
	}
	if s.Start != "" {
		var err error
		if c.Start, err = time.Parse(time.RFC3339, s.Start); err != nil {
			return usagef("FLIGHTWIRE_START: %q is not a time of the form 2013-07-10T09:00:00Z", s.Start)
		}
	}
	if p, ok := vendorOf(c.Upstreams[0]); ok && (c.Speed != 0 && c.Speed != 1 || s.Start != "") {
		return usagef("FLIGHTWIRE_SPEED and FLIGHTWIRE_START are for simulator and replay: the flights of %s are real", p.name)
	}
	if s.ReplayFile == "" {
		return nil
	}
	if c.Upstreams[0] != replayed {
		return usagef("FLIGHTWIRE_REPLAY_FILE is for FLIGHTWIRE_UPSTREAM=replay, not %s", s.Upstream)
	}
	_, err := replay.New(replay.Config{Path: s.ReplayFile})
	return err
}

// baseOf returns the address under which a listener is reached on this machine.
func baseOf(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return fmt.Sprintf("http://%s", net.JoinHostPort(host, port))
}
