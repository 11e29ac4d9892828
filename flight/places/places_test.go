package places

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestTableReadsQuotedFields(t *testing.T) {
	tab := newTable("code,other,name\nAB,ABCD,\"Say \"\"hi\"\", friend\"\n\"CD\",,plain\nEF,EFGH,\"\"\n", 2)
	for _, c := range []struct{ code, name string }{
		{"ab", `Say "hi", friend`}, {"ABCD", `Say "hi", friend`}, {"CD", "plain"}, {"efgh", ""},
	} {
		row, ok := tab.find(c.code)
		if !ok {
			t.Fatalf("%s not found", c.code)
		}
		_, row = nextField(row)
		_, row = nextField(row)
		name, rest := nextField(row)
		if name != c.name || rest[0] != '\n' {
			t.Errorf("%s: name %q, then %q; want %q", c.code, name, rest, c.name)
		}
	}
	if len(tab.index) != 5 {
		t.Errorf("%d codes, want 5: an empty one must not count", len(tab.index))
	}
	for _, code := range []string{"", "A", "ABC", "CDEF", "A B", "AB*", "ABCDE", "\x00AB"} {
		if row, ok := tab.find(code); ok {
			t.Errorf("%q found %q", code, row)
		}
	}
}

// A text that does not end in a newline has to be read to its end all the same.
func TestTableWithoutLastNewline(t *testing.T) {
	tab := newTable("code,name\nAB,one\nCD,two", 1)
	if row, ok := tab.find("CD"); !ok || row != "CD,two" {
		t.Errorf("got %q, %v", row, ok)
	}
}

func TestPackTellsCodesApart(t *testing.T) {
	seen := map[uint32]string{}
	const alphabet = "ABZ019"
	var add func(prefix string)
	add = func(prefix string) {
		if len(prefix) >= 2 {
			key, ok := pack(prefix)
			if !ok || seen[key] != "" {
				t.Fatalf("%s: key %x, ok %v, also of %q", prefix, key, ok, seen[key])
			}
			seen[key] = prefix
			if lower, _ := pack(strings.ToLower(prefix)); lower != key {
				t.Fatalf("%s: lower case differs", prefix)
			}
		}
		if len(prefix) == 4 {
			return
		}
		for _, c := range alphabet {
			add(prefix + string(c))
		}
	}
	add("")
}

func TestNoCodeTwice(t *testing.T) {
	for name, tab := range map[string]*table{"airports": airports(), "airlines": airlines(), "countries": countries()} {
		for i := 1; i < len(tab.index); i++ {
			if tab.index[i]>>32 == tab.index[i-1]>>32 {
				code, _ := nextField(tab.csv[uint32(tab.index[i]):])
				t.Errorf("%s: a code of %s stands twice", name, code)
			}
		}
		if !strings.HasSuffix(tab.csv, "\n") {
			t.Errorf("%s does not end in a newline", name)
		}
	}
}

func TestConcurrentFirstUse(t *testing.T) {
	// Under -race this also shows that nothing here is written twice.
	var wg sync.WaitGroup
	found := make([]bool, 16)
	for i := range found {
		wg.Go(func() {
			a, ok1 := FindAirport("jfk")
			_, ok2 := FindAirline("dl")
			_, ok3 := FindCountry("us")
			_, err := Location(a.Timezone)
			found[i] = ok1 && ok2 && ok3 && err == nil
		})
	}
	wg.Wait()
	if slices.Contains(found, false) {
		t.Errorf("not all found: %v", found)
	}
}

func BenchmarkFirstUseAirports(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newTable(airportsCSV, 2)
	}
}

func BenchmarkFirstUseAirlines(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newTable(airlinesCSV, 2)
	}
}

func BenchmarkFirstUseCountries(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newTable(countriesCSV, 1)
	}
}
