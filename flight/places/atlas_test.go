package places

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// zipOf packs files, given as names and contents in turn.
func zipOf(t testing.TB, files ...string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
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

// lists are the golden lists: CLDR 48.2's names in the order of ICU 78.
func lists(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/names/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	return all
}

// withNames is an atlas of the golden lists, packed as make assets packs.
func withNames(t testing.TB) *Atlas {
	t.Helper()
	index, files := "en,en\n", []string(nil)
	for lang, text := range lists(t) {
		files = append(files, lang+".txt", text)
		if lang != "en" {
			index += lang + "," + lang + "\n"
		}
	}
	index += "en-GB,en\nno,nb\n"
	return NewAtlas(fstest.MapFS{"names.zip": zipOf(t, append(files, "languages.txt", index)...)})
}

func nothing() *Atlas { return NewAtlas(fstest.MapFS{}) }

func text(list []Country) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s,%s\n", c.Code, c.Name)
	}
	return b.String()
}

func tag(t testing.TB, s string) language.Tag {
	t.Helper()
	lang, ok := ParseLanguage(s)
	if !ok {
		t.Fatalf("%q is no tag", s)
	}
	return lang
}

// Without assets every language is English, in the order that CLDR has today.
func TestNamesWithoutAssets(t *testing.T) {
	want := lists(t)["en"]
	for _, lang := range []string{"en", "de", "ja", "und", "x-klingon"} {
		if got := text(nothing().Countries(tag(t, lang))); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", lang, got, want)
		}
	}
}

func TestNamesWithAssets(t *testing.T) {
	a := withNames(t)
	for lang, want := range lists(t) {
		list := a.Countries(tag(t, lang))
		if text(list) != want {
			t.Errorf("%s:\n%s\nwant:\n%s", lang, text(list), want)
		}
		var codes []string
		for _, c := range list {
			codes = append(codes, c.Code)
			if one, ok := a.Country(strings.ToLower(c.Code), tag(t, lang)); !ok || one != c {
				t.Errorf("%s: %+v, alone %+v, %v", lang, c, one, ok)
			}
		}
		if slices.Sort(codes); !slices.Equal(codes, Countries()) {
			t.Errorf("%s: the codes are %v", lang, codes)
		}
	}
}

// What the world calls them today, written down apart from the lists.
var today = map[string]string{
	"en": "SZ Eswatini, MK North Macedonia, TR Türkiye, CZ Czechia, MO Macao, HK Hong Kong, PS Palestine, MM Myanmar, CI Côte d’Ivoire",
	"de": "SZ Eswatini, MK Nordmazedonien, TR Türkei, CZ Tschechien, MO Macau, HK Hongkong, PS Palästina, AT Österreich",
	"fr": "SZ Eswatini, MK Macédoine du Nord, TR Turquie, CZ Tchéquie, MO Macao, HK Hong Kong, PS Palestine, AT Autriche",
	"es": "SZ Esuatini, MK Macedonia del Norte, TR Turquía, CZ Chequia, MO Macao, HK Hong Kong, PS Palestina, ES España",
	"ja": "SZ エスワティニ, MK 北マケドニア, TR トルコ, CZ チェコ, MO マカオ, HK 香港, PS パレスチナ, JP 日本",
	"sv": "SZ Eswatini, MK Nordmakedonien, TR Turkiet, CZ Tjeckien, MO Macao, AX Åland, SE Sverige",
	"tr": "SZ Esvatini, MK Kuzey Makedonya, TR Türkiye, CZ Çekya, MO Makao",
	"pt": "SZ Essuatíni, MK Macedônia do Norte, TR Turquia, CZ Tchéquia, MO Macau",
	"zh": "MK 北马其顿, TR 土耳其, CZ 捷克, MO 澳门, HK 香港, CN 中国",
}

func TestNamesAreTodays(t *testing.T) {
	for name, a := range map[string]*Atlas{"without assets": nothing(), "with": withNames(t), "built in": BuiltIn()} {
		for lang, names := range today {
			if a.languages() == 1 && lang != "en" {
				continue
			}
			for pair := range strings.SplitSeq(names, ", ") {
				code, want, _ := strings.Cut(pair, " ")
				if c, _ := a.Country(code, tag(t, lang)); c.Name != want {
					t.Errorf("%s: in %s %s is %q, want %q", name, lang, code, c.Name, want)
				}
			}
		}
	}
}

// x/text has names of 2017. None of what it has got wrong since comes through.
func TestOldNamesAreGone(t *testing.T) {
	n := 0
	for name, a := range map[string]*Atlas{"without assets": nothing(), "with": withNames(t), "built in": BuiltIn()} {
		for _, lang := range []string{"en", "de", "fr", "es", "pt", "sv", "ja", "tr"} {
			if a.languages() == 1 && lang != "en" {
				continue
			}
			for _, code := range []string{"SZ", "MK"} {
				old := display.Regions(tag(t, lang)).Name(language.MustParseRegion(code))
				if c, _ := a.Country(code, tag(t, lang)); old == "" || c.Name == old {
					t.Errorf("%s: in %s %s is %q, and was %q", name, lang, code, c.Name, old)
				}
				n++
			}
		}
	}
	if n < 2+16+2 {
		t.Errorf("only %d looked at", n)
	}
}

// languages says for how many tags there are names.
func (a *Atlas) languages() int { return len(a.names().lists) }

func TestOrder(t *testing.T) {
	a := withNames(t)
	for lang, names := range map[string][]string{ // each after the one before
		"en": {"Afghanistan", "Åland Islands", "Albania", "Côte d’Ivoire", "Croatia", "Cuba", "Curaçao", "Cyprus", "Czechia", "Zimbabwe"},
		"de": {"Norwegen", "Oman", "Österreich", "Pakistan", "Zypern"},
		"sv": {"Zimbabwe", "Åland", "Österrike", "Östtimor"},
		"nb": {"Zimbabwe", "Østerrike", "Åland"},
		"no": {"Zimbabwe", "Østerrike", "Åland"},
		"es": {"Noruega", "Nueva Caledonia", "Omán"},
		"cs": {"Guyana", "Haiti", "Honduras", "Chile", "Chorvatsko", "Indie"},
		"lv": {"Čada", "Čehija", "Čīle", "Dānija"},
		"ja": {"アメリカ合衆国", "ガーナ", "カーボベルデ", "カナダ", "日本"},
		"zh": {"阿尔巴尼亚", "德国", "西班牙", "希腊", "中国"},
	} {
		list := a.Countries(tag(t, lang))
		last := -1
		for _, name := range names {
			i := slices.IndexFunc(list, func(c Country) bool { return c.Name == name })
			if i <= last {
				t.Errorf("%s: %s is at %d, after %d", lang, name, i, last)
			}
			last = i
		}
	}
}

func TestNearestLanguage(t *testing.T) {
	a := withNames(t)
	for lang, austria := range map[string]string{
		"en": "Austria", "EN-us": "Austria", "en-GB": "Austria", "de": "Österreich", "de-AT": "Österreich", "DE-latn-ch-1996": "Österreich",
		"de-u-co-phonebk": "Österreich", "nn": "Østerrike", "no": "Østerrike", "und-JP": "オーストリア", "zh-CN": "奥地利", "pt-BR": "Áustria",
		"und": "Austria", "xx": "Austria", "de-XX": "Österreich", "x-klingon": "Austria", "i-klingon": "Austria", "en-GB-oed": "Austria", "bua": "Austria",
	} {
		if c, ok := a.Country("at", tag(t, lang)); !ok || c.Name != austria {
			t.Errorf("%s: %+v, %v, want %s", lang, c, ok, austria)
		}
	}
	for _, code := range []string{"", "XK", "EU", "ATX", "*", "ä"} {
		if c, ok := a.Country(code, language.German); ok {
			t.Errorf("%q found %+v", code, c)
		}
	}
}

func TestParseLanguageRefuses(t *testing.T) {
	for _, s := range []string{
		"", "*", "-", "e", "c", "en-", "-en", "en--US", "en_US", "123", "deutsch-", "abcdefghi", "en-US-US", "not a tag", "de,en", "de;q=0.5", "%", "é", "日本",
		"de\x00", "a-b", "de-a-b", "en-x-" + strings.Repeat("a-", 50) + "a",
	} {
		if lang, ok := ParseLanguage(s); ok {
			t.Errorf("%q is %v", s, lang)
		}
	}
}

func FuzzParseLanguage(f *testing.F) {
	for _, seed := range []string{"en", "de-CH-1996", "zh-Hant-HK", "x-a", "i-klingon", "en-a-bb-u-co-phonebk", "sl-rozaj-biske", "und-u-rg-uszzzz", "_", "en-t-de"} {
		f.Add(seed)
	}
	a := withNames(f)
	f.Fuzz(func(t *testing.T, s string) {
		if lang, ok := ParseLanguage(s); ok && len(a.Countries(lang)) != 249 {
			t.Errorf("%q: %v", s, lang)
		}
	})
}

// A broken archive is as good as none, and a broken list as English.
func TestBrokenNames(t *testing.T) {
	whole := lists(t)
	broken := zipOf(t, "languages.txt", "en,en\nde,de\nsv,sv\nja,gone\nnot a tag,de\n", "en.txt", whole["en"], "de.txt", whole["de"], "sv.txt", "SE,Sverige\n")
	damaged := bytes.Clone(broken.Data)
	at := bytes.Index(damaged, []byte("de.txt")) + 200 // in its compressed text
	damaged[at], damaged[at+1] = ^damaged[at], ^damaged[at+1]
	for name, c := range map[string]struct {
		assets fs.FS
		german string // of Austria
	}{
		"no archive":     {fstest.MapFS{"names.zip": {Data: []byte("PK")}}, "Austria"},
		"a folder":       {fstest.MapFS{"names.zip/a": {}}, "Austria"},
		"no index":       {fstest.MapFS{"names.zip": zipOf(t, "de.txt", whole["de"])}, "Austria"},
		"some lists":     {fstest.MapFS{"names.zip": broken}, "Österreich"},
		"a damaged list": {fstest.MapFS{"names.zip": {Data: damaged}}, "Austria"},
		"read in one go": {noReaderAt{fstest.MapFS{"names.zip": broken}}, "Österreich"},
	} {
		a := NewAtlas(c.assets)
		if got, _ := a.Country("AT", language.German); got.Name != c.german {
			t.Errorf("%s: in de %+v, want %s", name, got, c.german)
		}
		for _, lang := range []string{"en", "sv", "ja"} {
			if got := text(a.Countries(tag(t, lang))); got != whole["en"] {
				t.Errorf("%s: %s is\n%s", name, lang, got)
			}
		}
	}
}

// noReaderAt is a file system whose files can only be read from the beginning.
type noReaderAt struct{ fs.FS }

func (n noReaderAt) Open(name string) (fs.File, error) {
	f, err := n.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// What this machine has built in, if it has. The rest of the tests need nothing of it.
func TestBuiltInNames(t *testing.T) {
	a := BuiltIn()
	if a.languages() == 1 {
		t.Skip("built without make assets")
	}
	if n := a.languages(); n < 500 {
		t.Errorf("%d languages", n)
	}
	for lang, want := range lists(t) {
		if got := text(a.Countries(tag(t, lang))); got != want {
			t.Errorf("%s: make assets gives something else than the golden list:\n%s", lang, got)
		}
	}
	for i, list := range a.names().lists {
		codes := map[string]bool{}
		for _, c := range list() {
			codes[c.Code] = c.Name != "" && c.Name == strings.TrimSpace(c.Name)
		}
		for _, code := range Countries() {
			if !codes[code] {
				t.Errorf("list %d has no name of %s", i, code)
			}
		}
	}
	for lang, austria := range map[string]string{
		"zh-TW": "奧地利", "zh-Hant": "奧地利", "zh": "奥地利", "sr-Latn": "Austrija", "sr": "Аустрија", "iw": "אוסטריה", "tl": "Austria", "pt-AO": "Áustria",
		"nn": "Austerrike", "gsw": "Ööschtriich", "ko-KR": "오스트리아", "cy": "Awstria", "mo": "Austria", "ar-EG": "النمسا", "bua": "Austria",
	} {
		if c, _ := a.Country("AT", tag(t, lang)); c.Name != austria {
			t.Errorf("%s: %s, want %s", lang, c.Name, austria)
		}
	}
}

func BenchmarkCountriesInGerman(b *testing.B) {
	a := withNames(b)
	b.ReportAllocs()
	for b.Loop() {
		a.Countries(language.German)
	}
}
