package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// provider is a Cirium server whose flight changes when the test says so.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	gate    string
	onServe func() // called before the next answer is written
}

func newProvider(t *testing.T) *provider {
	p := &provider{gate: "G0"}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.onServe != nil {
			p.onServe()
			p.onServe = nil
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p.answer())
	}))
	t.Cleanup(p.Close)
	return p
}

// answer is a by-flight answer: AA100 leaves New York tomorrow.
func (p *provider) answer() map[string]any { return ciriumAnswer(1, "AA", "100", p.gate) }

// ciriumAnswer is a by-flight answer of a flight that leaves New York tomorrow.
func ciriumAnswer(id int, carrier, number, gate string) map[string]any {
	local := flightDate() + "T18:00:00.000"
	dep, _ := time.ParseInLocation("2006-01-02T15:04:05.000", local, newYork)
	at := func(t time.Time, zone *time.Location) map[string]any {
		return map[string]any{"dateLocal": t.In(zone).Format("2006-01-02T15:04:05.000"), "dateUtc": t.UTC().Format("2006-01-02T15:04:05.000Z")}
	}
	arr := dep.Add(7 * time.Hour)
	return map[string]any{
		"appendix": map[string]any{},
		"flightStatuses": []any{map[string]any{
			"flightId": id, "carrierFsCode": carrier, "flightNumber": number, "departureAirportFsCode": "JFK", "arrivalAirportFsCode": "LHR",
			"departureDate": at(dep, newYork), "arrivalDate": at(arr, time.UTC), "status": "S",
			"operationalTimes": map[string]any{"scheduledGateDeparture": at(dep, newYork), "scheduledGateArrival": at(arr, time.UTC)},
			"airportResources": map[string]any{"departureGate": gate},
		}},
	}
}

var newYork = func() *time.Location {
	l, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return l
}()

// flightDate is tomorrow in New York: the flight is ahead as long as a test runs.
func flightDate() string { return time.Now().In(newYork).AddDate(0, 0, 1).Format(time.DateOnly) }

// change moves the gate. With the answer that first says so, then is called.
func (p *provider) change(gate string, then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate, p.onServe = gate, then
}
