package flight_test

import (
	"errors"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// threeLegs is a number that flies JFK-BOS-LHR and, under another id, JFK-LHR.
func threeLegs() flight.Legs {
	leg := func(id, from, to string) *flight.Snapshot {
		return base(func(s *flight.Snapshot) {
			s.ProviderFlightID = id
			s.Departure.Airport = flight.AirportRef{IATA: from, ICAO: "K" + from, Code: from + "X", Name: from}
			s.Arrival.Airport = flight.AirportRef{IATA: to, ICAO: "K" + to, Code: to + "X", Name: to}
		})
	}
	return flight.Legs{leg("p1", "JFK", "BOS"), leg("p2", "BOS", "LHR"), leg("p3", "JFK", "LHR")}
}

func TestSelect(t *testing.T) {
	const missing, ambiguous = string(flight.CodeLegNotFound), string(flight.CodeOriginRequired)
	for _, c := range []struct {
		origin, destination, id string
		first, one              string // the leg's id, or the error's code
	}{
		{"", "", "", "p1", ambiguous}, // the provider's default leg
		{"JFK", "", "", "p1", ambiguous},
		{"BOS", "", "", "p2", "p2"},
		{"KBOS", "", "", "p2", "p2"}, // ICAO
		{"BOSX", "", "", "p2", "p2"}, // upstream code
		{"", "BOS", "", "p1", "p1"},
		{"", "LHR", "", "p2", ambiguous},
		{"JFK", "LHR", "", "p3", "p3"},
		{"JFK", "KLHR", "", "p3", "p3"},
		{"", "", "p3", "p3", "p3"},
		{"JFK", "", "p3", "p3", "p3"},
		{"BOS", "", "p3", missing, missing}, // every selector must hold
		{"EWR", "", "", missing, missing},
		{"", "EWR", "", missing, missing},
		{"LHR", "JFK", "", missing, missing},
		{"", "", "P3", missing, missing}, // ids are exact
		{"", "", "p", missing, missing},
	} {
		sel := flight.Selector{Origin: c.origin, Destination: c.destination, FlightID: c.id}
		legs := threeLegs()
		for name, call := range map[string]struct {
			pick func(flight.Selector) (*flight.Snapshot, error)
			want string
		}{"Select": {legs.Select, c.first}, "SelectOne": {legs.SelectOne, c.one}} {
			s, err := call.pick(sel)
			got := string(flight.CodeOf(err))
			if err == nil {
				got = s.ProviderFlightID
			}
			if got != call.want {
				t.Errorf("%s %+v: %s, want %s", name, sel, got, call.want)
			}
			var e *flight.Error
			if errors.As(err, &e) && encoded(t, e.Legs) != encoded(t, legs.Refs(-1)) {
				t.Errorf("%s %+v: the error lists %+v", name, sel, e.Legs)
			}
		}
	}
}

func TestSelectOneOfOne(t *testing.T) {
	one := flight.Legs{base()}
	if s, err := one.SelectOne(flight.Selector{}); err != nil || s != one[0] {
		t.Errorf("%v, %v", s, err)
	}
}

func TestSelectErrorsSayWhatToDo(t *testing.T) {
	_, err := threeLegs().Select(flight.Selector{Origin: "EWR"})
	if want := "leg_not_found: No leg of this flight matches the selector. The legs are: JFK-BOS, BOS-LHR, JFK-LHR."; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	_, err = threeLegs().SelectOne(flight.Selector{})
	if want := "origin_required: This flight number operates 3 legs on that date. Name the departure airport of one as origin: JFK-BOS, BOS-LHR, JFK-LHR."; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestRefs(t *testing.T) {
	legs := flight.Legs{base(), base(func(s *flight.Snapshot) {
		s.ProviderFlightID, s.Departure.Airport.IATA = "", "BOS"
		s.Departure.Times.ScheduledGate, s.Departure.Times.ScheduledRunway = nil, on(scheduledOut, newYork)
		s.Arrival.Times.ScheduledGate = &flight.FlightTime{UTC: scheduledIn} // no clocks
	})}
	const want = `[{"providerFlightId":"p1","carrier":"AA","departureIata":"JFK","arrivalIata":"LHR","scheduledDepartureLocal":"18:00","scheduledArrivalLocal":"06:10","selected":false},` +
		`{"carrier":"AA","departureIata":"BOS","arrivalIata":"LHR","scheduledDepartureLocal":"18:00","selected":true}]`
	if got := encoded(t, legs.Refs(1)); got != want {
		t.Errorf("refs:\n got %s\nwant %s", got, want)
	}
}
