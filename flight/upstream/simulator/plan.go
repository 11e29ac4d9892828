package simulator

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

const (
	second = flight.Time(time.Second / time.Millisecond)
	minute = 60 * second
)

// plan is one leg as it is meant to be. It depends on carrier and number only,
// but for the date that it is on.
type plan struct {
	key        flight.Key
	carrier    flight.CarrierRef
	from, to   *port
	base       *port // whose country the aircraft is registered in
	dep, arr   flight.Time
	types      []aircraft // fit for the distance
	aircraft   aircraft
	depTerm    string
	arrTerm    string
	codeshares []flight.CodeshareRef
	tail       string
	alternate  *port // where it lands if it is diverted
	life       func(*plan, *telling)
	day        dice // decides what happens on that date
}

// plans returns the legs of a flight, in the order in which they are flown.
func (w *Source) plans(key flight.Key, carrier flight.CarrierRef, date time.Time) []*plan {
	if m, ok := minuteOf(key.Number); ok {
		return []*plan{w.minutePlan(key, carrier, flight.TimeOf(date)+flight.Time(m)*minute)}
	}
	usual := w.dice(key.Carrier, key.Number)
	route := w.route(key)
	local := usual.between(5*12, 23*12) * 5 // minutes after midnight
	if key.Number == NumberTwoLegs {
		local = usual.between(6*12, 8*12) * 5 // so that the second leg leaves on the same date
	}
	dep := flight.TimeOf(time.Date(date.Year(), date.Month(), date.Day(), 0, local, 0, 0, route[0].loc))
	base := w.base(key.Carrier, key.Number)
	tail := tailAt(w.dice(key.Carrier, key.Number, key.Date, "tail"), base)
	shares := w.codeshares(usual, key)
	var plans []*plan
	for i, from := range route[:len(route)-1] {
		p := w.leg(key, from, route[i+1], dep, usual)
		p.carrier, p.base, p.codeshares, p.tail, p.life = carrier, base, shares, tail, lifeOf(key.Number)
		if i > 0 {
			p.aircraft, p.types = plans[0].aircraft, plans[0].types
		}
		if key.Number == NumberDiverted {
			p.alternate = w.nearest(p.to, nearestDiversion, p.from)
		}
		plans = append(plans, p)
		dep = p.arr + groundTime
	}
	return plans
}

// groundTime is what the aircraft of a flight of two legs has between them.
const groundTime = 75 * minute

func (w *Source) leg(key flight.Key, from, to *port, dep flight.Time, usual *dice) *plan {
	km := from.km(to)
	types := fleetFor(km)
	return &plan{
		key: key, from: from, to: to,
		dep: dep, arr: dep + blockTime(km),
		types: types, aircraft: pick(usual, types),
		depTerm: w.terminal(key.Carrier, from), arrTerm: w.terminal(key.Carrier, to),
		day: *w.dice(key.Carrier, key.Number, key.Date, from.IATA),
	}
}

// blockTime is gate to gate: half an hour for taxiing, climbing and sinking,
// the rest at 810 km/h, in whole five minutes.
func blockTime(km float64) flight.Time {
	return flight.Time(math.Ceil((38+km/13.5)/5)) * 5 * minute
}

// route returns the airports of a flight: an odd number leaves the base, the
// even one after it comes back.
func (w *Source) route(key flight.Key) []*port {
	base := w.base(key.Carrier, key.Number)
	number := w.dice(key.Carrier, pairOf(key.Number), "route")
	if key.Number == NumberTwoLegs {
		middle := w.destination(number, base, base, 300, 1500)
		return []*port{base, middle, w.destination(number, middle, base, 300, 1500)}
	}
	least := 300.0
	if key.Number == NumberDiverted {
		least = 900 // so that there is a way to be diverted on
	}
	out := w.destination(number, base, base, least, 9000)
	if n, err := strconv.Atoi(key.Number); err == nil && n%2 == 0 {
		return []*port{out, base}
	}
	return []*port{base, out}
}

// pairOf names the outward and the homeward flight alike.
func pairOf(number string) string {
	n, _ := strconv.Atoi(strings.TrimRight(number, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	return strconv.Itoa((n + 1) / 2)
}

// base returns the airport that the carrier flies the number's pair from.
func (w *Source) base(carrier, number string) *port {
	if codes := strings.Fields(bases[carrier]); len(codes) > 0 {
		return w.ports[pick(w.dice(carrier, pairOf(number), "base"), codes)]
	}
	return w.ports[pick(w.dice(carrier, "base"), w.codes)]
}

// destination draws an airport at a distance between least and most kilometres
// from one, nearer ones more often, and not but. Where there is none so near,
// it is the nearest.
func (w *Source) destination(d *dice, from, but *port, least, most float64) *port {
	for range 60 {
		to := w.ports[pick(d, w.codes)]
		km := from.km(to)
		if to != but && km >= least && km <= most && d.n(1000) < int(1000*1500/(1500+km)) {
			return to
		}
	}
	return w.nearest(from, least, but)
}

// nearest returns the airport nearest to one that is at least so many
// kilometres away and not one of but.
func (w *Source) nearest(to *port, least float64, but ...*port) *port {
	var best *port
	km := math.Inf(1)
	for _, code := range w.codes {
		a := w.ports[code]
		if d := a.km(to); d >= least && d < km && !slices.Contains(but, a) {
			best, km = a, d
		}
	}
	return best
}

// terminal is where the carrier is at home at an airport.
func (w *Source) terminal(carrier string, at *port) string {
	return pick(w.dice(carrier, at.IATA, "terminal"), []string{"1", "2", "3", "A", "B", "C"})
}

func (w *Source) codeshares(usual *dice, key flight.Key) []flight.CodeshareRef {
	partners := pick(usual, alliances)
	share := usual.chance(30)
	for _, a := range alliances {
		if slices.Contains(a, key.Carrier) {
			partners, share = a, usual.chance(70)
		}
	}
	var refs []flight.CodeshareRef
	for range usual.between(1, 3) {
		partner, number := pick(usual, partners), strconv.Itoa(usual.between(1000, 6999))
		seen := slices.ContainsFunc(refs, func(r flight.CodeshareRef) bool { return r.Carrier == partner })
		if share && !seen && partner != key.Carrier {
			ref := carrierRef(partner)
			refs = append(refs, flight.CodeshareRef{Carrier: ref.IATA, Name: ref.Name, FlightNumber: number})
		}
	}
	return refs
}

// minutePlan is the leg whose life takes a minute, with the times of day of
// its two airports, which keep UTC.
func (w *Source) minutePlan(key flight.Key, carrier flight.CarrierRef, dep flight.Time) *plan {
	from, to := w.ports[minuteOrigin], w.ports[minuteDestination]
	p := w.leg(key, from, to, dep, w.dice(key.Carrier, key.Number))
	p.carrier, p.base, p.arr, p.life = carrier, from, dep+minute, (*plan).liveMinute
	p.tail = tailAt(w.dice(key.Carrier, key.Number, key.Date, "tail"), from)
	return p
}

// at tells what is known of the leg at now.
func (p *plan) at(now flight.Time) *flight.Snapshot {
	s := &flight.Snapshot{
		CarrierCode: p.key.Carrier, FlightNumber: p.key.Number, Date: p.key.Date,
		ProviderFlightID: p.id(),
		Carrier:          p.carrier,
		Codeshares:       slices.Clone(p.codeshares),
		Departure:        flight.Endpoint{Airport: p.from.ref, Terminal: p.depTerm},
		Arrival:          flight.Endpoint{Airport: p.to.ref, Terminal: p.arrTerm},
		Status:           flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
		Equipment:        flight.EquipmentInfo{IATA: p.aircraft.iata, Name: p.aircraft.name, Source: "scheduled"},
	}
	s.Departure.Times.ScheduledGate = p.from.time(p.dep)
	s.Arrival.Times.ScheduledGate = p.to.time(p.arr)
	t := &telling{s: s, p: p, now: now}
	p.life(p, t)
	t.tell()
	return s
}

// id names a leg for good: "sim-20260710-AA-100-JFK-LHR".
func (p *plan) id() string {
	return strings.Join([]string{"sim", strings.ReplaceAll(p.key.Date, "-", ""), p.key.Carrier, p.key.Number, p.from.IATA, p.to.IATA}, "-")
}
