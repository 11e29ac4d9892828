package rest_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

const (
	oblongFlag = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 480"><path d="M0 0h9"/></svg>`
	squareFlag = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512"><path d="M0 0h9"/></svg>`
)

// newAtlas is an atlas of two languages, and one flag; others are drawn. These
// tests do not depend on what is built in.
func newAtlas(t testing.TB) *places.Atlas {
	t.Helper()
	pack := func(files map[string]string) *fstest.MapFile {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range files {
			w, err := z.Create(name)
			if err == nil {
				_, err = w.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b.Bytes()}
	}
	names := map[string]string{"languages.txt": "en,en\nde,de\n"}
	for _, lang := range []string{"en", "de"} {
		list, err := os.ReadFile("../flight/places/testdata/names/" + lang + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		names[lang+".txt"] = string(list)
	}
	return places.NewAtlas(fstest.MapFS{
		"names.zip": pack(names),
		"flags.zip": pack(map[string]string{"4x3/is.svg": oblongFlag, "1x1/is.svg": squareFlag}),
	})
}

type countries struct {
	Count int
	Data  []flight.CountryRef
}

func (r *rig) countries(t *testing.T, query string) countries {
	t.Helper()
	got := r.do(t, request{path: "/v1/countries" + query})
	got.want(t, 200, "")
	var list countries
	got.decode(t, &list)
	if list.Count != 249 || len(list.Data) != 249 {
		t.Fatalf("count %d, %d rows", list.Count, len(list.Data))
	}
	return list
}

func TestCountries(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, lang := range []string{"", "?lang=", "?lang=de"} {
		got := r.do(t, request{path: "/v1/countries" + lang})
		name := "countries"
		if lang == "?lang=de" {
			name = "countries_de"
		}
		got.golden(t, name)
	}
	german := r.countries(t, "?lang=DE-at")
	at := func(name string) int {
		return slices.IndexFunc(german.Data, func(c flight.CountryRef) bool { return c.Name == name })
	}
	if at("Oman") < 0 || at("Österreich") != at("Oman")+1 {
		t.Errorf("Oman is at %d, Österreich at %d", at("Oman"), at("Österreich"))
	}
	if a, b := r.countries(t, "?lang=x-klingon"), r.countries(t, ""); !slices.Equal(a.Data, b.Data) {
		t.Error("a language without names is not English")
	}
}

func TestCountry(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, code := range []string{"sz", "SZ", "sZ"} {
		r.do(t, request{path: "/v1/countries/" + code}).golden(t, "country")
	}
	r.do(t, request{path: "/v1/countries/mk?lang=de-CH"}).golden(t, "country_de")
	r.do(t, request{path: "/v1/countries/zz"}).golden(t, "country_not_found")
	// One is what it is in the list; all of its flags are there.
	for _, lang := range []string{"", "?lang=de"} {
		for _, c := range r.countries(t, lang).Data {
			got := r.do(t, request{path: "/v1/countries/" + strings.ToLower(c.Code) + lang})
			got.want(t, 200, "")
			var one flight.CountryRef
			if got.decode(t, &one); one != c {
				t.Errorf("%+v, in the list %+v", one, c)
			}
			for _, url := range []string{c.FlagSVG, c.FlagSVGSquare} {
				path, ours := strings.CutPrefix(url, "https://fw.example/")
				if got := r.do(t, request{path: "/" + path, key: "-"}); !ours || got.status != 200 {
					t.Errorf("%s: %d", url, got.status)
				}
			}
		}
	}
}

func TestFlag(t *testing.T) {
	r := newRig(t, sqlite(t))
	tags := map[string]string{}
	for _, c := range []struct{ path, svg, cache string }{
		{"/v1/flags/is.svg", oblongFlag, "public, max-age=2592000"},
		{"/v1/flags/IS.Svg?shape=", oblongFlag, "public, max-age=2592000"},
		{"/v1/flags/is.svg?shape=4x3", oblongFlag, "public, max-age=2592000"},
		{"/v1/flags/is.svg?shape=1x1", squareFlag, "public, max-age=2592000"},
		{"/v1/flags/fr.svg", "", "public, max-age=86400"},
		{"/v1/flags/fr.svg?shape=1x1", "", "public, max-age=86400"},
		{"/v1/flags/xk.svg", "", "public, max-age=86400"}, // airports lie in Kosovo
	} {
		got := r.do(t, request{path: c.path, key: "-"})
		got.want(t, 200, "")
		svg := string(got.body)
		if c.svg != "" && svg != c.svg || !strings.HasPrefix(svg, "<svg ") {
			t.Errorf("%s: %s", c.path, svg)
		}
		tag := got.header.Get("ETag")
		if tags[tag] != "" && tags[tag] != svg {
			t.Errorf("%s: ETag %s is another image's too", c.path, tag)
		}
		tags[tag] = svg
		for name, want := range map[string]string{
			"Content-Type": "image/svg+xml", "Cache-Control": c.cache, "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'", "X-Request-Id": "req-7",
		} {
			if values := got.header.Values(name); len(values) != 1 || values[0] != want {
				t.Errorf("%s: %s is %q", c.path, name, values)
			}
		}
		head := r.do(t, request{method: "HEAD", path: c.path, key: "-"})
		get := got.header.Clone()
		for _, h := range []http.Header{get, head.header} {
			h.Del("Date")
		}
		if head.status != 200 || len(head.body) != 0 || !equal(get, head.header) {
			t.Errorf("HEAD %s: %d %v, GET %v", c.path, head.status, head.header, get)
		}
	}
	if len(tags) != 5 {
		t.Errorf("%d images", len(tags))
	}
}

func equal(a, b http.Header) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestFlagNotModified(t *testing.T) {
	r := newRig(t, sqlite(t))
	tag := r.do(t, request{path: "/v1/flags/is.svg", key: "-"}).header.Get("ETag")
	square := r.do(t, request{path: "/v1/flags/is.svg?shape=1x1", key: "-"}).header.Get("ETag")
	for _, c := range []struct {
		given  []string
		status int
	}{
		{[]string{tag}, 304},
		{[]string{"W/" + tag}, 304},
		{[]string{`"a" , ` + tag + `,"b"`}, 304},
		{[]string{`"a"`, tag}, 304},
		{[]string{"*"}, 304},
		{[]string{square}, 200},
		{[]string{`"a"`}, 200},
		{[]string{strings.Trim(tag, `"`)}, 200},
		{[]string{""}, 200},
		{nil, 200},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := r.do(t, request{method: method, path: "/v1/flags/is.svg", key: "-", header: http.Header{"If-None-Match": c.given}})
			if got.status != c.status || got.header.Get("ETag") != tag || got.header.Get("Cache-Control") != "public, max-age=2592000" {
				t.Errorf("%s %q: %d %v", method, c.given, got.status, got.header)
			}
			if (len(got.body) > 0) != (method == "GET" && c.status == 200) {
				t.Errorf("%s %q: a body of %d bytes", method, c.given, len(got.body))
			}
			if c.status == 304 && got.header.Get("Content-Type") != "" {
				t.Errorf("%s %q: Content-Type %s", method, c.given, got.header.Get("Content-Type"))
			}
		}
	}
	r.do(t, request{path: "/v1/flags/qq.svg", key: "-", header: http.Header{"If-None-Match": {"*"}}}).golden(t, "flag_not_found")
}

// Without an atlas of its own the interface has what was built in.
func TestFlagBuiltIn(t *testing.T) {
	r := newRig(t, sqlite(t))
	want, _ := places.BuiltIn().Flag("is.svg", places.Square)
	w := httptest.NewRecorder()
	r.atlas = nil
	r.serve(t, panics{}).ServeHTTP(w, httptest.NewRequest("GET", "/v1/flags/is.svg?shape=1x1", nil))
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), want.SVG()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
