// Package replay is an upstream that plays one day of real flights again from
// a file of what happened in the end.
//
// It promises that at world time t it tells what was known at t, as a pure
// function of the file's row and t:
//
//   - The schedule and the tail number are known from the start, however early
//     it is asked.
//   - From 60 minutes before the scheduled departure an estimated gate
//     departure stands at the delay, early ones included, but at 30 minutes at
//     most. Each time that moment comes without a departure, the estimate moves
//     on by 15 minutes. After the departure the last one is left standing.
//   - A departure is known at its minute. The leg is then active and en_route:
//     the file has gate times only, so nobody knows when it left the ground.
//     From then, and not before, an arrival is estimated: at the scheduled one
//     plus the departure's delay.
//   - An arrival is known at its minute and ends the leg as arrived.
//   - A cancellation is known 60 minutes before the scheduled departure.
//   - A leg that did not arrive where planned is diverted to the large airport
//     nearest to its destination, at its scheduled arrival, or at the estimated
//     one where it left after its scheduled arrival. It is known to be
//     redirected from two thirds of the way on; nobody estimates an arrival at
//     its destination any more.
//   - Nothing that the file does not have is made up: no gates, terminals,
//     runway times, codeshares or aircraft types.
package replay

import (
	"bytes"
	"context"
	"embed"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// The days that come with the project. Their source and licence stand in
// days/NOTICE.md.
const (
	ShippedDate  = "2013-07-10" // thunderstorms; played where nothing else is named
	BlizzardDate = "2013-02-08"
)

//go:embed days/*.csv
var days embed.FS

// Shipped returns the file of the day of ShippedDate.
func Shipped() []byte { return Day(ShippedDate) }

// Day returns the file of a day that comes with the project, and nil for any
// other date.
func Day(date string) []byte {
	file, err := days.ReadFile("days/" + date + ".csv")
	if err != nil {
		return nil
	}
	return file
}

// Config says which day is played. The zero Config plays the shipped one.
type Config struct {
	CSV      io.Reader // the day's file; nil: Path
	Path     string    // the day's file; "": the shipped day
	FlagBase string    // base URL of the flags in country references
}

// Source is a day of flights. It is safe for concurrent use.
type Source struct {
	legs map[flight.Key][]*leg // by scheduled departure
	keys []flight.Key          // in the order of the file
	from flight.Time
	to   flight.Time
}

var _ upstream.Source = (*Source)(nil)

// New reads the day. A file that cannot be opened, or a row that is wrong, is
// a CodeInvalid error that names the file, or the line and the column.
func New(c Config) (*Source, error) {
	in := c.CSV
	switch {
	case in != nil:
	case c.Path != "":
		f, err := os.Open(c.Path)
		if err != nil {
			return nil, flight.Errorf(flight.CodeInvalid, "The day to replay cannot be read: %v.", err)
		}
		defer f.Close()
		in = f
	default:
		in = bytes.NewReader(Shipped())
	}
	legs, err := read(in, c.FlagBase)
	if err != nil {
		return nil, err
	}
	return newSource(legs), nil
}

func newSource(legs []*leg) *Source {
	s := &Source{legs: make(map[flight.Key][]*leg, len(legs))}
	for _, l := range legs {
		if len(s.legs[l.key]) == 0 {
			s.keys = append(s.keys, l.key)
		}
		s.legs[l.key] = append(s.legs[l.key], l)
		first, last := l.span()
		if s.from == 0 || first < s.from {
			s.from = first
		}
		s.to = max(s.to, last)
	}
	for _, number := range s.legs {
		slices.SortStableFunc(number, func(a, b *leg) int { return int(a.schedDep - b.schedDep) })
	}
	return s
}

// Name returns "replay".
func (s *Source) Name() string { return "replay" }

// Floor returns 0: a file has no limit.
func (s *Source) Floor() time.Duration { return 0 }

// Flights lists every flight of the day, in the order of the file.
func (s *Source) Flights() []flight.Key { return slices.Clone(s.keys) }

// Span returns the world times between which the day's flights change: from
// the first estimate, cancellation or departure to the last arrival. Before
// from only schedules are known; after to nothing changes any more.
func (s *Source) Span() (from, to flight.Time) { return s.from, s.to }

// Legs tells what was known of the flight's legs at now, by scheduled
// departure. A carrier may be named by its ICAO code too. A flight that is not
// of this day is CodeFlightNotFound.
func (s *Source) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	if ctx.Err() != nil {
		return nil, &flight.Error{Code: flight.CodeUpstreamTimeout, Message: "The replay was not asked in time. Try again.", Cause: ctx.Err()}
	}
	rows := s.legs[key]
	if rows == nil {
		rows = s.legs[flight.Key{Carrier: carrierRef(key.Carrier).IATA, Number: key.Number, Date: key.Date}]
	}
	legs := make(flight.Legs, len(rows))
	for i, l := range rows {
		legs[i] = l.at(now)
	}
	return upstream.Finish(key, legs, now)
}

// id names a leg for good: "nyc-20130710-B6-486-JFK-ROC".
func (l *leg) id() string {
	return strings.Join([]string{"nyc", strings.ReplaceAll(l.key.Date, "-", ""), l.key.Carrier, l.key.Number, l.origin.ref.IATA, l.dest.ref.IATA}, "-")
}
