package db

import (
	"context"
	"slices"
)

// Place is a place in an ordered list: that of a row, which may have gone
// meanwhile. Rows that come and go do not move it.
type Place struct {
	Key int64  // what the list is ordered by, from 0 to [MaxKey]; which number that is, is the list's own
	ID  string // of the row; it decides between those with one key
}

// MaxKey is the greatest key of a place.
const MaxKey = 1 << 53

// Part says which part of a list is asked for: what lies between two places,
// from one end of it.
type Part struct {
	After, Before *Place // neither is part of it; nil: the list's ends
	Limit         int
	FromEnd       bool // the last Limit rows, not the first; they come in the list's order all the same
}

// Stretch is a part of a list, in the list's order.
type Stretch[T any] struct {
	Rows   []T
	Places []Place // of each row
	More   bool    // Limit has cut it: others lie between the two places
	Behind bool    // there are others behind the place that it was read from; false where that is an end of the list
}

// stretch reads a part of a list whose order is descending or not. read gives
// up to limit rows between two places, both included, the lowest first, or the
// highest first when it goes down.
func stretch[T any](ctx context.Context, p Part, descending bool, read func(ctx context.Context, low, high Place, down bool, limit int) ([]T, []Place, error)) (Stretch[T], error) {
	down := descending != p.FromEnd
	begin, end := p.After, p.Before
	if p.FromEnd {
		begin, end = end, begin
	}
	between := func(begin, end *Place, down bool, limit int) ([]T, []Place, error) {
		low, high := Place{}, Place{Key: MaxKey}
		if down {
			begin, end = end, begin
		}
		if begin != nil {
			low = *begin
		}
		if end != nil {
			high = *end
		}
		return read(ctx, low, high, down, limit)
	}

	// With the rows of the two places, if they are still there, and one that
	// tells whether there are more.
	rows, places, err := between(begin, end, down, p.Limit+3)
	if err != nil {
		return Stretch[T]{}, err
	}
	var s Stretch[T]
	if begin != nil && len(places) > 0 && places[0] == *begin {
		s.Behind, rows, places = true, rows[1:], places[1:]
	}
	if n := len(places) - 1; end != nil && n >= 0 && places[n] == *end {
		rows, places = rows[:n], places[:n]
	}
	if begin != nil && !s.Behind {
		others, _, err := between(begin, nil, !down, 1)
		if err != nil {
			return Stretch[T]{}, err
		}
		s.Behind = len(others) > 0
	}
	if len(rows) > p.Limit {
		s.More, rows, places = true, rows[:p.Limit], places[:p.Limit]
	}
	if p.FromEnd {
		slices.Reverse(rows)
		slices.Reverse(places)
	}
	s.Rows, s.Places = rows, places
	return s, nil
}
