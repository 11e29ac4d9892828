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
	"flight":   {},
	"flight/*": {"flight", "flight/*"},
	"db":       {"flight"},
	"access":   {"flight", "db"},
	"jobs":     {"flight", "flight/upstream", "flight/webhook", "db"},
	"graph":    {"flight", "flight/*", "db", "access", "jobs"},
	"rest":     {"graph", "flight", "flight/places", "access"},
	"":         {"flight", "flight/*", "db", "access", "jobs", "graph", "rest"},

	"db/dbtest":          {"db"},                // helps tests
	"flight/places/data": {"flight", "flight/*"}, // makes the data
}

func row(pkg string) (string, bool) {
	if _, ok := mayImport[pkg]; ok {
		return pkg, true
	}
	if strings.HasPrefix(pkg, "flight/") {
		return "flight/*", true
	}
	return "", false
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
			allowed := mayImport[name]
			if isOurs && !slices.Contains(allowed, ours) && !(strings.HasPrefix(ours, "flight/") && slices.Contains(allowed, "flight/*")) {
				t.Errorf("%s imports %s", pkg, ours)
			}
		}
	}
	for _, name := range []string{"flight", "flight/*", "db", "access", "jobs", "graph", "rest", ""} {
		if !seen[name] {
			t.Errorf("there is no package %q any more", name)
		}
	}
}
