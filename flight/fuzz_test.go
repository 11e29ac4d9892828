package flight_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// A selector that passes is in normal form: brought into it again it stays as
// it is, and nothing in it can be taken for something else.
func FuzzParseSelector(f *testing.F) {
	for _, s := range []string{"JFK LHR 1140427131", "kjfk egll leg-1", "ＪＦＫ LHR 1", "\x00 é \x7f", "A ABCDEF " + strings.Repeat("x", 129), "ſſ ıı K"} {
		p := strings.SplitN(s, " ", 3)
		f.Add(p[0], p[1], p[2])
	}
	f.Add(" jfk ", "", "\t1\n")
	f.Fuzz(func(t *testing.T, origin, destination, id string) {
		var v flight.Invalid
		s := flight.ParseSelector(&v, origin, destination, id)
		if v.Err() != nil {
			if len(v) > 3 {
				t.Errorf("%d faults of three fields", len(v))
			}
			return
		}
		var again flight.Invalid
		if got := flight.ParseSelector(&again, s.Origin, s.Destination, s.FlightID); got != s || again.Err() != nil {
			t.Errorf("%q %q %q becomes %+v, which becomes %+v, %v", origin, destination, id, s, got, again)
		}
		if len(s.Origin) > 5 || len(s.Destination) > 5 || len(s.FlightID) > 128 {
			t.Errorf("unbounded: %+v", s)
		}
		for _, c := range s.Origin + s.Destination + s.FlightID {
			if c <= ' ' || c > '~' {
				t.Errorf("%q in the normal form %+v", c, s)
			}
		}
	})
}

// Whatever is read as a time is written in the contract's form, and read from
// there as the same moment, in JSON as in GraphQL.
func FuzzTime(f *testing.F) {
	for _, s := range []string{
		`"2026-03-10T14:35:00.000Z"`, `"2026-03-10T14:35:00+05:30"`, `"2026-03-10t14:35:00z"`, `"2026-02-30T00:00:00Z"`, `null`, `0`, `""`,
		`"1970-01-01T00:00:00Z"`, `"0000-01-01T00:00:00+23:59"`, `"9999-12-31T23:59:59.999999999-23:59"`, `"2026-03-10T24:00:00Z"`, `"2026-03-10T14:35:60Z"`, `"0001-01-01T00:00:00Z"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var at flight.Time
		if !json.Valid(text) || at.UnmarshalJSON(text) != nil {
			return
		}
		written, err := at.MarshalJSON()
		if err != nil || !json.Valid(written) {
			t.Fatalf("%s is written as %s, %v", text, written, err)
		}
		var again flight.Time
		if err := again.UnmarshalJSON(written); err != nil || again != at {
			t.Errorf("%s is %d, written as %s, which is %d, %v", text, at, written, again, err)
		}
		if len(written) != len(`"2026-03-10T14:35:00.000Z"`) && at.Known() {
			t.Errorf("%s is written as %s", text, written)
		}
		var s string
		var graphQL flight.Time
		if json.Unmarshal(text, &s) == nil && s != "" && (graphQL.UnmarshalGQL(s) != nil || graphQL != at) {
			t.Errorf("%s is %d in JSON and %d in GraphQL", text, at, graphQL)
		}
	})
}
