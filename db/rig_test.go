package db_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

var key = flight.Key{Carrier: "AA", Number: "100", Date: "2026-11-21"}

// epoch is the world time at which the tests begin: two hours before leg
// departs.
var epoch = flight.TimeOf(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC))

const minute = flight.Time(60_000)

var fiveMinutes = flight.Schedule{Fixed: 5 * time.Minute}

// leg is a scheduled leg of key, altered by with.
func leg(with ...func(*flight.Snapshot)) *flight.Snapshot {
	return legOf(key, "JFK", "LHR", "1", with...)
}

func legOf(k flight.Key, from, to, id string, with ...func(*flight.Snapshot)) *flight.Snapshot {
	airport := func(code string) flight.AirportRef {
		return flight.AirportRef{IATA: code, Name: code, Country: flight.CountryRef{Code: "US"}, Timezone: "America/New_York"}
	}
	s := &flight.Snapshot{
		CarrierCode: k.Carrier, FlightNumber: k.Number, Date: k.Date, ProviderFlightID: id,
		Carrier:   flight.CarrierRef{IATA: k.Carrier, Name: "Airline"},
		Departure: flight.Endpoint{Airport: airport(from), Gate: "B1"},
		Arrival:   flight.Endpoint{Airport: airport(to)},
		Status:    flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
	}
	s.Departure.Times.ScheduledGate = at(epoch + 120*minute)
	s.Arrival.Times.ScheduledGate = at(epoch + 540*minute)
	for _, f := range with {
		f(s)
	}
	return s
}

func at(t flight.Time) *flight.FlightTime { return &flight.FlightTime{UTC: t} }

func gate(g string) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) { s.Departure.Gate = g }
}

func baggage(b string) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) { s.Arrival.Baggage = b }
}

// late estimates the departure minutes after its schedule.
func late(minutes int) func(*flight.Snapshot) {
	return func(s *flight.Snapshot) {
		s.Departure.Times.EstimatedGate = at(s.Departure.Times.ScheduledGate.UTC + flight.Time(minutes)*minute)
	}
}

func arrived(s *flight.Snapshot) {
	s.Status = flight.StatusInfo{Code: flight.StatusLanded, Phase: flight.PhaseArrived}
}

// rig is one database with an account, and the two clocks of the test.
type rig struct {
	*testing.T
	d       *db.DB
	account string
	now     flight.Time // world time
	asked   time.Time   // wall time at which the upstream was last asked
}

func each(t *testing.T, f func(r *rig)) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) { f(newRig(t, d)) })
}

func newRig(t *testing.T, d *db.DB) *rig {
	t.Helper()
	k, err := d.CreateKey(t.Context(), db.Operator, "acme", "unlimited", "k1", strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, d: d, account: k.Account, now: epoch, asked: d.Now()}
}

// answer is what the upstream says when it is asked a minute later.
func (r *rig) answer(k flight.Key, legs ...*flight.Snapshot) db.Answer {
	r.now += minute
	r.asked = r.asked.Add(time.Second)
	a := db.Answer{Source: "script", Key: k, AskedAt: r.asked, Now: r.now, Schedule: fiveMinutes}
	if len(legs) > 0 {
		finished, err := upstream.Finish(k, legs, r.now)
		if err != nil {
			r.Fatal(err)
		}
		a.Legs = finished
	}
	return a
}

func (r *rig) accept(a db.Answer) db.Accepted {
	r.Helper()
	got, err := r.d.Accept(r.Context(), a)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// say takes in an answer about key.
func (r *rig) say(legs ...*flight.Snapshot) db.Accepted {
	r.Helper()
	return r.accept(r.answer(key, legs...))
}

// found is the subscription of a leg that has been seen; with alters it.
func (r *rig) found(flightID string, with ...func(*db.NewSubscription)) *flight.Subscription {
	r.Helper()
	n := db.NewSubscription{
		Account: r.account, Key: key, FlightID: flightID, WebhookURL: "https://example.com/hook", Secret: "0123456789abcdef",
		Events: flight.AllChanges, DelayThreshold: 5, Now: r.now,
	}
	for _, f := range with {
		f(&n)
	}
	s, err := r.d.CreateSubscription(r.Context(), n)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// pending is the subscription of a flight that has not been seen.
func (r *rig) pending(with ...func(*db.NewSubscription)) *flight.Subscription {
	r.Helper()
	return r.found("", with...)
}

func (r *rig) sub(id string) *flight.Subscription {
	r.Helper()
	s, err := r.d.Subscription(r.Context(), r.account, id)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *rig) pause(id string) *flight.Subscription {
	r.Helper()
	s, err := r.d.PauseSubscription(r.Context(), r.account, id)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r *rig) resume(id string) *flight.Subscription {
	r.Helper()
	s, err := r.d.ResumeSubscription(r.Context(), r.account, id, r.now)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// claim claims events as one process.
func (r *rig) claim(limit int, lease time.Duration) []db.Attempt {
	r.Helper()
	got, err := dbtest.ClaimEvents(r.Context(), r.d, limit, lease)
	if err != nil {
		r.Fatal(err)
	}
	for _, a := range got {
		if a.Fault != "" {
			r.Fatalf("%s cannot be sent: %s", a.EventID, a.Fault)
		}
	}
	return got
}

func (r *rig) record(results ...db.Result) db.Recorded {
	r.Helper()
	out, err := r.d.RecordResults(r.Context(), results)
	if err != nil {
		r.Fatal(err)
	}
	return out
}

func result(a db.Attempt, s flight.DeliveryStatus) db.Result {
	return db.Result{Attempt: a, Status: s, StatusCode: 200, Latency: 12 * time.Millisecond, AttemptedAt: time.Now()}
}

// deliver takes everything that waits, each with success, and returns it in
// the order in which it went out.
func (r *rig) deliver() []db.Attempt {
	r.Helper()
	var all []db.Attempt
	for {
		got := r.claim(100, time.Minute)
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
		results := make([]db.Result, len(got))
		for i, a := range got {
			results[i] = result(a, flight.DeliverySucceeded)
		}
		r.record(results...)
	}
}

// hook is the body of a webhook as the contract has it.
type hook struct {
	ID, Type, CreatedAt, SubscriptionID, FlightKey string
	Flight                                         *flight.Snapshot
	Changes                                        []flight.Change
	PreviousFetchedAt                              *flight.Time
	Metadata                                       json.RawMessage
}

func (r *rig) hook(a db.Attempt) hook {
	r.Helper()
	var h hook
	if err := json.Unmarshal(a.Body, &h); err != nil {
		r.Fatalf("%v: %s", err, a.Body)
	}
	return h
}

// told delivers everything and returns "type: message; message" for each
// event of a subscription.
func (r *rig) told(id string) []string {
	r.Helper()
	return r.toldAll()[id]
}

// toldAll is told for every subscription.
func (r *rig) toldAll() map[string][]string {
	r.Helper()
	out := make(map[string][]string)
	for _, a := range r.deliver() {
		var messages []string
		for _, c := range r.hook(a).Changes {
			messages = append(messages, c.Message)
		}
		line := string(a.EventType)
		if len(messages) > 0 {
			line += ": " + strings.Join(messages, "; ")
		}
		out[a.SubscriptionID] = append(out[a.SubscriptionID], line)
	}
	return out
}

func (r *rig) same(what string, got, want []string) {
	r.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// strings reads one text column.
func (r *rig) strings(query string, args ...any) []string {
	r.Helper()
	var out []string
	if err := r.d.Peek(r.Context(), &out, query, args...); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	return out
}

func (r *rig) count(query string, args ...any) int {
	r.Helper()
	var out []int
	if err := r.d.Peek(r.Context(), &out, query, args...); err != nil || len(out) != 1 {
		r.Fatalf("%s: %v %v", query, out, err)
	}
	return out[0]
}

// log lists the events of a subscription as "seq type status".
func (r *rig) log(id string) []string {
	r.Helper()
	return r.strings(`SELECT seq || ' ' || type || ' ' || status FROM events WHERE subscription_id = $1 ORDER BY seq`, id)
}

// planned returns the world time of a leg's next poll; unknown when none.
func (r *rig) planned(flightID string) flight.Time {
	r.Helper()
	var out []db.Time
	if err := r.d.Peek(r.Context(), &out, `SELECT next_poll_at FROM flights WHERE id = $1`, flightID); err != nil || len(out) != 1 {
		r.Fatalf("plan of %s: %v %v", flightID, out, err)
	}
	return out[0].Flight()
}

// sound reports what is wrong with the tables, but by rules of those names.
func (r *rig) sound(but ...string) {
	r.Helper()
	for _, rule := range rules {
		if slices.Contains(but, rule.name) {
			continue
		}
		for _, id := range r.strings(rule.broken) {
			r.Errorf("%s: %s", rule.name, id)
		}
	}
}
