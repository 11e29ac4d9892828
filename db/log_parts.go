package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// DeliveriesPart returns a part of the attempts to deliver to a subscription,
// newest first.
func (db *DB) DeliveriesPart(ctx context.Context, subscription string, p Part) (Stretch[*flight.Delivery], error) {
	s, err := stretch(ctx, p, true, func(ctx context.Context, low, high Place, down bool, limit int) ([]*flight.Delivery, []Place, error) {
		order := `ORDER BY attempted_at, id`
		if down {
			order = `ORDER BY attempted_at DESC, id DESC`
		}
		var rows []loggedDelivery
		err := db.sel(ctx, &rows, `SELECT `+loggedColumns+` FROM deliveries
			WHERE subscription_id = $1 AND (attempted_at, id) >= ($2, $3) AND (attempted_at, id) <= ($4, $5) `+order+` LIMIT $6`,
			subscription, At(time.UnixMicro(low.Key)), low.ID, At(time.UnixMicro(high.Key)), high.ID, limit)
		log, places := make([]*flight.Delivery, len(rows)), make([]Place, len(rows))
		for i := range rows {
			log[i], places[i] = rows[i].delivery(), Place{rows[i].AttemptedAt.Std().UnixMicro(), rows[i].ID}
		}
		return log, places, err
	})
	return s, domainError(ctx, "deliveries", err)
}

// CountDeliveries returns how many attempts to deliver to a subscription there
// are.
func (db *DB) CountDeliveries(ctx context.Context, subscription string) (n int, err error) {
	return n, domainError(ctx, "count deliveries", db.get(ctx, &n, countDeliveries, subscription))
}

// SentEventsPart returns a part of the events of a subscription, newest first.
// A place has the event's number and no id.
func (db *DB) SentEventsPart(ctx context.Context, subscription string, p Part) (Stretch[*flight.SentEvent], error) {
	s, err := stretch(ctx, p, true, func(ctx context.Context, low, high Place, down bool, limit int) ([]*flight.SentEvent, []Place, error) {
		order := `ORDER BY seq`
		if down {
			order = `ORDER BY seq DESC`
		}
		var rows []struct {
			sentEventRow
			Seq int64 `db:"seq"`
		}
		err := db.sel(ctx, &rows, `SELECT seq, `+sentEventColumns+` FROM events WHERE subscription_id = $1 AND seq >= $2 AND seq <= $3 `+order+` LIMIT $4`,
			subscription, low.Key, high.Key, limit)
		log, places := make([]*flight.SentEvent, len(rows)), make([]Place, len(rows))
		for i := range rows {
			if log[i], err = rows[i].sent(); err != nil {
				return nil, nil, err
			}
			places[i] = Place{Key: rows[i].Seq}
		}
		return log, places, err
	})
	return s, domainError(ctx, "sent events", err)
}

// CountSentEvents returns how many events of a subscription there are.
func (db *DB) CountSentEvents(ctx context.Context, subscription string) (n int, err error) {
	return n, domainError(ctx, "count sent events", db.get(ctx, &n, countEvents, subscription))
}
