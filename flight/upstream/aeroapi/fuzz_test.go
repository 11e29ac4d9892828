package aeroapi

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
	files, err := filepath.Glob("testdata/[cr]*/*.json")
	if err != nil || len(files) < 14 {
		f.Fatal(len(files), err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "BA", "178", "2026-11-21")
		f.Add(body, "AR", "1545", "2024-10-10")
		f.Add(body, "AC", "8838", "2023-03-20")
	}
	now := upstreamtest.At(f, "2026-11-22 05:30")
	f.Fuzz(func(t *testing.T, body []byte, carrier, number, date string) {
		k := flight.Key{Carrier: carrier, Number: number, Date: date}
		p, err := parse(body)
		if p != nil {
			p.cursor()
			p.isFault()
		}
		if err != nil {
			return
		}
		legs, err := decode(p.rows(), k, now, flagBase)
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
		name, file string
		key        flight.Key
	}{
		{"arrived", early, flight.Key{Carrier: "AR", Number: "1545", Date: "2024-10-10"}},
		{"two_legs", dir + "two_legs.json", ba178},
	} {
		body := upstreamtest.Fixture(b, bb.file)
		now := upstreamtest.At(b, "2024-10-11 01:00")
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := parse(body)
				if err != nil {
					b.Fatal(err)
				}
				legs, err := decode(p.rows(), bb.key, now, flagBase)
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
