// Package access says who is asking, and whether they may ask more: it makes,
// rotates and revokes API keys and account tokens, checks the one that a request presents, counts
// the request against the key's plan, and carries the account in the request's
// context, for REST and GraphQL alike.
//
// It promises that a key works at once when it has been made, and that an old
// secret is refused on every process from the moment its rotation or
// revocation has been answered, also when a process was just reading the old
// one; that a check costs one Redis round trip, which concurrent checks share,
// and no SQL while the key is in use; and that keys go on working without
// Redis.
//
// It promises that the three windows of a key are taken from together, in the
// round trip that checks it, exactly up to their limits however many processes
// and callers there are; that what is refused takes nothing; that the counts of
// days and months outlive Redis but for the last seconds; and that a key has a
// small allowance while Redis does not answer.
//
// Redis is asked for every request, because only Redis can say at once
// on all processes that a key has changed; SQL holds the truth.
package access

import (
	"context"
	"net/http"
	"strings"

	"github.com/flightwire/flightwire/db"
)

// Identity is who a request comes from.
type Identity struct {
	Account     string // account id, "acc_…": what subscriptions belong to
	AccountName string
	KeyID       string // of the key or the account token: what request windows are counted by
	Plan        string
	Token       bool   // it was the account token, which manages keys and does nothing else
	Request     string // id of the request, for the audit log; "": it has none
}

// Actor is the identity as the audit log names it. It may change what belongs
// to its account.
func (id Identity) Actor() db.Actor {
	kind := db.ActorKey
	if id.Token {
		kind = db.ActorToken
	}
	return db.Actor{Kind: kind, ID: id.KeyID, Account: id.Account, Request: id.Request}
}

type identityKey struct{}

// With returns a context that carries who is asking.
func With(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns who is asking; false where nobody was authenticated.
func From(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// Presented returns the key that a request brings: x-api-key, or else the
// token of Authorization: Bearer. "" when there is neither.
func Presented(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Require lets a request through when it brings a key that the guard accepts,
// with its Identity in the context. Otherwise it calls fail, which answers the
// request, with the error of [Guard.Authenticate].
func Require(g *Guard, fail func(http.ResponseWriter, *http.Request, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, err := g.Authenticate(r.Context(), Presented(r))
			if err != nil {
				fail(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
		})
	}
}
