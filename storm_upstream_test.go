package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/cirium"
)

// stormLength is how long a storm takes in the time of its script.
const stormLength = 10 * time.Minute

// takenIn: a flight is not polled again before its last poll was finished or
// that one's claim ran out, which is 8 seconds after it was confirmed. So a
// call that follows an answer sooner than this proves that the answer was
// taken in, whatever became of the process since.
const takenIn = 5 * time.Second

// sky is a Cirium server over which a storm passes. Every flight has a script
// of what is said of it, and from when on. An answer that was given to a
// process which died perhaps before it could keep it is given again, and no
// other before; so whoever asks may miss nothing of the script, however late
// he is. What was said is the record that subscribers are held against.
type sky struct {
	*httptest.Server
	flights []*scripted
	by      map[string]*scripted // by carrier and number
	pace    float64              // seconds of the script in a second

	mu    sync.Mutex
	began time.Time // zero: the storm is still to come
	calls int
	again int             // answers that were given again
	dead  map[string]bool // processes that were killed
}

// scripted is one flight.
type scripted struct {
	key    flight.Key
	states []state
	rand   *rand.Rand // says when the provider fails

	mu       sync.Mutex
	said     []int     // the record: states in the order in which they were first said
	answered time.Time // the last call, if it was answered; else zero
	asker    string    // whose call that was
	taken    bool      // what was said last has been taken in
}

// state is what is said of a flight from a moment of the script on.
type state struct {
	from time.Duration
	leg  *weather // nil: there is no such flight yet
	body []byte
}

func newSky(t *testing.T, seed uint64, flights, changes int, pace float64) *sky {
	s := &sky{by: map[string]*scripted{}, pace: pace, dead: map[string]bool{}}
	for i := range flights {
		f := &scripted{
			key:  flight.Key{Carrier: "AA", Number: strconv.Itoa(1000 + i), Date: flightDate()},
			rand: rand.New(rand.NewPCG(seed, uint64(1+2*i))),
		}
		f.states = script(t, rand.New(rand.NewPCG(seed, uint64(2+2*i))), f.key, changes)
		s.flights, s.by[f.key.Carrier+f.key.Number] = append(s.flights, f), f
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

// begin lets the storm come.
func (s *sky) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

// base is where a process asks.
func (s *sky) base(process string) string { return s.URL + "/" + process }

// died is to be called as soon as a process is known to be dead.
func (s *sky) died(process string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead[process] = true
}

func (s *sky) answer(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	asker, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	parts := strings.Split(strings.TrimPrefix(path, "flightstatus/rest/v2/json/flight/status/"), "/")
	f := s.by[parts[0]+parts[1]]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.mu.Lock()
	at := time.Duration(-1)
	if !s.began.IsZero() {
		at = time.Duration(float64(now.Sub(s.began)) * s.pace)
	}
	s.calls++
	lost := s.dead[f.asker] && now.Sub(f.answered) >= takenIn
	if lost && !f.taken && !f.answered.IsZero() {
		s.again++
	}
	s.mu.Unlock()
	body := f.next(asker, now, at, lost)
	if body == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// next returns the answer to a call, nil where the provider fails. lost says
// that the answer before may never have been taken in.
func (f *scripted) next(asker string, now time.Time, at time.Duration, lost bool) []byte {
	if at < 0 { // subscribers are still coming
		f.said, f.taken = []int{0}, true
		return f.states[0].body
	}
	f.taken = f.taken || !f.answered.IsZero() && !lost
	f.answered = time.Time{}
	if f.rand.IntN(60) == 0 {
		return nil
	}
	pos := f.said[len(f.said)-1]
	if f.taken && pos+1 < len(f.states) && f.states[pos+1].from <= at {
		pos++
		f.said, f.taken = append(f.said, pos), false
	}
	f.answered, f.asker = now, asker
	return f.states[pos].body
}

// wait returns when every script has been said to its end.
func (s *sky) wait(t *testing.T, deadline time.Time) {
	t.Helper()
	for behind := s.unsaid(); len(behind) > 0; behind = s.unsaid() {
		if time.Now().After(deadline) {
			t.Fatalf("%d flights were not asked for to the end of their scripts: %v", len(behind), behind)
		}
		time.Sleep(20 * time.Millisecond) // other processes ask
	}
}

// unsaid returns the flights whose script has not been said to its end.
func (s *sky) unsaid() (behind []string) {
	for _, f := range s.flights {
		f.mu.Lock()
		if len(f.said) < len(f.states) {
			behind = append(behind, fmt.Sprintf("%s at %d of %d", f.key, len(f.said), len(f.states)))
		}
		f.mu.Unlock()
	}
	return behind
}

// record returns what was said of a flight, nil where it was said that there
// is no such flight.
func (f *scripted) record(t *testing.T) (said []*flight.Snapshot) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.said {
		source := cirium.New(cirium.Config{HTTPClient: &http.Client{Transport: canned(f.states[i].body)}})
		legs, err := source.Legs(t.Context(), f.key, 1)
		switch {
		case flight.CodeOf(err) == flight.CodeFlightNotFound:
			said = append(said, nil)
		case err != nil || len(legs) != 1:
			t.Fatalf("%s: the script makes no sense: %d legs, %v", f.key, len(legs), err)
		default:
			said = append(said, legs[0])
		}
	}
	return said
}

// canned answers every request alike.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(c))), Request: r.WithContext(context.Background())}, nil
}

// script writes what is to be said of a flight: changes of it or a few more or
// less, at random moments.
func script(t *testing.T, r *rand.Rand, key flight.Key, changes int) []state {
	t.Helper()
	n := max(3, changes-1+r.IntN(3))
	moments := make([]time.Duration, n)
	for i := range moments {
		moments[i] = time.Duration(r.Int64N(int64(stormLength)))
	}
	slices.Sort(moments)
	w := &weather{gate: "B1", terminal: "8", status: flight.StatusScheduled, tail: "N1", equipment: "738"}
	states := []state{{leg: w}}
	if r.IntN(25) == 0 {
		states[0].leg = nil // it is found only when the storm is there
	}
	flies := r.IntN(2) == 0
	for i, from := range moments {
		if w.in != nil {
			break // nobody asks for a flight that has arrived
		}
		if i > 0 || states[0].leg != nil {
			w = w.change(r, flies && i >= n-3)
		}
		states = append(states, state{from: from, leg: w})
	}
	for i := range states {
		body := map[string]any{"appendix": map[string]any{}, "flightStatuses": []any{}}
		if l := states[i].leg; l != nil {
			body["flightStatuses"] = []any{l.wire(key)}
		}
		var err error
		if states[i].body, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	return states
}

// weather is what is known of a leg. Minutes are those after the schedule;
// nil is unknown.
type weather struct {
	status, gate, terminal, arrivalGate, belt, tail, equipment string

	estimatedOut, estimatedIn, out, on, in *int
	diverted                               string
}

// change returns what comes next. With on the leg goes its way: it leaves,
// lands and arrives.
func (w *weather) change(r *rand.Rand, on bool) *weather {
	n := *w
	minutes := func(from *int) *int {
		v := 0
		if from != nil {
			v = *from
		}
		v += 2 + r.IntN(60)
		if r.IntN(4) == 0 {
			v -= 80
		}
		return &v
	}
	other := func(now, prefix string) string {
		if now != "" && r.IntN(8) == 0 {
			return "" // withdrawn
		}
		for {
			if v := prefix + strconv.Itoa(1+r.IntN(40)); v != now {
				return v
			}
		}
	}
	switch {
	case on && w.in == nil && w.on != nil:
		n.in = minutes(w.on)
	case on && w.out != nil:
		n.status, n.on = flight.StatusLanded, minutes(nil)
	case on:
		n.status, n.out = flight.StatusActive, minutes(nil)
	case w.status == flight.StatusCancelled:
		n.status = flight.StatusScheduled
	default:
		switch r.IntN(10) {
		case 0:
			n.status = flight.StatusCancelled
		case 1, 2:
			n.gate = other(w.gate, "B")
		case 3:
			n.terminal = other(w.terminal, "")
		case 4:
			n.arrivalGate, n.belt = other(w.arrivalGate, "A"), other(w.belt, "")
		case 5:
			n.tail, n.equipment = other(w.tail, "N"), []string{"738", "32A"}[r.IntN(2)]
		case 6:
			n.estimatedOut, n.estimatedIn = nil, nil
			n.gate = other(w.gate, "C")
		default:
			n.estimatedOut = minutes(w.estimatedOut)
			n.estimatedIn = n.estimatedOut
		}
	}
	if n.out == nil && r.IntN(150) == 0 && !on {
		n.status, n.out, n.diverted = flight.StatusDiverted, minutes(nil), []string{"BOS", "YYZ"}[r.IntN(2)]
	}
	return &n
}

// wire is the leg as the provider writes it.
func (w *weather) wire(key flight.Key) map[string]any {
	const layout = "2006-01-02T15:04:05.000"
	dep, _ := time.ParseInLocation(layout, key.Date+"T18:00:00.000", newYork)
	arr := dep.Add(7 * time.Hour)
	at := func(t time.Time, zone *time.Location) map[string]any {
		return map[string]any{"dateLocal": t.In(zone).Format(layout), "dateUtc": t.UTC().Format(layout + "Z")}
	}
	times := map[string]any{"scheduledGateDeparture": at(dep, newYork), "scheduledGateArrival": at(arr, time.UTC)}
	for name, m := range map[string]*int{"estimatedGateDeparture": w.estimatedOut, "actualGateDeparture": w.out} {
		if m != nil {
			times[name] = at(dep.Add(time.Duration(*m)*time.Minute), newYork)
		}
	}
	for name, m := range map[string]*int{"estimatedGateArrival": w.estimatedIn, "actualRunwayArrival": w.on, "actualGateArrival": w.in} {
		if m != nil {
			times[name] = at(arr.Add(time.Duration(*m)*time.Minute), time.UTC)
		}
	}
	return map[string]any{
		"flightId": key.Number, "carrierFsCode": key.Carrier, "flightNumber": key.Number, "status": w.status,
		"departureAirportFsCode": "JFK", "arrivalAirportFsCode": "LHR", "divertedAirportFsCode": w.diverted,
		"departureDate": at(dep, newYork), "arrivalDate": at(arr, time.UTC), "operationalTimes": times,
		"airportResources": map[string]any{
			"departureGate": w.gate, "departureTerminal": w.terminal, "arrivalGate": w.arrivalGate, "baggage": w.belt,
		},
		"flightEquipment": map[string]any{"tailNumber": w.tail, "actualEquipmentIataCode": w.equipment},
	}
}
