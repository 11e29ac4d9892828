package places

import (
	"errors"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

const maxLanguage = 100 // bytes of a tag; the longest of any use have 35

// ParseLanguage reads a BCP 47 language tag, in any case. False when the text
// is not of that form; parts that are not registered are left out.
func ParseLanguage(tag string) (language.Tag, bool) {
	if len(tag) > maxLanguage || strings.Contains(tag, "_") { // which x/text takes for a hyphen
		return language.Und, false
	}
	t, err := language.Parse(tag)
	if _, unregistered := errors.AsType[language.ValueError](err); err != nil && !unregistered {
		return language.Und, false
	}
	return t, true
}

// Countries returns the 249 countries of ISO 3166-1 with their names in the
// language nearest to lang that there are names for, else in English, in that
// language's alphabetical order. The slice is shared: it must not be changed.
func (a *Atlas) Countries(lang language.Tag) []Country {
	l := a.names()
	_, i, confidence := l.nearest.Match(lang)
	if confidence == language.No { // such as another language of the same script
		i = 0
	}
	return l.lists[i]()
}

// Country returns the country of an alpha-2 code of ISO 3166-1 as
// [Atlas.Countries] has it.
func (a *Atlas) Country(code string, lang language.Tag) (Country, bool) {
	known, ok := FindCountry(code)
	if !ok {
		return Country{}, false
	}
	for _, c := range a.Countries(lang) {
		if c.Code == known.Code {
			return c, true
		}
	}
	return known, true // no list is without one
}

// languages are the lists of names there are.
type languages struct {
	nearest language.Matcher
	lists   []func() []Country // by the matcher's index
}

// openNames reads which languages there are: each line of languages.txt has a
// tag and the name of the list it shares with others. The first is English.
func openNames(assets fs.FS) *languages {
	onlyEnglish := &languages{language.NewMatcher([]language.Tag{language.English}), []func() []Country{english}}
	files := openZip(assets, "names.zip")
	index := read(files["languages.txt"])
	var tags []language.Tag
	var lists []func() []Country
	byName := map[string]func() []Country{}
	for line := range strings.Lines(string(index)) {
		tag, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		t, err := language.Parse(tag)
		if err != nil {
			continue // a language that this version of x/text does not know is never asked for
		}
		if byName[name] == nil {
			byName[name] = sync.OnceValue(func() []Country { return parseNames(read(files[name+".txt"])) })
		}
		tags, lists = append(tags, t), append(lists, byName[name])
	}
	if len(tags) == 0 {
		return onlyEnglish
	}
	return &languages{language.NewMatcher(tags), lists}
}

// parseNames reads a list, in its order: a line has a code and a name. English
// stands in for a list that cannot be read.
func parseNames(text []byte) []Country {
	list := make([]Country, 0, len(countries().index))
	for line := range strings.Lines(string(text)) {
		code, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		list = append(list, Country{code, name})
	}
	if len(list) != len(countries().index) {
		return english()
	}
	return list
}

// english are the names that need no assets.
var english = sync.OnceValue(func() []Country {
	var list byName
	for _, code := range Countries() {
		c, _ := FindCountry(code)
		list = append(list, c)
	}
	collate.New(language.English).Sort(list)
	return list
})

// byName is sorted by a collator.
type byName []Country

// Len implements [collate.Lister].
func (l byName) Len() int { return len(l) }

// Swap implements [collate.Lister].
func (l byName) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Bytes implements [collate.Lister].
func (l byName) Bytes(i int) []byte { return []byte(l[i].Name) }
