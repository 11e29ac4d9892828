package flight_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"pgregory.net/rapid"
)

// TestSnapshotJSON holds the wire form of a snapshot with every field and of
// one with the required fields alone.
func TestSnapshotJSON(t *testing.T) {
	for name, s := range map[string]*flight.Snapshot{"snapshot_full.json": full(), "snapshot_least.json": least()} {
		var out bytes.Buffer
		if err := json.Indent(&out, s.Encode(), "", "  "); err != nil {
			t.Fatal(err)
		}
		golden(t, name, append(out.Bytes(), '\n'))
	}
}

func least() *flight.Snapshot {
	s := &flight.Snapshot{
		CarrierCode: "RV*", FlightNumber: "1", Date: "2026-03-10", FetchedAt: utc("2026-03-10 12:00"),
		Carrier:   flight.CarrierRef{IATA: "RV*", Name: "Reeve"},
		Departure: flight.Endpoint{Airport: flight.AirportRef{IATA: "JFK", Name: "JFK"}},
		Arrival:   flight.Endpoint{Airport: flight.AirportRef{IATA: "LHR", Name: "LHR"}},
		Status:    flight.StatusInfo{Code: flight.StatusUnknown, Phase: flight.PhaseUnknown},
		Timeline:  []flight.TimelineEntry{{OccurredAt: utc("2026-03-10 11:00"), Title: "Seen"}},
	}
	s.Complete()
	return s
}

// contractFields are the tables of the contract, written out: the required
// fields of each object before the bar, the optional ones after it.
var contractFields = map[string][2][]string{
	"": {{"flightKey", "carrierCode", "flightNumber", "date", "fetchedAt", "carrier", "codeshares", "departure", "arrival", "status", "equipment", "duration", "timeline", "alternates", "fingerprint"},
		{"providerFlightId", "operatedBy", "diverted"}},
	"carrier":                       {{"iata", "name"}, {"icao"}},
	"codeshares.0":                  {{"carrier", "name", "flightNumber"}, nil},
	"departure":                     {{"airport", "times"}, {"terminal", "gate", "bestTimeUtc", "delayMinutes"}},
	"arrival":                       {{"airport", "times"}, {"terminal", "gate", "baggage", "bestTimeUtc", "!delayMinutes"}},
	"diverted":                      {{"airport", "times"}, {"terminal", "gate", "baggage", "bestTimeUtc", "delayMinutes"}},
	"departure.airport":             {{"iata", "name", "country"}, {"icao", "code", "city", "state", "timezone"}},
	"departure.airport.country":     {{"code", "name", "emoji", "flagSvg", "flagSvgSquare"}, nil},
	"departure.times":               {nil, {"scheduledGate", "estimatedGate", "actualGate", "scheduledRunway", "estimatedRunway", "actualRunway"}},
	"departure.times.scheduledGate": {{"utc"}, {"local", "timezone"}},
	"status":                        {{"code", "label", "phase", "delayed", "cancelled", "diverted"}, {"description", "color", "departureGateDelayMinutes", "!arrivalGateDelayMinutes"}},
	"equipment":                     {nil, {"tailNumber", "iata", "name", "source"}},
	"duration":                      {nil, {"scheduledMinutes", "estimatedMinutes", "actualMinutes"}},
	"timeline.0":                    {{"occurredAt", "title", "events"}, {"source"}},
	"alternates.0":                  {{"departureIata", "arrivalIata", "selected"}, {"providerFlightId", "carrier", "scheduledDepartureLocal", "scheduledArrivalLocal"}},
}

// TestSnapshotFields: a full snapshot has every field of the contract and no
// other; the least has every required one and, but for the colour that follows
// from the code, no optional one. A diverted flight has no arrival delay, so
// those (marked !) are looked for in a flight that arrives.
func TestSnapshotFields(t *testing.T) {
	most := decodeAny(t, full().Encode())
	little := decodeAny(t, least().Encode())
	arriving := decodeAny(t, with(full(), status(flight.StatusActive, flight.PhaseEnRoute)).Encode())
	for path, f := range contractFields {
		object, _ := at(most, path).(map[string]any)
		want := map[string]bool{}
		for i, names := range f {
			for _, name := range names {
				from := object
				if name[0] == '!' {
					name = name[1:]
					from, _ = at(arriving, path).(map[string]any)
					if object[name] != nil {
						t.Errorf("%s.%s of a diverted flight: %v", path, name, object[name])
					}
				}
				want[name] = true
				if v, ok := from[name]; !ok || v == nil {
					t.Errorf("%s.%s is missing", path, name)
				}
				small, ok := at(little, path).(map[string]any)
				if !ok {
					continue
				}
				v, has := small[name]
				if i == 0 && (!has || v == nil) {
					t.Errorf("%s.%s is required and missing where it is unknown", path, name)
				}
				if i == 1 && has && name != "color" {
					t.Errorf("%s.%s is unknown and not left out: %v", path, name, v)
				}
			}
		}
		for name := range object {
			if !want[name] {
				t.Errorf("%s.%s is not in the contract", path, name)
			}
		}
	}
}

func decodeAny(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at follows a path of names and the index 0.
func at(v any, path string) any {
	for path != "" {
		name, rest := path, ""
		for i := range path {
			if path[i] == '.' {
				name, rest = path[:i], path[i+1:]
				break
			}
		}
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			if len(x) == 0 {
				return nil
			}
			v = x[0]
		}
		path = rest
	}
	return v
}

func TestEncodeAndDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots().Draw(t, "s")
		b := s.Encode()
		if &b[0] != &s.Encode()[0] {
			t.Fatal("encoded twice")
		}
		back, err := flight.DecodeSnapshot(b)
		if err != nil {
			t.Fatal(err)
		}
		if changes := flight.Diff(s, back); changes != nil || back.Fingerprint != s.Fingerprint {
			t.Fatalf("decoded differs: %+v", changes)
		}
		again := *back
		again.Complete() // forgets the bytes that were read
		if got := again.Encode(); !bytes.Equal(got, b) {
			t.Fatalf("encoded again:\n got %s\nwant %s", got, b)
		}
		if !flight.SameContent(s, back) {
			t.Fatal("not the same content")
		}
	})
}

func TestDecodeSnapshotRefuses(t *testing.T) {
	for _, text := range []string{``, `{`, `[]`, `"x"`, `{"fetchedAt":"soon"}`, `{"date":7}`} {
		if s, err := flight.DecodeSnapshot([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, s)
		}
	}
}

// TestMarshalIsEncode: inside another object a snapshot is the same bytes.
func TestMarshalIsEncode(t *testing.T) {
	s := full()
	got := encoded(t, map[string]any{"flight": s})
	if want := `{"flight":` + string(s.Encode()) + `}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestFetchedAgain(t *testing.T) {
	for name, s := range map[string]*flight.Snapshot{"encoded": full(), "not encoded": full(), "never fetched": with(full(), func(s *flight.Snapshot) { s.FetchedAt = 0 })} {
		// A text that looks like the field must not be taken for it.
		s.Carrier.Name, s.OperatedBy = `"fetchedAt":"2000-01-01T00:00:00.000Z"`, `\"fetchedAt\":\"`
		s.Complete()
		if name != "not encoded" {
			s.Encode()
		}
		was := s.FetchedAt
		for _, later := range []flight.Time{plus(utc("2026-03-11 03:04:05.006"), time.Minute), 0, utc("2026-03-11 03:04:05.006")} {
			again := s.FetchedAgain(later)
			want := with(s, func(s *flight.Snapshot) { s.FetchedAt = later })
			if again.FetchedAt != later || !bytes.Equal(again.Encode(), want.Encode()) {
				t.Errorf("%s: fetched again at %q:\n got %s\nwant %s", name, later, again.Encode(), want.Encode())
			}
			if !flight.SameContent(s, again) || again.Fingerprint != s.Fingerprint {
				t.Errorf("%s: fetched again at %q, it is not the same", name, later)
			}
			if s.FetchedAt != was || !bytes.Contains(s.Encode(), []byte(encoded(t, was))) {
				t.Errorf("%s: the first one has changed", name)
			}
		}
		if s.FetchedAgain(s.FetchedAt) != s {
			t.Errorf("%s: fetched at the same time, it is another", name)
		}
	}
}

func TestSameContent(t *testing.T) {
	s := full()
	for name, edit := range map[string]func(*flight.Snapshot){
		"a watched field":      func(s *flight.Snapshot) { s.Departure.Gate = "B13" },
		"seconds of a time":    func(s *flight.Snapshot) { s.Departure.Times.ActualGate.UTC += 1000 },
		"an unwatched field":   func(s *flight.Snapshot) { s.Equipment.Name = "Boeing" },
		"the timeline":         func(s *flight.Snapshot) { s.Timeline = s.Timeline[1:] },
		"the alternates":       func(s *flight.Snapshot) { s.Alternates = nil },
		"the provider's id":    func(s *flight.Snapshot) { s.ProviderFlightID = "1" },
		"an unwatched runway":  func(s *flight.Snapshot) { s.Departure.Times.ActualRunway = nil },
		"the diversion's gate": func(s *flight.Snapshot) { s.Diverted.Gate = "5" },
	} {
		other := with(s, edit, func(s *flight.Snapshot) { s.FetchedAt += 1000 })
		if flight.SameContent(s, other) || flight.SameContent(other, s) {
			t.Errorf("%s differs, and the content is the same", name)
		}
	}
	if !flight.SameContent(s, with(s)) || !flight.SameContent(s, s) {
		t.Error("a copy is not the same")
	}
	elsewhere := func(s *flight.Snapshot) {
		for _, e := range []*flight.Endpoint{&s.Departure, &s.Arrival, s.Diverted} {
			e.Airport.Country.FlagSVG, e.Airport.Country.FlagSVGSquare = "http://elsewhere/f.svg", "http://elsewhere/f.svg?shape=1x1"
		}
	}
	other := with(s, elsewhere)
	if !flight.SameContent(s, other) || !flight.SameContent(other, s) {
		t.Error("another process has other content")
	}
	if other.Departure.Airport.Country.FlagSVG != "http://elsewhere/f.svg" || other.Diverted.Airport.Country.FlagSVG != "http://elsewhere/f.svg" {
		t.Error("to compare snapshots changed one")
	}
	other = with(other, func(s *flight.Snapshot) { s.Diverted.Airport.Country.Code = "FR" })
	if flight.SameContent(s, other) || flight.SameContent(other, s) {
		t.Error("another country is the same")
	}
}
