package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flightwire/flightwire"

// mayImport is the import table of docs/architecture.md: what of ours each
// package may import. A name ending in /* is all below it.
var mayImport = map[string][]string{
	"flight":            {},
	"flight/upstream":   {"flight"},
	"flight/upstream/*": {"flight", "flight/upstream", "flight/places"},
	"flight/*":          {"flight"},
	"db":                {"flight"},
	"access":            {"flight", "db"},
	"jobs":              {"flight", "flight/upstream", "flight/webhook", "db"},
	"graph":             {"flight", "flight/*", "db", "access", "jobs"},
	"rest":              {"graph", "flight", "flight/places", "access"},
	"explorer":          {},
	"":                  {"flight", "flight/*", "db", "access", "jobs", "graph", "rest", "explorer"},

	"db/dbtest":     {"db"}, // helps tests
	"rest/resttest": {},
}

// row returns the row of a package: its own, or that of what it is below.
func row(pkg string) (name string, ok bool) {
	name = pkg
	for _, ok = mayImport[name]; !ok; _, ok = mayImport[name] {
		above, _, below := cutLast(strings.TrimSuffix(name, "/*"))
		if !below {
			return "", false
		}
		name = above + "/*"
	}
	return name, true
}

func cutLast(path string) (before, after string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

// allows reports whether a row's list has a package of ours.
func allows(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		above, all := strings.CutSuffix(name, "*")
		return name == pkg || all && strings.HasPrefix(pkg, above)
	})
}

// TestImports keeps the table, and the domain to the standard library.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		pkg := strings.TrimPrefix(strings.TrimPrefix(imports[0], module), "/")
		name, ok := row(pkg)
		if !ok {
			t.Errorf("the package %s is not in the table", pkg)
			continue
		}
		seen[name] = true
		for _, path := range imports[1:] {
			ours, isOurs := strings.CutPrefix(path, module+"/")
			host, _, _ := strings.Cut(path, "/")
			if pkg == "flight" && strings.Contains(host, ".") {
				t.Errorf("the domain imports %s", path)
			}
			if isOurs && !allows(mayImport[name], ours) {
				t.Errorf("%s imports %s", pkg, ours)
			}
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("there is no package %q any more", name)
		}
	}
}
