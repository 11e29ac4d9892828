package aerodatabox

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

type fields = map[string]any

// with returns the first row of the arrived fixture with some fields changed;
// those of an end are named departure.gate.
func with(t testing.TB, changes fields) fields {
	t.Helper()
	var rows []fields
	if err := json.Unmarshal(upstreamtest.Fixture(t, dir+"arrived.json"), &rows); err != nil {
		t.Fatal(err)
	}
	for name, v := range changes {
		in := rows[0]
		if end, rest, ok := strings.Cut(name, "."); ok {
			in, name = in[end].(fields), rest
		}
		in[name] = v
	}
	return rows[0]
}

func at(clock string) fields { return fields{"utc": "2026-11-" + clock + "Z"} }

// TestStatus has every line of the mapping, and what a sighting changes.
func TestStatus(t *testing.T) {
	// Nothing is seen or revised but what a case says.
	bare := fields{"departure.revisedTime": nil, "departure.runwayTime": nil, "arrival.revisedTime": nil, "arrival.runwayTime": nil}
	off, on := fields{"departure.runwayTime": at("21 23:29")}, fields{"departure.runwayTime": at("21 23:29"), "arrival.runwayTime": at("22 05:48")}
	for _, tt := range []struct {
		status string
		seen   fields
		now    string
		code   string
		phase  flight.Phase
	}{
		{"Expected", nil, "2026-11-21 12:00", "S", flight.PhaseScheduled},
		{"CheckIn", nil, "2026-11-21 20:00", "S", flight.PhaseScheduled},
		{"Boarding", nil, "2026-11-21 22:30", "S", flight.PhaseBoarding},
		{"GateClosed", nil, "2026-11-21 22:50", "S", flight.PhaseBoarding},
		{"Delayed", nil, "2026-11-21 23:30", "S", flight.PhaseScheduled},
		{"Departed", nil, "2026-11-21 23:30", "A", flight.PhaseDeparted},
		{"Departed", off, "2026-11-21 23:30", "A", flight.PhaseEnRoute},
		{"EnRoute", nil, "2026-11-22 02:00", "A", flight.PhaseEnRoute},
		{"Approaching", nil, "2026-11-22 05:30", "A", flight.PhaseEnRoute},
		{"Arrived", nil, "2026-11-22 06:10", "L", flight.PhaseArrived},
		{"Canceled", nil, "2026-11-21 12:00", "C", flight.PhaseCancelled},
		{"CanceledUncertain", nil, "2026-11-21 12:00", "U", flight.PhaseUnknown},
		{"Diverted", nil, "2026-11-22 05:59", "R", flight.PhaseRedirected},
		{"Diverted", nil, "2026-11-22 06:00", "D", flight.PhaseDiverted},
		{"Unknown", nil, "2026-11-21 22:59", "S", flight.PhaseScheduled},
		{"Unknown", nil, "2026-11-21 23:00", "U", flight.PhaseUnknown},
		{"", nil, "2026-11-21 12:00", "S", flight.PhaseScheduled},
		{"Teleported", nil, "2026-11-22 12:00", "U", flight.PhaseUnknown},
		{"Expected", off, "2026-11-22 02:00", "A", flight.PhaseEnRoute},
		{"Delayed", off, "2026-11-22 02:00", "A", flight.PhaseEnRoute},
		{"CanceledUncertain", off, "2026-11-22 02:00", "A", flight.PhaseEnRoute},
		{"Expected", off, "2026-11-21 23:28", "S", flight.PhaseScheduled}, // nothing ahead is seen
		{"Unknown", on, "2026-11-22 05:50", "L", flight.PhaseLanded},
		{"Approaching", on, "2026-11-22 05:50", "L", flight.PhaseLanded},
	} {
		changes := maps.Clone(bare)
		maps.Copy(changes, tt.seen)
		changes["status"] = tt.status
		s := look(t, answer(t, with(t, changes)), ba178, tt.now)[0]
		if s.Status.Code != tt.code || s.Status.Phase != tt.phase {
			t.Errorf("%s at %s: %s %s, want %s %s", tt.status, tt.now, s.Status.Code, s.Status.Phase, tt.code, tt.phase)
		}
	}
}

// TestActual says when a board's revised time is the actual one.
func TestActual(t *testing.T) {
	for _, tt := range []struct {
		name     string
		changes  fields
		now      string
		dep, arr bool
	}{
		{"arrived", nil, "2026-11-22 06:10", true, true},
		{"under way", fields{"status": "EnRoute", "arrival.runwayTime": nil}, "2026-11-22 02:00", true, false},
		{"expected, though in the air", fields{"status": "Expected"}, "2026-11-22 02:00", false, false},
		{"off the runway before it left", fields{"departure.runwayTime": at("21 23:01")}, "2026-11-22 06:10", false, true},
		{"in before it landed", fields{"arrival.runwayTime": at("22 06:04")}, "2026-11-22 06:10", true, false},
		{"ahead", fields{"arrival.revisedTime": at("22 06:30")}, "2026-11-22 06:10", true, false},
		{"never revised", fields{"arrival.revisedTime": nil}, "2026-11-22 06:10", true, false},
	} {
		s := look(t, answer(t, with(t, tt.changes)), ba178, tt.now)[0]
		if dep, arr := s.Departure.Times.ActualGate != nil, s.Arrival.Times.ActualGate != nil; dep != tt.dep || arr != tt.arr {
			t.Errorf("%s: departure %v, arrival %v", tt.name, dep, arr)
		}
	}
}

// TestSpellings has every form of a time.
func TestSpellings(t *testing.T) {
	for _, scheduled := range []any{
		fields{"utc": "2026-11-21 23:00Z", "local": "2026-11-21 18:00-05:00"},
		fields{"utc": "2026-11-21 23:00Z"},
		fields{"local": "2026-11-21 18:00-05:00"},
		fields{"utc": "2026-11-21 23:00:00Z"},
		fields{"utc": "2026-11-21T23:00:00Z"},
		nil, // the retired name
	} {
		row := with(t, fields{"departure.scheduledTime": scheduled, "departure.scheduledTimeUtc": "2026-11-21 23:00Z"})
		s := look(t, answer(t, row), ba178, "2026-11-22 06:10")[0]
		if got := s.Departure.Times.ScheduledGate; got.UTC.String() != "2026-11-21T23:00:00.000Z" || got.Local != "2026-11-21T18:00:00.000" || got.Timezone != "EST" {
			t.Errorf("%v: %+v", scheduled, got)
		}
	}
	// An airport without a zone has the provider's clocks.
	row := with(t, fields{"departure.airport": fields{"icao": "XQ01", "name": "A strip"}})
	s := look(t, answer(t, row), ba178, "2026-11-22 06:10")[0]
	if got := s.Departure; got.Times.ScheduledGate.Local != "2026-11-21T18:00:00.000" || got.Airport.IATA != "XQ01" || got.Airport.Country.Code != "ZZ" {
		t.Errorf("%+v", got)
	}
	for number, want := range map[string]string{"BA 178": "BA178", "BA178": "BA178", "BAW 178": "BA178", "baw0178": "BA178"} {
		if s := look(t, answer(t, with(t, fields{"number": number})), ba178, "2026-11-22 06:10")[0]; s.CarrierCode+s.FlightNumber != want {
			t.Errorf("%s: %s%s", number, s.CarrierCode, s.FlightNumber)
		}
	}
	predicted := with(t, fields{"status": "EnRoute", "arrival.revisedTime": nil, "arrival.runwayTime": nil, "arrival.predictedTime": at("22 06:07")})
	if s := look(t, answer(t, predicted), ba178, "2026-11-22 02:00")[0]; s.Arrival.Times.EstimatedGate.At() != upstreamtest.At(t, "2026-11-22 06:07") {
		t.Errorf("predicted %+v", s.Arrival.Times)
	}
}

// TestGroups has rows that are one leg, and rows that are not.
func TestGroups(t *testing.T) {
	own := func(changes fields) fields { return with(t, changes) }
	sale := func(number, name, code string, changes fields) fields {
		row := with(t, changes)
		row["number"], row["codeshareStatus"], row["airline"] = number, "IsCodeshared", fields{"name": name, "iata": code}
		return row
	}
	ask := func(carrier, number string, rows ...fields) flight.Legs {
		t.Helper()
		return look(t, answer(t, rows...), flight.Key{Carrier: carrier, Number: number, Date: "2026-11-21"}, "2026-11-22 06:10")
	}
	aa := sale("AA 6145", "American", "AA", nil)
	bare := sale("IB 7357", "Iberia", "IB", fields{"arrival": fields{"airport": fields{"name": "London"}, "quality": []string{}}})
	legs := ask("AA", "6145", aa, bare, own(nil))
	if len(legs) != 1 || legs[0].OperatedBy != "British Airways" || len(legs[0].Codeshares) != 2 || legs[0].Arrival.Baggage != "6" {
		t.Errorf("%d legs, %+v", len(legs), legs[0])
	}
	legs = ask("IB", "7357", bare, own(nil))
	if len(legs) != 1 || legs[0].Arrival.Airport.IATA != "LHR" || legs[0].CarrierCode != "IB" {
		t.Errorf("a row without an arrival: %d legs, %+v", len(legs), legs[0].Arrival.Airport)
	}
	legs = ask("AA", "6145", aa)
	if len(legs) != 1 || legs[0].OperatedBy != "" || len(legs[0].Codeshares) != 0 {
		t.Errorf("alone: %d legs, %+v", len(legs), legs[0])
	}
	// Another time, another airport, another operator: another flight, that
	// nobody asked for.
	for name, other := range map[string]fields{
		"time":     sale("AA 6145", "American", "AA", fields{"arrival.scheduledTime": at("22 06:05")}),
		"airport":  sale("AA 6145", "American", "AA", fields{"arrival.airport": fields{"iata": "LGW", "name": "Gatwick"}}),
		"operator": own(fields{"number": "EI 9", "airline": fields{"name": "Aer Lingus", "iata": "EI"}}),
	} {
		if legs := ask("BA", "178", other, own(nil)); len(legs) != 1 || len(legs[0].Codeshares) != 0 {
			t.Errorf("%s: %d legs, codeshares %+v", name, len(legs), legs[0].Codeshares)
		}
	}
	// Found in another way: the operator's number stands.
	if legs := ask("QF", "3178", aa, own(nil)); len(legs) != 1 || legs[0].CarrierCode != "BA" {
		t.Errorf("%d legs of %s", len(legs), legs[0].CarrierCode)
	}
}

// TestMidnight has the date of the origin's clocks.
func TestMidnight(t *testing.T) {
	row := func(utc string) fields { return with(t, fields{"departure.scheduledTime": fields{"utc": utc}}) }
	rows := answer(t, row("2026-11-22 05:00Z"), row("2026-11-22 04:59Z"), row("2026-11-21 05:00Z"), row("2026-11-21 04:59Z"))
	legs := look(t, rows, ba178, "2026-11-22 06:10")
	if len(legs) != 2 || legs[0].Departure.Times.ScheduledGate.Local != "2026-11-21T00:00:00.000" || legs[1].Departure.Times.ScheduledGate.Local != "2026-11-21T23:59:00.000" {
		t.Errorf("%+v", legs.Refs(-1))
	}
}

// TestNoSense has rows that would make a snapshot without what it must have.
func TestNoSense(t *testing.T) {
	ask := func(changes fields) error {
		s := New(Config{BaseURL: upstreamtest.Serve(t, 200, answer(t, with(t, changes)))})
		_, err := s.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
		return err
	}
	for _, tt := range []struct {
		changes fields
		says    string
	}{
		{fields{"number": ""}, "[0]: no number"},
		{fields{"departure.airport": fields{"name": "Somewhere"}}, "[0]: departure: no airport with a code"},
		{fields{"arrival.airport": "LHR"}, "[0]: arrival: no airport with a code"},
		{fields{"arrival.revisedTime": fields{"utc": "soon"}}, `[0]: arrival.revisedTime: "soon" is no time`},
		{fields{"departure.scheduledTime": fields{"utc": "2026-13-01 00:00Z"}}, "[0]: departure.scheduledTime"},
	} {
		if err := ask(tt.changes); flight.CodeOf(err) != flight.CodeUpstream || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, want %s", tt.changes, err, tt.says)
		}
	}
	undated := fields{"departure.scheduledTime": nil, "departure.revisedTime": nil, "departure.runwayTime": nil}
	if err := ask(undated); flight.CodeOf(err) != flight.CodeFlightNotFound {
		t.Errorf("of no date: %v", err)
	}
}
