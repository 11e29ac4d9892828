// Package graph is the application: the use cases, as the resolvers of the
// GraphQL schema, and the GraphQL endpoint around them.
//
// It promises that a resolver is plain Go. REST calls the same methods, so no
// rule stands in a directive, an extension or a transport, and no resolver
// looks at the GraphQL request; who asks is in the context, see package
// access. Input is validated here, every fault at once. A look-up that is
// answered from the cache costs no SQL and no Redis, and its snapshot is
// shared, not copied.
//
// The endpoint answers POST, GET for queries, server-sent events and
// websockets (graphql-transport-ws). Bodies, tokens and the cost of a document
// are bounded, the price of a document is computed in linear time, and no
// error says anything of its cause that [flight.Error] does not say.
package graph

//go:generate go tool gqlgen generate
