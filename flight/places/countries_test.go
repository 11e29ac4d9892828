package places

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/flightwire/flightwire/flight"
)

// iso3166 is the standard's list, written down apart from the table.
const iso3166 = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT
MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ
UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`

func TestCountriesAreISO3166(t *testing.T) {
	want := strings.Fields(iso3166)
	got := Countries()
	if len(got) != 249 || !slices.Equal(got, want) {
		t.Errorf("%d codes:\n%v\nwant %d:\n%v", len(got), got, len(want), want)
	}
	got[0] = "ZZ"
	if Countries()[0] != "AD" {
		t.Error("the caller's slice is the table's")
	}
}

// x/text has CLDR's names as of 2017. Where ours differ, the country has a new
// name or CLDR's default is not the plain one.
func TestCountryNamesAgainstCLDR(t *testing.T) {
	differ := map[string]string{
		"CZ": "Czechia", "HK": "Hong Kong", "MK": "North Macedonia", "MM": "Myanmar", "MO": "Macao",
		"PS": "Palestine", "SZ": "Eswatini", "TR": "Türkiye",
	}
	english := display.English.Regions()
	for _, code := range Countries() {
		c, ok := FindCountry(strings.ToLower(code))
		if !ok || c.Code != code {
			t.Errorf("%s: %+v, %v", code, c, ok)
		}
		want := differ[code]
		if want == "" {
			want = english.Name(language.MustParseRegion(code))
		}
		if c.Name != want {
			t.Errorf("%s is %q, want %q", code, c.Name, want)
		}
	}
}

func TestFindCountryRefuses(t *testing.T) {
	for _, code := range []string{"", "X", "XK", "EU", "UK", "ZZ", "USA", "U*", "Ü"} {
		if c, ok := FindCountry(code); ok {
			t.Errorf("%q found %+v", code, c)
		}
	}
}

func TestCountryRef(t *testing.T) {
	ref := func(code, name, emoji, file string) flight.CountryRef {
		return flight.CountryRef{
			Code: code, Name: name, Emoji: emoji,
			FlagSVG:       "http://localhost:8080/v1/flags/" + file + ".svg",
			FlagSVGSquare: "http://localhost:8080/v1/flags/" + file + ".svg?shape=1x1",
		}
	}
	for _, c := range []struct {
		code string
		want flight.CountryRef
	}{
		{"us", ref("US", "United States", "🇺🇸", "us")},
		{"CI", ref("CI", "Côte d’Ivoire", "🇨🇮", "ci")},
		{"xk", ref("XK", "Kosovo", "🇽🇰", "xk")},
		{"zz", ref("ZZ", "Unknown", "🇿🇿", "zz")},
		{"qq", ref("QQ", "QQ", "🇶🇶", "qq")},
		{"u*", flight.CountryRef{Code: "U*", Name: "U*"}},
		{"", flight.CountryRef{}},
	} {
		for _, base := range []string{"http://localhost:8080", "http://localhost:8080/"} {
			if got := CountryRef(c.code, base); got != c.want {
				t.Errorf("%q: got %+v, want %+v", c.code, got, c.want)
			}
		}
	}
}

func BenchmarkCountryRef(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		CountryRef("de", "https://fw.example")
	}
}
