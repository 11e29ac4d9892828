package simulator

import (
	"strconv"

	"github.com/flightwire/flightwire/flight"
)

// lifeOf returns what happens to the flights of a number.
func lifeOf(number string) func(*plan, *telling) {
	switch number {
	case NumberTwoLegs:
		return (*plan).livePunctual
	case NumberCancelled:
		return (*plan).liveCancelled
	case NumberReinstated:
		return (*plan).liveReinstated
	case NumberDiverted:
		return (*plan).liveDiverted
	}
	return (*plan).liveOrdinary
}

// facts are what a day makes of a plan. All of it is drawn before any of it is
// told, so that nothing depends on when one asks.
type facts struct {
	delay           flight.Time // of the departure
	out, off        flight.Time // gate and runway departure
	on, in          flight.Time // runway and gate arrival
	gate, laterGate string      // of the departure; "" where it does not change
	arrGate, belt   string
	swap            aircraft // flies instead of the planned type; zero: none
	swapTail        string
	noise           []flight.Time // errors of the estimates in the air
	gateAhead       flight.Time   // how long before the schedule the gate is known
	gateMoves       flight.Time   // how long before the departure it changes
	arrGateAt       flight.Time
}

// facts draws a day with the given delay of the departure in minutes.
func (p *plan) facts(d *dice, delay int) *facts {
	f := &facts{delay: flight.Time(delay) * minute}
	taxiOut, taxiIn := d.between(9, 24), d.between(4, 11)
	air := max(int((p.arr-p.dep)/minute)-23+d.between(-9, 6), 20)
	f.out = p.dep + f.delay
	f.off = f.out + flight.Time(taxiOut)*minute
	f.on = f.off + flight.Time(air)*minute
	f.in = f.on + flight.Time(taxiIn)*minute
	f.swapTail = tailAt(d, p.base)
	f.gate, f.laterGate = gateAt(d), gateAt(d)
	f.arrGate, f.belt = gateAt(d), strconv.Itoa(d.between(1, 14))
	if !d.chance(20) || f.laterGate == f.gate {
		f.laterGate = ""
	}
	if other := pick(d, p.types); d.chance(10) && other != p.aircraft {
		f.swap = other
	}
	f.gateAhead = flight.Time(d.between(240, 480)) * minute
	f.gateMoves = flight.Time(d.between(40, 90)) * minute
	f.arrGateAt = f.off + flight.Time(air*d.between(30, 60)/100)*minute
	for range max(air/28, 1) {
		f.noise = append(f.noise, flight.Time(d.between(-6, 6))*minute)
	}
	return f
}

func gateAt(d *dice) string {
	return string(rune('A'+d.n(5))) + strconv.Itoa(d.between(1, 48))
}

// drawDelay draws the minutes that a departure is late: most are few.
func drawDelay(d *dice) int {
	switch n := d.n(100); {
	case n < 15:
		return d.between(-6, -1)
	case n < 58:
		return d.between(0, 8)
	case n < 83:
		return d.between(9, 25)
	case n < 95:
		return d.between(26, 75)
	default:
		return d.between(76, 240)
	}
}

func (p *plan) liveOrdinary(t *telling) {
	d := p.day
	f := p.facts(&d, drawDelay(&d))
	p.prepare(t, f)
	p.foresee(t, f)
	p.depart(t, f)
	p.arrive(t, f)
}

// livePunctual keeps delays short enough for the next leg of the aircraft.
func (p *plan) livePunctual(t *telling) {
	d := p.day
	f := p.facts(&d, d.between(-3, 14))
	f.swap = aircraft{}
	p.prepare(t, f)
	p.foresee(t, f)
	p.depart(t, f)
	p.arrive(t, f)
}

func (p *plan) liveCancelled(t *telling) {
	d := p.day
	f := p.facts(&d, 45)
	f.swap, f.laterGate = aircraft{}, ""
	p.prepare(t, f)
	t.estimate(p.dep-180*minute, f.out, p.arr+f.delay)
	p.cancel(t, p.dep-120*minute)
}

func (p *plan) liveReinstated(t *telling) {
	d := p.day
	f := p.facts(&d, 60)
	p.prepare(t, f)
	p.cancel(t, p.dep-300*minute)
	t.status(p.dep-180*minute, fromAirline, "Reinstatement", flight.StatusScheduled, flight.PhaseScheduled, "Reinstated", func() {
		t.s.Status.Description = ""
	})
	t.estimate(p.dep-180*minute, f.out, p.arr+f.delay)
	p.depart(t, f)
	p.arrive(t, f)
}

func (p *plan) liveDiverted(t *telling) {
	d := p.day
	f := p.facts(&d, drawDelay(&d))
	p.prepare(t, f)
	p.foresee(t, f)
	p.depart(t, f)
	p.divert(t, f)
}

func (p *plan) cancel(t *telling, at flight.Time) {
	t.status(at, fromAirline, "Cancellation", flight.StatusCancelled, flight.PhaseCancelled, "Cancelled", func() {
		t.s.Status.Description = "Cancelled by the airline"
	})
}

// prepare tells what is assigned before a departure.
func (p *plan) prepare(t *telling, f *facts) {
	t.loaded(p.dep - 72*60*minute)
	t.assign(p.dep-25*60*minute, p.aircraft, p.tail)
	t.depGate(p.dep-f.gateAhead, f.gate)
	if f.swap != (aircraft{}) {
		t.assign(p.dep-200*minute, f.swap, f.swapTail)
	}
	if f.laterGate != "" {
		t.depGate(f.out-f.gateMoves, f.laterGate)
	}
}

// foresee tells the delay in steps, each in time before the estimate that it
// replaces has passed.
func (p *plan) foresee(t *telling, f *facts) {
	first := p.dep - 90*minute
	if f.delay <= 0 {
		t.estimate(first, p.dep, p.arr)
		if f.delay < 0 {
			t.estimate(p.dep-45*minute, f.out, p.arr+f.delay)
		}
		return
	}
	steps := 1 + f.delay/(25*minute)
	for i := range steps {
		at := first + wholeMinutes(i*(f.delay+80*minute)/steps)
		late := wholeMinutes(f.delay * (i + 1) / steps)
		t.estimate(at, p.dep+late, p.arr+late)
	}
}

func wholeMinutes(t flight.Time) flight.Time { return t - t%minute }

// depart tells boarding, gate and runway departure.
func (p *plan) depart(t *telling, f *facts) {
	p.board(t, f.out-35*minute)
	p.leave(t, f)
}

func (p *plan) board(t *telling, at flight.Time) {
	t.status(at, fromAirline, "Boarding", flight.StatusScheduled, flight.PhaseBoarding, "Boarding", nil)
}

func (p *plan) leave(t *telling, f *facts) {
	dep := &t.s.Departure.Times
	t.status(f.out, fromAirline, "Gate departure", flight.StatusActive, flight.PhaseDeparted, "Left the gate", func() {
		dep.ActualGate = p.from.time(f.out)
		dep.EstimatedRunway = p.from.time(f.out + min(15*minute, (p.arr-p.dep)/4))
	})
	t.status(f.off, fromPosition, "Take-off", flight.StatusActive, flight.PhaseEnRoute, "Took off", func() {
		dep.ActualRunway = p.from.time(f.off)
	})
}

// fly tells the estimates of the arrival up to a time; their errors shrink on
// the way. What is no news is not told.
func (p *plan) fly(t *telling, f *facts, until flight.Time) {
	n := flight.Time(len(f.noise))
	last := p.arr + f.delay
	for i, off := range f.noise {
		i := flight.Time(i)
		at := f.off + wholeMinutes((f.on-f.off)*i/n) + minute
		next := f.in + wholeMinutes(off*(n-i)/n)
		if at < until && next != last {
			t.approach(at, next, f.in-f.on)
			last = next
		}
	}
}

// arrive tells the way, the landing and the gate.
func (p *plan) arrive(t *telling, f *facts) {
	p.fly(t, f, f.on)
	t.arrGate(f.arrGateAt, f.arrGate)
	t.belt(max(f.in-60*minute, f.off+2*minute), f.belt)
	p.land(t, f)
}

func (p *plan) land(t *telling, f *facts) {
	arr := &t.s.Arrival.Times
	t.status(f.on, fromPosition, "Landing", flight.StatusLanded, flight.PhaseLanded, "Landed", func() {
		arr.ActualRunway = p.to.time(f.on)
	})
	t.status(f.in, fromAirline, "Gate arrival", flight.StatusLanded, flight.PhaseArrived, "Arrived at the gate", func() {
		arr.ActualGate = p.to.time(f.in)
	})
}

// nearestDiversion is in kilometres: what is nearer lies under the same weather.
const nearestDiversion = 60

// divert tells the way to the airport nearest to the destination: from two
// thirds of the flight on nobody expects it at its destination.
func (p *plan) divert(t *telling, f *facts) {
	other := p.alternate
	turn := f.off + wholeMinutes((f.on-f.off)*2/3)
	p.fly(t, f, turn)
	t.status(turn, fromAirline, "Redirection", flight.StatusRedirected, flight.PhaseRedirected, "On its way to "+other.IATA+" instead of "+p.to.IATA, func() {
		arr := &t.s.Arrival.Times
		arr.EstimatedGate, arr.EstimatedRunway = nil, nil
		t.s.Diverted = &flight.Endpoint{Airport: other.ref}
		t.s.Diverted.Times.EstimatedGate = other.time(f.in)
		t.s.Diverted.Times.EstimatedRunway = other.time(f.on)
	})
	t.status(f.on, fromPosition, "Diversion", flight.StatusDiverted, flight.PhaseDiverted, "Landed at "+other.IATA+" instead of "+p.to.IATA, func() {
		t.s.Diverted.Times.ActualRunway = other.time(f.on)
	})
	t.at(f.in, fromAirline, "Gate arrival", func() []string {
		t.s.Diverted.Times.ActualGate = other.time(f.in)
		return []string{"Arrived at the gate at " + other.IATA}
	})
}

// liveMinute is the life of the minute flight, in seconds from its departure.
func (p *plan) liveMinute(t *telling) {
	d := p.day
	f := p.facts(&d, 0)
	at := func(seconds int) flight.Time { return p.dep + flight.Time(seconds)*second }
	f.out, f.off, f.on, f.in = at(25), at(30), at(45), at(55)
	gate, other := "C"+strconv.Itoa(d.between(1, 24)), "D"+strconv.Itoa(d.between(1, 24))
	t.depGate(at(-20), gate)
	t.assign(at(-10), p.aircraft, p.tail)
	p.board(t, at(5))
	t.depGate(at(10), other)
	t.estimate(at(15), p.dep+25*minute, p.arr+25*minute)
	t.estimate(at(20), f.out, p.arr)
	p.leave(t, f)
	t.belt(at(35), f.belt)
	t.approach(at(40), f.in, f.in-f.on)
	p.land(t, f)
}
