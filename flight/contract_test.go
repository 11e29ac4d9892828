package flight_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// vocabulary is what the contract and its decisions allow as values, written out
// by hand in their order; the tests below hold the Go constants against it.
var vocabulary = map[string][]string{
	"ChangeType": {
		"status.changed", "flight.departed", "flight.arrived", "flight.cancelled", "flight.diverted", "flight.reinstated",
		"departure.gate.changed", "departure.terminal.changed", "arrival.gate.changed", "arrival.terminal.changed", "arrival.baggage.changed",
		"departure.scheduled.changed", "departure.estimated.changed", "departure.actual.changed",
		"arrival.scheduled.changed", "arrival.estimated.changed", "arrival.actual.changed",
		"delay.increased", "delay.decreased", "aircraft.changed", "aircraft.tail.changed", "route.changed", "codeshares.changed",
	},
	"EventType": {
		"subscription.created", "subscription.activated", "flight.updated", "subscription.test", "subscription.suspended", "subscription.completed",
	},
	"Phase": {
		"scheduled", "boarding", "departed", "en_route", "landed", "arrived", "cancelled", "diverted", "redirected", "unknown",
	},
	"Status":         {"active", "pending", "paused", "completed", "suspended"},
	"EventStatus":    {"pending", "delivered", "failed", "missed"},
	"DeliveryStatus": {"succeeded", "retrying", "failed", "interrupted"},
	"Status*":        {"S", "A", "L", "C", "D", "R", "U", "NO"}, // untyped: StatusScheduled and so on
}

// TestVocabulary reads the constants from the source, so that none can be
// added, lost or misspelt.
func TestVocabulary(t *testing.T) {
	got := constants(t)
	for kind, want := range vocabulary {
		if !slices.Equal(got[kind], want) {
			t.Errorf("%s:\n got %q\nwant %q", kind, got[kind], want)
		}
	}
}

func TestListsOfValues(t *testing.T) {
	var changes, phases []string
	for _, c := range flight.ChangeTypes {
		changes = append(changes, string(c))
	}
	for _, p := range flight.Phases {
		phases = append(phases, string(p))
	}
	if !slices.Equal(changes, vocabulary["ChangeType"]) || len(changes) != 23 {
		t.Errorf("ChangeTypes: %q", changes)
	}
	if !slices.Equal(phases, vocabulary["Phase"]) {
		t.Errorf("Phases: %q", phases)
	}
}

func TestLimits(t *testing.T) {
	for name, v := range map[string][2]int{
		"default delay threshold":  {flight.DefaultDelayThreshold, 5},
		"least delay threshold":    {flight.MinDelayThreshold, 1},
		"greatest delay threshold": {flight.MaxDelayThreshold, 240},
		"metadata":                 {flight.MaxMetadataBytes, 16384},
		"failures to suspend":      {flight.FailuresToSuspend, 20},
		"attempts":                 {flight.MaxAttempts, 9},
		"hours of an idempotency":  {int(flight.IdempotencyWindow.Hours()), 24},
	} {
		if v[0] != v[1] {
			t.Errorf("%s: %d, want %d", name, v[0], v[1])
		}
	}
}

// constants returns the values of the string constants of this package by
// type, and of the untyped ones by the first word of their name and a star.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		stringConstants(file, out)
	}
	return out
}

func stringConstants(file *ast.File, out map[string][]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		value, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || value.Kind != token.STRING {
			return true
		}
		kind := ""
		if named, ok := spec.Type.(*ast.Ident); ok {
			kind = named.Name
		} else if strings.HasPrefix(spec.Names[0].Name, "Status") {
			kind = "Status*"
		}
		text, _ := strconv.Unquote(value.Value)
		out[kind] = append(out[kind], text)
		return true
	})
}
