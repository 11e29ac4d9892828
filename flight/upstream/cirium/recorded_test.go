package cirium

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// recorded lists every recorded flight: the number in its record, the key that
// asks for it, and what is odd about it. Each golden file was compared with
// its record field by field by hand once.
var recorded = []struct {
	record, carrier, number, date string
	odd                           string
}{
	{"AA1113", "AA", "1113", "2015-04-29", "the by-flight answer; four codeshares"},
	{"AS138", "AS", "138", "2015-04-28", "left two minutes early, without a delay key; actual aircraft as ICAO's B738"},
	{"UA1524", "UA", "1524", "2015-04-29", "will be early, without a delay key"},
	{"EV5870", "EV", "5870", "2015-04-29", "sold under UA's number only (X); an upline on another number"},
	{"MP6022", "MP", "6022", "2015-04-29", "cargo: no codeshares, gates, delays or airport resources; no estimated gate times"},
	{"OO5219", "OO", "5219", "2015-04-29", "on time: no delays object"},
	{"DL2628", "DL", "2628", "2015-04-29", "no estimated gate times; aircraft not in the appendix"},
	{"RV*1806", "AC", "1806", "2018-11-30", "wet lease: Fs code RV*, published as AC 1806; no appendix"},
	{"AA1353", "AA", "1353", "2018-11-30", "diverted to LIR, its actual arrival times are those there"},
	{"GCS401", "GCS", "401", "2018-11-30", "a carrier without IATA code; status U without a single estimate"},
	{"DL325", "DL", "325", "2018-11-30", "no schedule object"},
	{"CM391", "CM", "391", "2018-11-30", "a downline on another airport"},
}

func TestRecordedGolden(t *testing.T) {
	answers := recordings(t)
	if len(answers) != len(recorded) {
		t.Errorf("%d recorded flights, %d in the table", len(answers), len(recorded))
	}
	for _, tt := range recorded {
		t.Run(tt.record, func(t *testing.T) {
			legs := look(t, answers[tt.record], tt.carrier, tt.number, tt.date)
			if len(legs) != 1 {
				t.Fatalf("%d legs", len(legs))
			}
			upstreamtest.Golden(t, tt.record, legs[0])
		})
	}
}

func TestRecordedByID(t *testing.T) {
	byID := look(t, fixture(t, "recorded/by_id_AA.json"), "AA", "1113", "2015-04-29")[0]
	byFlight := look(t, fixture(t, "recorded/by_flight_AA1113_en_route.json"), "AA", "1113", "2015-04-29")[0]
	if !flight.SameContent(byID, byFlight) {
		t.Error("the same flight by id and by number gives two snapshots")
	}
}

// TestRecordedTimes walks every recorded time and looks for it in the
// snapshot, in UTC and on the airport's clocks.
func TestRecordedTimes(t *testing.T) {
	answers := recordings(t)
	checked := 0
	for _, tt := range recorded {
		s := look(t, answers[tt.record], tt.carrier, tt.number, tt.date)[0]
		var raw struct {
			Statuses []struct {
				Times map[string]struct{ DateUTC, DateLocal string } `json:"operationalTimes"`
			} `json:"flightStatuses"`
		}
		if err := json.Unmarshal(answers[tt.record], &raw); err != nil {
			t.Fatal(err)
		}
		for name, want := range raw.Statuses[0].Times {
			if strings.HasPrefix(name, "published") || strings.HasPrefix(name, "flightPlan") {
				continue
			}
			got := timeNamed(s, name)
			if tt.record == "AA1353" && (strings.HasPrefix(name, "actual") || strings.HasPrefix(name, "estimated")) && strings.HasSuffix(name, "Arrival") {
				if got != nil {
					t.Errorf("%s: %s is a time at the diversion, but stands at the destination", tt.record, name)
				}
				d := *s
				d.Arrival = *s.Diverted
				got = timeNamed(&d, name)
			}
			if got == nil || got.UTC.String() != want.DateUTC || got.Local != want.DateLocal || got.Timezone == "" {
				t.Errorf("%s: %s is %+v, want %+v", tt.record, name, got, want)
			}
			checked++
		}
		if n := countTimes(s); n != len(raw.Statuses[0].Times)-countPrefixed(raw.Statuses[0].Times, "published", "flightPlan") {
			t.Errorf("%s: %d times in the snapshot, of %d", tt.record, n, len(raw.Statuses[0].Times))
		}
	}
	if checked < 90 {
		t.Errorf("only %d times checked", checked)
	}
}

func countPrefixed[V any](m map[string]V, prefixes ...string) (n int) {
	for name := range m {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				n++
			}
		}
	}
	return n
}

func allTimes(e *flight.Endpoint) map[string]*flight.FlightTime {
	t := &e.Times
	return map[string]*flight.FlightTime{
		"scheduledGate": t.ScheduledGate, "estimatedGate": t.EstimatedGate, "actualGate": t.ActualGate,
		"scheduledRunway": t.ScheduledRunway, "estimatedRunway": t.EstimatedRunway, "actualRunway": t.ActualRunway,
	}
}

func timeNamed(s *flight.Snapshot, name string) *flight.FlightTime {
	if short, ok := strings.CutSuffix(name, "Departure"); ok {
		return allTimes(&s.Departure)[short]
	}
	return allTimes(&s.Arrival)[strings.TrimSuffix(name, "Arrival")]
}

func countTimes(s *flight.Snapshot) (n int) {
	for _, e := range []*flight.Endpoint{&s.Departure, &s.Arrival, s.Diverted} {
		if e == nil {
			continue
		}
		for _, ft := range allTimes(e) {
			if ft != nil {
				n++
			}
		}
	}
	return n
}

func minutesOf(v *int) any {
	if v == nil {
		return nil
	}
	return *v
}

// TestRecordedDelays has the signed delays, worked out by hand from the gate
// times of the records. Where the provider's own delays object has a gate
// delay it agrees; early flights have no key there.
func TestRecordedDelays(t *testing.T) {
	answers := recordings(t)
	want := map[string]struct {
		departure, arrival any
		delayed            bool
	}{
		"AA1113":  {7, 18, true},
		"AS138":   {-2, 9, false},
		"UA1524":  {1, -6, false},
		"EV5870":  {11, 31, true},
		"MP6022":  {nil, nil, false}, // estimates of the runway, whose schedule is unknown
		"OO5219":  {0, 0, false},
		"DL2628":  {nil, nil, false},
		"RV*1806": {1, -4, false},
		"AA1353":  {-4, nil, false}, // it did not arrive there
		"GCS401":  {nil, nil, false},
		"DL325":   {16, 8, true},
		"CM391":   {3, 2, false},
	}
	for _, tt := range recorded {
		s := look(t, answers[tt.record], tt.carrier, tt.number, tt.date)[0]
		w := want[tt.record]
		if got := minutesOf(s.Departure.DelayMinutes); got != w.departure {
			t.Errorf("%s: departure delay %v, want %v", tt.record, got, w.departure)
		}
		if got := minutesOf(s.Arrival.DelayMinutes); got != w.arrival {
			t.Errorf("%s: arrival delay %v, want %v", tt.record, got, w.arrival)
		}
		if got := minutesOf(s.Status.DepartureGateDelayMinutes); got != w.departure {
			t.Errorf("%s: departure gate delay %v, want %v", tt.record, got, w.departure)
		}
		if s.Status.Delayed != w.delayed {
			t.Errorf("%s: delayed %v", tt.record, s.Status.Delayed)
		}
	}
}

// TestOddRecords names what is odd about the odd ones.
func TestOddRecords(t *testing.T) {
	answers := recordings(t)
	t.Run("AS138 actual aircraft by ICAO designator", func(t *testing.T) {
		s := look(t, answers["AS138"], "AS", "138", "2015-04-28")[0]
		want := flight.EquipmentInfo{TailNumber: "N592AS", IATA: "73H", Name: "Boeing 737-800 (winglets) Passenger", Source: "actual"}
		if s.Equipment != want {
			t.Errorf("equipment %+v, want %+v", s.Equipment, want)
		}
		if s.Departure.Times.ScheduledRunway != nil {
			t.Error("the flight plan's time stands as schedule")
		}
	})
	t.Run("RV*1806 is AC1806 operated by Air Canada Rouge", func(t *testing.T) {
		for _, asked := range []string{"AC", "RV*", "ACA", "ROU"} {
			s := look(t, answers["RV*1806"], asked, "1806", "2018-11-30")[0]
			if s.FlightKey != "AC1806:2018-11-30" || s.Carrier != (flight.CarrierRef{IATA: "AC", ICAO: "ACA", Name: "Air Canada"}) {
				t.Errorf("asked for %s: %s of %+v", asked, s.FlightKey, s.Carrier)
			}
			if s.OperatedBy != "Air Canada Rouge" || len(s.Codeshares) != 0 {
				t.Errorf("asked for %s: operated by %q, codeshares %v", asked, s.OperatedBy, s.Codeshares)
			}
		}
	})
	t.Run("GCS401 keeps the upstream's code", func(t *testing.T) {
		s := look(t, answers["GCS401"], "GCS", "401", "2018-11-30")[0]
		if s.FlightKey != "GCS401:2018-11-30" || s.Carrier != (flight.CarrierRef{IATA: "GCS", Name: "GCS"}) || s.OperatedBy != "" {
			t.Errorf("%s of %+v by %q", s.FlightKey, s.Carrier, s.OperatedBy)
		}
		if s.Status.Code != "U" || s.Status.Phase != flight.PhaseUnknown {
			t.Errorf("status %+v", s.Status)
		}
	})
	t.Run("AA1353 landed at LIR", func(t *testing.T) {
		s := look(t, answers["AA1353"], "AA", "1353", "2018-11-30")[0]
		if s.Arrival.Airport.IATA != "SJO" || s.Arrival.Times.ActualGate != nil || s.Arrival.Times.ActualRunway != nil {
			t.Errorf("arrival %+v", s.Arrival)
		}
		if s.Arrival.Times.ScheduledGate.UTC.String() != "2018-12-01T01:39:00.000Z" {
			t.Errorf("scheduled arrival %v", s.Arrival.Times.ScheduledGate)
		}
		d := s.Diverted
		if d == nil || d.Airport.IATA != "LIR" || d.Airport.ICAO != "MRLB" || d.Airport.Timezone != "America/Costa_Rica" {
			t.Fatalf("diverted %+v", d)
		}
		if d.Times.ActualGate.UTC.String() != "2018-12-01T02:08:00.000Z" || d.Times.ActualRunway.UTC.String() != "2018-12-01T01:54:00.000Z" || d.Times.ActualGate.Local != "2018-11-30T20:08:00.000" {
			t.Errorf("diverted at %+v", d.Times)
		}
		if !s.Status.Diverted || s.Status.Phase != flight.PhaseDiverted || s.Status.ArrivalGateDelayMinutes != nil {
			t.Errorf("status %+v", s.Status)
		}
		if len(s.Timeline) != 2 || s.Timeline[0].Title != "Diverted" || s.Timeline[1].Title != "Continued by another flight" {
			t.Errorf("timeline %+v", s.Timeline)
		}
		if !strings.HasPrefix(s.Status.Description, "Diverted to ") || !strings.Contains(s.Status.Description, "(LIR)") {
			t.Errorf("description %q", s.Status.Description)
		}
		if minutesOf(s.Duration.ActualMinutes) != 212 {
			t.Errorf("duration %v", minutesOf(s.Duration.ActualMinutes))
		}
	})
	t.Run("DL325 without a schedule", func(t *testing.T) {
		s := look(t, answers["DL325"], "DL", "325", "2018-11-30")[0]
		if s.Departure.Times.ScheduledGate == nil || s.Arrival.Times.ScheduledGate == nil || s.Status.Phase != flight.PhaseArrived {
			t.Errorf("times %+v, %+v; %s", s.Departure.Times, s.Arrival.Times, s.Status.Phase)
		}
	})
	t.Run("MP6022 is cargo", func(t *testing.T) {
		s := look(t, answers["MP6022"], "MP", "6022", "2015-04-29")[0]
		if s.Departure.Gate+s.Departure.Terminal+s.Arrival.Gate+s.Arrival.Terminal+s.Arrival.Baggage != "" {
			t.Error("it has airport resources")
		}
		if s.Departure.DelayMinutes != nil {
			t.Errorf("delay %d: the bases were mixed", *s.Departure.DelayMinutes)
		}
		if s.Departure.BestTimeUTC.String() != "2015-04-29T14:05:00.000Z" {
			t.Errorf("best time %v", s.Departure.BestTimeUTC)
		}
		want := flight.EquipmentInfo{IATA: "M1F", Name: "Boeing (Douglas) MD-11 Freighter", Source: "scheduled"}
		if s.Equipment != want {
			t.Errorf("equipment %+v", s.Equipment)
		}
	})
}

// TestAskedNumber has one flight asked for by its several numbers.
func TestAskedNumber(t *testing.T) {
	answers := recordings(t)
	for _, tt := range []struct {
		record, carrier, number, date  string
		key, name, operator, codeshare string
	}{
		{"AA1113", "AA", "1113", "2015-04-29", "AA1113:2015-04-29", "American Airlines", "", "AS1359 EY3105 MH9348 US1113"},
		{"AA1113", "AAL", "1113", "2015-04-29", "AA1113:2015-04-29", "American Airlines", "", "AS1359 EY3105 MH9348 US1113"},
		{"AA1113", "ETD", "3105", "2015-04-29", "EY3105:2015-04-29", "Etihad Airways", "American Airlines", "AA1113 AS1359 MH9348 US1113"},
		{"AA1113", "US", "1113", "2015-04-29", "US1113:2015-04-29", "US Airways", "American Airlines", "AA1113 AS1359 EY3105 MH9348"},
		{"EV5870", "EV", "5870", "2015-04-29", "EV5870:2015-04-29", "ExpressJet", "", "UA5870"},
		{"EV5870", "UA", "5870", "2015-04-29", "UA5870:2015-04-29", "United Airlines", "ExpressJet", ""},
	} {
		s := look(t, answers[tt.record], tt.carrier, tt.number, tt.date)[0]
		var shared []string
		for _, c := range s.Codeshares {
			if c.Name == "" {
				t.Errorf("%s%s: %+v has no name", tt.carrier, tt.number, c)
			}
			shared = append(shared, c.Carrier+c.FlightNumber)
		}
		if s.FlightKey != tt.key || s.Carrier.Name != tt.name || s.OperatedBy != tt.operator || strings.Join(shared, " ") != tt.codeshare {
			t.Errorf("asked for %s%s: %s of %q by %q, codeshares %v; want %+v", tt.carrier, tt.number, s.FlightKey, s.Carrier.Name, s.OperatedBy, shared, tt)
		}
	}
}

// TestRecordedComplete checks on every record what a snapshot must have.
func TestRecordedComplete(t *testing.T) {
	answers := recordings(t)
	for _, tt := range recorded {
		s := look(t, answers[tt.record], tt.carrier, tt.number, tt.date)[0]
		ends := []*flight.Endpoint{&s.Departure, &s.Arrival}
		if s.Diverted != nil {
			ends = append(ends, s.Diverted)
		}
		for _, e := range ends {
			a := e.Airport
			if a.IATA == "" || a.ICAO == "" || a.Code == "" || a.Name == "" || a.Timezone == "" ||
				len(a.Country.Code) != 2 || a.Country.Name == "" || a.Country.Emoji == "" || !strings.HasPrefix(a.Country.FlagSVG, flagBase) {
				t.Errorf("%s: airport %+v", tt.record, a)
			}
		}
		if s.FetchedAt != worldNow || s.Fingerprint == "" || s.ProviderFlightID == "" || s.Equipment.IATA == "" || s.Equipment.Name == "" || s.Duration.ScheduledMinutes == nil {
			t.Errorf("%s: %+v", tt.record, s)
		}
		if len(s.Alternates) != 1 || !s.Alternates[0].Selected || s.Alternates[0].ProviderFlightID != s.ProviderFlightID {
			t.Errorf("%s: alternates %+v", tt.record, s.Alternates)
		}
		if _, err := time.Parse(localLayout, s.Departure.Times.ScheduledGate.Local); err != nil {
			t.Errorf("%s: %v", tt.record, err)
		}
	}
}
