package jobs_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/webhook"
	"github.com/flightwire/flightwire/jobs"
)

// script is an upstream that says what the test tells it to.
type script struct {
	mu   sync.Mutex
	legs []flight.Snapshot
}

func (s *script) Name() string         { return "script" }
func (s *script) Floor() time.Duration { return 0 }

func (s *script) say(legs ...flight.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.legs = legs
}

func (s *script) Legs(_ context.Context, key flight.Key, now flight.Time) (flight.Legs, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var legs flight.Legs
	for _, l := range s.legs {
		if l.Key() == key {
			legs = append(legs, &l)
		}
	}
	return upstream.Finish(key, legs, now)
}

var key = flight.Key{Carrier: "AA", Number: "100", Date: "2026-11-21"}

// leg is a scheduled leg that departs in two hours.
func leg() flight.Snapshot {
	at := func(d time.Duration) *flight.FlightTime {
		return &flight.FlightTime{UTC: flight.TimeOf(time.Now().Add(d).Truncate(time.Minute))}
	}
	airport := func(code string) flight.AirportRef {
		return flight.AirportRef{IATA: code, Name: code, Country: flight.CountryRef{Code: "US"}, Timezone: "America/New_York"}
	}
	return flight.Snapshot{
		CarrierCode: key.Carrier, FlightNumber: key.Number, Date: key.Date, ProviderFlightID: "1",
		Carrier:   flight.CarrierRef{IATA: "AA", Name: "American"},
		Departure: flight.Endpoint{Airport: airport("JFK"), Gate: "B1", Times: flight.EndpointTimes{ScheduledGate: at(2 * time.Hour)}},
		Arrival:   flight.Endpoint{Airport: airport("LHR"), Times: flight.EndpointTimes{ScheduledGate: at(9 * time.Hour)}},
		Status:    flight.StatusInfo{Code: flight.StatusScheduled, Phase: flight.PhaseScheduled},
	}
}

type received struct {
	Header http.Header
	Body   []byte
	Event  struct {
		ID, Type string
		Changes  []flight.Change
		Flight   *flight.Snapshot
	}
}

// receiver takes webhooks and answers as told.
type receiver struct {
	*httptest.Server
	got chan received
}

func newReceiver(t *testing.T, answer func(n int) int) *receiver {
	r := &receiver{got: make(chan received, 4096)}
	var mu sync.Mutex
	n := 0
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		rec := received{Header: req.Header.Clone(), Body: body}
		if err := json.Unmarshal(body, &rec.Event); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		mu.Lock()
		n++
		status := answer(n)
		mu.Unlock()
		w.WriteHeader(status)
		r.got <- rec
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.got:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("no webhook came")
		return received{}
	}
}

type rig struct {
	dbtest.Mode
	source *script
	intake *jobs.Intake
	client *jobs.Client
}

func newRig(t *testing.T, m dbtest.Mode, pollEvery time.Duration) *rig {
	r := &rig{Mode: m, source: &script{}, client: jobs.NewClient(m.Redis)}
	r.intake = jobs.NewIntake(jobs.IntakeConfig{DB: m.DB, Client: r.client, Source: r.source, PollEvery: pollEvery})
	sender := webhook.NewSender(webhook.Config{AllowPrivate: true})
	w := jobs.NewWorker(jobs.WorkerConfig{DB: m.DB, Redis: m.Redis, Client: r.client, Intake: r.intake, Sender: sender, RetryBase: time.Second})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Stop(); sender.Close() })
	return r
}

func (r *rig) account(t *testing.T) string {
	t.Helper()
	k, err := r.DB.CreateKey(t.Context(), "acme", "unlimited", "k1", strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	return k.Account
}

func (r *rig) subscribe(t *testing.T, account, url string) *flight.Subscription {
	t.Helper()
	n := db.NewSubscription{
		Account: account, Key: key, WebhookURL: url, Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MDE=",
		Events: flight.AllChanges, DelayThreshold: 5, Metadata: json.RawMessage(`{"b": 1, "a":  [2]}`), Now: r.intake.World(),
	}
	st, err := r.intake.Ask(t.Context(), key)
	switch {
	case err == nil:
		n.FlightID = st.IDs[0]
	case flight.CodeOf(err) != flight.CodeFlightNotFound:
		t.Fatal(err)
	}
	s, err := r.DB.CreateSubscription(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChangeReachesSubscriber(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)

		created := recv.next(t)
		if created.Event.Type != "subscription.created" || created.Event.Flight == nil {
			t.Fatalf("first event: %s", created.Body)
		}
		changed := leg()
		changed.Departure.Gate = "B2"
		r.source.say(changed)
		got := recv.next(t)
		if got.Event.Type != "flight.updated" || len(got.Event.Changes) != 1 || got.Event.Changes[0].Message != "Departure gate changed from B1 to B2" {
			t.Fatalf("second event: %s", got.Body)
		}
		if err := webhook.Verify(s.Secret, got.Header.Get("x-service-signature"), got.Body, time.Now()); err != nil {
			t.Error(err)
		}
		arrived := changed
		arrived.Status = flight.StatusInfo{Code: flight.StatusLanded, Phase: flight.PhaseArrived}
		r.source.say(arrived)
		if got := recv.next(t); got.Event.Type != "flight.updated" {
			t.Errorf("third event: %s", got.Body)
		}
		if got := recv.next(t); got.Event.Type != "subscription.completed" {
			t.Errorf("last event: %s", got.Body)
		}
	})
}

func TestPendingFlightAppears(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(int) int { return 200 })
		account := r.account(t)
		s := r.subscribe(t, account, recv.URL)
		if s.Status != flight.SubscriptionPending || s.FlightResolved {
			t.Fatalf("%+v", s)
		}
		if got := recv.next(t); got.Event.Type != "subscription.created" || got.Event.Flight != nil {
			t.Fatalf("%s", got.Body)
		}
		r.source.say(leg())
		if got := recv.next(t); got.Event.Type != "subscription.activated" || got.Event.Flight == nil {
			t.Fatalf("%s", got.Body)
		}
		s, err := m.DB.Subscription(t.Context(), account, s.ID)
		if err != nil || s.Status != flight.SubscriptionActive || !s.FlightResolved {
			t.Errorf("%+v %v", s, err)
		}
	})
}

func TestRetryCarriesTheSameBody(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		recv := newReceiver(t, func(n int) int {
			if n < 3 {
				return 503
			}
			return 200
		})
		r.source.say(leg())
		r.subscribe(t, r.account(t), recv.URL)
		first := recv.next(t)
		for attempt := 2; attempt <= 3; attempt++ {
			got := recv.next(t)
			if string(got.Body) != string(first.Body) {
				t.Errorf("attempt %d has another body", attempt)
			}
			if n := got.Header.Get("x-service-delivery-attempt"); n != string(rune('0'+attempt)) {
				t.Errorf("attempt %d says %s", attempt, n)
			}
		}
	})
}
