package upstreamtest

import (
	"net/http"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Fixtures makes cases of a provider's recorded and synthetic answers.
type Fixtures struct {
	T   testing.TB
	New func(base string) upstream.Source
	Key flight.Key
}

// Case tells of a situation by what the provider answered, once or twice: each
// time at a moment such as "2026-11-21 23:15" UTC, with a file of testdata.
func (f Fixtures) Case(nowAndFile ...string) Case {
	f.T.Helper()
	c := Case{Key: f.Key}
	for i := 0; i < len(nowAndFile); i += 2 {
		base := Serve(f.T, http.StatusOK, Fixture(f.T, nowAndFile[i+1]))
		c.Looks = append(c.Looks, Look{f.New(base), At(f.T, nowAndFile[i])})
	}
	return c
}

// Of is for another flight than the fixtures' own.
func (f Fixtures) Of(carrier, number, date string) Fixtures {
	f.Key = flight.Key{Carrier: carrier, Number: number, Date: date}
	return f
}

// But says why the provider cannot express the situation.
func (c Case) But(cannot string) Case {
	c.Cannot = cannot
	return c
}

// At reads a moment such as "2026-11-21 23:15" UTC.
func At(t testing.TB, moment string) flight.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", moment)
	if err != nil {
		t.Fatal(err)
	}
	return flight.TimeOf(at)
}
