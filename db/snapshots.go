package db

import (
	"github.com/maypok86/otter/v2"

	"github.com/flightwire/flightwire/flight"
)

// snapshotCache keeps decoded snapshots, so that an answer without a change
// reads and decodes nothing. A version never changes.
//
// A leg's latest version has one place for the leg. Were each version a new
// entry, the cache would take it for something that nobody had asked for yet,
// and would rather keep the versions before.
type snapshotCache struct {
	latest *otter.Cache[string, versioned]
	older  *otter.Cache[snapshotKey, *flight.Snapshot] // which events carry that are still sent
}

type versioned struct {
	version  int64
	snapshot *flight.Snapshot
}

type snapshotKey struct {
	flightID string
	version  int64
}

// The bounds of the cache: some 10 KB each, decoded and encoded.
const (
	cachedLatest = 8192
	cachedOlder  = 1024
)

func newSnapshotCache() *snapshotCache {
	return &snapshotCache{
		otter.Must(&otter.Options[string, versioned]{MaximumSize: cachedLatest}),
		otter.Must(&otter.Options[snapshotKey, *flight.Snapshot]{MaximumSize: cachedOlder}),
	}
}

// get returns a version, nil when it is not there.
func (c *snapshotCache) get(key snapshotKey) *flight.Snapshot {
	if l, ok := c.latest.GetIfPresent(key.flightID); ok && l.version == key.version {
		return l.snapshot
	}
	s, _ := c.older.GetIfPresent(key)
	return s
}

func (c *snapshotCache) set(key snapshotKey, s *flight.Snapshot) {
	l, ok := c.latest.GetIfPresent(key.flightID)
	switch {
	case ok && l.version > key.version:
		c.older.Set(key, s)
		return
	case ok && l.version < key.version:
		c.older.Set(snapshotKey{key.flightID, l.version}, l.snapshot)
	}
	c.latest.Set(key.flightID, versioned{key.version, s})
}
