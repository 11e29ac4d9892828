package places

import (
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

func TestAirlinesAgainstTheFile(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(airlinesCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(records[0], ","); got != "iata,icao,name" {
		t.Fatalf("header %s", got)
	}
	iata := regexp.MustCompile(`^([A-Z][A-Z0-9]|[0-9][A-Z])?$`)
	icao := regexp.MustCompile(`^[A-Z]{3}$`)
	names := map[string]string{}
	for _, r := range records[1:] {
		want := Airline{IATA: r[0], ICAO: r[1], Name: r[2]}
		if !iata.MatchString(want.IATA) || !icao.MatchString(want.ICAO) ||
			want.Name == "" || want.Name != strings.TrimSpace(want.Name) {
			t.Errorf("bad row %q", r)
		}
		if other := names[want.Name]; other != "" {
			t.Errorf("%s and %s are both %s", other, want.ICAO, want.Name)
		}
		names[want.Name] = want.ICAO
		if got, ok := FindAirline(strings.ToLower(want.ICAO)); !ok || got != want {
			t.Errorf("%s: %+v, %v", want.ICAO, got, ok)
		}
		if want.IATA != "" {
			if got, ok := FindAirline(want.IATA); !ok || got != want {
				t.Errorf("%s: %+v, %v", want.IATA, got, ok)
			}
		}
	}
	if len(records) < 250 {
		t.Errorf("only %d airlines", len(records)-1)
	}
}

// TestMoreAirlines walks the table of smaller airlines: it names nobody whom the
// other one has, and has no IATA code that could have gone to another.
func TestMoreAirlines(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(moreAirlinesCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	icao := regexp.MustCompile(`^[A-Z]{3}$`)
	last := ""
	for _, r := range records[1:] {
		if r[0] != "" || !icao.MatchString(r[1]) || r[1] <= last || r[2] == "" || r[2] != strings.TrimSpace(r[2]) {
			t.Errorf("bad row %q", r)
		}
		last = r[1]
		if got, ok := FindAirline(strings.ToLower(r[1])); !ok || got != (Airline{ICAO: r[1], Name: r[2]}) {
			t.Errorf("%s: %+v, %v", r[1], got, ok)
		}
		if _, ok := airlines().find(r[1]); ok {
			t.Errorf("%s is in both tables", r[1])
		}
	}
	if len(records) < 300 {
		t.Errorf("only %d more airlines", len(records)-1)
	}
}

func TestFindAirline(t *testing.T) {
	for _, c := range []struct{ code, iata, icao, name string }{
		// The carriers of the shipped day of 2013.
		{"9e", "9E", "EDV", "Endeavor Air"}, {"AA", "AA", "AAL", "American Airlines"},
		{"AS", "AS", "ASA", "Alaska Airlines"}, {"B6", "B6", "JBU", "JetBlue Airways"},
		{"DL", "DL", "DAL", "Delta Air Lines"}, {"EV", "EV", "ASQ", "ExpressJet Airlines"},
		{"F9", "F9", "FFT", "Frontier Airlines"}, {"FL", "FL", "TRS", "AirTran Airways"},
		{"HA", "HA", "HAL", "Hawaiian Airlines"}, {"MQ", "MQ", "ENY", "Envoy Air"},
		{"OO", "OO", "SKW", "SkyWest Airlines"}, {"UA", "UA", "UAL", "United Airlines"},
		{"US", "US", "AWE", "US Airways"}, {"VX", "VX", "VRD", "Virgin America"},
		{"WN", "WN", "SWA", "Southwest Airlines"}, {"YV", "YV", "ASH", "Mesa Airlines"},

		{"baw", "BA", "BAW", "British Airways"}, {"u2", "U2", "EZY", "easyJet"},
		{"GEC", "", "GEC", "Lufthansa Cargo"}, {"LH", "LH", "DLH", "Lufthansa"},
		{"RS", "RS", "ASV", "Air Seoul"}, {"SKV", "", "SKV", "Sky Regional Airlines"},
		{"ACP", "", "ACP", "Astral Aviation"},
	} {
		got, ok := FindAirline(c.code)
		if !ok || got != (Airline{IATA: c.iata, ICAO: c.icao, Name: c.name}) {
			t.Errorf("%s: %+v, %v", c.code, got, ok)
		}
	}
	for _, code := range []string{"", "A", "00", "QQQ", "RV*", "BAWX", " BA"} {
		if got, ok := FindAirline(code); ok {
			t.Errorf("%q found %+v", code, got)
		}
	}
}

func TestAirlineRef(t *testing.T) {
	dl, _ := FindAirline("DL")
	if got := dl.Ref(); got != (flight.CarrierRef{IATA: "DL", ICAO: "DAL", Name: "Delta Air Lines"}) {
		t.Errorf("got %+v", got)
	}
	cargo, _ := FindAirline("GEC")
	if got := cargo.Ref(); got != (flight.CarrierRef{IATA: "GEC", ICAO: "GEC", Name: "Lufthansa Cargo"}) {
		t.Errorf("without an IATA code: %+v", got)
	}
}

func BenchmarkFindAirline(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := FindAirline("dl"); !ok {
			b.Fatal("not found")
		}
	}
}
