package webhook

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A receiver with a certificate of a private authority is trusted by the
// setting alone, and only by that.
func TestRoots(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.Config.ErrorLog = discardLog
	server.StartTLS()
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "roots.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(path, append([]byte("# our own\n"), cert...), 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := LoadRoots(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{AllowPrivate: true, RootCAs: roots}, ""},
		{Config{AllowPrivate: true}, ClassTLS},
	} {
		res := newTestSender(t, c.config).Send(t.Context(), testRequest(server.URL))
		if res.ErrorClass != c.want || (c.want == "") != (res.Outcome == Delivered) {
			t.Errorf("%+v, want the class %q", res, c.want)
		}
		checkText(t, res)
	}
}

func TestRootsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "cannot be read",
		dir:                        "cannot be read",
		file("text", "hello"):      "no certificate in PEM form",
		file("large", strings.Repeat("x", maxRoots+1)): "larger than",
	} {
		if _, err := LoadRoots(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
