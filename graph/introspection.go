package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
)

// Introspection returns the schema as tools ask for it: the JSON answer to the
// introspection query, with what is deprecated.
func Introspection() []byte {
	exec := executor.New(NewExecutableSchema(Config{}))
	exec.Use(readableSchema{})
	ctx := graphql.StartOperationTrace(context.Background())
	op, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: wholeSchema})
	if errs != nil { // the document is ours
		panic(fmt.Sprintf("graph: introspection: %v", errs))
	}
	responses, ctx := exec.DispatchOperation(ctx, op)
	return encode(ctx, responses(ctx))
}

const wholeSchema = `{ __schema { description queryType { name } mutationType { name } subscriptionType { name } types { ...Type }
	directives { name description locations isRepeatable args(includeDeprecated: true) { ...Value } } } }
fragment Type on __Type { kind name description specifiedByURL isOneOf fields(includeDeprecated: true) {
		name description args(includeDeprecated: true) { ...Value } type { ...Ref } isDeprecated deprecationReason }
	inputFields(includeDeprecated: true) { ...Value } interfaces { ...Ref }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...Ref } }
fragment Value on __InputValue { name description type { ...Ref } defaultValue isDeprecated deprecationReason }
fragment Ref on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`
