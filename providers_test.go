package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/aeroapi"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// ofTomorrow returns a fixture of the flight BA178, moved to tomorrow.
func ofTomorrow(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.FromSlash("flight/upstream/" + file))
	if err != nil {
		t.Fatal(err)
	}
	day, err := time.Parse(time.DateOnly, flightDate())
	if err != nil {
		t.Fatal(err)
	}
	next := day.AddDate(0, 0, 1).Format(time.DateOnly)
	return []byte(strings.NewReplacer("2026-11-21", flightDate(), "2026-11-22", next).Replace(string(body)))
}

// atProvider serves one body, to those who have the key.
func atProvider(t *testing.T, header, key string, body []byte) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != key {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"message": "the key %s is not %s"}`, r.Header.Get(header), key)
			return
		}
		w.Header().Set("Set-Cookie", "session="+key)
		w.Header().Set("Retry-After", "7")
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestProviders looks a flight up and subscribes to it, with the service on
// each of the newer providers.
func TestProviders(t *testing.T) {
	for name, p := range map[string]struct{ header, file, env string }{
		byAeroAPI:     {"x-apikey", "aeroapi/testdata/conformance/synthetic_scheduled.json", "AEROAPI"},
		byAeroDataBox: {"X-RapidAPI-Key", "aerodatabox/testdata/conformance/synthetic_scheduled.json", "AERODATABOX"},
	} {
		t.Run(name, func(t *testing.T) {
			base := atProvider(t, p.header, "hush-hush", ofTomorrow(t, p.file))
			c := Config{DataDir: t.TempDir(), Upstreams: []string{name}, Providers: providers{
				AeroAPIBaseURL: base, AeroAPIKey: "hush-hush", AeroDataBoxBaseURL: base, AeroDataBoxKey: "hush-hush",
			}}
			r := start(t, c)
			var found struct {
				CarrierCode string
				Departure   struct {
					Airport struct{ IATA, ICAO, Name, Timezone string }
					Times   struct{ ScheduledGate struct{ Local string } }
				}
			}
			if status := r.do("GET", "/v1/flights/BAW/178/"+flightDate()+"?origin=KJFK", nil, &found); status != http.StatusOK {
				t.Fatalf("look-up: %d", status)
			}
			if found.CarrierCode != "BA" || found.Departure.Airport.IATA != "JFK" || found.Departure.Airport.Timezone != "America/New_York" || found.Departure.Times.ScheduledGate.Local == "" {
				t.Errorf("%+v", found)
			}
			var sub struct{ Status string }
			body := map[string]any{"carrier": "BA", "flightNumber": "178", "date": flightDate(), "webhookUrl": r.base + "/dev/inbox"}
			if status := r.do("POST", "/v1/subscriptions", body, &sub); status != http.StatusCreated || sub.Status != "active" {
				t.Errorf("subscribe: %d %+v", status, sub)
			}
			if v, _ := vendorOf(name); !strings.Contains(r.out.String(), "flights by "+v.title) {
				t.Errorf("dev printed %s", r.out)
			}
		})
	}
}

// upstreamCLI runs `flightwire upstream …` with both newer providers there.
func upstreamCLI(t *testing.T, aeroapiKey string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	clearSettings(t)
	t.Setenv("AEROAPI_BASE_URL", atProvider(t, "x-apikey", "hush-hush", ofTomorrow(t, "aeroapi/testdata/conformance/synthetic_reinstated.json")))
	t.Setenv("AEROAPI_KEY", aeroapiKey)
	t.Setenv("AERODATABOX_BASE_URL", atProvider(t, "X-RapidAPI-Key", "hush-too", ofTomorrow(t, "aerodatabox/testdata/conformance/synthetic_boarding.json")))
	t.Setenv("AERODATABOX_KEY", "hush-too")
	var out, errs bytes.Buffer
	code = realMain(append([]string{"upstream"}, args...), &out, &errs, nil)
	return code, out.String(), errs.String()
}

func TestUpstreamCheck(t *testing.T) {
	code, out, errs := upstreamCLI(t, "hush-hush", "check", "BAW178", flightDate())
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, line := range []string{"JFK-LHR", "  aeroapi ", "aerodatabox", "≠ status.phase", "scheduled", "boarding", "≠ departure.times.estimatedGate", "  departure.times.scheduledGate", "–", " differ"} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}

	code, out, _ = upstreamCLI(t, "hush-hush", "check", "BA178", flightDate(), "--json")
	var checked struct {
		Flight  string
		Answers []struct {
			Provider, Error string
			Legs            []struct{ FlightKey string }
		}
		Differs []string
	}
	if err := json.Unmarshal([]byte(out), &checked); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if len(checked.Answers) != 2 || len(checked.Answers[1].Legs) != 1 || !strings.Contains(strings.Join(checked.Differs, ","), "JFK-LHR status.phase") {
		t.Errorf("%+v", checked)
	}

	// One that fails does not hide the other; nothing tells the key.
	code, out, errs = upstreamCLI(t, "hush-wrong", "check", "BA178", flightDate())
	if code != 0 || !strings.Contains(out, "aeroapi: ") || !strings.Contains(out, "JFK-LHR") || strings.Contains(out+errs, "hush-wrong") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = upstreamCLI(t, "hush-wrong", "check", "BA178", flightDate(), "--provider", "aeroapi")
	if code != exitFailed || strings.Count(errs, "\n") != 1 {
		t.Errorf("nobody knows: exit %d %s", code, errs)
	}
	if code, out, _ = upstreamCLI(t, "hush-hush", "check", "AA100", flightDate(), "--provider", "simulator"); code != 0 || !strings.Contains(out, "status.phase") || strings.Contains(out, "differ") {
		t.Errorf("simulator: exit %d %s", code, out)
	}
}

func TestUpstreamRecord(t *testing.T) {
	for _, tt := range []struct{ name, key, status string }{{"flights", "hush-hush", "200"}, {"refused", "hush-wrong", "401"}} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.json")
			code, out, errs := upstreamCLI(t, tt.key, "record", "BA", "0178", flightDate(), "--provider", "aeroapi", "--out", file)
			if code != 0 || errs != "" || !strings.Contains(out, file) {
				t.Fatalf("exit %d: %s%s", code, out, errs)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, leak := range []string{"hush", "x-apikey", "X-Apikey", "Cookie", "session=", "127.0.0.1"} {
				if bytes.Contains(text, []byte(leak)) && leak != "hush" || bytes.Contains(text, []byte(tt.key)) {
					t.Errorf("%q is in %s", leak, text)
				}
			}
			var r upstream.Recording
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			calls := 0
			for _, c := range r.Calls {
				if fmt.Sprint(c.Status) != tt.status || !strings.HasPrefix(c.Request, "GET /") {
					t.Errorf("%d %s", c.Status, c.Request)
				}
				calls++
			}
			if calls == 0 || r.Provider != "aeroapi" || r.Flight != "BA178:"+flightDate() || r.Outcome == "" || r.RecordedAt.IsZero() {
				t.Errorf("%+v", r)
			}
			played := aeroapi.New(aeroapi.Config{BaseURL: upstreamtest.Play(t, text), Key: "another"})
			key := flight.Key{Carrier: "BA", Number: "178", Date: flightDate()}
			legs, err := played.Legs(t.Context(), key, flight.TimeOf(r.RecordedAt))
			if outcome(legs, err) != r.Outcome {
				t.Errorf("played: %s, recorded: %s", outcome(legs, err), r.Outcome)
			}
			if code, _, errs := upstreamCLI(t, tt.key, "record", "BA", "178", flightDate(), "--provider", "aeroapi", "--out", file); code != exitUsage || !strings.Contains(errs, "--out") {
				t.Errorf("over the first one: exit %d %s", code, errs)
			}
		})
	}
}
