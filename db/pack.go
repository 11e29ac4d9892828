package db

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/flightwire/flightwire/flight"
)

// keyframes is how many versions of a leg follow each other that are packed
// with the first of them as their base. A longer row costs less until the
// versions have drifted apart.
const keyframes = 16

// baseOf returns the version with which a version is packed; 0: it stands
// alone.
func baseOf(version int64) int64 {
	if base := version - (version-1)%keyframes; base != version {
		return base
	}
	return 0
}

// Writers and readers hold hundreds of kilobytes.
var (
	deflaters = sync.Pool{New: func() any {
		w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
		if err != nil { // only for a level that there is not
			panic(err)
		}
		return w
	}}
	inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// pack deflates text as if base had come before it; base may be empty. It takes
// some 100 µs for 4 KB.
func pack(base, text []byte) []byte {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var out bytes.Buffer // whose writes never fail
	w.Reset(&out)
	start := 0
	if len(base) > 0 {
		_, _ = w.Write(base)
		_ = w.Flush()
		start = out.Len() // what follows refers to base and begins a block
	}
	_, _ = w.Write(text)
	_ = w.Close()
	return bytes.Clone(out.Bytes()[start:])
}

// unpack returns what pack was given, with the same base.
func unpack(base, packed []byte) ([]byte, error) {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), base); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return text, nil
}

// packedText is a snapshot as a row of updates holds it, with its base.
type packedText struct {
	Snapshot     string `db:"snapshot"`
	Packed       []byte `db:"packed"`
	BaseSnapshot string `db:"base_snapshot"`
	BasePacked   []byte `db:"base_packed"`
}

// packedColumns and packedFrom read packedText; u is the row of updates.
const (
	packedColumns = `u.snapshot, u.packed, coalesce(b.snapshot, '') AS base_snapshot, b.packed AS base_packed`
	packedFrom    = `updates u LEFT JOIN updates b ON b.flight_id = u.flight_id AND b.version = u.base`
)

// text returns the snapshot's bytes as they were stored.
func (p *packedText) text() ([]byte, error) {
	if p.Packed == nil {
		return []byte(p.Snapshot), nil
	}
	base := []byte(p.BaseSnapshot)
	if p.BasePacked != nil {
		var err error
		if base, err = unpack(nil, p.BasePacked); err != nil {
			return nil, err
		}
	}
	return unpack(base, p.Packed)
}

// packedChanges are the changes of an update as its row holds them.
type packedChanges struct {
	Changes       string `db:"changes"`
	PackedChanges []byte `db:"packed_changes"`
}

// changes returns the changes to a version, whose text is given.
func (p *packedChanges) changes(text []byte) (changes []flight.Change, err error) {
	plain := []byte(p.Changes)
	if p.PackedChanges != nil {
		if plain, err = unpack(text, p.PackedChanges); err != nil {
			return nil, err
		}
	}
	return changes, json.Unmarshal(plain, &changes)
}

// base returns the version with which a new version of a leg is packed, and its
// text. 0: it stands alone, also where its base has been deleted, which only
// the table knows.
func (tx *Tx) base(ctx context.Context, flightID string, version int64) (base int64, text []byte, err error) {
	if base = baseOf(version); base == 0 {
		return 0, nil, nil
	}
	var row packedText
	err = tx.get(ctx, &row, `SELECT `+packedColumns+` FROM `+packedFrom+` WHERE u.flight_id = $1 AND u.version = $2`, flightID, base)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err == nil {
		text, err = row.text()
	}
	return base, text, err
}
