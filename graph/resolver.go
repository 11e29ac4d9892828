package graph

import (
	"context"
	"sync"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/jobs"
)

// ResolverConfig says what the use cases work with.
type ResolverConfig struct {
	DB     *db.DB
	Intake *jobs.Intake
	Client *jobs.Client
	Clock  flight.Clock // the world's; zero: wall time

	AllowPrivateWebhooks bool           // let webhooks go to private addresses
	LegacyPrefix         string         // header names x-<prefix>-… are reserved; empty: none
	BaseURL              string         // public address, for the URLs of flags
	Countries            *places.Atlas  // nil: what was built in
	CacheTTL             *time.Duration // world time; nil: by the flight's phase; 0: no cache
	Process              string         // id of this process; live viewers are counted under it

	Plans access.Plans // what accounts may use; nil: the built-in ones
	Live  LiveLimit    // how many legs an account may watch live; nil: any number
	Keys  *access.Keys // for those who have an account token; nil: there are no such
}

// LiveLimit counts the legs that an account watches live; see [access.Guard].
type LiveLimit interface {
	Watch(ctx context.Context, who access.Identity, leg string) (leave func(), err error)
}

// Resolver is the use cases. It is safe for concurrent use.
type Resolver struct {
	cfg     ResolverConfig
	lookups *lookups
	live    *hub
}

// New returns the use cases. [Resolver.Run] must run beside them.
func New(c ResolverConfig) *Resolver {
	if c.Countries == nil {
		c.Countries = places.BuiltIn()
	}
	now := func() flight.Time { return c.Clock.World(c.DB.Now()) }
	return &Resolver{
		cfg:     c,
		lookups: newLookups(c.DB, c.Intake, now, c.CacheTTL),
		live:    newHub(c.DB, now, c.Process),
	}
}

// Query returns the reading use cases.
func (r *Resolver) Query() QueryResolver { return &queries{r} }

// Mutation returns the changing use cases.
func (r *Resolver) Mutation() MutationResolver { return &mutations{r} }

// Subscription returns the live use cases.
func (r *Resolver) Subscription() SubscriptionResolver { return &streams{r} }

// CreateSubscriptionInput returns what reads the input of that name.
func (r *Resolver) CreateSubscriptionInput() CreateSubscriptionInputResolver { return inputs{} }

// UpdateSubscriptionInput returns what reads the input of that name.
func (r *Resolver) UpdateSubscriptionInput() UpdateSubscriptionInputResolver { return updates{} }

// FlightSnapshot returns the use case that reads the history of a leg.
func (r *Resolver) FlightSnapshot() FlightSnapshotResolver { return &histories{r} }

// FlightSubscription returns the use cases that read the logs of a
// subscription.
func (r *Resolver) FlightSubscription() FlightSubscriptionResolver { return &logs{r} }

// Account returns the use cases that read what belongs to an account.
func (r *Resolver) Account() AccountResolver { return &accounts{r} }

// Run listens to the bell, for the cache and the live viewers, and keeps the
// legs polled that are watched here, until ctx ends. Without it the cache hears
// of other processes' news when its answers run out, and viewers at their next
// look.
func (r *Resolver) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { r.listen(ctx) })
	loops.Go(func() { r.live.keepPolled(ctx) })
	loops.Wait()
}

// identity returns whose request it is. CodeMissingAPIKey when nobody was
// authenticated, CodeAPIKeyRequired when it was with an account token.
func identity(ctx context.Context) (access.Identity, error) {
	id, ok := access.From(ctx)
	switch {
	case !ok:
		return id, errNobody()
	case id.Token:
		return id, flight.Errorf(flight.CodeAPIKeyRequired,
			"This takes an API key (fw_…); an account token reads the account and manages its keys. createKey makes a key.")
	}
	return id, nil
}

func errNobody() error {
	return flight.Errorf(flight.CodeMissingAPIKey, "Send an API key in the x-api-key header, or as Authorization: Bearer <key>.")
}

// owner is identity for what takes the account token.
// CodeAccountTokenRequired when it was an API key.
func owner(ctx context.Context) (access.Identity, error) {
	id, ok := access.From(ctx)
	switch {
	case !ok:
		return id, errNobody()
	case !id.Token:
		return id, flight.Errorf(flight.CodeAccountTokenRequired,
			"This takes the account token (fwa_…); an API key cannot manage keys. Whoever runs this service issues the token.")
	}
	return id, nil
}

// account returns the account of identity.
func account(ctx context.Context) (string, error) {
	id, err := identity(ctx)
	return id.Account, err
}

// identityFor is identity for a request about one subscription.
// CodeSubscriptionMissing when id cannot be one's.
func identityFor(ctx context.Context, id string) (access.Identity, error) {
	who, err := identity(ctx)
	if err == nil {
		err = checkID(id)
	}
	return who, err
}

// accountFor is the account of identityFor.
func accountFor(ctx context.Context, id string) (string, error) {
	who, err := identityFor(ctx, id)
	return who.Account, err
}
