package graph

import (
	"context"
	"log/slog"
	"time"
)

// relisten is the pause before the bell is listened to again after a failure.
const relisten = time.Second

// listen hands every ring to the cache and the viewers until ctx ends. What
// rang while nobody listened is made up for by doubting everything.
func (r *Resolver) listen(ctx context.Context) {
	for deaf := false; ctx.Err() == nil; {
		rings, err := r.cfg.Client.Rings(ctx)
		if err != nil {
			if !deaf && ctx.Err() == nil { // once, not every second
				slog.WarnContext(ctx, "the bell cannot be heard; it is tried again", "error", err)
			}
			deaf = true
		} else {
			deaf = false
			r.lookups.doubtAll()
			r.live.rangAll()
			for ring := range rings {
				if ring.FlightID != "" {
					r.lookups.rang(ring.FlightID, ring.Key)
				}
				r.live.rang(ring)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(relisten):
		}
	}
}
