package graph

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// priceTable is that of docs/graphql.md.
func priceTable() string {
	var b strings.Builder
	b.WriteString("| field | costs | times what is below |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		p := prices[name]
		times := fmt.Sprint(p.times)
		if p.by != "" {
			times = fmt.Sprintf("by `%s`", p.by)
		}
		if p.or != "" {
			times += fmt.Sprintf(" or `%s`", p.or)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", name, p.own, times)
	}
	return b.String()
}

// TestPriceList: the documented prices are those that are charged.
func TestPriceList(t *testing.T) {
	const path = "../docs/graphql.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "by a test -->\n\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + "by a test -->\n\n" + priceTable() + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("docs/graphql.md has other prices; run: go test ./graph -run TestPriceList -update")
	}
}

// parts are all that a client can name in a schema, each with what it is.
func parts(s *ast.Schema) map[string]string {
	all := map[string]string{}
	add := func(name, what string, directives ast.DirectiveList) {
		if directives.ForName("deprecated") != nil {
			what += " deprecated"
		}
		all[name] = what
	}
	for _, d := range s.Types {
		if d.BuiltIn {
			continue
		}
		add(d.Name, string(d.Kind), d.Directives)
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			add(d.Name+"."+f.Name, f.Type.String(), f.Directives)
			for _, a := range f.Arguments {
				add(d.Name+"."+f.Name+"("+a.Name+")", a.Type.String(), a.Directives)
			}
		}
		for _, v := range d.EnumValues {
			add(d.Name+"."+v.Name, "value", v.Directives)
		}
	}
	return all
}

// TestSchemaChanges: every difference to version 1.0 stands in the list of
// changes, and none of them breaks a client.
func TestSchemaChanges(t *testing.T) {
	text, err := os.ReadFile("testdata/schema.1.0.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	first, err := gqlparser.LoadSchema(&ast.Source{Name: "1.0", Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../docs/schema-changes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range differences(parts(first), parts(schema()), string(list)) {
		t.Error(fault)
	}
	// The test would see what it is for.
	was := map[string]string{"A": "OBJECT", "A.gone": "Int", "A.other": "Int!", "A.old": "Int"}
	is := map[string]string{"A": "OBJECT", "A.other": "Int", "A.old": "Int deprecated", "A.more": "Int", "A.known": "Int", "New": "ENUM", "New.X": "value"}
	if got := differences(was, is, "added: `A.known`"); len(got) != 5 {
		t.Errorf("saw %q", got)
	}
}

// differences returns what is different and not listed, and what must not be.
// What belongs to a new type needs no line of its own.
func differences(was, is map[string]string, list string) (faults []string) {
	named := func(name string) bool { return strings.Contains(list, "`"+name+"`") }
	for _, name := range slices.Sorted(maps.Keys(is)) {
		owner, _, _ := strings.Cut(name, ".")
		before, there := was[name]
		_, ownerThere := was[owner]
		switch {
		case is[name] == before || named(name) || !ownerThere && name != owner:
		case !there:
			faults = append(faults, name+" is new: name it in docs/schema-changes.md")
		default:
			faults = append(faults, fmt.Sprintf("%s was %s and is %s: name it in docs/schema-changes.md", name, before, is[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, there := is[name]; !there && !named(name) {
			faults = append(faults, name+" is gone: clients that name it break. Deprecate it first, see docs/schema-changes.md")
		}
	}
	return faults
}
