// Package upstreamtest is the conformance suite of upstreams, for tests: every
// [upstream.Source] tells of the same twelve situations, each in its provider's
// own wire format, and fails in the same ways.
//
// A provider whose data cannot express a situation says why. The suite then
// asserts what is honest in its place: that nothing was made up.
package upstreamtest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Situation is something that every flight may come into.
type Situation string

// The situations, in the order in which a flight meets them.
const (
	FarAhead   Situation = "scheduled far ahead"
	Boarding   Situation = "boarding"
	Taxiing    Situation = "taxiing"
	Airborne   Situation = "airborne"
	Landed     Situation = "landed without gate-in"
	Arrived    Situation = "arrived"
	Early      Situation = "early"
	Cancelled  Situation = "cancelled"
	Reinstated Situation = "reinstated" // two looks: cancelled, then back
	Diverted   Situation = "redirected and diverted"
	TwoLegs    Situation = "two legs"
	Codeshare  Situation = "codeshare" // asked for by the number of an airline that does not operate it
)

// Situations lists them all.
var Situations = []Situation{
	FarAhead, Boarding, Taxiing, Airborne, Landed, Arrived, Early, Cancelled, Reinstated, Diverted, TwoLegs, Codeshare,
}

// Case is how one provider tells of a situation.
type Case struct {
	Key    flight.Key
	Looks  []Look // one, but for Reinstated and Diverted: two, in the order of time
	Cannot string // why the provider's data cannot express it; "": it can
}

// Look is one look-up.
type Look struct {
	Source upstream.Source
	Now    flight.Time
}

// Run runs the suite for one provider.
func Run(t *testing.T, cases map[Situation]Case) {
	for _, situation := range Situations {
		t.Run(string(situation), func(t *testing.T) {
			c, ok := cases[situation]
			if !ok {
				t.Fatal("the provider has no case of it, and does not say why")
			}
			var seen []flight.Legs
			for _, look := range c.Looks {
				legs, err := look.Source.Legs(t.Context(), c.Key, look.Now)
				if err != nil {
					t.Fatal(err)
				}
				CheckLegs(t, legs, c.Key)
				for _, s := range legs {
					if s.FetchedAt != look.Now {
						t.Errorf("fetched at %v, asked at %v", s.FetchedAt, look.Now)
					}
				}
				seen = append(seen, legs)
			}
			if len(seen) != looks(situation) {
				t.Fatalf("%d looks, want %d", len(seen), looks(situation))
			}
			told, honest := tells[situation], instead[situation]
			if c.Cannot == "" {
				told(t, c, seen)
				return
			}
			if honest == nil {
				t.Fatalf("every provider can express it, but this one says: %s", c.Cannot)
			}
			honest(t, c, seen)
		})
	}
}

func looks(s Situation) int {
	if s == Reinstated || s == Diverted {
		return 2
	}
	return 1
}

// CheckLegs holds the legs of an answer against what every source promises.
func CheckLegs(t testing.TB, legs flight.Legs, key flight.Key) {
	t.Helper()
	if len(legs) == 0 {
		t.Fatal("no legs and no error")
	}
	for i, s := range legs {
		CheckSnapshot(t, s)
		if s.Date != key.Date {
			t.Errorf("a leg of %s, asked for %s", s.Date, key.Date)
		}
		if !slices.Equal(s.Alternates, legs.Refs(i)) {
			t.Errorf("alternates %+v", s.Alternates)
		}
		if i > 0 && s.ProviderFlightID != "" && s.ProviderFlightID == legs[i-1].ProviderFlightID {
			t.Errorf("two legs with the id %s", s.ProviderFlightID)
		}
	}
}

// Serve answers every request with status and body, and returns the address.
// Headers are pairs of name and value.
func Serve(t testing.TB, status int, body []byte, header ...string) string {
	t.Helper()
	return ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = w.Write(body)
		}
	})
}

// ServeFunc serves until the test ends, and returns the address.
func ServeFunc(t testing.TB, handle http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	return srv.URL
}
