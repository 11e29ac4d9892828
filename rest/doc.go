// Package rest is the documented /v1 interface: it decodes a request, calls
// the resolver of package graph that is the use case, as plain Go, and encodes
// the documented body. There is no rule here that GraphQL does not have.
//
// It promises that routes.go is the whole surface, and the OpenAPI document in
// the folder openapi says all of it (tests hold routes, codes and every answer
// that they see against it); that every answer carries
// x-request-id; that every failure, also of a path or a method that does not
// exist, has the one error body that errors.go makes, and says nothing of a
// cause of ours; that faults of an input have the contract's names and come
// all at once, those of its form, which are found here, together with those of
// its content, which the resolver finds; and that a cached look-up writes bytes
// that were encoded before, with no more work around them than the check of
// the key.
//
// What the contract and its decisions leave open is decided like this. Query
// parameters that are not documented are ignored, documented ones may stand
// once; names of JSON fields are exact, and each may stand once. null for an
// optional field is the same as leaving it out, but in a PATCH, where it takes
// headers and metadata away and is a fault elsewhere; an empty secret is a
// fault. An Idempotency-Key that is empty is not there; the logs of deliveries
// and events have the form of every list, with an offset of 0.
// refresh is on when it is true, 1 or has no value, in any case. The timeline
// takes every selector that its flight takes. The image of a flag may be kept
// by anyone for thirty days, a drawing that stands in for one for a day. A body
// that is not sent as application/json is an invalid request (400), not a 415;
// where none is documented, none is read. An upstream that does not say when it
// is back is to be tried again after ten seconds. A path is what the table
// says: one with a trailing slash, an empty segment or dots is neither found
// nor redirected.
package rest
