package graph

import (
	"context"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// BoardDirection is which of an airport's two boards is meant.
type BoardDirection string

// The directions.
const (
	BoardDepartures BoardDirection = "departures"
	BoardArrivals   BoardDirection = "arrivals"
)

// The window of a board, and how many legs are counted in it.
const (
	boardBack     = 2 * time.Hour  // before now, unless something else is asked for
	boardSpan     = 24 * time.Hour // from the beginning to the end, unless …
	boardLongest  = 7 * 24 * time.Hour
	boardCounted  = 100_000
	maxBoardFirst = 100

	boardPrefix = "board " // of cursors
	latestPlace = 1 << 46  // milliseconds: the year 4199
)

// FlightBoardConnection is a page of a board, in the order of its times.
type FlightBoardConnection struct {
	Edges      []FlightBoardEdge
	PageInfo   PageInfo
	TotalCount int
}

// FlightBoardEdge is a leg on a board, with its place.
type FlightBoardEdge struct {
	Cursor string
	Leg    string // its id, as in [BoardUpdate]
	Time   flight.Time
	Node   *flight.Snapshot
}

// FlightBoard returns a page of the departures or the arrivals of an airport:
// the legs of which the account has a subscription, whatever its status, and
// whose best known time there lies in the window. from and to may be nil.
// CodeInvalid when something is out of range.
func (q *queries) FlightBoard(ctx context.Context, airport string, direction BoardDirection, from, to *flight.Time, first int, after *string) (*FlightBoardConnection, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	r := db.BoardRange{Account: acc, Airport: parseAirport(&v, airport), Direction: direction.parse(&v)}
	r.From, r.To = boardWindow(&v, q.r.lookups.now(), from, to)
	if first < 1 || first > maxBoardFirst {
		v.Add("first", "must be 1 to %d", maxBoardFirst)
	}
	var place db.BoardPlace
	if after != nil {
		at, ok := parseCursor(*after)
		id, board := strings.CutPrefix(at.id, boardPrefix)
		if !ok || !board || !wellFormed(legPrefix, id) || at.place > latestPlace {
			v.Add("after", "must be a cursor of a board")
		}
		place = db.BoardPlace{At: flight.Time(at.place), FlightID: id}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	legs, err := q.r.cfg.DB.Board(ctx, r, place, first+1)
	if err != nil {
		return nil, err
	}
	page := &FlightBoardConnection{Edges: []FlightBoardEdge{}}
	page.PageInfo.HasPreviousPage = after != nil
	if page.PageInfo.HasNextPage = len(legs) > first; page.PageInfo.HasNextPage {
		legs = legs[:first]
	}
	if page.TotalCount, err = q.r.cfg.DB.CountBoard(ctx, r, boardCounted); err != nil {
		return nil, err
	}
	return page, q.fillBoard(ctx, page, legs)
}

// fillBoard puts legs on a page as they stand.
func (q *queries) fillBoard(ctx context.Context, page *FlightBoardConnection, legs []db.BoardPlace) error {
	ids := make([]string, len(legs))
	times := make(map[string]flight.Time, len(legs))
	for i, l := range legs {
		ids[i], times[l.FlightID] = l.FlightID, l.At
	}
	presents, err := q.r.cfg.DB.LatestUpdates(ctx, ids)
	if err != nil {
		return err
	}
	for _, u := range presents {
		at := times[u.FlightID]
		page.Edges = append(page.Edges, FlightBoardEdge{
			Cursor: cursor{boardPrefix + u.FlightID, int64(at)}.String(), Leg: boardLeg(u.FlightID), Time: at, Node: u.Snapshot,
		})
	}
	if n := len(page.Edges); n > 0 {
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = &page.Edges[0].Cursor, &page.Edges[n-1].Cursor
	}
	return nil
}

// boardLeg is how messages name a leg. It says nothing and stays the same.
func boardLeg(flightID string) string { return "leg_" + strings.TrimPrefix(flightID, legPrefix) }

// parse records a fault in v for what is no direction.
func (d BoardDirection) parse(v *flight.Invalid) db.Direction {
	switch d {
	case BoardDepartures:
		return db.Departures
	case BoardArrivals:
		return db.Arrivals
	}
	v.Add("direction", "must be departures or arrivals")
	return 0
}

// parseAirport returns the code by which snapshots name an airport: its IATA
// code where it has one.
func parseAirport(v *flight.Invalid, code string) string {
	var of flight.Invalid
	code = flight.ParseSelector(&of, code, "", "").Origin
	if len(of) > 0 || code == "" {
		v.Add("airport", "must be an airport's IATA, ICAO or upstream code, such as JFK")
	}
	if a, ok := places.FindAirport(code); ok && a.IATA != "" {
		return a.IATA
	}
	return code
}

// boardWindow returns the window that is asked for, in world time.
func boardWindow(v *flight.Invalid, now flight.Time, from, to *flight.Time) (flight.Time, flight.Time) {
	begin := now - milliseconds(boardBack)
	if from != nil {
		begin = *from
	}
	end := begin + milliseconds(boardSpan)
	if to != nil {
		end = *to
	}
	switch {
	case end <= begin:
		v.Add("to", "must be after from, which is two hours ago where it is left out")
	case end-begin > milliseconds(boardLongest):
		v.Add("to", "must be at most 7 days after from, which is two hours ago where it is left out")
	}
	return begin, end
}

// MarshalBoardDirection writes the enum BoardDirection.
func MarshalBoardDirection(v BoardDirection) graphql.Marshaler { return boardDirections.marshal(v) }

// UnmarshalBoardDirection reads the enum BoardDirection.
func UnmarshalBoardDirection(v any) (BoardDirection, error) { return boardDirections.unmarshal(v) }

// MarshalBoardChange writes the enum BoardChange.
func MarshalBoardChange(v BoardChange) graphql.Marshaler { return boardChanges.marshal(v) }

// UnmarshalBoardChange reads the enum BoardChange.
func UnmarshalBoardChange(v any) (BoardChange, error) { return boardChanges.unmarshal(v) }
