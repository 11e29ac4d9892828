package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

func numbered(number, origin string) LegInput {
	return LegInput{Carrier: "AA", FlightNumber: number, Date: today, Origin: origin}
}

// Each leg has its flight or its error, in the order of the legs, and none
// takes anything from another.
func TestFlights(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.source.say(leg("100", "JFK", "LHR"), leg("200", "DFW", "MSY"), leg("200", "MSY", "MIA"))
		got, err := g.r.Query().Flights(g.ctx, []LegInput{
			numbered("100", ""), numbered("200", "MSY"), numbered("404", ""), numbered("200", "ORD"),
			{Carrier: "?", FlightNumber: "x", Date: "2026-13-01"}, {Carrier: "aal", FlightNumber: "0100", Date: today},
		})
		if err != nil || len(got) != 6 {
			t.Fatal(got, err)
		}
		var told []string
		for _, r := range got {
			switch {
			case (r.Flight == nil) == (r.Error == nil):
				t.Errorf("both or neither: %+v", r)
			case r.Flight != nil:
				told = append(told, r.Flight.FlightKey+" "+r.Flight.Departure.Airport.IATA)
			default:
				told = append(told, fmt.Sprint(r.Error.Code, " ", len(r.Error.Fields), " ", len(r.Error.Legs)))
			}
		}
		want := fmt.Sprintf("AA100:%[1]s JFK, AA200:%[1]s MSY, flight_not_found 0 0, leg_not_found 0 2, invalid_request 3 0, AA100:%[1]s JFK", today)
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if got[0].Flight != got[5].Flight {
			t.Error("one leg by two names is looked up twice")
		}
	})
}

// They are looked up side by side: each waits for no other.
func TestFlightsSideBySide(t *testing.T) {
	g := sqliteRig(t, nil)
	gate, came := make(chan struct{}), make(chan struct{}, maxLegs)
	g.source.mu.Lock()
	g.source.gate, g.source.came = gate, came
	g.source.mu.Unlock()
	legs := make([]LegInput, maxLegs)
	for i := range legs {
		legs[i] = numbered(fmt.Sprint(1000+i), "")
	}
	type outcome struct {
		results []FlightResult
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		results, err := g.r.Query().Flights(g.ctx, legs)
		done <- outcome{results, err}
	}()
	for i := range legs { // no call is answered before all are under way
		select {
		case <-came:
		case <-time.After(10 * time.Second):
			t.Errorf("only %d calls are under way", i)
		}
	}
	close(gate)
	if got := <-done; got.err != nil || len(got.results) != maxLegs || got.results[49].Error.Code != flight.CodeFlightNotFound {
		t.Error(got)
	}
}

func TestFlightsRefused(t *testing.T) {
	g := sqliteRig(t, nil)
	for _, n := range []int{0, maxLegs + 1} {
		_, err := g.r.Query().Flights(g.ctx, make([]LegInput, n))
		wantFields(t, err, "legs")
	}
	_, err := g.r.Query().Flights(t.Context(), []LegInput{aa100})
	wantCode(t, err, flight.CodeMissingAPIKey)
}

// What is not the caller's to know is internal, what had no time is a time-out,
// and the codes of the enum stay, each with what it adds.
func TestLookupError(t *testing.T) {
	late, end := context.WithTimeoutCause(t.Context(), 0, errTooSlow)
	defer end()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"upstream": {t.Context(), &flight.Error{Code: flight.CodeUpstreamUnavailable, Message: "Down.", RetryAfter: 1500 * time.Millisecond}, `"upstream_unavailable" "Down." 2`},
		"unknown":  {t.Context(), errors.New("dial 10.0.0.7"), `"internal" "` + errInternal.Message + `" 0`},
		"not here": {t.Context(), flight.Errorf(flight.CodeConflict, "leg_3"), `"internal" "` + errInternal.Message + `" 0`},
		"too late": {late, late.Err(), `"timeout" "` + errTooSlow.Message + `" 0`},
		"in time":  {late, flight.Errorf(flight.CodeFlightNotFound, "None."), `"flight_not_found" "None." 0`},
	} {
		e, seconds := lookupError(c.ctx, c.err), 0
		if e.RetryAfterSeconds != nil {
			seconds = *e.RetryAfterSeconds
		}
		if got := fmt.Sprintf("%q %q %d", e.Code, e.Message, seconds); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

const flightsQuery = `query($legs: [LegInput!]!) { flights(legs: $legs) { flight { flightKey departure { gate } }
	error { code message fields { field message } legs { departureIata } retryAfterSeconds } } }`

// Over HTTP an error of one leg is data, and what is wrong with the whole is an
// error.
func TestFlightsOverHTTP(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		id, _ := access.From(g.ctx)
		p := &purse{keyring: keyring{id.Account}, left: 1_000_000}
		s := g.serve(func(c *HandlerConfig) { c.Auth = p })
		leg := func(carrier, number string) map[string]any {
			return map[string]any{"carrier": carrier, "flightNumber": number, "date": today}
		}
		many := make([]any, maxLegs+1)
		for i := range many {
			many[i] = leg("AA", fmt.Sprint(i+1))
		}
		for name, c := range map[string]struct {
			legs any
			cost int
			want string
		}{
			"two": {[]any{leg("AA", "100"), leg("AA", "404")}, 2, `{"data":{"flights":[{"flight":{"flightKey":"AA100:` + today + `","departure":{"gate":"B1"}},"error":null},` +
				`{"flight":null,"error":{"code":"FLIGHT_NOT_FOUND","message":`},
			"one by two names": {[]any{leg("AA", "100"), leg("aal", "0100")}, 1, `"error":null},{"flight":{"flightKey"`},
			"one in no list":   {leg("AA", "100"), 1, `{"data":{"flights":[{"flight":{"flightKey"`},
			"what is no leg":   {[]any{leg("A", "100"), leg("AA", "100")}, 1, `{"flight":null,"error":{"code":"INVALID_REQUEST","message":`},
			"all that may be":  {many[:maxLegs], maxLegs, `"FLIGHT_NOT_FOUND"`},
			"too many":         {many, 1, `"code":"INVALID_REQUEST","fields":[{"field":"legs","message":"must be 1 to 50 legs"}]`},
			"none":             {[]any{}, 1, `"field":"legs"`},
		} {
			p.cost = nil
			if r := post(t, s.URL, flightsQuery, map[string]any{"legs": c.legs}); !strings.Contains(r.body, c.want) || fmt.Sprint(p.cost) != fmt.Sprint([]int{c.cost}) {
				t.Errorf("%s costs %v: %s", name, p.cost, r.body)
			}
		}
		text, err := json.Marshal(leg("AA", "100"))
		if err != nil {
			t.Fatal(err)
		}
		p.cost = nil // one in a literal, and the same leg in another field
		literal := strings.NewReplacer(`"carrier"`, "carrier", `"flightNumber"`, "flightNumber", `"date"`, "date").Replace(string(text))
		r := post(t, s.URL, `{ flights(legs: `+literal+`) { flight { flightKey } } flight(leg: `+literal+`) { flightKey } }`, nil)
		if len(r.Errors) > 0 || fmt.Sprint(p.cost) != "[1]" {
			t.Errorf("%v %s", p.cost, r.body)
		}
		// Every field of 50 legs has a price that is within the limit.
		whole := strings.Replace(everyField, "query($leg: LegInput!) { flight(leg: $leg) {", "query($legs: [LegInput!]!) { flights(legs: $legs) { flight {", 1)
		whole = strings.Replace(whole, "fingerprint } }", "fingerprint } } }", 1)
		if r := post(t, s.URL, whole, map[string]any{"legs": many[:maxLegs]}); len(r.Errors) > 0 {
			t.Error(r.body)
		}
	})
}
