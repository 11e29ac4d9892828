package graph

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// TestConnections: whatever is named a connection is one of the Relay
// specification of cursor connections, and what looks like one is named so.
func TestConnections(t *testing.T) {
	types := schema().Types
	field := func(typ, name, want string) {
		f := types[typ].Fields.ForName(name)
		if f == nil || f.Type.String() != want {
			t.Errorf("%s.%s must be %s, is %v", typ, name, want, f)
		}
	}
	field("PageInfo", "hasNextPage", "Boolean!")
	field("PageInfo", "hasPreviousPage", "Boolean!")
	field("PageInfo", "startCursor", "String")
	field("PageInfo", "endCursor", "String")
	connections := 0
	for name, d := range types {
		if name == "PageInfo" || d.Kind != ast.Object || d.BuiltIn {
			continue
		}
		if name == "Subscription" || name == "Query" || name == "Mutation" {
			if d != schema().Subscription && d != schema().Query && d != schema().Mutation {
				t.Errorf("%s is a root type's name: caches go by it", name)
			}
		}
		noun, isConnection := strings.CutSuffix(name, "Connection")
		if !isConnection {
			if d.Fields.ForName("pageInfo") != nil {
				t.Errorf("%s has pageInfo and is not named a connection", name)
			}
			continue
		}
		connections++
		field(name, "pageInfo", "PageInfo!")
		field(name, "totalCount", "Int!")
		field(name, "edges", "["+noun+"Edge!]!")
		field(noun+"Edge", "cursor", "String!")
		if node := types[noun+"Edge"].Fields.ForName("node"); node == nil || !node.Type.NonNull || node.Type.Elem != nil {
			t.Errorf("%sEdge.node must be one object", noun)
		}
	}
	if connections == 0 {
		t.Error("there is no connection")
	}
	for _, d := range types {
		for _, f := range d.Fields {
			if !strings.HasSuffix(f.Type.Name(), "Connection") {
				continue
			}
			takes := func(name, typ string) bool {
				a := f.Arguments.ForName(name)
				return a != nil && a.Type.String() == typ
			}
			backward := f.Arguments.ForName("last") != nil || f.Arguments.ForName("before") != nil
			price := prices[d.Name+"."+f.Name]
			if !backward && (!takes("first", "Int!") || !takes("after", "String") || price.by != "first") {
				t.Errorf("%s.%s must take first: Int! and after: String, and be priced by first", d.Name, f.Name)
			}
			if backward && (!takes("first", "Int") || !takes("after", "String") || !takes("last", "Int") || !takes("before", "String") || price.by != "first" || price.or != "last") {
				t.Errorf("%s.%s must take first, after, last and before, and be priced by first or last", d.Name, f.Name)
			}
		}
	}
}
