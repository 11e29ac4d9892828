package main

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// contractRow is a line of docs/contract.md.
type contractRow struct {
	section string // its heading
	line    string
	tests   []string // "package TestName", or with "/text"
}

var (
	quotedName = regexp.MustCompile("`([^`]*)`")
	testName   = regexp.MustCompile(`^([a-z/]+) (Test[A-Za-z0-9]*)(?:/(.+))?$`)
)

// contractRows reads the tables of the document.
func contractRows(t *testing.T) (rows []contractRow) {
	t.Helper()
	file, err := os.Open("docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	section := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.TrimLeft(heading, "# ")
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || len(cells) == 2 && cells[1] == "Tests" {
			continue
		}
		row := contractRow{section: section, line: cells[0]}
		if len(cells) > 1 {
			for _, m := range quotedName.FindAllStringSubmatch(cells[1], -1) {
				row.tests = append(row.tests, m[1])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// testFile is what a file with tests has.
type testFile struct {
	tests    []string
	literals []string // its string literals
}

// testFiles parses the tests of a package's folder.
func testFiles(t *testing.T, dir string) (files []testFile) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var f testFile
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					f.tests = append(f.tests, n.Name.Name)
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					f.literals = append(f.literals, text)
				}
			}
			return true
		})
		files = append(files, f)
	}
	return files
}

// TestContractDocument: each line of docs/contract.md names tests, and each of
// them exists.
func TestContractDocument(t *testing.T) {
	rows := contractRows(t)
	packages := map[string][]testFile{}
	seen := map[string]bool{}
	for _, row := range rows {
		if at := row.section + ": " + row.line; seen[at] {
			t.Errorf("%s stands there twice", at)
		} else {
			seen[at] = true
		}
		if len(row.tests) == 0 {
			t.Errorf("%s: %s has no test", row.section, row.line)
		}
		for _, name := range row.tests {
			m := testName.FindStringSubmatch(name)
			if m == nil {
				t.Errorf("%s: %s: %q names no test", row.section, row.line, name)
				continue
			}
			dir := strings.TrimPrefix(m[1], "main")
			if packages[m[1]] == nil {
				packages[m[1]] = testFiles(t, filepath.Join(".", dir))
			}
			if !slices.ContainsFunc(packages[m[1]], func(f testFile) bool {
				return slices.Contains(f.tests, m[2]) && (m[3] == "" || slices.Contains(f.literals, m[3]))
			}) {
				t.Errorf("%s: %s: there is no %s", row.section, row.line, name)
			}
		}
	}
	if len(rows) < 350 {
		t.Errorf("only %d lines were read", len(rows))
	}
}

// TestContractDocumentIsWhole holds the document against what the code can tell
// of the interface: routes, fields, events and changes.
func TestContractDocumentIsWhole(t *testing.T) {
	lines := map[string][]string{}
	for _, row := range contractRows(t) {
		lines[row.section] = append(lines[row.section], strings.Trim(row.line, "`"))
	}
	for section, v := range map[string]any{
		"Flight snapshot": flight.Snapshot{}, "CarrierRef": flight.CarrierRef{}, "CodeshareRef": flight.CodeshareRef{}, "CountryRef": flight.CountryRef{},
		"AirportRef": flight.AirportRef{}, "FlightTime": flight.FlightTime{}, "EndpointTimes": flight.EndpointTimes{}, "FlightEndpoint": flight.Endpoint{},
		"FlightStatusInfo": flight.StatusInfo{}, "EquipmentInfo": flight.EquipmentInfo{}, "DurationInfo": flight.DurationInfo{},
		"TimelineEntry": flight.TimelineEntry{}, "FlightLegRef": flight.LegRef{}, "Subscription": flight.Subscription{},
	} {
		var fields []string
		for f := range reflect.TypeOf(v).Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields = append(fields, name)
			}
		}
		same(t, section, fields, lines[section])
	}
	var changes, events []string
	for _, c := range flight.ChangeTypes {
		changes = append(changes, string(c))
	}
	for _, e := range flight.EventTypes {
		events = append(events, string(e))
	}
	same(t, "Change types", changes, lines["Change types"])
	for i, e := range lines["Event types"] {
		lines["Event types"][i], _, _ = strings.Cut(e, "`")
	}
	same(t, "Event types", events, lines["Event types"])
	for _, route := range routesOf(t) {
		if !slices.ContainsFunc(lines["Endpoints"], func(line string) bool { return strings.HasPrefix(line, route+"`:") }) {
			t.Errorf("no line of %s", route)
		}
	}
}

// same compares a section's lines with the names in the code, in any order.
func same(t *testing.T, section string, code, document []string) {
	t.Helper()
	for _, name := range code {
		if !slices.Contains(document, name) {
			t.Errorf("%s: no line of %s", section, name)
		}
	}
	if len(document) != len(code) {
		t.Errorf("%s: the lines are %q, the code has %q", section, document, code)
	}
}

// routesOf reads rest's table of routes.
func routesOf(t *testing.T) (routes []string) {
	t.Helper()
	source, err := os.ReadFile("rest/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\{"([A-Z]+)", "(/v1/[^"]*)"`).FindAllSubmatch(source, -1) {
		routes = append(routes, string(m[1])+" "+string(m[2]))
	}
	if len(routes) < 18 {
		t.Fatalf("%d routes were found", len(routes))
	}
	return routes
}
