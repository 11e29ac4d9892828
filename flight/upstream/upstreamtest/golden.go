package upstreamtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// Update is the flag -update of a provider's tests: write the golden files anew.
var Update = flag.Bool("update", false, "write the golden files anew")

var fingerprint = regexp.MustCompile(`"fingerprint":"[^"]*"`)

// Golden compares a fresh snapshot with testdata/golden/<name>.json; a star in
// the name is spelled out. The fingerprint is left out: how it is made is not
// an upstream's to say.
func Golden(t *testing.T, name string, s *flight.Snapshot) {
	t.Helper()
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	got = fingerprint.ReplaceAll(got, []byte(`"fingerprint":""`))
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	path := filepath.Join("testdata", "golden", strings.ReplaceAll(name, "*", "_star_")+".json")
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if !bytes.Equal(indented.Bytes(), want) {
		t.Errorf("%s differs; run with -update and look at the difference.\ngot %s", path, indented.Bytes())
	}
}

// Fixture reads a file of testdata.
func Fixture(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return body
}
