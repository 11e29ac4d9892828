package flight_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

func TestErrors(t *testing.T) {
	plain := flight.Errorf(flight.CodeUpstream, "The upstream said %d.", 7)
	if plain.Error() != "upstream_error: The upstream said 7." || plain.Cause != nil {
		t.Errorf("%v", plain)
	}
	quoting := flight.Errorf(flight.CodeUpstream, "It broke: %w", io.ErrUnexpectedEOF)
	if quoting.Error() != "upstream_error: It broke: unexpected EOF" || !errors.Is(quoting, io.ErrUnexpectedEOF) {
		t.Errorf("%v", quoting)
	}
	hiding := &flight.Error{Code: flight.CodeInternal, Message: "Something went wrong.", Cause: io.EOF}
	if hiding.Error() != "internal: Something went wrong.: EOF" || !errors.Is(hiding, io.EOF) {
		t.Errorf("%v", hiding)
	}
	for want, err := range map[flight.Code]error{
		"":                  nil,
		flight.CodeInternal: io.EOF,
		flight.CodeUpstream: fmt.Errorf("while asking: %w", plain),
	} {
		if got := flight.CodeOf(err); got != want {
			t.Errorf("code of %v: %s, want %s", err, got, want)
		}
	}
}
