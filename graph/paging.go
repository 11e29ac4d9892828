package graph

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// defaultPage is how long a page of a connection is when nobody says.
const defaultPage = 50

// pageArguments are how a page of a connection is asked for, as the caller
// wrote it; see the Relay specification of cursor connections. nil: left out.
type pageArguments struct {
	first, last   *int
	after, before *string
}

// listID names a list, so that a cursor of another one is noticed. It is no
// secret: a cursor opens nothing that its reader may not read.
type listID [6]byte

// listOf returns the name of the list that the parts tell from all others.
func listOf(parts ...string) (id listID) {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	copy(id[:], sum[:])
	return id
}

// cursor returns the opaque form of a place in a list.
func (id listID) cursor(p db.Place) string {
	b := binary.BigEndian.AppendUint64(id[:], uint64(p.Key))
	return base64.RawURLEncoding.EncodeToString(append(b, p.ID...))
}

const maxCursor = 128 // bytes of a cursor; what is longer is none

// place reads a cursor. It is nil when the text is no cursor of this list.
func (id listID) place(cursor string) *db.Place {
	if len(cursor) > maxCursor {
		return nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < len(id)+8 || !bytes.HasPrefix(b, id[:]) {
		return nil
	}
	key, row := binary.BigEndian.Uint64(b[len(id):]), string(b[len(id)+8:])
	if key > db.MaxKey || strings.Trim(row, "_0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return nil
	}
	return &db.Place{Key: int64(key), ID: row}
}

// part brings the arguments into the form in which a list is read. It records
// every fault in v.
func (a pageArguments) part(v *flight.Invalid, list listID) db.Part {
	p := db.Part{After: a.at(v, list, "after", a.after), Before: a.at(v, list, "before", a.before)}
	p.FromEnd = a.first == nil && a.last != nil
	p.Limit = max(a.count(v, "first", a.first), a.count(v, "last", a.last))
	if a.first == nil && a.last == nil {
		p.Limit = defaultPage
	}
	return p
}

func (pageArguments) at(v *flight.Invalid, list listID, name string, cursor *string) *db.Place {
	if cursor == nil {
		return nil
	}
	place := list.place(*cursor)
	if place == nil {
		v.Add(name, "must be a cursor of this list in this order; leave it out to begin at the end")
	}
	return place
}

func (pageArguments) count(v *flight.Invalid, name string, n *int) int {
	if n == nil {
		return 0
	}
	if *n < 0 || *n > maxPage {
		v.Add(name, "must be 0 to %d", maxPage)
	}
	return *n
}

// cut does to what was read what the specification wants: at most first rows
// from the beginning, and then at most last of those. It says where they lie.
func cut[T any](a pageArguments, s db.Stretch[T], list listID) (rows []T, cursors []string, info PageInfo) {
	rows = s.Rows
	there := len(rows) // at least so many rows lie between the cursors
	if s.More {
		there++
	}
	places := s.Places
	first, last := a.first, a.last
	if first == nil && last == nil {
		page := defaultPage
		first = &page
	}
	if first != nil {
		info.HasNextPage = there > *first
		info.HasPreviousPage = s.Behind
		n := min(*first, len(rows))
		rows, places = rows[:n], places[:n]
	}
	if last != nil {
		info.HasPreviousPage = there > *last
		if first == nil {
			info.HasNextPage = s.Behind
		}
		n := max(len(rows)-*last, 0)
		rows, places = rows[n:], places[n:]
	}
	cursors = make([]string, len(places))
	for i, p := range places {
		cursors[i] = list.cursor(p)
	}
	if n := len(cursors); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	return rows, cursors, info
}
