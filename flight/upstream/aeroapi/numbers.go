package aeroapi

import (
	"cmp"
	"errors"
	"slices"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

// designator is a number under which a leg is sold.
type designator struct {
	carrier flight.CarrierRef
	number  string
}

func (d designator) same(o designator) bool {
	return d.carrier.IATA == o.carrier.IATA && d.number == o.number
}

// asked reports whether a key names the leg by this number.
func (d designator) asked(key flight.Key) bool {
	return d.number == key.Number && (key.Carrier == d.carrier.IATA || key.Carrier == d.carrier.ICAO)
}

// maxCodeshares bounds the numbers of one leg: few have more than a dozen.
const maxCodeshares = 100

// identify finds where the leg goes, the operator's number of it and those of
// codeshares.
func (l *leg) identify(flagBase string) error {
	l.destination = l.Destination.ref(flagBase)
	if l.destination.IATA == "" {
		return errors.New("no destination")
	}
	l.own = l.operated()
	if l.own.carrier.IATA == "" || l.own.number == "" {
		return errors.New("no ident")
	}
	for i := range min(max(len(l.Codeshares), len(l.CodesharesIATA)), maxCodeshares) {
		d := codeshare(at(l.Codeshares, i), at(l.CodesharesIATA, i))
		if d.number != "" && !d.same(l.own) && !slices.ContainsFunc(l.others, d.same) {
			l.others = append(l.others, d)
		}
	}
	return nil
}

// numbered reports whether the leg is sold under a number, of whichever airline.
func (l *leg) numbered(number string) bool {
	return l.own.number == number || slices.ContainsFunc(l.others, func(d designator) bool { return d.number == number })
}

// operated returns the number that the operator flies the leg under. Of an
// operator that has only one of the two codes, the ident begins with that.
func (l *leg) operated() designator {
	d := codeshare(l.IdentICAO, l.IdentIATA)
	code := l.Operator
	if l.OperatorICAO == "" && l.OperatorIATA == "" && len(code) == 3 {
		l.OperatorICAO = code
	} else if l.OperatorICAO == "" && l.OperatorIATA == "" && len(code) == 2 {
		l.OperatorIATA = code
	}
	if l.OperatorICAO != "" || l.OperatorIATA != "" {
		d.carrier = carrier(l.OperatorICAO, l.OperatorIATA)
	}
	if l.Number != "" {
		d.number = upstream.Number(string(l.Number))
	}
	if d.number == "" || d.carrier.IATA == "" { // such as an ident alone, in either form
		if e := codeshare(l.Ident, ""); places.CompleteCarrier(e.carrier).ICAO != "" {
			d = e
		}
	}
	return d
}

// codeshare reads a flight's ident as ICAO and as IATA have it; either may be
// missing, or stand for another flight.
func codeshare(icao, iata text) designator {
	icaoCode, number := splitIdent(icao, 3)
	iataCode, iataNumber := splitIdent(iata, 2)
	switch {
	case number == "":
		return designator{carrier("", text(iataCode)), iataNumber}
	case iataNumber != number:
		iataCode = ""
	}
	return designator{carrier(text(icaoCode), text(iataCode)), number}
}

func carrier(icao, iata text) flight.CarrierRef {
	return places.CompleteCarrier(flight.CarrierRef{ICAO: string(icao), IATA: string(iata)})
}

func at(list []text, i int) text {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// numbers returns the number that the leg's snapshot goes under, and those that
// it is sold under besides: the one that was asked for, else the operator's.
func (l *leg) numbers(key flight.Key) (shown designator, others []flight.CodeshareRef) {
	shown = l.own
	if i := slices.IndexFunc(l.others, func(d designator) bool { return d.asked(key) }); i >= 0 && !l.own.asked(key) {
		shown = l.others[i]
	}
	for _, d := range append([]designator{l.own}, l.others...) {
		if !d.same(shown) {
			others = append(others, flight.CodeshareRef{Carrier: d.carrier.IATA, Name: d.carrier.Name, FlightNumber: d.number})
		}
	}
	return shown, others
}

// operatedBy names the operator, where the snapshot goes under another
// airline's number.
func (l *leg) operatedBy(shown designator) string {
	if l.own.carrier.IATA == shown.carrier.IATA {
		return ""
	}
	return cmp.Or(l.own.carrier.Name, l.own.carrier.IATA)
}
