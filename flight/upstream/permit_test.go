package upstream_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// Every call asks for permission, and one that gets none is not made.
func TestPermit(t *testing.T) {
	calls := 0
	base := upstreamtest.ServeFunc(t, func(http.ResponseWriter, *http.Request) { calls++ }) // one call at a time
	c := upstream.NewClient(upstream.ClientConfig{Name: "p", BaseURL: base})
	asked, refused := 0, errors.New("no more")
	ctx := upstream.WithPermit(t.Context(), func(context.Context) error {
		if asked++; asked > 2 {
			return refused
		}
		return nil
	})
	for i := range 4 {
		if _, err := c.Get(ctx, "/"); errors.Is(err, refused) != (i >= 2) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if _, err := c.Get(t.Context(), "/"); err != nil || calls != 3 || asked != 4 {
		t.Errorf("%v, %d calls, asked %d times", err, calls, asked)
	}
}
