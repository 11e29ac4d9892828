package upstreamtest

import (
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

type check func(t *testing.T, c Case, seen []flight.Legs)

// tells has what must hold where a provider can express a situation.
var tells = map[Situation]check{
	FarAhead: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusScheduled, flight.PhaseScheduled)
		nothingActual(t, s)
		if ahead := s.Departure.Times.ScheduledGate.At() - s.FetchedAt; ahead < flight.Time((72 * time.Hour).Milliseconds()) {
			t.Errorf("departs in %v", time.Duration(ahead)*time.Millisecond)
		}
		if s.Arrival.Times.ScheduledGate == nil || s.Status.Delayed || s.Status.Cancelled {
			t.Errorf("arrival %+v, status %+v", s.Arrival.Times, s.Status)
		}
	},
	Boarding: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusScheduled, flight.PhaseBoarding)
		nothingActual(t, s)
	},
	Taxiing: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusActive, flight.PhaseDeparted)
		known(t, "departure", &s.Departure, "actualGate")
		unknown(t, "departure", &s.Departure, "actualRunway")
		unknown(t, "arrival", &s.Arrival, "actualGate", "actualRunway")
	},
	Airborne: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusActive, flight.PhaseEnRoute)
		unknown(t, "arrival", &s.Arrival, "actualGate", "actualRunway")
		if d := &s.Departure.Times; d.ActualGate == nil && d.ActualRunway == nil || s.Arrival.BestTimeUTC <= s.FetchedAt {
			t.Errorf("departure %+v, arrives %v", d, s.Arrival.BestTimeUTC)
		}
	},
	Landed: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusLanded, flight.PhaseLanded)
		known(t, "arrival", &s.Arrival, "actualRunway")
		unknown(t, "arrival", &s.Arrival, "actualGate")
	},
	Arrived: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusLanded, flight.PhaseArrived)
		known(t, "departure", &s.Departure, "actualGate")
		known(t, "arrival", &s.Arrival, "actualGate")
		if s.Duration.ActualMinutes == nil || s.Arrival.BestTimeUTC != s.Arrival.Times.ActualGate.UTC || s.Equipment.TailNumber == "" {
			t.Errorf("duration %+v, best %v, equipment %+v", s.Duration, s.Arrival.BestTimeUTC, s.Equipment)
		}
	},
	Early: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		if d := s.Arrival.DelayMinutes; d == nil || *d >= 0 || s.Status.Delayed {
			t.Errorf("status %+v, arrival %+v", s.Status, s.Arrival)
		}
		if s.Status.ArrivalGateDelayMinutes == nil || *s.Status.ArrivalGateDelayMinutes != *s.Arrival.DelayMinutes {
			t.Error("the delay of the gate is another one")
		}
	},
	Cancelled: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusCancelled, flight.PhaseCancelled)
		nothingActual(t, s)
		if !s.Status.Cancelled || s.Status.Delayed {
			t.Errorf("status %+v", s.Status)
		}
	},
	Reinstated: func(t *testing.T, _ Case, seen []flight.Legs) {
		before, after := only(t, seen[0]), only(t, seen[1])
		is(t, before, flight.StatusCancelled, flight.PhaseCancelled)
		is(t, after, flight.StatusScheduled, flight.PhaseScheduled)
		if !sameLeg(before, after) || !has(flight.Diff(before, after), flight.ChangeReinstated) {
			t.Errorf("%s became %s", before.LegKey(), after.LegKey())
		}
	},
	Diverted: func(t *testing.T, _ Case, seen []flight.Legs) {
		redirected, diverted := seen[0][0], seen[1][0]
		divertedStatus(t, redirected, diverted)
		if diverted.Diverted == nil || diverted.Diverted.Airport.IATA == diverted.Arrival.Airport.IATA {
			t.Fatalf("diverted to %+v", diverted.Diverted)
		}
		if d := &diverted.Diverted.Times; d.ActualGate == nil && d.ActualRunway == nil {
			t.Errorf("nobody knows when it landed: %+v", d)
		}
		if redirected.Diverted != nil && redirected.Diverted.Airport.IATA != diverted.Diverted.Airport.IATA {
			t.Errorf("redirected to %s", redirected.Diverted.Airport.IATA)
		}
	},
	TwoLegs:   twoLegs,
	Codeshare: codeshare,
}

// instead has what must hold where a provider cannot express a situation. A
// situation that is missing here is one that all can.
var instead = map[Situation]check{
	Boarding: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusScheduled, flight.PhaseScheduled)
		nothingActual(t, s)
	},
	Taxiing: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusActive, flight.PhaseEnRoute)
		unknown(t, "departure", &s.Departure, "scheduledRunway", "estimatedRunway", "actualRunway")
	},
	Landed: func(t *testing.T, _ Case, seen []flight.Legs) {
		s := only(t, seen[0])
		is(t, s, flight.StatusActive, flight.PhaseEnRoute)
		unknown(t, "arrival", &s.Arrival, "actualGate", "scheduledRunway", "estimatedRunway", "actualRunway")
	},
	Reinstated: func(t *testing.T, _ Case, seen []flight.Legs) {
		for _, legs := range seen {
			is(t, only(t, legs), flight.StatusCancelled, flight.PhaseCancelled)
		}
	},
	Diverted: func(t *testing.T, _ Case, seen []flight.Legs) {
		divertedStatus(t, seen[0][0], seen[1][0])
		for _, legs := range seen {
			if legs[0].Diverted != nil {
				t.Errorf("nobody says where it goes, but it goes to %+v", legs[0].Diverted)
			}
		}
	},
	TwoLegs: func(t *testing.T, _ Case, seen []flight.Legs) { only(t, seen[0]) },
	Codeshare: func(t *testing.T, _ Case, seen []flight.Legs) {
		if s := only(t, seen[0]); s.OperatedBy != "" {
			t.Errorf("operated by %s, which nobody has said", s.OperatedBy)
		}
	},
}

func divertedStatus(t *testing.T, redirected, diverted *flight.Snapshot) {
	t.Helper()
	is(t, redirected, flight.StatusRedirected, flight.PhaseRedirected)
	is(t, diverted, flight.StatusDiverted, flight.PhaseDiverted)
	if !sameLeg(redirected, diverted) || !redirected.Status.Diverted || !diverted.Status.Diverted {
		t.Errorf("%s became %s", redirected.LegKey(), diverted.LegKey())
	}
	for _, s := range []*flight.Snapshot{redirected, diverted} {
		unknown(t, "arrival", &s.Arrival, "actualGate", "actualRunway") // nobody lands there
		if s.Arrival.DelayMinutes != nil {
			t.Errorf("%d minutes late where it never arrives", *s.Arrival.DelayMinutes)
		}
	}
}

func twoLegs(t *testing.T, c Case, seen []flight.Legs) {
	legs := seen[0]
	if len(legs) != 2 {
		t.Fatalf("%d legs", len(legs))
	}
	first, second := legs[0], legs[1]
	if first.Arrival.Airport.IATA != second.Departure.Airport.IATA || first.Departure.BestTimeUTC >= second.Departure.BestTimeUTC ||
		sameLeg(first, second) || first.Key() != second.Key() {
		t.Errorf("%s, then %s", first.LegKey(), second.LegKey())
	}
	for _, leg := range legs {
		a := leg.Departure.Airport
		for _, code := range []string{a.IATA, a.ICAO, a.Code} {
			if code == "" {
				continue
			}
			if got, err := legs.SelectOne(flight.Selector{Origin: code}); err != nil || got != leg {
				t.Errorf("origin %s: %v", code, err)
			}
		}
		if a.ICAO == "" || a.Timezone == "" {
			t.Errorf("origin %+v", a)
		}
		if id := leg.ProviderFlightID; id != "" {
			if got, err := legs.SelectOne(flight.Selector{FlightID: id}); err != nil || got != leg {
				t.Errorf("flightId %s: %v", id, err)
			}
		}
	}
	if _, err := legs.SelectOne(flight.Selector{}); flight.CodeOf(err) != flight.CodeOriginRequired {
		t.Errorf("no selector: %v", err)
	}
}

func codeshare(t *testing.T, c Case, seen []flight.Legs) {
	s := only(t, seen[0])
	if s.CarrierCode != c.Key.Carrier || s.FlightNumber != c.Key.Number {
		t.Errorf("%s%s, asked for %s%s", s.CarrierCode, s.FlightNumber, c.Key.Carrier, c.Key.Number)
	}
	if s.OperatedBy == "" || s.OperatedBy == s.Carrier.Name {
		t.Errorf("operated by %q", s.OperatedBy)
	}
	if !slices.ContainsFunc(s.Codeshares, func(r flight.CodeshareRef) bool { return r.Name == s.OperatedBy }) {
		t.Errorf("the operator's own number is not among %+v", s.Codeshares)
	}
}

// sameLeg reports whether both are one leg: by its id where it has one, and by
// flight and route.
func sameLeg(a, b *flight.Snapshot) bool {
	return a.ProviderFlightID == b.ProviderFlightID && a.LegKey() == b.LegKey()
}

func only(t *testing.T, legs flight.Legs) *flight.Snapshot {
	t.Helper()
	if len(legs) != 1 {
		t.Fatalf("%d legs", len(legs))
	}
	return legs[0]
}

func is(t *testing.T, s *flight.Snapshot, code string, phase flight.Phase) {
	t.Helper()
	if s.Status.Code != code || s.Status.Phase != phase {
		t.Errorf("%s %s, want %s %s", s.Status.Code, s.Status.Phase, code, phase)
	}
}

func nothingActual(t *testing.T, s *flight.Snapshot) {
	t.Helper()
	unknown(t, "departure", &s.Departure, "actualGate", "actualRunway")
	unknown(t, "arrival", &s.Arrival, "actualGate", "actualRunway")
}

func known(t *testing.T, end string, e *flight.Endpoint, names ...string) {
	t.Helper()
	for _, name := range names {
		if Times(e)[name] == nil {
			t.Errorf("%s: %s is unknown", end, name)
		}
	}
}

func unknown(t *testing.T, end string, e *flight.Endpoint, names ...string) {
	t.Helper()
	for _, name := range names {
		if ft := Times(e)[name]; ft != nil {
			t.Errorf("%s: %s is %v", end, name, ft.UTC)
		}
	}
}

func has(changes []flight.Change, want flight.ChangeType) bool {
	return slices.ContainsFunc(changes, func(c flight.Change) bool { return c.Type == want })
}
