package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// depthLimit refuses operations whose fields are nested deeper than so. It is
// the limit that a reader of a document can see; what is nested costs more and
// more anyway.
type depthLimit int

// ExtensionName implements graphql.HandlerExtension.
func (depthLimit) ExtensionName() string { return "DepthLimit" }

// Validate implements graphql.HandlerExtension.
func (depthLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (d depthLimit) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	depth := depths{}.of(op.Operation.SelectionSet)
	if depth <= int(d) {
		return nil
	}
	return &gqlerror.Error{
		Message:    fmt.Sprintf("The operation's fields are nested deeper than the limit of %d. Ask for less, or in several requests.", d),
		Extensions: map[string]any{"code": "DEPTH_LIMIT_EXCEEDED", "depth": depth, "limit": int(d)},
	}
}

// depths are those of the fragments that were looked at: each is once, however
// often it is spread.
type depths map[*ast.FragmentDefinition]int

func (d depths) of(set ast.SelectionSet) int {
	deepest := 0
	for _, s := range set {
		depth := 0
		switch s := s.(type) {
		case *ast.Field:
			depth = 1 + d.of(s.SelectionSet)
		case *ast.InlineFragment:
			depth = d.of(s.SelectionSet)
		case *ast.FragmentSpread:
			var done bool
			if depth, done = d[s.Definition]; !done {
				depth = d.of(s.Definition.SelectionSet) // a cycle does not pass the validator
				d[s.Definition] = depth
			}
		}
		deepest = max(deepest, depth)
	}
	return deepest
}
