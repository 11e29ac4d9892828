package upstream

import "context"

// Permit is asked before each call to a provider. An error forbids the call,
// and is what the look-up ends with.
type Permit func(ctx context.Context) error

type permitKey struct{}

// WithPermit returns a context under which every call of a [Client] asks permit
// first: a look-up is one call as a rule, and further ones where the answer has
// several pages or the date lies in two collections. Each is one that the
// provider counts. The calls of a look-up come one after the other.
func WithPermit(ctx context.Context, permit Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, permit)
}

// permitted asks the permit of ctx, if there is one.
func permitted(ctx context.Context) error {
	if permit, ok := ctx.Value(permitKey{}).(Permit); ok {
		return permit(ctx)
	}
	return nil
}
