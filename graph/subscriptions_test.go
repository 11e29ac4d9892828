package graph

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

func newInput() CreateSubscriptionInput {
	return CreateSubscriptionInput{LegInput: aa100, WebhookURL: "https://example.com/hook"}
}

func TestCreateSubscription(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		in := newInput()
		in.Carrier = "aal"
		threshold := 240
		in.DelayThresholdMinutes = &threshold
		in.Events = []flight.ChangeType{flight.ChangeTail, flight.ChangeStatus, flight.ChangeTail}
		in.Headers = map[string]string{"X-Mine": "yes"}
		in.Metadata = json.RawMessage("{ \"b\": 1.50,\n \"a\": \"\\u0000é\" }")
		s := g.create(in)
		if s.Status != flight.SubscriptionActive || !s.FlightResolved || s.Carrier != "AA" || s.FlightKey != "AA100:"+today {
			t.Errorf("%+v", s)
		}
		if !strings.HasPrefix(s.Secret, "whsec_") || strings.Contains(s.Secret, "*") {
			t.Error("the secret is not shown whole:", s.Secret)
		}
		if string(s.Metadata) != string(in.Metadata) || s.Headers["X-Mine"] != "yes" || s.DelayThresholdMinutes != 240 {
			t.Errorf("%+v", s)
		}
		if !slices.Equal(s.Events, []flight.ChangeType{flight.ChangeStatus, flight.ChangeTail}) {
			t.Error(s.Events)
		}
		read, err := g.r.Query().Subscription(g.ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if read.Secret != "whsec_****"+s.Secret[len(s.Secret)-4:] || string(read.Metadata) != string(in.Metadata) {
			t.Errorf("%+v", read)
		}
	})
}

func TestCreateDefaults(t *testing.T) {
	g := sqliteRig(t, nil)
	in := newInput()
	in.Metadata = json.RawMessage("null")
	s := g.create(in)
	if len(s.Events) != 23 || s.DelayThresholdMinutes != 5 || s.Metadata != nil || s.Headers != nil {
		t.Errorf("%+v", s)
	}
	in.Secret = "a secret of my own, long enough"
	if s := g.create(in); s.Secret != in.Secret {
		t.Error(s.Secret)
	}
}

func TestCreateFaults(t *testing.T) {
	g := sqliteRig(t, nil)
	zero := 0
	_, err := g.r.Mutation().CreateSubscription(g.ctx, CreateSubscriptionInput{
		LegInput:   LegInput{Carrier: "A", FlightNumber: "", Date: "tomorrow"},
		WebhookURL: "ftp://example.com", Secret: "short", Events: []flight.ChangeType{}, DelayThresholdMinutes: &zero,
		Headers: map[string]string{"Host": "x", "a b": "x"}, Metadata: json.RawMessage(`[1]`),
	}, nil)
	wantFields(t, err, "carrier", "flightNumber", "date", "webhookUrl", "secret", "events", "delayThresholdMinutes", "headers.Host", "headers.a b", "metadata")

	for name, change := range map[string]func(*CreateSubscriptionInput){
		"events":                func(in *CreateSubscriptionInput) { in.Events = []flight.ChangeType{"flight.vanished"} },
		"delayThresholdMinutes": func(in *CreateSubscriptionInput) { v := 241; in.DelayThresholdMinutes = &v },
		"webhookUrl":            func(in *CreateSubscriptionInput) { in.WebhookURL = "http://169.254.169.254/" },
		"metadata": func(in *CreateSubscriptionInput) {
			in.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", flight.MaxMetadataBytes) + `"}`)
		},
		"headers.x-legacy-signature": func(in *CreateSubscriptionInput) { in.Headers = map[string]string{"x-legacy-signature": "x"} },
	} {
		in := newInput()
		change(&in)
		_, err := g.r.Mutation().CreateSubscription(g.ctx, in, nil)
		wantFields(t, err, name)
	}
	for _, bad := range []string{`{"a":1} x`, "{\"a\":\"\xff\"}", `{`, `"x"`} {
		in := newInput()
		in.Metadata = json.RawMessage(bad)
		_, err := g.r.Mutation().CreateSubscription(g.ctx, in, nil)
		wantFields(t, err, "metadata")
	}
	_, err = g.r.Mutation().CreateSubscription(t.Context(), newInput(), nil)
	wantCode(t, err, flight.CodeMissingAPIKey)
	if n := g.source.calls.Load(); n != 0 {
		t.Errorf("%d calls for nonsense", n)
	}
}

func TestCreateUnresolved(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say()
	in := newInput()
	if s := g.create(in); s.Status != flight.SubscriptionPending || s.FlightResolved {
		t.Errorf("%+v", s)
	}
	in.Origin = "JFK"
	if s := g.create(in); s.Status != flight.SubscriptionPending {
		t.Errorf("%+v", s)
	}
	in.FlightID = "100JFK"
	_, err := g.r.Mutation().CreateSubscription(g.ctx, in, nil)
	wantCode(t, err, flight.CodeLegNotFound)

	in = newInput()
	in.Date = time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly)
	_, err = g.r.Mutation().CreateSubscription(g.ctx, in, nil)
	wantCode(t, err, flight.CodeFlightNotFound)

	g.source.fail(flight.Errorf(flight.CodeUpstreamTimeout, "slow"))
	in = newInput()
	in.FlightNumber = "200"
	_, err = g.r.Mutation().CreateSubscription(g.ctx, in, nil)
	wantCode(t, err, flight.CodeUpstreamTimeout)
}

// Subscriptions that are made at once are polled later, and not at once.
func TestManyCreatesAreNoBurstOfPolls(t *testing.T) {
	const n = 60
	g := sqliteRig(t, nil)
	g.ctx = access.With(t.Context(), access.Identity{Account: g.account("many"), Plan: "unlimited"})
	var legs []flight.Snapshot
	for i := range n / 2 { // the others are not found yet
		legs = append(legs, leg(strconv.Itoa(i+1), "JFK", "LHR"))
	}
	g.source.say(legs...)
	before := g.r.lookups.now()
	for i := range n {
		in := newInput()
		in.FlightNumber = strconv.Itoa(i + 1)
		g.create(in)
	}
	made, most := 0, 0
	for after := 10 * time.Second; made < n; after += 10 * time.Second {
		claims, err := g.db.ClaimPolls(t.Context(), before+milliseconds(after), n+1, time.Nanosecond)
		if err != nil {
			t.Fatal(err)
		}
		if after <= 30*time.Second && len(claims) > 0 {
			t.Fatalf("%d polls within %v", len(claims), after)
		}
		if most = max(most, len(claims)-made); after > 6*time.Hour {
			t.Fatalf("%d of %d are polled within %v", len(claims), n, after)
		}
		made = len(claims)
	}
	if most > n/6 {
		t.Errorf("%d of %d polls in ten seconds", most, n)
	}
}

func TestCreateLegs(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say(leg("100", "JFK", "ORD"), leg("100", "ORD", "LAX"))
	_, err := g.r.Mutation().CreateSubscription(g.ctx, newInput(), nil)
	if e := wantCode(t, err, flight.CodeOriginRequired); len(e.Legs) != 2 {
		t.Errorf("%+v", e.Legs)
	}
	in := newInput()
	in.Origin = "SFO"
	_, err = g.r.Mutation().CreateSubscription(g.ctx, in, nil)
	if e := wantCode(t, err, flight.CodeLegNotFound); len(e.Legs) != 2 {
		t.Errorf("%+v", e.Legs)
	}
	in.Origin = "ORD"
	if s := g.create(in); !s.FlightResolved {
		t.Errorf("%+v", s)
	}
}

func TestSubscriptionsList(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.source.say(leg("100", "JFK", "LHR"), leg("200", "JFK", "LHR"))
		var ids []string
		for _, number := range []string{"100", "200", "100"} {
			in := newInput()
			in.FlightNumber = number
			ids = append(ids, g.create(in).ID)
		}
		list := func(f *SubscriptionFilter, offset, limit int) *SubscriptionPage {
			p, err := g.r.Query().Subscriptions(g.ctx, f, offset, limit)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := list(nil, 0, 2)
		if p.Count != 2 || p.Total != 3 || p.Data[0].ID != ids[2] || p.Data[1].ID != ids[1] || !strings.HasPrefix(p.Data[0].Secret, "whsec_****") {
			t.Errorf("%+v", p)
		}
		if p := list(&SubscriptionFilter{Carrier: "aal", FlightNumber: "0200", Date: today, Status: flight.SubscriptionActive}, 0, 50); p.Total != 1 || p.Data[0].ID != ids[1] {
			t.Errorf("%+v", p)
		}
		if p := list(&SubscriptionFilter{Status: flight.SubscriptionPaused}, 0, 50); p.Total != 0 || p.Data == nil {
			t.Errorf("%+v", p)
		}
		_, err := g.r.Query().Subscriptions(g.ctx, &SubscriptionFilter{Status: "gone", Carrier: "?", FlightNumber: "?", Date: "?"}, -1, 201)
		wantFields(t, err, "status", "carrier", "flightNumber", "date", "offset", "limit")
	})
}

func TestSubscriptionLife(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		id := g.create(newInput()).ID
		m := g.r.Mutation()
		other := access.With(t.Context(), access.Identity{Account: g.account("other")})
		for _, bad := range []string{"", "sub_", "sub_nosuch", "sub_'; --", "sub_\x00", "sub_\xff", strings.Repeat("x", 9999), "evt_1"} {
			_, err := g.r.Query().Subscription(g.ctx, bad)
			wantCode(t, err, flight.CodeSubscriptionMissing)
		}
		for name, act := range map[string]func() error{
			"read":   func() error { _, err := g.r.Query().Subscription(other, id); return err },
			"pause":  func() error { _, err := m.PauseSubscription(other, id); return err },
			"resume": func() error { _, err := m.ResumeSubscription(other, id); return err },
			"delete": func() error { _, err := m.DeleteSubscription(other, id); return err },
		} {
			if err := act(); flight.CodeOf(err) != flight.CodeSubscriptionMissing {
				t.Errorf("another account may %s: %v", name, err)
			}
		}
		s, err := m.PauseSubscription(g.ctx, id)
		if err != nil || s.Status != flight.SubscriptionPaused || !strings.HasPrefix(s.Secret, "whsec_****") {
			t.Fatalf("%+v %v", s, err)
		}
		s, err = m.ResumeSubscription(g.ctx, id)
		if err != nil || s.Status != flight.SubscriptionActive || !strings.HasPrefix(s.Secret, "whsec_****") {
			t.Fatalf("%+v %v", s, err)
		}
		if got, err := m.DeleteSubscription(g.ctx, id); got != id || err != nil {
			t.Fatal(got, err)
		}
		_, err = m.DeleteSubscription(g.ctx, id)
		wantCode(t, err, flight.CodeSubscriptionMissing)
	})
}
