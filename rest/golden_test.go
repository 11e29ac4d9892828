package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// vary is what differs from run to run: random ids, and wall times.
var vary = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(sub|evt|dlv)_[0-9a-f]{32}\b`), "${1}_ID"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/]{43}=`), "whsec_SECRET"},
	{regexp.MustCompile(`("(?:timestamp|createdAt|updatedAt|attemptedAt|nextAttemptAt|deliveredAt|lastDeliveryAt)": )"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`), `$1"TIME"`},
	{regexp.MustCompile(`Content-Length: \d+\r\n`), ""},
	{regexp.MustCompile(`Date: .*\r\n`), ""},
	{regexp.MustCompile(`\r`), ""},
}

// Golden compares a status, headers and a JSON body with a file of testdata.
// The body is indented, its fields stay in their order.
func Golden(t *testing.T, name, head string, body []byte) {
	t.Helper()
	var got bytes.Buffer
	got.WriteString(head)
	if len(body) > 0 {
		got.WriteString("\n")
		if err := json.Indent(&got, body, "", "  "); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		got.WriteString("\n")
	}
	text := got.Bytes()
	for _, v := range vary {
		text = v.what.ReplaceAll(text, []byte(v.with))
	}
	file := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (make it with -update)", err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", file, text, want)
	}
}
