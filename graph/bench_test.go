package graph

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/jobs"
)

// benchResolver is the use cases without their loops: nothing changes.
func benchResolver(b *testing.B, d *db.DB) *Resolver {
	source := new(script)
	source.say(leg("100", "JFK", "LHR"))
	client := jobs.NewClient(dbtest.EmbeddedRedis(b))
	intake := jobs.NewIntake(jobs.IntakeConfig{DB: d, Client: client, Providers: []jobs.Provider{{Source: source}}})
	return New(ResolverConfig{DB: d, Intake: intake, Client: client, Process: "bench"})
}

// BenchmarkGraphQL is a query of every field of a cached flight through the
// endpoint, without the network.
func BenchmarkGraphQL(b *testing.B) {
	r := benchResolver(b, dbtest.SQLite(b))
	h := NewHandler(r, HandlerConfig{Auth: keyring{"acc"}})
	body, err := json.Marshal(map[string]any{"query": everyField, "variables": legVariable()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest("POST", "/graphql", bytes.NewReader(body))
		req.Header.Set("X-Api-Key", goodKey)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != 200 || !bytes.Contains(w.Body.Bytes(), []byte(`"fingerprint"`)) {
			b.Fatal(w.Body)
		}
	}
}

const everyField = `query($leg: LegInput!) { flight(leg: $leg) {
	flightKey carrierCode flightNumber date providerFlightId fetchedAt carrier { iata icao name } operatedBy
	codeshares { carrier name flightNumber } departure { ...E } arrival { ...E } diverted { ...E }
	status { code label description color phase delayed cancelled diverted departureGateDelayMinutes arrivalGateDelayMinutes }
	equipment { tailNumber iata name source } duration { scheduledMinutes estimatedMinutes actualMinutes }
	timeline { occurredAt title source events }
	alternates { providerFlightId carrier departureIata arrivalIata scheduledDepartureLocal scheduledArrivalLocal selected } fingerprint } }
fragment E on FlightEndpoint { airport { iata icao code name city state country { code name emoji flagSvg flagSvgSquare } timezone }
	terminal gate baggage bestTimeUtc delayMinutes
	times { scheduledGate { ...T } estimatedGate { ...T } actualGate { ...T } scheduledRunway { ...T } estimatedRunway { ...T } actualRunway { ...T } } }
fragment T on FlightTime { utc local timezone }`
