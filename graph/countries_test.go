package graph

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// withoutAssets makes the tests the same wherever they were built.
func withoutAssets(c *ResolverConfig) {
	c.BaseURL, c.Countries = "https://fw.example", places.NewAtlas(fstest.MapFS{})
}

func TestCountries(t *testing.T) {
	g := sqliteRig(t, withoutAssets)
	list, err := g.r.Query().Countries(g.ctx, "de")
	if err != nil || len(list) != 249 || list[0].Code != "AF" || list[1].Name != "Åland Islands" || list[248].Name != "Zimbabwe" {
		t.Fatalf("%d: %+v, %v", len(list), list, err)
	}
	for _, code := range []string{"sz", "SZ"} {
		c, err := g.r.Query().Country(g.ctx, code, "en-GB")
		if err != nil || *c != (flight.CountryRef{Code: "SZ", Name: "Eswatini", Emoji: "🇸🇿",
			FlagSVG: "https://fw.example/v1/flags/sz.svg", FlagSVGSquare: "https://fw.example/v1/flags/sz.svg?shape=1x1"}) || !slices.Contains(list, *c) {
			t.Errorf("%s: %+v, %v", code, c, err)
		}
	}
}

func TestCountryInput(t *testing.T) {
	g := sqliteRig(t, withoutAssets)
	_, err := g.r.Query().Countries(t.Context(), "en")
	wantCode(t, err, flight.CodeMissingAPIKey)
	_, err = g.r.Query().Country(t.Context(), "IS", "en")
	wantCode(t, err, flight.CodeMissingAPIKey)
	for _, lang := range []string{"", "en_US", "not a tag"} {
		_, err = g.r.Query().Countries(g.ctx, lang)
		wantFields(t, err, "lang")
		_, err = g.r.Query().Country(g.ctx, "ZZ", lang)
		wantFields(t, err, "lang")
	}
	for _, code := range []string{"", "ZZ", "XK", "ISL", "\xff"} {
		_, err = g.r.Query().Country(g.ctx, code, "en")
		wantCode(t, err, flight.CodeCountryNotFound)
	}
}

func TestCountriesQuery(t *testing.T) {
	s := sqliteRig(t, withoutAssets).serve(nil)
	r := post(t, s.URL, `{ countries { code name emoji flagSvg flagSvgSquare } country(code: "is", lang: "is-IS") { code name emoji flagSvg flagSvgSquare } }`, nil)
	list, _ := r.Data["countries"].([]any)
	one, _ := r.Data["country"].(map[string]any)
	if r.status != 200 || len(r.Errors) > 0 || len(list) != 249 || one["name"] != "Iceland" || one["flagSvgSquare"] != "https://fw.example/v1/flags/is.svg?shape=1x1" {
		t.Fatal(r.status, r.body)
	}
	if r := post(t, s.URL, `{ country(code: "zz") { code } }`, nil); r.code() != "COUNTRY_NOT_FOUND" || r.Data != nil {
		t.Error(r.body)
	}
	if r := post(t, s.URL, `{ countries(lang: "en_US") { code } }`, nil); r.code() != "INVALID_REQUEST" {
		t.Error(r.body)
	}
	if got, _ := reckon(t, `{ countries { code name } country(code: "is") { code } }`, nil); got != 10+249*2+10+1 {
		t.Errorf("they cost %d", got)
	}
}

// Who sets no atlas has what was built in.
func TestCountriesBuiltIn(t *testing.T) {
	g := sqliteRig(t, nil)
	c, err := g.r.Query().Country(g.ctx, "de", "de")
	german, _ := places.ParseLanguage("de")
	want, _ := places.BuiltIn().Country("DE", german)
	if err != nil || c.Name != want.Name {
		t.Errorf("%+v, %v, want %s", c, err, want.Name)
	}
}
