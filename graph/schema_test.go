package graph

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/flightwire/flightwire/flight"
)

var update = flag.Bool("update", false, "write the golden files anew")

func schema() *ast.Schema { return NewExecutableSchema(Config{}).Schema() }

// TestSchemaGolden makes every change of the schema visible.
func TestSchemaGolden(t *testing.T) {
	var b bytes.Buffer
	formatter.NewFormatter(&b, formatter.WithIndent("  ")).FormatSchema(schema())
	const golden = "testdata/schema.golden.graphqls"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("the printed schema differs from " + golden + "; look at the difference, then run: go test ./graph -run TestSchemaGolden -update")
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	n := 0
	described := func(what, description string) {
		if n++; strings.TrimSpace(description) == "" {
			t.Errorf("%s has no description", what)
		}
	}
	for _, d := range schema().Types {
		if d.BuiltIn {
			continue
		}
		described(d.Name, d.Description)
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			described(d.Name+"."+f.Name, f.Description)
			for _, a := range f.Arguments {
				described(d.Name+"."+f.Name+"("+a.Name+")", a.Description)
			}
		}
		for _, v := range d.EnumValues {
			described(d.Name+"."+v.Name, v.Description)
		}
	}
	if n < 200 {
		t.Errorf("only %d things were looked at", n)
	}
}

// TestEnums holds the schema's enums against the domain's constants, which
// gqlgen does not check on output.
func TestEnums(t *testing.T) {
	check := func(name string, values map[string]string) {
		var want []string
		for _, v := range schema().Types[name].EnumValues {
			want = append(want, v.Name)
			if _, ok := values[v.Name]; !ok {
				t.Errorf("%s.%s stands for nothing", name, v.Name)
			}
		}
		for v := range values {
			if !slices.Contains(want, v) {
				t.Errorf("%s has no %s", name, v)
			}
		}
	}
	check("ChangeType", plain(changeTypes))
	check("FlightPhase", plain(phases))
	check("SubscriptionStatus", plain(statuses))
	check("EventType", plain(eventTypes))
	check("EventStatus", plain(eventStatuses))
	check("DeliveryStatus", plain(deliveryStatuses))
	if len(flight.ChangeTypes) != 23 || len(changeTypes.values) != 23 {
		t.Error("the contract has 23 change types")
	}
	if v, err := UnmarshalChangeType("AIRCRAFT_TAIL_CHANGED"); v != flight.ChangeTail || err != nil {
		t.Error(v, err)
	}
	if _, err := UnmarshalChangeType("aircraft.tail.changed"); flight.CodeOf(err) != flight.CodeInvalid {
		t.Error("took a value that is not in the schema:", err)
	}
	var b bytes.Buffer
	MarshalFlightPhase(flight.PhaseEnRoute).MarshalGQL(&b)
	if b.String() != `"EN_ROUTE"` {
		t.Error(b.String())
	}
}

func plain[T ~string](n names[T]) map[string]string {
	m := map[string]string{}
	for name, v := range n.values {
		m[name] = string(v)
	}
	return m
}

// TestIntrospectionFile: the file of the schema is what the endpoint answers to
// the same query, and has every type with what is deprecated.
func TestIntrospectionFile(t *testing.T) {
	var file struct {
		Data struct {
			Schema struct {
				Types []struct {
					Name   string
					Fields []struct {
						Name              string
						IsDeprecated      bool
						DeprecationReason string
					}
				}
			} `json:"__schema"`
		}
	}
	text := Introspection()
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Data.Schema.Types) != len(schema().Types) {
		t.Errorf("%d types, want %d", len(file.Data.Schema.Types), len(schema().Types))
	}
	deprecated := 0
	for _, typ := range file.Data.Schema.Types {
		for _, f := range typ.Fields {
			if f.IsDeprecated && strings.HasPrefix(f.DeprecationReason, "Use `") {
				deprecated++
			}
		}
	}
	if deprecated < 3 {
		t.Errorf("%d fields are deprecated in favour of another", deprecated)
	}
	r := post(t, sqliteRig(t, nil).serve(nil).URL, wholeSchema, nil)
	if r.body != string(text) {
		t.Error("the endpoint answers something else")
	}
}
