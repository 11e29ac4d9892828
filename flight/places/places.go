// Package places is reference data: airports, airlines, countries with their
// names and flags, the clocks they go by, and types of aircraft.
//
// It promises that every look-up is safe for concurrent use, takes codes in
// any case, and costs well under a microsecond. The tables are text inside the
// binary; an index of each is built when it is first asked, rows are read on
// demand, and the strings of what is returned are parts of that text. A code
// that is not in a table is reported by false, never by an error.
//
// Names in other languages than English and real flags are built in where
// `make assets` has been run before, see [Atlas]; without them everything
// works.
//
// Sources, licences and the choices made are in data/README.md and
// data/NOTICE.md, and assets/NOTICE.md.
package places

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed data/airports.csv
var airportsCSV string

//go:embed data/airlines.csv
var airlinesCSV string

//go:embed data/airlines_more.csv
var moreAirlinesCSV string

//go:embed data/countries.csv
var countriesCSV string

// table finds rows of a CSV text by code. Each row's first columns are its
// codes; an empty one is skipped.
type table struct {
	csv   string
	index []uint64 // sorted; packed code in the high half, offset of its row in the low
}

// newTable indexes the text, whose first line names the columns, by the first
// codes columns of each row. No code may occur twice.
func newTable(csv string, codes int) *table {
	t := &table{csv: csv, index: make([]uint64, 0, strings.Count(csv, "\n")*codes)}
	for at := strings.IndexByte(csv, '\n') + 1; at < len(csv); {
		rest := csv[at:]
		for range codes {
			var code string
			code, rest = nextField(rest)
			if key, ok := pack(code); ok {
				t.index = append(t.index, uint64(key)<<32|uint64(at))
			}
		}
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		at = len(csv) - len(rest) + end + 1
	}
	slices.Sort(t.index)
	return t
}

// find returns the text from the row of that code on.
func (t *table) find(code string) (row string, ok bool) {
	key, ok := pack(code)
	if !ok {
		return "", false
	}
	i, _ := slices.BinarySearch(t.index, uint64(key)<<32)
	if i == len(t.index) || t.index[i]>>32 != uint64(key) {
		return "", false
	}
	return t.csv[uint32(t.index[i]):], true
}

// pack makes one number of a code of two to four letters and digits, the same
// for either case. Codes of different lengths never give the same number.
func pack(code string) (key uint32, ok bool) {
	if len(code) < 2 || len(code) > 4 {
		return 0, false
	}
	for i := range len(code) {
		c := code[i]
		switch {
		case 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		default:
			return 0, false
		}
		key = key<<8 | uint32(c)
	}
	return key, true
}

// nextField cuts the first field off a CSV text of one row or more. The rest
// of the last field of a row begins with the newline.
func nextField(s string) (field, rest string) {
	if s != "" && s[0] == '"' {
		return quotedField(s[1:])
	}
	for i := range len(s) {
		switch s[i] {
		case ',':
			return s[:i], s[i+1:]
		case '\n':
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// quotedField cuts a field off whose opening quote has been read.
func quotedField(s string) (field, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			i++
			continue
		}
		field = s[:i]
		if strings.Contains(field, `""`) {
			field = strings.ReplaceAll(field, `""`, `"`)
		}
		return field, strings.TrimPrefix(s[i+1:], ",")
	}
	return s, ""
}
