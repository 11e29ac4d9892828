package graph

import (
	"context"

	"github.com/flightwire/flightwire/flight"
)

// maxHistory is the longest page of a history.
const maxHistory = 100

// FlightHistoryConnection is a page of the history of a leg, newest first.
type FlightHistoryConnection struct {
	Edges      []FlightHistoryEdge
	PageInfo   PageInfo
	TotalCount int
}

// FlightHistoryEdge is an entry of a history, with its place.
type FlightHistoryEdge struct {
	Cursor string
	Node   *FlightHistoryEntry
}

// FlightHistoryEntry is what was known of a leg for a while.
type FlightHistoryEntry struct {
	KnownAt flight.Time // world time at which it was first known
	Until   flight.Time // of the next entry; unknown: it stands
	Source  string
	Flight  *flight.Snapshot // as the upstream said it
	Changes []flight.Change
	Held    bool // a value that is not in Flight counted on
}

// PageInfo says where a page lies. The cursors of an empty one are nil.
type PageInfo struct {
	HasNextPage, HasPreviousPage bool
	StartCursor, EndCursor       *string
}

// histories is the use case that reads what was known of a leg when.
type histories struct{ r *Resolver }

// History returns a page of the history of the leg that a snapshot describes,
// of any age. It is empty when nothing is kept of the leg any more. CodeInvalid
// when first is not 1 to 100, or after is no place in this leg's history.
func (h *histories) History(ctx context.Context, s *flight.Snapshot, first int, after *string) (*FlightHistoryConnection, error) {
	if _, err := account(ctx); err != nil {
		return nil, err
	}
	var v flight.Invalid
	if first < 1 || first > maxHistory {
		v.Add("first", "must be 1 to %d", maxHistory)
	}
	at, ok := cursor{}, true
	if after != nil {
		if at, ok = parseCursor(*after); !ok {
			v.Add("after", "must be a cursor of this leg's history")
		}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	id, version, err := h.r.cfg.DB.LegOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if after != nil && (at.id != id || at.place < 1 || at.place > version) {
		v.Add("after", "must be a cursor of this leg's history")
		return nil, v.Err()
	}
	return h.page(ctx, id, at.place, first)
}

// page reads the entries before a version; 0: from what stands.
func (h *histories) page(ctx context.Context, id string, before int64, first int) (*FlightHistoryConnection, error) {
	known, total, err := h.r.cfg.DB.History(ctx, id, before, first+1)
	if err != nil {
		return nil, err
	}
	page := &FlightHistoryConnection{TotalCount: total, Edges: []FlightHistoryEdge{}}
	page.PageInfo.HasPreviousPage = before > 0 // at least what stands
	if len(known) > first {
		page.PageInfo.HasNextPage = true
		known = known[:first]
	}
	for _, k := range known {
		page.Edges = append(page.Edges, FlightHistoryEdge{
			Cursor: cursor{id, k.Version}.String(),
			Node: &FlightHistoryEntry{
				KnownAt: k.Said.FetchedAt, Until: k.Until, Source: k.Source, Flight: k.Said, Changes: k.Changes, Held: k.Held,
			},
		})
	}
	if n := len(page.Edges); n > 0 {
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = &page.Edges[0].Cursor, &page.Edges[n-1].Cursor
	}
	return page, nil
}
