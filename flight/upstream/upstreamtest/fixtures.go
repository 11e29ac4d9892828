package upstreamtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// Fixtures makes cases of a provider's recorded and synthetic answers.
type Fixtures struct {
	Vendor
	T   testing.TB
	Key flight.Key
}

// Fixtures are those about BA178.
func (v Vendor) Fixtures(t testing.TB) Fixtures { return Fixtures{v, t, BA178} }

// Synthetic is where the answers about BA178 are, which have the same names
// with every provider.
const Synthetic = "conformance/synthetic_"

// Story has the situations of BA178 that every provider tells of in an answer
// of its own. What one tells in another way is put in the place of these.
func (f Fixtures) Story() map[Situation]Case {
	f.T.Helper()
	return map[Situation]Case{
		FarAhead:   f.Case("2026-11-10 12:00", Synthetic+"scheduled.json"),
		Taxiing:    f.Case("2026-11-21 23:15", Synthetic+"taxiing.json"),
		Airborne:   f.Case("2026-11-22 02:00", Synthetic+"airborne.json"),
		Landed:     f.Case("2026-11-22 05:50", Synthetic+"landed.json"),
		Arrived:    f.Case("2026-11-22 06:10", Synthetic+"arrived.json"),
		Cancelled:  f.Case("2026-11-21 18:30", Synthetic+"cancelled.json"),
		Reinstated: f.Case("2026-11-21 18:30", Synthetic+"cancelled.json", "2026-11-21 19:30", Synthetic+"reinstated.json"),
		TwoLegs:    f.Case("2026-11-21 12:00", Synthetic+"two_legs.json"),
	}
}

// Case tells of a situation by what the provider answered, once or twice: each
// time at a moment such as "2026-11-21 23:15" UTC, with a file of testdata: a
// body, or what `flightwire upstream record` wrote, in a file named
// ….recording.json.
func (f Fixtures) Case(nowAndFile ...string) Case {
	f.T.Helper()
	c := Case{Key: f.Key}
	for i := 0; i < len(nowAndFile); i += 2 {
		file := Fixture(f.T, nowAndFile[i+1])
		base := ""
		if strings.HasSuffix(nowAndFile[i+1], ".recording.json") {
			base = Play(f.T, file)
		} else {
			base = Serve(f.T, http.StatusOK, file)
		}
		c.Looks = append(c.Looks, Look{f.New(base, 0), At(f.T, nowAndFile[i])})
	}
	return c
}

// Play serves what was recorded, call by call, and returns the address. The
// test fails when something else is asked for than was asked for then.
func Play(t testing.TB, recording []byte) string {
	t.Helper()
	var r upstream.Recording
	if err := json.Unmarshal(recording, &r); err != nil {
		t.Fatal(err)
	}
	calls := make(chan upstream.RecordedCall, len(r.Calls))
	for _, c := range r.Calls {
		calls <- c
	}
	close(calls)
	return ServeFunc(t, func(w http.ResponseWriter, req *http.Request) {
		c := <-calls
		if got := req.Method + " " + req.RequestURI; got != c.Request {
			t.Errorf("asked for %s, recorded is %s", got, c.Request)
		}
		body, err := c.Content()
		if err != nil || c.Status == 0 {
			panic(http.ErrAbortHandler) // there was no answer then either
		}
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(c.Status)
		_, _ = w.Write(body)
	})
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
