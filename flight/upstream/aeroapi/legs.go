package aeroapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

// leg is what the answer has of one leg: the row of the flight as planned, and
// of a diverted one that of the way elsewhere.
type leg struct {
	*row
	elsewhere *row     // the flight to another airport than planned; nil: not diverted, or not yet said
	via       *airport // where it went, known from the flight that goes on from there; else nil
	again     bool     // a further leg of an id that another leg has

	origin, destination flight.AirportRef // of row
	departs             time.Time         // as published, else as well as it is known
	own                 designator        // the operator's number
	others              []designator      // under which it is sold as well
}

// decode returns the snapshots of the legs that depart on the key's date, in
// the order of departure. A row that makes no sense spoils the answer: half a
// flight would look like a change of it.
func decode(rows []row, key flight.Key, now flight.Time, flagBase string) (flight.Legs, error) {
	if len(rows) > upstream.MaxRows {
		return nil, fmt.Errorf("the answer has over %d flights", upstream.MaxRows)
	}
	var day []*leg
	for _, l := range group(rows) {
		err := l.place(flagBase)
		if err == nil && l.date() != key.Date {
			continue // a neighbour's: a date on earth lasts fifty hours
		}
		if err == nil {
			err = l.identify(flagBase)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
		if !l.scheduled || l.numbered(key.Number) {
			day = append(day, l)
		}
	}
	slices.SortStableFunc(day, func(x, y *leg) int { return x.departs.Compare(y.departs) })
	legs := flight.Legs{}
	for _, l := range withoutTwins(day) {
		s, err := l.snapshot(key, now, flagBase)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
		legs = append(legs, s)
	}
	return legs, nil
}

// decodeLeg returns the snapshot of the leg with that id as one of key's flight;
// none when the answer does not have it.
func decodeLeg(rows []row, key flight.Key, id string, now flight.Time, flagBase string) (flight.Legs, error) {
	for _, l := range group(rows[:min(len(rows), upstream.MaxRows)]) {
		if l.id() != id {
			continue
		}
		err := l.place(flagBase)
		if err == nil {
			err = l.identify(flagBase)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
		s, err := l.snapshot(key, now, flagBase)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
		upstream.KeepKey(s, key, places.CompleteCarrier(carrierOf(key)))
		return flight.Legs{s}, nil
	}
	return nil, nil
}

// carrierOf returns the airline that a key names, by its code alone.
func carrierOf(key flight.Key) flight.CarrierRef {
	if len(key.Carrier) == 3 {
		return flight.CarrierRef{ICAO: key.Carrier}
	}
	return flight.CarrierRef{IATA: key.Carrier}
}

// group makes legs of rows. Rows of one id are one flight: what was planned,
// and the way elsewhere of one that was diverted. Rows of positions alone are
// no flights that anybody could ask for.
func group(rows []row) []*leg {
	var ids []text
	byID := map[text][]*row{}
	var legs []*leg
	for i := range rows {
		r := &rows[i]
		r.path = fmt.Sprintf("%s[%d]", r.path, i)
		switch {
		case r.PositionOnly:
		case r.ID == "":
			legs = append(legs, &leg{row: r})
		default:
			if byID[r.ID] == nil {
				ids = append(ids, r.ID)
			}
			byID[r.ID] = append(byID[r.ID], r)
		}
	}
	for _, id := range ids {
		legs = append(legs, split(byID[id])...)
	}
	return legs
}

// split makes legs of the rows of one id. Which of the two rows of a diverted
// flight says that it is one is not documented: it may be either or both. The
// planned one is the one that says so and did not land. The other goes from the
// same airport to another one, or from there on.
func split(rows []*row) []*leg {
	planned := slices.MaxFunc(rows, func(a, b *row) int { return cmp.Compare(a.plannedness(), b.plannedness()) })
	first := &leg{row: planned}
	legs := []*leg{first}
	for _, r := range rows {
		known := slices.ContainsFunc(legs, func(l *leg) bool { return l.sameRoute(r) }) || first.elsewhere != nil && first.elsewhere.sameRoute(r)
		switch {
		case known:
		case planned.Diverted && first.elsewhere == nil && r.Origin.same(planned.Origin):
			first.elsewhere = r
		default:
			if planned.Diverted && first.via == nil && !r.Origin.same(planned.Origin) {
				first.via = r.Origin
			}
			legs = append(legs, &leg{row: r, again: true})
		}
	}
	return legs
}

// plannedness is higher for the row of a diverted flight that has its plan.
func (r *row) plannedness() (n int) {
	if r.Diverted {
		n += 4
	}
	if r.ActualOn == "" && r.ActualIn == "" {
		n += 2
	}
	if r.ScheduledIn != "" {
		n++
	}
	return n
}

func (r *row) sameRoute(o *row) bool {
	return r.Origin.same(o.Origin) && r.Destination.same(o.Destination)
}

// same reports whether both are one airport. An unknown one is none.
func (a *airport) same(b *airport) bool {
	return a != nil && b != nil && a.Code == b.Code && a.ICAO == b.ICAO && a.IATA == b.IATA
}

// withoutTwins leaves out what describes a leg for the second time: a flight
// that was filed anew under another id, or that both schedules and flights
// have. The one that is not cancelled stays, else the one with an id.
func withoutTwins(day []*leg) []*leg {
	var kept []*leg
	for _, l := range day {
		i := slices.IndexFunc(kept, func(k *leg) bool {
			return k.origin.IATA == l.origin.IATA && k.destination.IATA == l.destination.IATA && k.departs.Equal(l.departs)
		})
		switch {
		case i < 0:
			kept = append(kept, l)
		case l.weight() > kept[i].weight():
			kept[i] = l
		}
	}
	return kept
}

func (l *leg) weight() (n int) {
	if !l.Cancelled {
		n += 2
	}
	if l.ID != "" {
		n++
	}
	return n
}

// place finds where and when the leg departs, without which nobody can say
// whether it is one of the date.
func (l *leg) place(flagBase string) error {
	l.origin = l.Origin.ref(flagBase)
	if l.origin.IATA == "" {
		return errors.New("no origin")
	}
	if l.origin.Timezone == "" {
		return fmt.Errorf("origin %s has no time zone", l.origin.IATA)
	}
	for _, m := range [...]moment{
		{"scheduled_out", l.ScheduledOut}, {"scheduled_off", l.ScheduledOff}, {"estimated_out", l.EstimatedOut},
		{"estimated_off", l.EstimatedOff}, {"actual_out", l.ActualOut}, {"actual_off", l.ActualOff},
	} {
		if m.at != "" {
			var err error
			l.departs, err = m.read()
			return err
		}
	}
	return errors.New("no scheduled_out")
}

// date is the departure's on the clocks of the origin.
func (l *leg) date() string {
	local, _ := places.Local(l.origin.Timezone, l.departs)
	return local[:len(time.DateOnly)]
}

// ref returns the airport; its IATA is empty when nobody says which it is.
func (a *airport) ref(flagBase string) flight.AirportRef {
	if a == nil {
		return flight.AirportRef{}
	}
	return places.CompleteAirport(flight.AirportRef{
		IATA: string(a.IATA), ICAO: string(a.ICAO), Code: string(cmp.Or(a.Code, a.ICAO, a.IATA, a.Local)),
		Name: string(a.Name), City: string(a.City), Timezone: string(a.Timezone),
	}, flagBase)
}
