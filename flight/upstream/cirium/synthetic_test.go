package cirium

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

func TestCancelled(t *testing.T) {
	s := look(t, fixture(t, "synthetic_cancelled.json"), "AA", "100", "2026-03-29")[0]
	upstreamtest.Golden(t, "synthetic_cancelled", s)
	if s.Status.Code != "C" || s.Status.Phase != flight.PhaseCancelled || !s.Status.Cancelled {
		t.Errorf("status %+v", s.Status)
	}
	if s.Status.Description != "Cancelled: late inbound aircraft" {
		t.Errorf("description %q", s.Status.Description)
	}
	if s.Arrival.Times.ScheduledGate.Timezone != "BST" || s.Departure.Times.ScheduledGate.Timezone != "EDT" {
		t.Error("zones", s.Departure.Times.ScheduledGate, s.Arrival.Times.ScheduledGate)
	}
}

func TestRedirected(t *testing.T) {
	s := look(t, fixture(t, "synthetic_redirected.json"), "AA", "100", "2026-03-29")[0]
	upstreamtest.Golden(t, "synthetic_redirected", s)
	if s.Status.Phase != flight.PhaseRedirected || !s.Status.Diverted {
		t.Errorf("status %+v", s.Status)
	}
	if s.Diverted == nil || s.Diverted.Airport.IATA != "LGW" || s.Diverted.Times != (flight.EndpointTimes{}) {
		t.Errorf("diverted %+v", s.Diverted)
	}
	if s.Arrival.Times.EstimatedGate == nil || s.Arrival.Airport.IATA != "LHR" {
		t.Errorf("arrival %+v", s.Arrival)
	}
}

func TestNotOperational(t *testing.T) {
	s := look(t, fixture(t, "synthetic_not_operational.json"), "LH", "9999", "2026-07-01")[0]
	if s.Status.Code != "NO" || s.Status.Phase != flight.PhaseUnknown || s.Status.Label != "Not operational" {
		t.Errorf("status %+v", s.Status)
	}
}

func TestTimeline(t *testing.T) {
	s := look(t, fixture(t, "synthetic_history.json"), "SQ", "26", "2026-10-09")[0]
	upstreamtest.Golden(t, "synthetic_history", s)
	if !slices.IsSortedFunc(s.Timeline, func(x, y flight.TimelineEntry) int { return int(y.OccurredAt - x.OccurredAt) }) {
		t.Error("the timeline is not newest first")
	}
	want := []struct{ title, source, events string }{
		{"Baggage belt changed", "Airport", "Baggage belt 21 withdrawn; Field XYZ set to new"},
		{"Arrived at the gate", "Airline", "Actual gate arrival set to 10 Oct 07:03"},
		{"Landed", "Positional", "Status changed from Active to Landed; Actual landing set to 10 Oct 06:54"},
		{"Arrival gate changed", "Airport", "Baggage belt set to 21; Arrival gate set to B48A; Estimated gate arrival changed from 10 Oct 07:08 to 10 Oct 07:03"},
		{"Estimates changed", "Cirium", "Estimated landing set to 10 Oct 06:52"},
		{"Took off", "Positional", "Actual take-off set to 10 Oct 00:24"},
		{"Active", "Airport", "Status changed from Scheduled to Active; Actual gate departure set to 10 Oct 00:05"},
		{"Estimates changed", "Airline", "Tail number set to 9V-SNC; Estimated gate arrival set to 10 Oct 07:08"},
		{"Estimates changed", "Airport", "Estimated gate arrival 10 Oct 07:08 withdrawn"},
		{"Estimates changed", "Airline", "Estimated gate arrival set to 10 Oct 07:08; Scheduled take-off set to 10 Oct 00:10; Scheduled landing set to 10 Oct 06:30"},
		{"Departure gate changed", "Airport", "Departure gate changed from B10 to B12; Estimated gate departure set to 10 Oct 00:05; Estimated take-off set to 10 Oct 00:25"},
		{"Departure gate changed", "Airport", "Departure gate set to B10; Arrival terminal set to 1"},
		{"Aircraft changed", "Airport", "Aircraft set to B77W (Boeing 777-300ER)"},
		{"Scheduled", "Schedule", "Departure terminal set to 3; Scheduled aircraft set to 77W (Boeing 777-300ER Passenger); Status set to Scheduled; Scheduled gate departure set to 9 Oct 23:55; Scheduled gate arrival set to 10 Oct 06:45"},
	}
	if len(s.Timeline) != len(want) {
		t.Fatalf("%d entries, want %d (the empty update is left out)", len(s.Timeline), len(want))
	}
	for i, w := range want {
		e := s.Timeline[i]
		if e.Title != w.title || e.Source != w.source || strings.Join(e.Events, "; ") != w.events {
			t.Errorf("entry %d: %q by %q: %q\nwant %q by %q: %q", i, e.Title, e.Source, strings.Join(e.Events, "; "), w.title, w.source, w.events)
		}
	}
}

// TestFieldWords has every code that the provider documents.
func TestFieldWords(t *testing.T) {
	codes := []string{"STS", "DGT", "DTM", "AGT", "ATM", "BGG", "TAL", "SQP", "AQP"}
	for _, kind := range "SEA" {
		for _, place := range "GR" {
			for _, end := range "DA" {
				codes = append(codes, string([]rune{kind, place, end}))
			}
		}
	}
	words := map[string]string{}
	for _, code := range codes {
		n := noun(code)
		if strings.HasPrefix(n, "Field ") {
			t.Errorf("%s has no words", code)
		}
		if other := words[n]; other != "" {
			t.Errorf("%s and %s are both %q", code, other, n)
		}
		words[n] = code
	}
	if len(fields) != len(codes) {
		t.Errorf("%d fields, want %d", len(fields), len(codes))
	}
}

func TestIrregularOperations(t *testing.T) {
	b := newBook(&appendix{}, "")
	for _, tt := range []struct {
		op          irregular
		title, says string
	}{
		{irregular{Type: "DIVERSION", NewArrival: "ZZ9"}, "Diverted", "Diverted to ZZ9"},
		{irregular{Type: "REINSTATEMENT"}, "Reinstated", "Reinstated"},
		{irregular{Type: "RETURN_FROM_AIRBORNE"}, "Return from airborne", "Return from airborne"},
		{irregular{}, "Irregular operation", "Irregular operation"},
	} {
		if got := operation(tt.op.Type); got != tt.title {
			t.Errorf("%+v is titled %q", tt.op, got)
		}
		if got := b.operation(&tt.op); got != tt.says {
			t.Errorf("%+v says %q", tt.op, got)
		}
	}
	rec := &record{Irregular: []irregular{
		{Type: "REINSTATEMENT", At: "2026-01-02T00:00:00.000Z", Message: "Back on"},
		{Type: "CANCELLATION", At: "2026-01-01T00:00:00.000Z"},
	}}
	if got := b.description(rec); got != "Back on" {
		t.Errorf("description %q, want that of the last operation", got)
	}
}

func TestConfirmedIncident(t *testing.T) {
	body := edit(t, fixture(t, "synthetic_not_operational.json"), func(rec map[string]any) {
		rec["confirmedIncident"] = map[string]any{"date": "2026-07-01T08:30:00+00:00", "message": "News agencies  are\nreporting"}
	})
	s := look(t, body, "LH", "9999", "2026-07-01")[0]
	if s.Status.Description != "News agencies are reporting" || len(s.Timeline) != 1 || s.Timeline[0].Title != "Confirmed incident" || s.Timeline[0].OccurredAt.String() != "2026-07-01T08:30:00.000Z" {
		t.Errorf("%q, %+v", s.Status.Description, s.Timeline)
	}
}

func TestTwoLegs(t *testing.T) {
	legs := look(t, fixture(t, "synthetic_two_legs.json"), "UA", "234", "2026-05-12")
	if len(legs) != 2 {
		t.Fatalf("%d legs: the neighbour of the day before belongs to another date", len(legs))
	}
	var routes []string
	for i, s := range legs {
		routes = append(routes, s.ProviderFlightID+" "+s.LegKey())
		for j, a := range s.Alternates {
			if a.Selected != (i == j) {
				t.Errorf("leg %d: alternates %+v", i, s.Alternates)
			}
		}
	}
	want := []string{"1300000101 UA234:2026-05-12@ORD-DEN", "1300000102 UA234:2026-05-12@DEN-SEA"}
	if !slices.Equal(routes, want) {
		t.Errorf("legs %q, want %q", routes, want)
	}

	before := look(t, fixture(t, "synthetic_two_legs.json"), "UA", "234", "2026-05-11")
	if len(before) != 1 || before[0].ProviderFlightID != "1300000091" {
		t.Errorf("the day before: %+v", before)
	}
	_, err := serve(t, 200, fixture(t, "synthetic_two_legs.json")).Legs(t.Context(), flight.Key{Carrier: "UA", Number: "234", Date: "2026-05-13"}, worldNow)
	if flight.CodeOf(err) != flight.CodeFlightNotFound {
		t.Errorf("the day after, where a leg departs in UTC alone: %v", err)
	}
}

// A flight that is moved past midnight keeps its date, and so its subscribers;
// one whose published time is of another week is taken at its departure date.
func TestMovedPastMidnight(t *testing.T) {
	record := func(published string) []byte {
		return edit(t, fixture(t, "synthetic_not_operational.json"), func(rec map[string]any) {
			rec["departureDate"] = map[string]any{"dateLocal": "2026-07-02T00:25:00.000"}
			rec["operationalTimes"].(map[string]any)["publishedDeparture"] = map[string]any{"dateLocal": published}
		})
	}
	for _, c := range []struct{ published, date, other string }{
		{"2026-07-01T23:40:00.000", "2026-07-01", "2026-07-02"},
		{"2026-07-02T00:25:00.000", "2026-07-02", "2026-07-01"},
		{"2026-06-20T23:40:00.000", "2026-07-02", "2026-06-20"},
	} {
		s := look(t, record(c.published), "LH", "9999", c.date)[0]
		if s.Date != c.date {
			t.Errorf("published %s: of the %s", c.published, s.Date)
		}
		_, err := serve(t, 200, record(c.published)).Legs(t.Context(), flight.Key{Carrier: "LH", Number: "9999", Date: c.other}, worldNow)
		if flight.CodeOf(err) != flight.CodeFlightNotFound {
			t.Errorf("published %s, asked for %s: %v", c.published, c.other, err)
		}
	}
}

func TestReplacedLegComesLast(t *testing.T) {
	legs := look(t, fixture(t, "synthetic_replaced.json"), "UA", "700", "2026-05-12")
	if len(legs) != 2 || legs[0].ProviderFlightID != "1300000202" || legs[1].Status.Code != "C" {
		t.Errorf("legs %+v", legs[0].Alternates)
	}
}

func TestWrappedForm(t *testing.T) {
	s := look(t, fixture(t, "synthetic_wrapped.json"), "UA", "700", "2026-05-12")[0]
	if s.ProviderFlightID != "1300000301" || s.Carrier.Name != "United Airlines" || len(s.Codeshares) != 1 ||
		minutesOf(s.Duration.ScheduledMinutes) != 150 || s.Departure.Gate != "7" || len(s.Timeline) != 1 || len(s.Timeline[0].Events) != 1 {
		t.Errorf("%+v", s)
	}
}

// edit changes the first record of an answer.
func edit(t testing.TB, body []byte, change func(map[string]any)) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	change(whole["flightStatuses"].([]any)[0].(map[string]any))
	body, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestPhases has each status with what decides its phase.
func TestPhases(t *testing.T) {
	now := map[string]any{"dateUtc": "2026-07-01T08:05:00.000Z"}
	for _, tt := range []struct {
		status string
		times  []string
		code   string
		phase  flight.Phase
	}{
		{"S", nil, "S", flight.PhaseScheduled},
		{"A", []string{"actualGateDeparture", "actualRunwayDeparture"}, "A", flight.PhaseEnRoute},
		{"A", []string{"actualRunwayDeparture"}, "A", flight.PhaseEnRoute},
		{"A", []string{"actualGateDeparture"}, "A", flight.PhaseDeparted},
		{"A", nil, "A", flight.PhaseEnRoute},
		{"L", []string{"actualRunwayArrival"}, "L", flight.PhaseLanded},
		{"L", []string{"actualGateArrival"}, "L", flight.PhaseArrived},
		{"L", nil, "L", flight.PhaseLanded},
		{"C", nil, "C", flight.PhaseCancelled},
		{"D", nil, "D", flight.PhaseDiverted},
		{"R", nil, "R", flight.PhaseRedirected},
		{"U", nil, "U", flight.PhaseUnknown},
		{"DN", nil, "U", flight.PhaseUnknown},
		{"??", nil, "U", flight.PhaseUnknown},
		{"NO", nil, "NO", flight.PhaseUnknown},
	} {
		body := edit(t, fixture(t, "synthetic_not_operational.json"), func(rec map[string]any) {
			rec["status"] = tt.status
			for _, name := range tt.times {
				rec["operationalTimes"].(map[string]any)[name] = now
			}
		})
		s := look(t, body, "LH", "9999", "2026-07-01")[0]
		if s.Status.Code != tt.code || s.Status.Phase != tt.phase {
			t.Errorf("%s with %v: %s, %s; want %s, %s", tt.status, tt.times, s.Status.Code, s.Status.Phase, tt.code, tt.phase)
		}
		if s.Diverted != nil {
			t.Errorf("%s: diverted to nowhere", tt.status)
		}
	}
}

// TestLacking has what an answer may lack, and what it may not.
func TestLacking(t *testing.T) {
	base := fixture(t, "synthetic_history.json")
	key := flight.Key{Carrier: "SQ", Number: "26", Date: "2026-10-09"}
	set := func(name string, v any) func(map[string]any) {
		return func(rec map[string]any) {
			if v == nil {
				delete(rec, name)
			} else {
				rec[name] = v
			}
		}
	}
	local := func(s string) map[string]any { return map[string]any{"dateLocal": s} }
	for name, change := range map[string]func(map[string]any){
		"nothing but what it must have": func(rec map[string]any) {
			for k := range rec {
				if !slices.Contains([]string{"carrierFsCode", "flightNumber", "departureAirportFsCode", "arrivalAirportFsCode", "departureDate", "status"}, k) {
					delete(rec, k)
				}
			}
		},
		"updates of a wrong type":   set("flightStatusUpdates", 7),
		"durations of a wrong type": set("flightDurations", map[string]any{"scheduledBlockMinutes": []int{1}, "blockMinutes": "-4"}),
		"an unknown airport":        set("arrivalAirportFsCode", "QQ9X"),
		"only local times":          set("departureDate", local("2026-10-09T23:55:00.000")),
		"only a UTC time":           set("departureDate", map[string]any{"dateUtc": "2026-10-09T15:55:00Z"}),
		"no primary carrier":        set("primaryCarrierFsCode", nil),
		"an unknown carrier":        set("operatingCarrierFsCode", "QX*"),
		"codeshares without codes":  set("codeshares", []any{map[string]any{}, nil, "x"}),
	} {
		legs, err := serve(t, 200, edit(t, base, change)).Legs(t.Context(), key, worldNow)
		if err != nil || len(legs) != 1 {
			t.Errorf("%s: %d legs, %v", name, len(legs), err)
			continue
		}
		s := legs[0]
		if s.Departure.Times.ScheduledGate.At().String() != "2026-10-09T15:55:00.000Z" || s.Departure.Times.ScheduledGate.Local != "2026-10-09T23:55:00.000" {
			t.Errorf("%s: scheduled departure %+v", name, s.Departure.Times.ScheduledGate)
		}
		if s.Arrival.Airport.IATA == "" || s.Arrival.Airport.Name == "" {
			t.Errorf("%s: arrival airport %+v", name, s.Arrival.Airport)
		}
	}
	for name, change := range map[string]func(map[string]any){
		"no departureAirportFsCode": set("departureAirportFsCode", nil),
		"no arrivalAirportFsCode":   set("arrivalAirportFsCode", nil),
		"no flightNumber":           set("flightNumber", nil),
		"no status":                 set("status", nil),
		"no departureDate":          set("departureDate", nil),
		"is no time":                set("departureDate", local("2026-13-09T23:55:00.000")),
		"in any zone":               set("departureDate", map[string]any{"dateLocal": "2026-10-09T23:55:00.000", "dateUtc": "2026-10-12T15:55:00.000Z"}),
		"operationalTimes.estimatedGateArrival": func(rec map[string]any) {
			rec["operationalTimes"].(map[string]any)["estimatedGateArrival"] = map[string]any{"dateUtc": "soon"}
		},
		"operationalTimes.actualRunwayDeparture": func(rec map[string]any) {
			rec["operationalTimes"].(map[string]any)["actualRunwayDeparture"] = map[string]any{"dateUtc": "0001-01-01T00:00:00.000Z"}
		},
	} {
		legs, err := serve(t, 200, edit(t, base, change)).Legs(t.Context(), key, worldNow)
		if flight.CodeOf(err) != flight.CodeUpstream || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "flightStatuses[0]") {
			t.Errorf("%s: %d legs, %v", name, len(legs), err)
		}
	}
}

// TestDiversionElsewhere has a leg that lands in another zone than planned,
// named by the operation alone.
func TestDiversionElsewhere(t *testing.T) {
	landed := map[string]any{"dateUtc": "2026-03-30T05:11:00.000Z", "dateLocal": "2026-03-30T06:11:00.000"}
	body := edit(t, fixture(t, "synthetic_redirected.json"), func(rec map[string]any) {
		delete(rec, "divertedAirportFsCode")
		rec["status"] = "D"
		rec["operationalTimes"].(map[string]any)["actualGateArrival"] = landed
		rec["irregularOperations"].([]any)[0].(map[string]any)["newArrivalAirportFsCode"] = "CDG"
	})
	s := look(t, body, "AA", "100", "2026-03-29")[0]
	if s.Diverted == nil || s.Diverted.Airport.IATA != "CDG" {
		t.Fatalf("diverted %+v", s.Diverted)
	}
	want := flight.FlightTime{UTC: s.Diverted.Times.ActualGate.UTC, Local: "2026-03-30T07:11:00.000", Timezone: "CEST"}
	if got := *s.Diverted.Times.ActualGate; got != want || got.UTC.String() != "2026-03-30T05:11:00.000Z" {
		t.Errorf("landed at %+v, want %+v", got, want)
	}
	if s.Arrival.Times.ActualGate != nil || s.Arrival.Times.EstimatedGate == nil {
		t.Errorf("arrival %+v: it keeps its own estimate", s.Arrival.Times)
	}
}
