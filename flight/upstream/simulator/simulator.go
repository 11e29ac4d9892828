// Package simulator is an upstream that makes its flights up: a deterministic
// world in which every carrier, number and date is a plausible flight.
//
// It promises that what it tells is a pure function of the seed, the flight's
// key and the world time: asked again at the same time, by another process or
// after a restart, it says the same. A flight's days resemble one another: its
// route, schedule, aircraft type, terminals and codeshares depend on the
// number, its delay, gates, belt, tail and changes on the date as well. What
// happens to it becomes known as it happens; nothing that it calls actual lies
// in the future. Odd numbers leave the carrier's base and the even number after
// each comes back.
//
// An ordinary flight is never cancelled, diverted or split. Some numbers, the
// same for every carrier and on every date, stand for what is not ordinary:
//
//	9401         there is no such flight
//	9402         two legs, such as DFW-MSY and MSY-MIA, on one aircraft
//	9403         cancelled two hours before its scheduled departure
//	9404         cancelled five hours before it, and reinstated two hours later
//	             with a delay of an hour
//	9405         diverted: redirected two thirds of the way, lands elsewhere
//	7000 + m     leaves Keflavik for Reykjavik at minute m of the day, UTC, and
//	             lives its whole life in that minute, for demos: 7000 at 00:00,
//	             8439 at 23:59; see [MinuteFlight]
package simulator

import (
	"context"
	"strconv"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

// The numbers that stand for what is not ordinary.
const (
	NumberNotFound   = "9401" // there is no such flight
	NumberTwoLegs    = "9402" // two legs
	NumberCancelled  = "9403" // cancelled
	NumberReinstated = "9404" // cancelled, then reinstated
	NumberDiverted   = "9405" // lands elsewhere than planned

	FirstMinuteNumber = 7000 // the minute flight that departs at 00:00 UTC
	LastMinuteNumber  = FirstMinuteNumber + 24*60 - 1
)

// Config describes the world. The zero Config is the world that everybody has.
type Config struct {
	Seed     uint64 // another seed is another world
	FlagBase string // base URL of the flags in country references
}

// Source is a world of flights. It is safe for concurrent use.
type Source struct {
	seed  uint64
	ports map[string]*port
	codes []string // of ports, in a fixed order
}

var _ upstream.Source = (*Source)(nil)

// New makes a world.
func New(c Config) *Source {
	return &Source{seed: c.Seed, ports: portsOf(c.FlagBase), codes: airportCodes}
}

// Name returns "simulator".
func (w *Source) Name() string { return "simulator" }

// Floor returns 0: the world has no limit.
func (w *Source) Floor() time.Duration { return 0 }

// Legs tells what is known of the flight at now. Every key in normal form is a
// flight but those of [NumberNotFound], which is CodeFlightNotFound. A carrier
// that is named by its ICAO code is answered under its IATA code.
func (w *Source) Legs(ctx context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	if ctx.Err() != nil {
		return nil, &flight.Error{Code: flight.CodeUpstreamTimeout, Message: "The simulator was not asked in time. Try again.", Cause: ctx.Err()}
	}
	date, err := time.Parse(time.DateOnly, key.Date)
	if err != nil || key.Number == NumberNotFound {
		return nil, flight.NotFound(key)
	}
	carrier := carrierRef(key.Carrier)
	key.Carrier = carrier.IATA
	var legs flight.Legs
	for _, p := range w.plans(key, carrier, date) {
		legs = append(legs, p.at(now))
	}
	return upstream.Finish(key, legs, now)
}

// MinuteFlight returns the key of the flight of carrier that departs at the
// first full minute at or after t and lives its whole life in it: boarding, a
// gate change, a delay that is taken back, departure, belt, landing and arrival
// come within 55 seconds of that minute. Its gate and tail number are announced
// in the 20 seconds before.
func MinuteFlight(carrier string, t flight.Time) flight.Key {
	at := (t + minute - 1).Std().Truncate(time.Minute)
	return flight.Key{
		Carrier: carrier,
		Number:  strconv.Itoa(FirstMinuteNumber + at.Hour()*60 + at.Minute()),
		Date:    at.Format(time.DateOnly),
	}
}

// minuteOf returns the minute of the day that a number names, if it does.
func minuteOf(number string) (int, bool) {
	n, err := strconv.Atoi(number)
	return n - FirstMinuteNumber, err == nil && n >= FirstMinuteNumber && n <= LastMinuteNumber
}

func carrierRef(code string) flight.CarrierRef {
	if a, ok := places.FindAirline(code); ok {
		return a.Ref()
	}
	return flight.CarrierRef{IATA: code, Name: code + " Airlines"}
}
