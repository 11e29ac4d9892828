package graph

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the tests when anything of them goes on after them.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
