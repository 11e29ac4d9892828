package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// The Redis channels on which processes hear of what others have written: of
// legs, and of the logs of subscriptions.
const (
	bell    = "fw:bell"
	logBell = "fw:bell:logs"
)

// Ring tells of one accepted change of a leg, or else of logs of subscriptions.
type Ring struct {
	FlightID string `json:"flight,omitempty"` // the leg; empty: this is about logs
	Key      string `json:"key,omitempty"`    // flight key without leg suffix; empty: the upstream lists the leg no longer
	Version  int64  `json:"version,omitempty"`

	Subscriptions []string `json:"subscriptions,omitempty"` // whose logs have more, or which are gone
	Account       string   `json:"account,omitempty"`       // whose subscriptions have become more or fewer; empty: nobody's
}

// ringMost is how many subscriptions one ring names at most.
const ringMost = 500

// announce rings the bell for every leg that has a new version, or of which
// there are events. Of one that the answer does not list only its id is told.
func (c *Client) announce(ctx context.Context, a db.Accepted) {
	for i, id := range slices.Concat(a.Changed, a.Told) {
		if i >= len(a.Changed) && slices.Contains(a.Changed, id) {
			continue
		}
		r := Ring{FlightID: id}
		if i := slices.Index(a.IDs, id); i >= 0 {
			r.Key, r.Version = a.Legs[i].FlightKey, a.Versions[i]
		}
		if err := c.ring(ctx, bell, r); err != nil {
			slog.WarnContext(ctx, "the bell could not be rung; viewers see the change at their next look", "flight", cmp.Or(r.Key, id), "error", err)
		}
	}
}

// RingLogs tells every process that there is more in the logs of subscriptions,
// or that they are gone. Viewers who miss it see so at their next look.
func (c *Client) RingLogs(ctx context.Context, subscriptions ...string) error {
	ctx, cancel := context.WithTimeout(ctx, ringTimeout)
	defer cancel()
	for part := range slices.Chunk(subscriptions, ringMost) {
		if err := c.ring(ctx, logBell, Ring{Subscriptions: part}); err != nil {
			return wrap("ring", err)
		}
	}
	return nil
}

// RingAccount tells every process that an account has one subscription more, or
// that the one named is gone.
func (c *Client) RingAccount(ctx context.Context, account, subscription string) error {
	ctx, cancel := context.WithTimeout(ctx, ringTimeout)
	defer cancel()
	return wrap("ring", c.ring(ctx, logBell, Ring{Subscriptions: []string{subscription}, Account: account}))
}

func (c *Client) ring(ctx context.Context, channel string, r Ring) error {
	msg, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.redis.Publish(ctx, channel, msg).Err()
}

// Rings returns one Ring for every change that any process tells of, until ctx
// ends and the channel is closed. It is lossy: a reader that lags, or a
// connection that breaks, misses some, so read again when in doubt.
func (c *Client) Rings(ctx context.Context) (<-chan Ring, error) {
	sub := c.redis.Subscribe(ctx, bell, logBell)
	for range 2 { // one confirmation for each channel
		if _, err := sub.ReceiveTimeout(ctx, listenTimeout); err != nil {
			_ = sub.Close()
			return nil, wrap("listen to the bell", err)
		}
	}
	rings := make(chan Ring)
	go func() {
		defer close(rings)
		defer func() { _ = sub.Close() }()
		messages := sub.Channel(redis.WithChannelSize(4096))
		for {
			select {
			case <-ctx.Done():
				return
			case m, ok := <-messages:
				if !ok {
					return
				}
				var r Ring
				if err := json.Unmarshal([]byte(m.Payload), &r); err != nil {
					slog.WarnContext(ctx, "a ring of the bell made no sense", "error", err)
					continue
				}
				select {
				case rings <- r:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return rings, nil
}
