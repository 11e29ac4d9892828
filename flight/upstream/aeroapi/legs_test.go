package aeroapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// with returns the scheduled fixture's row with some fields changed.
func with(t testing.TB, fields map[string]any) map[string]any {
	t.Helper()
	var body struct{ Flights []map[string]any }
	if err := json.Unmarshal(upstreamtest.Fixture(t, dir+"scheduled.json"), &body); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		body.Flights[0][name] = v
	}
	return body.Flights[0]
}

func answer(t testing.TB, rows ...map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"flights": rows, "links": nil, "num_pages": 1})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type fields = map[string]any

// TestStatus has every line of the mapping, and what wins where two hold.
func TestStatus(t *testing.T) {
	off, on, in := fields{"actual_off": "2026-11-21T23:29:00Z"}, "2026-11-22T05:48:00Z", "2026-11-22T06:03:00Z"
	and := func(a fields, b fields) fields {
		all := fields{}
		for _, m := range []fields{a, b} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		fields fields
		now    string
		code   string
		phase  flight.Phase
	}{
		{"nothing known", nil, "2026-11-21 12:00", "S", flight.PhaseScheduled},
		{"words alone are nothing", fields{"status": "En Route / On Time"}, "2026-11-21 12:00", "S", flight.PhaseScheduled},
		{"cancelled", fields{"cancelled": true}, "2026-11-21 12:00", "C", flight.PhaseCancelled},
		{"cancelled, back at the gate", fields{"cancelled": true, "actual_out": "2026-11-21T23:05:00Z"}, "2026-11-22 00:00", "C", flight.PhaseCancelled},
		{"no longer tracked in the air", and(off, fields{"cancelled": true}), "2026-11-22 02:00", "U", flight.PhaseUnknown},
		{"no longer tracked after landing", and(off, fields{"cancelled": true, "actual_on": on}), "2026-11-22 06:00", "L", flight.PhaseLanded},
		{"left the gate", fields{"actual_out": "2026-11-21T23:05:00Z"}, "2026-11-21 23:10", "A", flight.PhaseDeparted},
		{"off, nobody saw the gate", off, "2026-11-22 02:00", "A", flight.PhaseEnRoute},
		{"lost", and(off, fields{"status": "Result Unknown"}), "2026-11-22 09:00", "U", flight.PhaseUnknown},
		{"landed", and(off, fields{"actual_on": on}), "2026-11-22 05:50", "L", flight.PhaseLanded},
		{"in", and(off, fields{"actual_on": on, "actual_in": in}), "2026-11-22 06:10", "L", flight.PhaseArrived},
		{"in, nobody saw it land", fields{"actual_in": in}, "2026-11-22 06:10", "L", flight.PhaseArrived},
		{"not quite overdue", nil, "2026-11-22 12:00", "S", flight.PhaseScheduled},
		{"overdue", nil, "2026-11-22 12:01", "U", flight.PhaseUnknown},
		{"late, not overdue", fields{"estimated_in": "2026-11-22T16:00:00Z"}, "2026-11-22 12:01", "S", flight.PhaseScheduled},
		{"diverted, alone", and(off, fields{"diverted": true}), "2026-11-22 04:30", "R", flight.PhaseRedirected},
		{"diverted and down, alone", and(off, fields{"diverted": true, "actual_on": on}), "2026-11-22 06:00", "D", flight.PhaseDiverted},
	} {
		s := look(t, answer(t, with(t, tt.fields)), ba178, tt.now)[0]
		if s.Status.Code != tt.code || s.Status.Phase != tt.phase {
			t.Errorf("%s: %s %s, want %s %s", tt.name, s.Status.Code, s.Status.Phase, tt.code, tt.phase)
		}
		if s.Status.Diverted && (s.Diverted != nil || s.Arrival.Times.ActualRunway != nil || s.Arrival.Times.ActualGate != nil) {
			t.Errorf("%s: nobody says where it landed: %+v, %+v", tt.name, s.Diverted, s.Arrival.Times)
		}
	}
}

// TestDivertedAndOn has a flight that goes on from where it was diverted to: a
// second leg of the same number.
func TestDivertedAndOn(t *testing.T) {
	legs := look(t, upstreamtest.Fixture(t, dir+"diverted_and_on.json"), flight.Key{Carrier: "BA", Number: "178", Date: "2026-11-21"}, "2026-11-22 06:00")
	if len(legs) != 1 {
		t.Fatalf("%d legs", len(legs)) // it goes on the next day
	}
	s := legs[0]
	if s.Status.Code != flight.StatusDiverted || s.Diverted == nil || s.Diverted.Airport.IATA != "SNN" || s.Diverted.Times.ActualRunway == nil {
		t.Errorf("%s, diverted %+v", s.Status.Code, s.Diverted)
	}
	next := flight.Key{Carrier: "BA", Number: "178", Date: "2026-11-22"}
	legs = look(t, upstreamtest.Fixture(t, dir+"diverted_and_on.json"), next, "2026-11-22 06:00")
	if len(legs) != 1 || legs[0].Departure.Airport.IATA != "SNN" || legs[0].ProviderFlightID != s.ProviderFlightID+"@EINN-EGLL" {
		t.Errorf("%d legs, id %s", len(legs), legs[0].ProviderFlightID)
	}
}

// TestDivertedEitherWay has the two rows of a diverted flight in both orders,
// with the flag on one or both.
func TestDivertedEitherWay(t *testing.T) {
	var body struct{ Flights []map[string]any }
	if err := json.Unmarshal(upstreamtest.Fixture(t, dir+"diverted.json"), &body); err != nil {
		t.Fatal(err)
	}
	elsewhere, planned := body.Flights[0], body.Flights[1]
	want := look(t, answer(t, elsewhere, planned), ba178, "2026-11-22 05:30")[0]
	for _, both := range []bool{false, true} {
		elsewhere["diverted"] = both
		for _, rows := range [][]map[string]any{{elsewhere, planned}, {planned, elsewhere}, {planned, elsewhere, planned}} {
			legs := look(t, answer(t, rows...), ba178, "2026-11-22 05:30")
			if len(legs) != 1 || !flight.SameContent(legs[0], want) {
				t.Errorf("both %v, %d rows: %d legs", both, len(rows), len(legs))
			}
		}
	}
}

// TestMidnight has neighbours of the days before and after: the date is that of
// the origin's clocks.
func TestMidnight(t *testing.T) {
	row := func(id, out, in string) map[string]any {
		return with(t, fields{"fa_flight_id": id, "scheduled_out": out, "scheduled_in": in})
	}
	body := answer(t,
		row("next", "2026-11-22T23:00:00Z", "2026-11-23T06:00:00Z"),
		row("late", "2026-11-22T04:59:00Z", "2026-11-22T12:00:00Z"),  // 23:59 in New York
		row("early", "2026-11-21T05:00:00Z", "2026-11-21T12:00:00Z"), // 00:00
		row("before", "2026-11-21T04:59:00Z", "2026-11-21T12:00:00Z"),
	)
	legs := look(t, body, ba178, "2026-11-21 12:00")
	if len(legs) != 2 || legs[0].ProviderFlightID != "early" || legs[1].ProviderFlightID != "late" {
		t.Errorf("%+v", legs.Refs(-1))
	}
}

func TestTwins(t *testing.T) {
	cancelled, again := with(t, fields{"fa_flight_id": "a", "cancelled": true}), with(t, fields{"fa_flight_id": "b"})
	for _, rows := range [][]map[string]any{{cancelled, again}, {again, cancelled}} {
		if legs := look(t, answer(t, rows...), ba178, "2026-11-21 12:00"); len(legs) != 1 || legs[0].ProviderFlightID != "b" {
			t.Errorf("%+v", legs.Refs(-1))
		}
	}
}

// TestCarriers has airlines that have one code only, or none that we know.
func TestCarriers(t *testing.T) {
	for _, tt := range []struct {
		name             string
		fields           fields
		key              flight.Key
		shown, by, other string // other is the number of the first codeshare
	}{
		{"ICAO only", fields{"ident": "XQZ12", "ident_icao": "XQZ12", "ident_iata": nil, "operator": "XQZ", "operator_icao": "XQZ", "operator_iata": nil, "flight_number": "12", "codeshares": nil, "codeshares_iata": nil},
			flight.Key{Carrier: "XQZ", Number: "12"}, "XQZ12", "", ""},
		{"ICAO only, sold by another", fields{"ident": "XQZ12", "ident_icao": "XQZ12", "ident_iata": nil, "operator": "XQZ", "operator_icao": "XQZ", "operator_iata": nil, "flight_number": "12"},
			flight.Key{Carrier: "AA", Number: "6145"}, "AA6145", "XQZ", "IB7357"},
		{"ident alone", fields{"ident_icao": nil, "ident_iata": nil, "operator": nil, "operator_icao": nil, "operator_iata": nil, "flight_number": nil}, ba178, "BA178", "", "AA6145"},
		{"zeros", fields{"flight_number": "0178"}, ba178, "BA178", "", "AA6145"},
		{"a number", fields{"flight_number": 178}, ba178, "BA178", "", "AA6145"},
		{"codeshares by IATA alone", fields{"codeshares": nil}, ba178, "BA178", "", "AA6145"},
		{"codeshares by ICAO alone", fields{"codeshares_iata": nil}, ba178, "BA178", "", "AA6145"},
		{"codeshares that do not match", fields{"codeshares": []string{"AAL6145"}, "codeshares_iata": []string{"IB7357"}}, ba178, "BA178", "", "AA6145"},
		{"itself among them", fields{"codeshares": []string{"BAW178"}, "codeshares_iata": []string{"BA178"}}, ba178, "BA178", "", ""},
		{"found in another way", nil, flight.Key{Carrier: "QF", Number: "3178"}, "BA178", "", "AA6145"},
	} {
		tt.key.Date = ba178.Date
		s := look(t, answer(t, with(t, tt.fields)), tt.key, "2026-11-21 12:00")[0]
		other := ""
		if len(s.Codeshares) > 0 {
			other = s.Codeshares[0].Carrier + s.Codeshares[0].FlightNumber
		}
		if s.CarrierCode+s.FlightNumber != tt.shown || s.OperatedBy != tt.by || other != tt.other {
			t.Errorf("%s: %s%s, operated by %q, first codeshare %s", tt.name, s.CarrierCode, s.FlightNumber, s.OperatedBy, other)
		}
	}
}

// TestNoSense has rows that would make a snapshot without what it must have.
func TestNoSense(t *testing.T) {
	s := func(fields fields) error {
		src := New(Config{BaseURL: upstreamtest.Serve(t, 200, answer(t, with(t, fields)))})
		_, err := src.Legs(t.Context(), ba178, upstreamtest.At(t, "2026-11-21 12:00"))
		return err
	}
	for _, tt := range []struct {
		fields fields
		says   string
	}{
		{fields{"origin": nil}, "flights[0]: no origin"},
		{fields{"origin": "JFK"}, "flights[0]: no origin"},
		{fields{"origin": map[string]any{"code": "Q1"}}, "flights[0]: origin Q1 has no time zone"},
		{fields{"destination": nil}, "flights[0]: no destination"},
		{fields{"scheduled_out": "soon"}, `flights[0]: scheduled_out: "soon" is no time`},
		{fields{"estimated_in": "2026-11-22 06:00"}, "flights[0]: estimated_in"},
		{fields{"scheduled_out": nil, "scheduled_off": nil, "estimated_out": nil, "estimated_off": nil}, "flights[0]: no scheduled_out"},
		{fields{"ident": nil, "ident_icao": nil, "ident_iata": nil, "operator": nil, "operator_icao": nil, "operator_iata": nil}, "flights[0]: no ident"},
	} {
		err := s(tt.fields)
		if flight.CodeOf(err) != flight.CodeUpstream || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v, want %s", tt.fields, err, tt.says)
		}
	}
	if err := s(fields{"position_only": true, "origin": nil}); flight.CodeOf(err) != flight.CodeFlightNotFound {
		t.Errorf("positions alone: %v", err)
	}
	if err := s(fields{"scheduled_out": nil, "scheduled_off": nil}); err != nil {
		t.Errorf("an estimate alone: %v", err)
	}
}

// TestSchedules has numbers with a letter, which the provider cannot be asked
// for.
func TestSchedules(t *testing.T) {
	body := string(upstreamtest.Fixture(t, dir+"schedule.json"))
	body = strings.Replace(strings.ReplaceAll(body, "178", "178A"), "178A", "178", 3)
	k := flight.Key{Carrier: "BA", Number: "178A", Date: "2026-11-22"}
	if legs := look(t, []byte(body), k, "2026-11-10 12:00"); len(legs) != 1 || legs[0].FlightNumber != "178A" {
		t.Errorf("%+v", legs.Refs(-1))
	}
	if legs := look(t, []byte(body), ba178, "2026-11-10 12:00"); len(legs) != 1 || legs[0].FlightNumber != "178" {
		t.Errorf("%+v", legs.Refs(-1))
	}
}

// TestLegKeepsItsIdentity asks for a leg by its id, after the airline has given
// it another number or another day: it is still the leg that it was found as.
func TestLegKeepsItsIdentity(t *testing.T) {
	const id = "BAW178-1795000000-airline-0100"
	for name, tt := range map[string]struct {
		fields fields
		sold   string // the last of its codeshares
	}{
		"as it was":      {nil, "IB7357"},
		"another number": {fields{"ident": "BAW9178", "ident_icao": "BAW9178", "ident_iata": "BA9178", "flight_number": "9178"}, "IB7357 BA9178"},
		"another day":    {fields{"scheduled_out": "2026-11-24T23:00:00Z"}, "IB7357"},
	} {
		s, asked := recorder(t, map[string]string{"/flights/": string(answer(t, with(t, tt.fields)))})
		leg, err := s.Leg(t.Context(), ba178, id, upstreamtest.At(t, "2026-11-21 12:00"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		upstreamtest.CheckLegs(t, flight.Legs{leg}, ba178)
		if leg.Key() != ba178 || leg.ProviderFlightID != id || leg.Carrier.Name != "British Airways" {
			t.Errorf("%s: %s, id %s", name, leg.Key(), leg.ProviderFlightID)
		}
		for _, sold := range strings.Fields(tt.sold) {
			if !slices.ContainsFunc(leg.Codeshares, func(c flight.CodeshareRef) bool { return c.Carrier+c.FlightNumber == sold }) {
				t.Errorf("%s: %s is not among %+v", name, sold, leg.Codeshares)
			}
		}
		if want := "/aeroapi/flights/" + id + "?ident_type=fa_flight_id"; asked()[0].RequestURI != want {
			t.Errorf("asked for %s, want %s", asked()[0].RequestURI, want)
		}
	}

	onward := string(upstreamtest.Fixture(t, dir+"diverted_and_on.json"))
	s, asked := recorder(t, map[string]string{"/flights/": onward})
	leg, err := s.Leg(t.Context(), ba178, id+"@EINN-EGLL", upstreamtest.At(t, "2026-11-22 06:00"))
	if err != nil || leg.Departure.Airport.IATA != "SNN" || !strings.HasPrefix(asked()[0].URL.Path, "/aeroapi/flights/"+id) {
		t.Errorf("the leg from where it was diverted to: %v, %+v", err, leg)
	}
	for _, body := range []string{`{"flights":[]}`, onward} {
		s, _ := recorder(t, map[string]string{"/flights/": body})
		if leg, err := s.Leg(t.Context(), ba178, "another", upstreamtest.At(t, "2026-11-22 06:00")); flight.CodeOf(err) != flight.CodeFlightNotFound || leg != nil {
			t.Errorf("a forgotten id: %v", err)
		}
	}
}
