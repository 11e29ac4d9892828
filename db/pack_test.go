package db_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// Whatever was packed with a base comes back with it, to the byte.
func TestPackIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 40_000)
		base, next := text.Draw(t, "base"), text.Draw(t, "text")
		if len(base) > 0 && rapid.Bool().Draw(t, "alike") {
			next = append(bytes.Clone(base[len(base)/3:]), next...)
		}
		packed := db.Pack(base, next)
		got, err := db.Unpack(base, packed)
		if err != nil || !bytes.Equal(got, next) {
			t.Fatalf("%d bytes with a base of %d come back as %d, %v", len(next), len(base), len(got), err)
		}
	})
}

// A version takes a fraction of its text, most of all with a base.
func TestPackIsSmall(t *testing.T) {
	one, other := leg(late(10)), leg(late(25), gate("C7"))
	for _, s := range []*flight.Snapshot{one, other} {
		s.Complete()
	}
	alone, with := len(db.Pack(nil, other.Encode())), len(db.Pack(one.Encode(), other.Encode()))
	if full := len(other.Encode()); alone > full*2/3 || with > full/6 {
		t.Errorf("of %d bytes %d are kept alone and %d with a base", full, alone, with)
	}
}

func TestUnpackRefusesWhatIsBroken(t *testing.T) {
	packed := db.Pack(nil, []byte("a text that is cut off in the middle"))
	if _, err := db.Unpack(nil, packed[:len(packed)/2]); err == nil {
		t.Error("half of it came back as the whole")
	}
}
