package access

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The table of the service's decisions.
func TestBuiltInPlans(t *testing.T) {
	var p Plans
	for name, want := range map[string]Plan{
		"free":      {"free", Limits{10, 500, 5_000}, 3, 3, 10, 20},
		"starter":   {"starter", Limits{60, 10_000, 200_000}, NoLimit, 50, 100, 500},
		"pro":       {"pro", Limits{300, 100_000, 2_000_000}, NoLimit, 1_000, 2_000, 10_000},
		"unlimited": {"unlimited", Limits{NoLimit, NoLimit, NoLimit}, NoLimit, NoLimit, NoLimit, NoLimit},
		"gone":      {"gone", Limits{10, 500, 5_000}, 3, 3, 10, 20},
	} {
		if got := p.Of(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPlanFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plans.json")
	text := `{"free": {"minute": 20, "month": null},
		"partner": {"minute": 600, "day": null, "month": null, "watchedFlights": 100, "liveLegs": 0, "streams": 4}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := LoadPlans(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Of("free"); got != (Plan{"free", Limits{20, 500, NoLimit}, 3, 3, 10, 20}) {
		t.Errorf("%+v", got)
	}
	if got := p.Of("partner"); got != (Plan{"partner", Limits{600, NoLimit, NoLimit}, 100, 0, NoLimit, 4}) {
		t.Errorf("%+v", got)
	}
	if got := p.Of("pro"); got != Plans(nil).Of("pro") {
		t.Errorf("%+v", got)
	}
	if got := p.Names(); !reflect.DeepEqual(got, []string{"free", "starter", "pro", "unlimited", "partner"}) {
		t.Error(got)
	}
	if Plans(nil).Of("free").Requests[Minute] != 10 {
		t.Error("the file has changed the built-in table")
	}
	if _, err := LoadPlans(path + "x"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
}

func TestBadPlanFiles(t *testing.T) {
	for text, says := range map[string]string{
		``:                              "JSON object",
		`[]`:                            "JSON object",
		`{"free": {"minute": "10"}} x`:  "after the JSON",
		`{"free": {"minute": true}}`:    "JSON object",
		`{"free": {"minute": 0}}`:       "minute must be a whole number from 1",
		`{"free": {"day": 1.5}}`:        "day must be a whole number",
		`{"free": {"month": -1}}`:       "month must be",
		`{"free": {"month": 1e30}}`:     "month must be",
		`{"free": {"liveLegs": -1}}`:    "liveLegs must be a whole number from 0",
		`{"free": {"minutes": 10}}`:     `"minutes" is not one of`,
		`{"free": null}`:                "must be an object",
		`{"gold": {"minute": 10}}`:      "plan gold: day is missing",
		`{"Gold plan": {"minute": 10}}`: "the name",
		`{"": {"minute": 10}}`:          "the name",
	} {
		p, err := parsePlans([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v; want %q", text, p, err, says)
		}
	}
}
