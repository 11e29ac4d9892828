package aerodatabox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

var look = provider.Look

// board returns the rows of the recorded board of arrivals as an answer by
// number has them, with the board's airport as their destination.
func board(t testing.TB) []map[string]any {
	t.Helper()
	var rows []struct {
		Flight  map[string]any `json:"flight"`
		Airport map[string]any `json:"airport"`
	}
	if err := json.Unmarshal(upstreamtest.Fixture(t, "recorded/fids_DUB_arrivals_2023-08-01.json"), &rows); err != nil {
		t.Fatal(err)
	}
	var flights []map[string]any
	for _, r := range rows {
		r.Flight["arrival"].(map[string]any)["airport"] = r.Airport
		flights = append(flights, r.Flight)
	}
	return flights
}

// registration returns the rows of the recorded answer by registration, with
// the retired names of times.
func registration(t testing.TB) []map[string]any {
	t.Helper()
	var body struct{ Data []map[string]any }
	if err := json.Unmarshal(upstreamtest.Fixture(t, "recorded/legacy_by_registration_PH-BXB_2023-01-10.json"), &body); err != nil {
		t.Fatal(err)
	}
	return body.Data
}

func answer(t testing.TB, rows ...map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each golden file was compared with its rows field by field by hand once.
func TestGolden(t *testing.T) {
	dub, phbxb := answer(t, board(t)...), answer(t, registration(t)...)
	for _, tt := range []struct {
		name, odd, now string
		body           []byte
		carrier        string
		number         string
	}{
		{"FR7157", "arrived an hour and a half late", "2023-08-01 21:10", dub, "FR", "7157"},
		{"BA2107", "a codeshare that is Delayed on the board; the operator's row says Arrived", "2023-08-01 21:10", dub, "BA", "2107"},
		{"FR289", "Delayed on the board and in the air; its departure was never revised", "2023-08-01 21:10", dub, "FR", "289"},
		{"B66829", "a codeshare without any departure time; the operator's row has it", "2023-08-01 21:10", dub, "B6", "6829"},
		{"KQ939", "four numbers, one aircraft", "2023-08-01 21:10", dub, "KQ", "939"},
		{"FR127", "off the runway before its board's departure", "2023-08-01 21:10", dub, "FR", "127"},
		{"GA9768", "a codeshare whose arrival has a name and no time", "2023-01-10 16:00", phbxb, "GA", "9768"},
		{"KL1164", "arrived early; no airline codes", "2023-01-10 16:00", phbxb, "KL", "1164"},
		{"DL9281", "boarding", "2023-01-10 15:10", phbxb, "DL", "9281"},
		{"KL1083", "twelve codeshares, half of them without an arrival", "2023-01-10 16:00", phbxb, "KL", "1083"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			legs := look(t, tt.body, flight.Key{Carrier: tt.carrier, Number: tt.number, Date: tt.now[:10]}, tt.now)
			if len(legs) != 1 {
				t.Fatalf("%d legs", len(legs))
			}
			upstreamtest.CheckRefs(t, legs[0])
			upstreamtest.Golden(t, tt.name, legs[0])
		})
	}
}

// TestRecordedTimes walks every recorded time of every row and looks for it in
// the snapshot of that row's number, in UTC and on the airport's clocks.
func TestRecordedTimes(t *testing.T) {
	checked := 0
	for _, r := range append(board(t), registration(t)...) {
		carrier, number, _ := strings.Cut(r["number"].(string), " ")
		dep := r["departure"].(map[string]any)
		if dep["scheduledTimeUtc"] == nil {
			continue // only with its operator's row is it of any date
		}
		arr := r["arrival"].(map[string]any)
		k := flight.Key{Carrier: carrier, Number: number, Date: dep["scheduledTimeLocal"].(string)[:10]}
		s := look(t, answer(t, r), k, "2023-08-01 23:59")[0]
		for _, e := range []struct {
			end  *flight.Endpoint
			from map[string]any
		}{{&s.Departure, dep}, {&s.Arrival, arr}} {
			for name, to := range map[string]*flight.FlightTime{
				"scheduledTime": e.end.Times.ScheduledGate, "actualTime": e.end.Times.EstimatedGate, "runwayTime": e.end.Times.ActualRunway,
			} {
				utc, ok := e.from[name+"Utc"].(string)
				if !ok {
					if to != nil {
						t.Errorf("%s: %s is %v, which nobody said", k, name, to.UTC)
					}
					continue
				}
				local := strings.Replace(e.from[name+"Local"].(string)[:16], " ", "T", 1) + ":00.000"
				want := strings.Replace(strings.TrimSuffix(utc, "Z"), " ", "T", 1) + ":00.000Z"
				if to == nil || to.UTC.String() != want || to.Local != local || to.Timezone == "" {
					t.Errorf("%s: %s is %+v, want %s, local %s", k, name, to, want, local)
				}
				checked++
			}
		}
	}
	if checked < 270 {
		t.Errorf("only %d times checked", checked)
	}
}

// TestRecordedStatus has the status of every row that tells of a take-off: it
// is in the air or down, whatever the board says.
func TestRecordedStatus(t *testing.T) {
	words := map[string]int{}
	for _, r := range append(board(t), registration(t)...) {
		dep := r["departure"].(map[string]any)
		if dep["runwayTimeUtc"] == nil {
			continue
		}
		carrier, number, _ := strings.Cut(r["number"].(string), " ")
		k := flight.Key{Carrier: carrier, Number: number, Date: dep["scheduledTimeLocal"].(string)[:10]}
		s := look(t, answer(t, r), k, "2023-08-01 23:59")[0]
		word := r["status"].(string)
		want := flight.StatusActive
		if word == "Arrived" {
			want = flight.StatusLanded
		}
		if s.Status.Code != want {
			t.Errorf("%s is %s, the board says %s", k, s.Status.Code, word)
		}
		words[word]++
	}
	if words["Delayed"] < 10 || words["Expected"] < 5 || words["Arrived"] < 4 {
		t.Errorf("%v", words)
	}
}
