package cirium

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// candidate is a record of the day that was asked for.
type candidate struct {
	*record
	path     string // of the record in the answer
	departs  flight.Time
	replaced bool // by another flight, which its own record describes
}

// legs returns the snapshots of the records that depart on the key's date, in
// the order of departure, which is also that of a chain of up- and downlines;
// replaced legs come last, so that none of them is the default leg. A record
// that makes no sense spoils the answer: half a flight would look like a
// change of it.
func (a *answer) legs(key flight.Key, flagBase string) (flight.Legs, error) {
	b := newBook(&a.Appendix, flagBase)
	var day []candidate
	for i := range a.Statuses {
		c := candidate{record: &a.Statuses[i], path: fmt.Sprintf("flightStatuses[%d]", i)}
		departs, err := c.published(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
		if date, _, _ := strings.Cut(departs.Local, "T"); date != key.Date {
			continue // matched as a neighbour around midnight
		}
		c.departs = departs.UTC
		c.replaced = slices.ContainsFunc(c.Irregular, func(o irregular) bool { return o.Type == "REPLACED_BY" })
		day = append(day, c)
	}
	slices.SortStableFunc(day, func(x, y candidate) int {
		if x.replaced != y.replaced {
			if y.replaced {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.departs, y.departs)
	})
	legs := make(flight.Legs, 0, len(day))
	for _, c := range day {
		s, err := b.snapshot(c.record, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
		legs = append(legs, s)
	}
	return legs, nil
}

// leg returns the snapshot of the record with that id as a leg of key's flight;
// none when the answer has no record.
func (a *answer) leg(key flight.Key, id, flagBase string) (flight.Legs, error) {
	b := newBook(&a.Appendix, flagBase)
	for i := range a.Statuses {
		rec := &a.Statuses[i]
		if string(rec.ID) != id {
			return nil, fmt.Errorf("asked for flightId %s, it has %q", id, rec.ID)
		}
		if _, err := rec.published(b); err != nil {
			return nil, err
		}
		s, err := b.snapshot(rec, key)
		if err != nil {
			return nil, err
		}
		b.keep(s, key)
		return flight.Legs{s}, nil
	}
	return nil, nil
}

// keep puts a leg that goes under another number back under key's, and has the
// other as a codeshare.
func (b *book) keep(s *flight.Snapshot, key flight.Key) {
	if s.CarrierCode == key.Carrier && s.FlightNumber == key.Number {
		return
	}
	now := flight.CodeshareRef{Carrier: s.CarrierCode, Name: s.Carrier.Name, FlightNumber: s.FlightNumber}
	s.Codeshares = append(s.Codeshares, now)
	s.CarrierCode, s.FlightNumber, s.Carrier = key.Carrier, key.Number, b.carrier(key.Carrier)
}

// movedAtMost is how far a schedule change may move a flight that keeps its
// date.
const movedAtMost = 24 * time.Hour

// published returns when the leg is published to depart, after a check of what
// no leg can be without.
func (rec *record) published(b *book) (*flight.FlightTime, error) {
	switch {
	case rec.Origin == "":
		return nil, errors.New("no departureAirportFsCode")
	case rec.Destination == "":
		return nil, errors.New("no arrivalAirportFsCode")
	case rec.Carrier == "" && rec.Primary == "":
		return nil, errors.New("no carrierFsCode")
	case rec.Number == "":
		return nil, errors.New("no flightNumber")
	case rec.Status == "":
		return nil, errors.New("no status")
	}
	tz := b.airport(rec.Origin).Timezone
	departs, err := rec.DepartureDate.at(tz)
	if err != nil {
		return nil, fmt.Errorf("departureDate: %w", err)
	}
	if departs == nil || departs.Local == "" {
		return nil, errors.New("no departureDate")
	}
	// A flight that is moved past midnight is still the one of its date: tickets
	// and subscriptions name it by that. A move by days is another flight.
	first, err := rec.Times["publishedDeparture"].at(tz)
	if err != nil {
		return nil, fmt.Errorf("publishedDeparture: %w", err)
	}
	if first != nil && first.Local != "" && departs.UTC.Std().Sub(first.UTC.Std()).Abs() <= movedAtMost {
		return first, nil
	}
	return departs, nil
}

// designator is a number under which a leg is sold.
type designator struct {
	fs     string // the carrier's Fs code
	number string
}

func designate(fs string, number text) designator {
	n := strings.ToUpper(string(number))
	if trimmed := strings.TrimLeft(n, "0"); trimmed != "" && trimmed[0] >= '1' && trimmed[0] <= '9' {
		n = trimmed
	}
	return designator{fs, n}
}

// numbers returns the designator that a snapshot goes under and the others
// that its leg is sold under.
//
// It goes under the number that was asked for, be it the operator's or a
// codeshare's. Where the provider found the leg in another way, or the
// operator's code is none of IATA's, it goes under the number that it is
// published under: that of the primary carrier. So AC1806, which Air Canada
// Rouge flies with the Fs code RV* and which lists AC 1806 as shared
// designator (S), is AC1806 operated by Air Canada Rouge, and has no codeshare:
// RV* 1806 is on no ticket. Of a leg with an S or X number, the operator's own
// is not sold; of one with commercial duplicates only, it is.
func (b *book) numbers(rec *record, key flight.Key) (shown designator, others []designator) {
	own, published := designate(rec.Carrier, rec.Number), b.publishedAs(rec)
	leased := false
	all := []designator{}
	for i := range rec.Codeshares {
		c := &rec.Codeshares[i]
		if c.Carrier == "" || c.Number == "" {
			continue
		}
		all = append(all, designate(c.Carrier, c.Number))
		leased = leased || c.lease()
	}
	shown = published
	if b.asked(own, key) && b.isIATA(own.fs) {
		shown = own
	} else if i := slices.IndexFunc(all, func(d designator) bool { return b.asked(d, key) }); i >= 0 {
		shown = all[i]
	}
	for _, d := range all {
		if d != shown {
			others = append(others, d)
		}
	}
	if !leased && published != shown && !slices.Contains(others, published) {
		others = append(others, published)
	}
	return shown, others
}

// publishedAs returns the number of the primary carrier.
func (b *book) publishedAs(rec *record) designator {
	if rec.Primary == "" || rec.Primary == rec.Carrier {
		return designate(rec.Carrier, rec.Number)
	}
	for i := range rec.Codeshares {
		if c := &rec.Codeshares[i]; c.Carrier == rec.Primary && c.lease() && c.Number != "" {
			return designate(c.Carrier, c.Number)
		}
	}
	return designate(rec.Primary, rec.Number)
}

func (b *book) asked(d designator, key flight.Key) bool {
	if d.number != key.Number {
		return false
	}
	ref := b.carrier(d.fs)
	return key.Carrier == d.fs || key.Carrier == ref.IATA || key.Carrier == ref.ICAO
}
