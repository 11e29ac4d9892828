package places

import (
	"encoding/csv"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// Every row, read with encoding/csv, must be what the look-ups return.
func TestAirportsAgainstTheFile(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(airportsCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const header = "iata,icao,local,name,city,region,state,country,tz,lat,lon"
	if got := strings.Join(records[0], ","); got != header {
		t.Fatalf("header %s, want %s", got, header)
	}
	records = records[1:]
	if len(records) != 7884 {
		t.Errorf("%d airports, want 7884", len(records))
	}
	for i, r := range records {
		lat, latErr := strconv.ParseFloat(r[9], 64)
		lon, lonErr := strconv.ParseFloat(r[10], 64)
		if latErr != nil || lonErr != nil {
			t.Fatalf("%s: %v, %v", r[0], latErr, lonErr)
		}
		want := Airport{
			IATA: r[0], ICAO: r[1], Local: r[2], Name: r[3], City: r[4], Region: r[5], State: r[6],
			Country: r[7], Timezone: r[8], Lat: lat, Lon: lon,
		}
		byIATA, ok1 := AirportByIATA(r[0])
		if !ok1 || byIATA != want {
			t.Fatalf("row %d: got %+v, want %+v", i+2, byIATA, want)
		}
		if byICAO, ok := AirportByICAO(strings.ToLower(r[1])); ok != (r[1] != "") || ok && byICAO != want {
			t.Fatalf("row %d: by ICAO %+v, %v, want %+v", i+2, byICAO, ok, want)
		}
		if byLocal, ok := FindAirport(strings.ToLower(r[2])); ok != (r[2] != "") || ok && (byLocal != want || r[1] != "") {
			t.Fatalf("row %d: by local code %+v, %v, want %+v", i+2, byLocal, ok, want)
		}
		if _, ok := AirportByICAO(r[2]); ok {
			t.Errorf("%s is no ICAO code", r[2])
		}
		if i > 0 && records[i-1][0] >= r[0] {
			t.Errorf("%s is out of order", r[0])
		}
	}
	i := 0
	for a := range Airports() {
		if i == len(records) || a.IATA != records[i][0] || a.ICAO != records[i][1] {
			t.Fatalf("Airports yields %s as number %d", a.IATA, i)
		}
		i++
	}
	if i != len(records) {
		t.Errorf("Airports yields %d, want %d", i, len(records))
	}
}

func TestEveryAirportIsUsable(t *testing.T) {
	iata, icao := regexp.MustCompile(`^[A-Z]{3}$`), regexp.MustCompile(`^([A-Z]{4})?$`)
	for a := range Airports() {
		if !iata.MatchString(a.IATA) || !icao.MatchString(a.ICAO) || a.Name == "" {
			t.Errorf("%+v lacks a code or its name", a)
		}
		if math.Abs(a.Lat) > 90 || math.Abs(a.Lon) > 180 || (a.Lat == 0 && a.Lon == 0) {
			t.Errorf("%s lies at %v, %v", a.IATA, a.Lat, a.Lon)
		}
		if _, err := Location(a.Timezone); err != nil {
			t.Errorf("%s: %v", a.IATA, err)
		}
		c := CountryRef(a.Country, "")
		if c.Name == "" || c.Name == c.Code || c.Emoji == "" {
			t.Errorf("%s: country %+v", a.IATA, c)
		}
		if _, ok := FindCountry(a.Country); !ok && a.Country != "XK" {
			t.Errorf("%s: no country %s", a.IATA, a.Country)
		}
		if hasCode := a.Country == "US" || a.Country == "CA"; hasCode != (len(a.State) == 2) {
			t.Errorf("%s: state %q in %s, %s", a.IATA, a.State, a.Region, a.Country)
		}
	}
}

func TestFindAirport(t *testing.T) {
	for _, c := range []struct{ code, iata, icao, city, state, country, tz string }{
		{"JFK", "JFK", "KJFK", "New York", "NY", "US", "America/New_York"},
		{"kjfk", "JFK", "KJFK", "New York", "NY", "US", "America/New_York"},
		{"JaX", "JAX", "KJAX", "Jacksonville", "FL", "US", "America/New_York"},
		{"YOW", "YOW", "CYOW", "Ottawa", "ON", "CA", "America/Toronto"},
		{"LHR", "LHR", "EGLL", "London", "", "GB", "Europe/London"},
		{"SJO", "SJO", "MROC", "San Jose", "", "CR", "America/Costa_Rica"},
		{"SJU", "SJU", "TJSJ", "San Juan", "", "PR", "America/Puerto_Rico"},
		{"STT", "STT", "TIST", "Charlotte Amalie", "", "VI", "America/St_Thomas"},
		{"DCA", "DCA", "KDCA", "Washington", "DC", "US", "America/New_York"},
		{"HNL", "HNL", "PHNL", "Honolulu", "HI", "US", "Pacific/Honolulu"},
		{"DEL", "DEL", "VIDP", "New Delhi", "", "IN", "Asia/Kolkata"},
	} {
		a, ok := FindAirport(c.code)
		if !ok || a.IATA != c.iata || a.ICAO != c.icao || a.City != c.city ||
			a.State != c.state || a.Country != c.country || a.Timezone != c.tz {
			t.Errorf("%s: %+v, %v", c.code, a, ok)
		}
	}
	for _, code := range []string{"", "J", "JF", "QQQ", "QQQQ", "KJFKX", "J K", "JFK ", "ÄÖ"} {
		if a, ok := FindAirport(code); ok {
			t.Errorf("%q found %+v", code, a)
		}
	}
	if _, ok := AirportByIATA("KJFK"); ok {
		t.Error("AirportByIATA takes an ICAO code")
	}
	if _, ok := AirportByICAO("JFK"); ok {
		t.Error("AirportByICAO takes an IATA code")
	}
}

func TestAirportRef(t *testing.T) {
	a, _ := FindAirport("JAX")
	want := flight.AirportRef{
		IATA: "JAX", ICAO: "KJAX", Name: "Jacksonville International Airport", City: "Jacksonville", State: "FL",
		Country: flight.CountryRef{
			Code: "US", Name: "United States", Emoji: "🇺🇸",
			FlagSVG:       "https://fw.example/v1/flags/us.svg",
			FlagSVGSquare: "https://fw.example/v1/flags/us.svg?shape=1x1",
		},
		Timezone: "America/New_York",
	}
	if got := a.Ref("https://fw.example"); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := (Airport{ICAO: "EDXX"}).Ref(""); got.IATA != "EDXX" || got.Country != (flight.CountryRef{}) {
		t.Errorf("without IATA and country: %+v", got)
	}
	prn, _ := FindAirport("PRN")
	if c := prn.Ref("").Country; c.Code != "XK" || c.Name != "Kosovo" || c.FlagSVG != "/v1/flags/xk.svg" {
		t.Errorf("Pristina lies in %+v", c)
	}
}

func TestGreatCircleKm(t *testing.T) {
	const mile = 1.609344
	// Distances of the US Bureau of Transportation Statistics, in miles.
	for _, c := range []struct {
		from, to string
		miles    float64
	}{
		{"JFK", "LAX", 2475}, {"EWR", "HNL", 4963}, {"LGA", "BOS", 184}, {"JFK", "SJU", 1598},
		{"EWR", "IAH", 1400}, {"JFK", "SEA", 2422}, {"EWR", "ORD", 719},
	} {
		a, ok1 := FindAirport(c.from)
		b, ok2 := FindAirport(c.to)
		if !ok1 || !ok2 {
			t.Fatalf("%s or %s not found", c.from, c.to)
		}
		got := GreatCircleKm(a, b)
		if math.Abs(got-c.miles*mile) > 0.005*c.miles*mile+2 {
			t.Errorf("%s-%s: %.0f km, want about %.0f", c.from, c.to, got, c.miles*mile)
		}
		if back := GreatCircleKm(b, a); math.Abs(back-got) > 1e-6 {
			t.Errorf("%s-%s: %v there and %v back", c.from, c.to, got, back)
		}
	}
	half := math.Pi * earthRadiusKm
	if got := GreatCircleKm(Airport{Lat: 30, Lon: 10}, Airport{Lat: -30, Lon: -170}); math.Abs(got-half) > 1 {
		t.Errorf("antipodes: %v km, want %v", got, half)
	}
	if got := GreatCircleKm(Airport{Lat: 5, Lon: 179.5}, Airport{Lat: 5, Lon: -179.5}); got > 112 {
		t.Errorf("across the date line: %v km", got)
	}
}

func TestFindAirportDoesNotAllocate(t *testing.T) {
	FindAirport("JFK")
	if n := testing.AllocsPerRun(100, func() { FindAirport("egll") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFindAirport(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := FindAirport("egll"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAirportRef(b *testing.B) {
	b.ReportAllocs()
	a, _ := FindAirport("EGLL")
	for b.Loop() {
		a.Ref("https://fw.example")
	}
}
