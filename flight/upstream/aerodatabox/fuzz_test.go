package aerodatabox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// FuzzDecode feeds the decoder anything: it must not panic, and what it makes
// of it must be whole and of the day that was asked for.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/conformance/*.json")
	if err != nil || len(files) < 12 {
		f.Fatal(len(files), err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "BA", "178", "2026-11-21")
	}
	f.Add(answer(f, board(f)[1:3]...), "BA", "2107", "2023-08-01")
	f.Add(answer(f, registration(f)[1:4]...), "GA", "9768", "2023-01-10")
	now := upstreamtest.At(f, "2026-11-22 05:30")
	f.Fuzz(func(t *testing.T, body []byte, carrier, number, date string) {
		k := flight.Key{Carrier: carrier, Number: number, Date: date}
		rows, err := parse(body)
		if err != nil {
			return
		}
		legs, err := decode(rows, k, now, flagBase)
		if err != nil || len(legs) == 0 {
			return
		}
		legs, err = upstream.Finish(k, legs, now)
		if err != nil {
			t.Fatal(err)
		}
		upstreamtest.CheckLegs(t, legs, k)
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range []struct {
		name string
		body []byte
		key  flight.Key
	}{
		{"arrived", answer(b, board(b)[0]), flight.Key{Carrier: "FR", Number: "7157", Date: "2023-08-01"}},
		{"codeshare", upstreamtest.Fixture(b, dir+"codeshare.json"), flight.Key{Carrier: "AA", Number: "6145", Date: "2026-11-21"}},
	} {
		now := upstreamtest.At(b, "2026-11-21 12:00")
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				rows, err := parse(bb.body)
				if err != nil {
					b.Fatal(err)
				}
				legs, err := decode(rows, bb.key, now, flagBase)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := upstream.Finish(bb.key, legs, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
