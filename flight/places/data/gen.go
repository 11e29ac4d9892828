//go:build ignore

// Command gen turns the airports table of mborsetti/airportsdata into
// airports.csv. See README.md beside it for how it is run.
package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var header = []string{"iata", "icao", "local", "name", "city", "region", "state", "country", "tz", "lat", "lon"}

// names lists, for each of our columns, what the source may call it: the
// project's own spelling or an extract's.
var names = map[string][]string{
	"iata": {"iata"}, "icao": {"icao"}, "name": {"name"}, "city": {"city"},
	"region": {"subd", "region"}, "country": {"country", "country_iso2"},
	"tz": {"tz"}, "lat": {"lat"}, "lon": {"lon"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run gen.go SOURCE.csv DEST.csv")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(source, dest string) error {
	f, err := os.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("%s is empty", source)
	}
	at, err := columns(records[0])
	if err != nil {
		return err
	}
	var rows [][]string
	for i, r := range records[1:] {
		row, err := airport(func(column string) string { return strings.TrimSpace(r[at[column]]) })
		if err != nil {
			return fmt.Errorf("record %d: %w", i+2, err)
		}
		if row[0] != "" {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })

	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if err := w.WriteAll(append([][]string{header}, rows...)); err != nil {
		return err
	}
	return os.WriteFile(dest, out.Bytes(), 0o644)
}

// columns finds where each of our columns stands in the source.
func columns(head []string) (map[string]int, error) {
	at := map[string]int{}
	for ours, theirs := range names {
		i := slices.IndexFunc(head, func(h string) bool { return slices.Contains(theirs, h) })
		if i < 0 {
			return nil, fmt.Errorf("no column %s", strings.Join(theirs, " or "))
		}
		at[ours] = i
	}
	return at, nil
}

// airport makes our row of a source record; one without an IATA code has an
// empty first field.
func airport(get func(column string) string) ([]string, error) {
	region, country := get("region"), get("country")
	if country == "US" && ownCountry[region] != "" {
		country = ownCountry[region]
	}
	state := ""
	if codes, ok := states[country]; ok {
		if state, ok = codes[region]; !ok {
			return nil, fmt.Errorf("%s: no code for the state %q of %s", get("iata"), region, country)
		}
	}
	for _, c := range []string{"lat", "lon"} {
		if _, err := strconv.ParseFloat(get(c), 64); err != nil {
			return nil, fmt.Errorf("%s: %w", get("iata"), err)
		}
	}
	icao, local := get("icao"), ""
	if !indicator.MatchString(icao) {
		if hasLocal[country] {
			local = icao
		}
		icao = ""
	}
	return []string{
		get("iata"), icao, local, get("name"), get("city"), region, state, country,
		get("tz"), get("lat"), get("lon"),
	}, nil
}

// indicator is the form of an ICAO location indicator. The source has others'
// codes in their place for fields without one, such as the FAA's 07FA.
var indicator = regexp.MustCompile(`^[A-Z]{4}$`)

// hasLocal names the countries whose own codes upstreams name fields by: those
// of the FAA and of Transport Canada.
var hasLocal = map[string]bool{"US": true, "CA": true}

// ownCountry names the regions that the source files under US and ISO 3166-1
// lists as countries of their own. The source has the other United States
// territories (AS, GU, MP, UM) as ISO does.
var ownCountry = map[string]string{"Puerto Rico": "PR", "Virgin Islands": "VI"}

// states gives the postal codes of the countries whose addresses have them and
// whose upstream records carry them as stateCode.
var states = map[string]map[string]string{
	"US": {
		"Alabama": "AL", "Alaska": "AK", "Arizona": "AZ", "Arkansas": "AR", "California": "CA",
		"Colorado": "CO", "Connecticut": "CT", "Delaware": "DE", "District of Columbia": "DC",
		"Florida": "FL", "Georgia": "GA", "Hawaii": "HI", "Idaho": "ID", "Illinois": "IL",
		"Indiana": "IN", "Iowa": "IA", "Kansas": "KS", "Kentucky": "KY", "Louisiana": "LA",
		"Maine": "ME", "Maryland": "MD", "Massachusetts": "MA", "Michigan": "MI", "Minnesota": "MN",
		"Mississippi": "MS", "Missouri": "MO", "Montana": "MT", "Nebraska": "NE", "Nevada": "NV",
		"New Hampshire": "NH", "New Jersey": "NJ", "New Mexico": "NM", "New York": "NY",
		"North Carolina": "NC", "North Dakota": "ND", "Ohio": "OH", "Oklahoma": "OK", "Oregon": "OR",
		"Pennsylvania": "PA", "Rhode Island": "RI", "South Carolina": "SC", "South Dakota": "SD",
		"Tennessee": "TN", "Texas": "TX", "Utah": "UT", "Vermont": "VT", "Virginia": "VA",
		"Washington": "WA", "West Virginia": "WV", "Wisconsin": "WI", "Wyoming": "WY",
	},
	"CA": {
		"Alberta": "AB", "British Columbia": "BC", "Manitoba": "MB", "New Brunswick": "NB",
		"Newfoundland and Labrador": "NL", "Northwest Territories": "NT", "Nova Scotia": "NS",
		"Nunavut": "NU", "Ontario": "ON", "Prince Edward Island": "PE", "Quebec": "QC",
		"Saskatchewan": "SK", "Yukon": "YT",
	},
}
