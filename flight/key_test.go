package flight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

func faults(v flight.Invalid) string {
	var names []string
	for _, f := range v {
		names = append(names, f.Field)
	}
	return strings.Join(names, " ")
}

func TestParseKey(t *testing.T) {
	const day = "2026-03-10"
	for _, c := range []struct{ carrier, number, date, want, faults string }{
		{"AA", "100", day, "AA100:" + day, ""},
		{"aa", "100", day, "AA100:" + day, ""},
		{" aAl ", "100", day, "AAL100:" + day, ""},
		{"U2", "7", day, "U27:" + day, ""},
		{"9W", "1", day, "9W1:" + day, ""},
		{"RV*", "1806", day, "RV*1806:" + day, ""},
		{"GCS", "401", day, "GCS401:" + day, ""},
		{"AA", "0100", day, "AA100:" + day, ""},
		{"AA", "0001", day, "AA1:" + day, ""},
		{"AA", "0", day, "AA0:" + day, ""},
		{"AA", "100a", day, "AA100A:" + day, ""},
		{"AA", "0012D", day, "AA12D:" + day, ""},
		{"AA", " 100 ", " " + day + " ", "AA100:" + day, ""},
		{"AA", "100", "2028-02-29", "AA100:2028-02-29", ""},

		{"", "100", day, "", "carrier"},
		{"A", "100", day, "", "carrier"},
		{"AALX", "100", day, "", "carrier"},
		{"A*", "100", day, "", "carrier"},
		{"**", "100", day, "", "carrier"},
		{"A-A", "100", day, "", "carrier"},
		{"ÄA", "100", day, "", "carrier"},
		{"AA", "", day, "", "flightNumber"},
		{"AA", "A", day, "", "flightNumber"},
		{"AA", "12345", day, "", "flightNumber"},
		{"AA", "00100", day, "", "flightNumber"},
		{"AA", "1AB", day, "", "flightNumber"},
		{"AA", "1 0", day, "", "flightNumber"},
		{"AA", "-1", day, "", "flightNumber"},
		{"AA", "١", day, "", "flightNumber"},
		{"AA", "100", "", "", "date"},
		{"AA", "100", "2026-3-10", "", "date"},
		{"AA", "100", "10.03.2026", "", "date"},
		{"AA", "100", "2026-02-30", "", "date"},
		{"AA", "100", "2027-02-29", "", "date"},
		{"AA", "100", "2026-03-10T00:00:00Z", "", "date"},
		{"AA", "100", "1969-12-31", "", "date"},
		{"AA", "100", "2200-01-01", "", "date"},
		{"?", "?", "?", "", "carrier flightNumber date"},
	} {
		var v flight.Invalid
		key := flight.ParseKey(&v, c.carrier, c.number, c.date)
		if got := faults(v); got != c.faults || (got == "" && key.String() != c.want) {
			t.Errorf("%q %q %q: %s, faults %q; want %s, %q", c.carrier, c.number, c.date, key, got, c.want, c.faults)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"AA 100 2026-03-10", "ba 0042a 2028-02-29", "rv* 1 2026-12-31", "ſs 0 2026-02-30", "\x00 é 9999-99-99"} {
		p := strings.SplitN(s, " ", 3)
		f.Add(p[0], p[1], p[2])
	}
	f.Fuzz(func(t *testing.T, carrier, number, date string) {
		var v flight.Invalid
		key := flight.ParseKey(&v, carrier, number, date)
		if v.Err() != nil {
			return
		}
		var again flight.Invalid
		if got := flight.ParseKey(&again, key.Carrier, key.Number, key.Date); got != key || again.Err() != nil {
			t.Errorf("%q %q %q becomes %+v, which becomes %+v, %v", carrier, number, date, key, got, again)
		}
		if len(key.Number) > 1 && key.Number[0] == '0' && key.Number[1] != '0' && key.Number[1] <= '9' {
			t.Errorf("a leading zero in %+v", key)
		}
		for _, c := range key.String() {
			if c <= ' ' || c > '~' || c >= 'a' && c <= 'z' {
				t.Errorf("%q in the normal form %s", c, key)
			}
		}
	})
}

func TestParseSelector(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, c := range []struct {
		origin, destination, id string
		want                    flight.Selector
		faults                  string
	}{
		{"", "", "", flight.Selector{}, ""},
		{"jfk", " lhr ", " 12345 ", flight.Selector{Origin: "JFK", Destination: "LHR", FlightID: "12345"}, ""},
		{"KJFK", "", "AAL100-1234567890-schedule-0001:0", flight.Selector{Origin: "KJFK", FlightID: "AAL100-1234567890-schedule-0001:0"}, ""},
		{"", "", long, flight.Selector{FlightID: long}, ""},
		{"J", "", "", flight.Selector{}, "origin"},
		{"JFKJFK", "", "", flight.Selector{}, "origin"},
		{"J K", "", "", flight.Selector{}, "origin"},
		{"", "L-R", "", flight.Selector{}, "destination"},
		{"", "", long + "x", flight.Selector{}, "flightId"},
		{"", "", "a b", flight.Selector{}, "flightId"},
		{"", "", "é", flight.Selector{}, "flightId"},
		{"?", "?", "a\x00b", flight.Selector{}, "origin destination flightId"},
	} {
		var v flight.Invalid
		got := flight.ParseSelector(&v, c.origin, c.destination, c.id)
		if faults(v) != c.faults || (c.faults == "" && got != c.want) {
			t.Errorf("%q %q %q: %+v, faults %q; want %q", c.origin, c.destination, c.id, got, faults(v), c.faults)
		}
	}
}

func TestInvalidNamesEveryFault(t *testing.T) {
	var v flight.Invalid
	if v.Err() != nil {
		t.Error("no fault is an error")
	}
	flight.ParseKey(&v, "", "", "2026-03-10")
	e, ok := v.Err().(*flight.Error)
	if !ok || e.Code != flight.CodeInvalid || len(e.Fields) != 2 {
		t.Fatalf("%#v", v.Err())
	}
	if want := "carrier: must be an airline's IATA or ICAO code, such as AA or AAL (and 1 more, see fields)"; e.Message != want {
		t.Errorf("message %q", e.Message)
	}
	if !slices.Equal(e.Fields, v) {
		t.Errorf("fields %+v", e.Fields)
	}
}

func TestCheckAhead(t *testing.T) {
	for _, c := range []struct {
		date, now string
		ok        bool
	}{
		{"2026-03-10", "2026-03-10 12:00", true},
		{"2020-01-01", "2026-03-10 12:00", true}, // the past is another rule's
		{"2027-03-10", "2026-03-10 00:00", true},
		{"2027-03-11", "2026-03-10 23:59", false},
		{"2027-03-11", "2026-03-11 00:00", true},
		{"2027-03-12", "2026-03-10 12:00", false},
		{"2030-01-01", "2026-03-10 12:00", false},
	} {
		var v flight.Invalid
		flight.CheckAhead(&v, c.date, utc(c.now))
		if (len(v) == 0) != c.ok {
			t.Errorf("%s at %s: %v", c.date, c.now, v)
		}
	}
}

func TestDateEndedEverywhere(t *testing.T) {
	for now, want := range map[string]bool{
		"2026-03-10 00:00": false, "2026-03-11 00:00": false, // over in UTC
		"2026-03-11 11:59:59.999": false, "2026-03-11 12:00": true, // over in UTC-12
		"2026-03-12 00:00": true,
	} {
		if got := flight.DateEndedEverywhere("2026-03-10", utc(now)); got != want {
			t.Errorf("at %s: %v", now, got)
		}
	}
}

func TestKeyForms(t *testing.T) {
	k := flight.Key{Carrier: "AA", Number: "100", Date: "2026-03-10"}
	if got := k.Leg("JFK", "LHR"); got != "AA100:2026-03-10@JFK-LHR" {
		t.Error(got)
	}
	if got := k.Leg("JFK", ""); got != "AA100:2026-03-10" {
		t.Error(got)
	}
	s := base()
	if s.Key() != k || s.FlightKey != k.String() || s.LegKey() != "AA100:2026-03-10@JFK-LHR" {
		t.Errorf("%v %s %s", s.Key(), s.FlightKey, s.LegKey())
	}
	if err := flight.NotFound(k); err.Code != flight.CodeFlightNotFound || !strings.HasPrefix(err.Message, "No flight AA100 departs on 2026-03-10.") {
		t.Errorf("%v", err)
	}
}
