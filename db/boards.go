package db

import (
	"context"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Direction is which of an airport's two boards is meant.
type Direction int

// The directions.
const (
	Departures Direction = iota
	Arrivals
)

// BoardPlace is a leg's place on a board.
type BoardPlace struct {
	At       flight.Time // its best known time there, of the world
	FlightID string
}

// BoardRange is a part of the board of one airport for one account: the legs of
// which that account has a subscription, whatever its status, and whose best
// known time there is From or later, and before To.
type BoardRange struct {
	Account   string
	Airport   string // as snapshots name it: its IATA code where it has one
	Direction Direction
	From, To  flight.Time // world time
}

const boardWhere = ` FROM boards b WHERE b.airport = $1 AND b.direction = $2 AND b.at >= $3 AND b.at < $4
	AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.flight_id = b.flight_id AND s.account_id = $5)`

func (r BoardRange) args(more ...any) []any {
	return append([]any{r.Airport, r.Direction, world(r.From), world(r.To), r.Account}, more...)
}

// Board returns the legs of a board that come after a place, in the order of
// their times, at most limit. The zero place is the beginning.
func (db *DB) Board(ctx context.Context, r BoardRange, after BoardPlace, limit int) ([]BoardPlace, error) {
	var rows []struct {
		FlightID string `db:"flight_id"`
		At       Time   `db:"at"`
	}
	at := after.At.Std()
	if !after.At.Known() {
		at = time.Unix(0, 0) // before all of them, where NULL would be none
	}
	err := db.sel(ctx, &rows, `SELECT b.flight_id, b.at`+boardWhere+` AND (b.at, b.flight_id) > ($6, $7)
		ORDER BY b.at, b.flight_id LIMIT $8`, r.args(At(at), after.FlightID, limit)...)
	if err != nil {
		return nil, domainError(ctx, "board", err)
	}
	out := make([]BoardPlace, len(rows))
	for i, row := range rows {
		out[i] = BoardPlace{row.At.Flight(), row.FlightID}
	}
	return out, nil
}

// CountBoard returns how many legs there are on a board, counting up to limit.
func (db *DB) CountBoard(ctx context.Context, r BoardRange, limit int) (n int, err error) {
	err = db.get(ctx, &n, `SELECT count(*) FROM (SELECT b.flight_id`+boardWhere+` LIMIT $6) AS c`, r.args(limit)...)
	return n, domainError(ctx, "board", err)
}

// putOnBoards notes where and when a leg stands on the boards of its airports,
// if that is something else than before.
func (d *door) putOnBoards(ctx context.Context, flightID string, prev, next *flight.Snapshot) error {
	type row struct {
		FlightID  string    `json:"flight_id"`
		Direction Direction `json:"direction"`
		Airport   string    `json:"airport"`
		At        any       `json:"at"`
	}
	var rows []row
	for direction, end := range []func(*flight.Snapshot) *flight.Endpoint{
		Departures: func(s *flight.Snapshot) *flight.Endpoint { return &s.Departure },
		Arrivals:   func(s *flight.Snapshot) *flight.Endpoint { return &s.Arrival },
	} {
		is := end(next)
		if prev != nil {
			if was := end(prev); was.Airport.IATA == is.Airport.IATA && was.BestTimeUTC == is.BestTimeUTC {
				continue
			}
		}
		var at any
		if is.BestTimeUTC.Known() {
			at = d.kind.moment(is.BestTimeUTC.Std())
		}
		rows = append(rows, row{flightID, Direction(direction), is.Airport.IATA, at})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := d.exec(ctx, `INSERT INTO boards (flight_id, direction, airport, at) SELECT x.flight_id, x.direction, x.airport, x.at
		FROM `+d.kind.rows("flight_id text", "direction int", "airport text", "at timestamptz")+` WHERE true
		ON CONFLICT (flight_id, direction) DO UPDATE SET airport = excluded.airport, at = excluded.at`, jsonText(rows))
	return err
}
