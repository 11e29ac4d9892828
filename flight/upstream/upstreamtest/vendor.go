package upstreamtest

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Vendor is a provider that is asked over HTTP, as the tests of its package
// have it.
type Vendor struct {
	New     func(base string, timeout time.Duration) upstream.Source // timeout 0: the source's own
	Secrets []string                                                 // credentials that New gives the source

	// Decode makes legs of the body of an answer, as New's source does before
	// [upstream.Finish].
	Decode func(body []byte, key flight.Key, now flight.Time) (flight.Legs, error)
}

// FlagBase is what sources are given in tests as the service's address.
const FlagBase = "https://flights.example"

// BA178 is the flight of the synthetic answers.
var BA178 = flight.Key{Carrier: "BA", Number: "178", Date: "2026-11-21"}

// Look asks for the legs of a flight, of which body is the answer, at a moment
// such as "2026-11-21 23:15" UTC. They must be there, and whole.
func (v Vendor) Look(t testing.TB, body []byte, key flight.Key, now string) flight.Legs {
	t.Helper()
	legs, err := v.New(Serve(t, http.StatusOK, body), 0).Legs(t.Context(), key, At(t, now))
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	CheckLegs(t, legs, key)
	return legs
}

// Answer is a body and the flight that was asked for.
type Answer struct {
	Name string
	Body []byte
	Key  flight.Key
}

// Fuzz feeds the decoder mutated answers. It must not panic, and what it makes
// of them must be whole and of the day that was asked for. It begins with every
// answer in testdata, each asked for by every key, and with more. also checks
// what only this provider promises; nil: nothing.
func (v Vendor) Fuzz(f *testing.F, keys []flight.Key, also func(t testing.TB, legs flight.Legs), more ...Answer) {
	for _, body := range bodies(f) {
		for _, k := range keys {
			f.Add(body, k.Carrier, k.Number, k.Date)
		}
	}
	for _, a := range more {
		f.Add(a.Body, a.Key.Carrier, a.Key.Number, a.Key.Date)
	}
	now := At(f, "2026-11-22 05:30")
	f.Fuzz(func(t *testing.T, body []byte, carrier, number, date string) {
		key := flight.Key{Carrier: carrier, Number: number, Date: date}
		legs, err := v.Decode(body, key, now)
		if err != nil || len(legs) == 0 {
			return
		}
		if legs, err = upstream.Finish(key, legs, now); err != nil {
			t.Fatal(err)
		}
		CheckLegs(t, legs, key)
		if also != nil {
			also(t, legs)
		}
	})
}

// bodies returns every answer in testdata, but not what is made of them.
func bodies(t testing.TB) (all [][]byte) {
	t.Helper()
	err := filepath.WalkDir("testdata", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "golden":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".json"):
			return nil
		}
		body, err := os.ReadFile(path)
		all = append(all, body)
		return err
	})
	if err != nil || len(all) < len(Situations) {
		t.Fatalf("%d answers in testdata, %v", len(all), err)
	}
	return all
}

// BenchDecode measures what it takes to make complete snapshots of answers.
func (v Vendor) BenchDecode(b *testing.B, answers ...Answer) {
	now := At(b, "2026-11-22 05:30")
	for _, a := range answers {
		b.Run(a.Name, func(b *testing.B) {
			b.SetBytes(int64(len(a.Body)))
			b.ReportAllocs()
			for b.Loop() {
				legs, err := v.Decode(a.Body, a.Key, now)
				if err == nil {
					legs, err = upstream.Finish(a.Key, legs, now)
				}
				if err != nil || len(legs) == 0 {
					b.Fatal(len(legs), err)
				}
			}
		})
	}
}
