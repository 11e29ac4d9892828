package aerodatabox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

// end is one end of a flight, its times read.
type end struct {
	airport                               flight.AirportRef
	scheduled, revised, predicted, runway moment
	terminal, gate, baggage               string
}

// planned returns when the flight is meant to be at this end; where nobody has
// said that, when it is expected or was seen.
func (e *end) planned() moment { return cmp.Or(e.scheduled, e.revised, e.predicted, e.runway) }

// best returns the best known time.
func (e *end) best() moment { return cmp.Or(e.runway, e.revised, e.predicted, e.scheduled) }

// date is that of the planned time on the clocks of the airport; "" when it is
// unknown.
func (e *end) date() string {
	ft := e.planned().on(e.airport.Timezone)
	if ft == nil || ft.Local == "" {
		return ""
	}
	return ft.Local[:len(time.DateOnly)]
}

// sale is a row that has been read: the flight under one of its numbers.
type sale struct {
	*row
	carrier  flight.CarrierRef
	number   string
	dep, arr end
}

func (s *sale) operator() bool { return s.Codeshare == "IsOperator" }

// leg is what the rows of one flight say together. The operator's row comes
// first: others have often less, and are behind.
type leg struct {
	sales    []*sale
	dep, arr end
}

// decode returns the snapshots of the legs that depart on the key's date, in
// the order of departure. A row that makes no sense spoils the answer: half a
// flight would look like a change of it.
func decode(rows []row, key flight.Key, now flight.Time, flagBase string) (flight.Legs, error) {
	if len(rows) > upstream.MaxRows {
		return nil, fmt.Errorf("the answer has over %d flights", upstream.MaxRows)
	}
	var sales []*sale
	for i := range rows {
		s, err := rows[i].read(flagBase)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rows[i].path, err)
		}
		sales = append(sales, s)
	}
	all := group(sales)
	found := slices.ContainsFunc(all, func(l *leg) bool { return l.sale(key) != nil })
	var day []*leg
	for _, l := range all {
		if l.dep.date() == key.Date && (l.sale(key) != nil || !found) {
			day = append(day, l)
		}
	}
	slices.SortStableFunc(day, func(x, y *leg) int { return x.dep.planned().at.Compare(y.dep.planned().at) })
	legs := flight.Legs{}
	for _, l := range day {
		s, err := l.snapshot(key, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.sales[0].path, err)
		}
		legs = append(legs, s)
	}
	return legs, nil
}

// read reads a row's times and codes.
func (r *row) read(flagBase string) (*sale, error) {
	s := &sale{row: r}
	code, number, found := strings.Cut(strings.ToUpper(string(r.Number)), " ")
	if !found { // in one word
		n := min(3, len(code))
		if len(code) > 2 && code[2] >= '0' && code[2] <= '9' {
			n = 2
		}
		code, number = code[:n], code[n:]
	}
	s.number = upstream.Number(strings.TrimSpace(number))
	if s.number == "" {
		return nil, errors.New("no number")
	}
	s.carrier = r.airline(code)
	if s.carrier.IATA == "" {
		return nil, errors.New("no airline")
	}
	for _, e := range [...]struct {
		name string
		from *movement
		to   *end
	}{{"departure", &r.Departure, &s.dep}, {"arrival", &r.Arrival, &s.arr}} {
		if err := e.from.read(e.to, flagBase); err != nil {
			return nil, fmt.Errorf("%s.%w", e.name, err)
		}
	}
	return s, nil
}

// airline returns the airline of a row. Its codes may be missing; then the
// number begins with one of them.
func (r *row) airline(code string) flight.CarrierRef {
	ref := flight.CarrierRef{IATA: string(r.Airline.IATA), ICAO: string(r.Airline.ICAO), Name: string(r.Airline.Name)}
	if ref.IATA == "" && ref.ICAO == "" {
		if len(code) == 3 {
			ref.ICAO = code
		} else {
			ref.IATA = code
		}
	}
	return places.CompleteCarrier(ref)
}

func (m *movement) read(e *end, flagBase string) (err error) {
	a := &m.Airport
	e.airport = places.CompleteAirport(flight.AirportRef{
		IATA: string(a.IATA), ICAO: string(a.ICAO), Code: string(a.Local), Name: string(a.Name), City: string(a.City),
		Country: flight.CountryRef{Code: string(a.Country)}, Timezone: string(a.Timezone),
	}, flagBase)
	e.terminal, e.gate, e.baggage = string(m.Terminal), string(m.Gate), string(m.Baggage)
	for _, t := range [...]struct {
		name string
		from instant
		to   *moment
	}{
		{"scheduledTime", m.Scheduled, &e.scheduled}, {"revisedTime", m.Revised, &e.revised},
		{"predictedTime", m.Predicted, &e.predicted}, {"runwayTime", m.Runway, &e.runway},
	} {
		if *t.to, err = t.from.read(); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// group makes legs of rows: those with the same airports and scheduled times
// are one flight. Rows of codeshares may lack the times, or the codes, of one
// end; what they have must agree. Two operators fly two flights.
func group(sales []*sale) []*leg {
	slices.SortStableFunc(sales, func(x, y *sale) int { return y.completeness() - x.completeness() })
	var legs []*leg
	for _, s := range sales {
		if i := slices.IndexFunc(legs, func(l *leg) bool { return l.takes(s) }); i >= 0 {
			legs[i].add(s)
		} else {
			legs = append(legs, &leg{sales: []*sale{s}, dep: s.dep, arr: s.arr})
		}
	}
	return legs
}

// completeness puts the operator's rows first, and of others those that have
// most to tell legs apart by.
func (s *sale) completeness() (n int) {
	if s.operator() {
		n += 8
	}
	for _, e := range [...]*end{&s.dep, &s.arr} {
		if !e.scheduled.at.IsZero() {
			n += 2
		}
		if e.airport.IATA != "" {
			n++
		}
	}
	return n
}

// takes reports whether a row is of this leg: one end is the same for sure, and
// the other can be.
func (l *leg) takes(s *sale) bool {
	if l.sales[0].operator() && s.operator() && l.sales[0].carrier.IATA != s.carrier.IATA {
		return false
	}
	return l.dep.agrees(&s.dep) && l.arr.agrees(&s.arr) && (l.dep.is(&s.dep) || l.arr.is(&s.arr))
}

// is reports whether both are known to be the same end of one flight.
func (e *end) is(o *end) bool {
	return e.airport.IATA != "" && e.airport.IATA == o.airport.IATA && !e.scheduled.at.IsZero() && e.scheduled.at.Equal(o.scheduled.at)
}

// agrees reports whether both can be the same end of one flight.
func (e *end) agrees(o *end) bool {
	airport := e.airport.IATA == "" || o.airport.IATA == "" || e.airport.IATA == o.airport.IATA
	at := e.scheduled.at.IsZero() || o.scheduled.at.IsZero() || e.scheduled.at.Equal(o.scheduled.at)
	return airport && at
}

// add takes what the leg lacks from a further row.
func (l *leg) add(s *sale) {
	l.sales = append(l.sales, s)
	l.dep.fill(&s.dep)
	l.arr.fill(&s.arr)
}

func (e *end) fill(o *end) {
	if e.airport.IATA == "" {
		e.airport = o.airport
	}
	e.scheduled, e.revised = cmp.Or(e.scheduled, o.scheduled), cmp.Or(e.revised, o.revised)
	e.predicted, e.runway = cmp.Or(e.predicted, o.predicted), cmp.Or(e.runway, o.runway)
	e.terminal, e.gate, e.baggage = cmp.Or(e.terminal, o.terminal), cmp.Or(e.gate, o.gate), cmp.Or(e.baggage, o.baggage)
}

// sale returns the leg's row of the number that a key names, or nil.
func (l *leg) sale(key flight.Key) *sale {
	for _, s := range l.sales {
		if s.number == key.Number && (key.Carrier == s.carrier.IATA || key.Carrier == s.carrier.ICAO) {
			return s
		}
	}
	return nil
}
