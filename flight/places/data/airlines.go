//go:build ignore

// Command airlines turns the airlines of OpenFlights into airlines_more.csv.
// See README.md beside it for how it is run.
package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// record is an airline as the source has it.
type record struct{ ID, Name, ICAO, Active string }

// trusted is below which number a record is of the source's first lists. Those
// from there on were added by anybody, and some airlines among them were made
// up.
const trusted = 6000

var (
	designator = regexp.MustCompile(`^[A-Z]{3}$`)
	foreign    = regexp.MustCompile(`[^\x{20}-\x{24F}]`) // names are in English, or as good as
	remark     = regexp.MustCompile(`\s*\([^)]*\)$|\s+- .*$`)
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: go run airlines.go SOURCE.json OWN.csv DEST.csv")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "airlines:", err)
		os.Exit(1)
	}
}

func run(source, own, dest string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var records []record
	if err := json.Unmarshal(text, &records); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	ours, err := ownRows(own)
	if err != nil {
		return err
	}
	rows, err := more(records, ours)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.New("the source has no airline that we have not")
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if err := w.WriteAll(append([][]string{{"iata", "icao", "name"}}, rows...)); err != nil {
		return err
	}
	return os.WriteFile(dest, out.Bytes(), 0o644)
}

// ownRows returns the ICAO codes and the names of our own table.
func ownRows(path string) (map[string]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, r := range rows[1:] {
		have[r[1]], have[r[2]] = true, true
	}
	return have, nil
}

// more returns the rows of airlines that the source calls active and that we do
// not have, by their ICAO codes. Where it gives one code to two, neither is
// taken.
func more(records []record, ours map[string]bool) (rows [][]string, err error) {
	holders := map[string]int{}
	for _, r := range records {
		if r.Active == "Y" {
			holders[r.ICAO]++
		}
	}
	for _, r := range records {
		id, err := strconv.Atoi(r.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		name := remark.ReplaceAllString(strings.Join(strings.Fields(r.Name), " "), "")
		ordinary := id < trusted && r.Active == "Y" && holders[r.ICAO] == 1 && designator.MatchString(r.ICAO) && name != "" && !foreign.MatchString(name)
		if !ordinary || ours[r.ICAO] || ours[name] {
			continue
		}
		rows = append(rows, []string{"", r.ICAO, name})
	}
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(a[1], b[1]) })
	return rows, nil
}
