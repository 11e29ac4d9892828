package graph

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// vector is a place in the updates of several legs: of each the version behind
// which it is. Commits of different legs are in no order, so no single number
// could say it.
type vector map[string]int64

// vectorMost is how many legs a cursor may speak of.
const vectorMost = 1000

const (
	legPrefix  = "flt_"
	legIDBytes = 16

	vectorFormat = 1
)

// String returns the opaque form: a byte for the format, so that it is never
// empty, and of each leg the 16 bytes of its id, and the version.
func (v vector) String() string {
	b := make([]byte, 1, 1+len(v)*(legIDBytes+2))
	b[0] = vectorFormat
	for _, id := range slices.Sorted(maps.Keys(v)) {
		raw, _ := hex.DecodeString(strings.TrimPrefix(id, legPrefix)) // ids are made of hex
		b = binary.AppendUvarint(append(b, raw...), uint64(v[id]))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseVector(s string) (vector, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) == 0 || b[0] != vectorFormat || len(b) > vectorMost*(legIDBytes+binary.MaxVarintLen64) {
		return nil, false
	}
	v := vector{}
	for b = b[1:]; len(b) > 0; {
		if len(b) < legIDBytes {
			return nil, false
		}
		id := legPrefix + hex.EncodeToString(b[:legIDBytes])
		version, n := binary.Uvarint(b[legIDBytes:])
		if _, twice := v[id]; n <= 0 || version > 1<<53 || twice || len(v) == vectorMost {
			return nil, false
		}
		v[id], b = int64(version), b[legIDBytes+n:]
	}
	return v, true
}

var errVector = &flight.Error{
	Code: flight.CodeInvalid, Message: "after: must be the cursor of a message of this stream; leave it out to begin with the present state",
	Fields: []flight.FieldError{{Field: "after", Message: "must be the cursor of a message of this stream"}},
}
