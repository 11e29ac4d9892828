package graph

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func TestFlightCached(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		first := g.flight(aa100, false)
		if first.Departure.Gate != "B1" || first.FlightKey != "AA100:"+today || len(first.Alternates) != 1 {
			t.Fatalf("%+v", first)
		}
		// ICAO, case, leading zeros: one flight, one cache entry.
		again := g.flight(LegInput{Carrier: "aal", FlightNumber: "0100", Date: today, Origin: "jfk"}, false)
		if n := g.source.calls.Load(); n != 1 || again.FetchedAt != first.FetchedAt {
			t.Errorf("%d calls, fetched at %v and %v", n, first.FetchedAt, again.FetchedAt)
		}
		g.source.say(atGate("C3"))
		if s := g.flight(aa100, true); s.Departure.Gate != "C3" || g.source.calls.Load() != 2 {
			t.Errorf("refresh: gate %s after %d calls", s.Departure.Gate, g.source.calls.Load())
		}
		if s := g.flight(aa100, false); s.Departure.Gate != "C3" || g.source.calls.Load() != 2 {
			t.Errorf("after refresh: gate %s after %d calls", s.Departure.Gate, g.source.calls.Load())
		}
	})
}

// TestFlightHeard: what a poll, or another process, has learned is told from
// then on, without a call.
func TestFlightHeard(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.flight(aa100, false)
		g.source.say(atGate("C3"))
		g.poll()
		calls := g.source.calls.Load()
		eventually(t, "the news", func() bool { return g.flight(aa100, false).Departure.Gate == "C3" })
		if n := g.source.calls.Load(); n != calls {
			t.Errorf("%d calls for what the database knew", n-calls)
		}
	})
}

func TestFlightNotFoundIsCached(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say()
	for range 3 {
		_, err := g.r.Query().Flight(g.ctx, aa100, false)
		wantCode(t, err, flight.CodeFlightNotFound)
	}
	if n := g.source.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestCacheTTL(t *testing.T) {
	for ttl, calls := range map[time.Duration]int32{0: 3, time.Hour: 1} {
		g := sqliteRig(t, func(c *ResolverConfig) { c.CacheTTL = &ttl })
		for range 3 {
			g.flight(aa100, false)
		}
		if n := g.source.calls.Load(); n != calls {
			t.Errorf("TTL %v: %d calls, want %d", ttl, n, calls)
		}
	}
}

// TestIdenticalLookups: many at once make one call, also when the one who
// came first leaves.
func TestIdenticalLookups(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.gate, g.source.came = make(chan struct{}), make(chan struct{}, 99)
	ctx, leave := context.WithCancel(g.ctx)
	left := make(chan error)
	go func() {
		_, err := g.r.Query().Flight(ctx, aa100, false)
		left <- err
	}()
	<-g.source.came
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error("who left got", err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if s, err := g.r.Query().Flight(g.ctx, aa100, false); err != nil || s.Departure.Gate != "B1" {
				t.Error(s, err)
			}
		})
	}
	close(g.source.gate)
	all.Wait()
	if n := g.source.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestUpstreamDown: what stands is told while the upstream is down, for hours.
func TestUpstreamDown(t *testing.T) {
	var clock flight.Clock
	g := sqliteRig(t, func(c *ResolverConfig) { c.Clock = clock })
	down := flight.Errorf(flight.CodeUpstreamUnavailable, "down")
	g.source.fail(down)
	_, err := g.r.Query().Flight(g.ctx, aa100, false)
	wantCode(t, err, flight.CodeUpstreamUnavailable)

	g.source.say(leg("100", "JFK", "LHR"))
	fetched := g.flight(aa100, false).FetchedAt
	g.source.fail(down)
	_, err = g.r.Query().Flight(g.ctx, aa100, true)
	wantCode(t, err, flight.CodeUpstreamUnavailable) // who refreshes wants the upstream's word

	// Other processes, whose caches are empty and whose worlds are later.
	for after, code := range map[time.Duration]flight.Code{5 * time.Hour: "", 7 * time.Hour: flight.CodeUpstreamUnavailable} {
		now := time.Now()
		later := New(ResolverConfig{DB: g.db, Intake: g.intake, Client: g.r.cfg.Client,
			Clock: flight.Clock{Start: now, Epoch: now.Add(after), Speed: 1}})
		s, err := later.Query().Flight(g.ctx, aa100, false)
		wantCode(t, err, code)
		if code == "" && (s.FetchedAt != fetched || !s.Stale) {
			t.Errorf("fetchedAt %v, not %v; stale: %v", s.FetchedAt, fetched, s.Stale)
		}
	}
}

func TestFlightLegs(t *testing.T) {
	g := sqliteRig(t, nil)
	g.source.say(leg("100", "JFK", "ORD"), leg("100", "ORD", "LAX"))
	if s := g.flight(aa100, false); s.Departure.Airport.IATA != "JFK" || len(s.Alternates) != 2 || !s.Alternates[0].Selected {
		t.Errorf("default leg: %+v", s.Alternates)
	}
	in := aa100
	in.Origin = "ord"
	if s := g.flight(in, false); s.Arrival.Airport.IATA != "LAX" || !s.Alternates[1].Selected || s.Alternates[0].Selected {
		t.Errorf("from ORD: %+v", s.Alternates)
	}
	in = aa100
	in.FlightID = "100ORD"
	if s := g.flight(in, false); s.Arrival.Airport.IATA != "LAX" {
		t.Error("by flightId:", s.Arrival.Airport.IATA)
	}
	in.FlightID, in.Destination = "", "SFO"
	_, err := g.r.Query().Flight(g.ctx, in, false)
	if e := wantCode(t, err, flight.CodeLegNotFound); len(e.Legs) != 2 {
		t.Errorf("legs: %+v", e.Legs)
	}
}

func TestFlightInput(t *testing.T) {
	g := sqliteRig(t, nil)
	_, err := g.r.Query().Flight(t.Context(), aa100, false)
	wantCode(t, err, flight.CodeMissingAPIKey)
	_, err = g.r.Query().Flight(g.ctx, LegInput{Carrier: "?", FlightNumber: "x", Date: "2026-02-30", Origin: "!", Destination: "toolong", FlightID: "a b"}, false)
	wantFields(t, err, "carrier", "flightNumber", "date", "origin", "destination", "flightId")
	_, err = g.r.Query().Flight(g.ctx, LegInput{Carrier: "AA", FlightNumber: "1", Date: time.Now().AddDate(2, 0, 0).Format(time.DateOnly)}, false)
	wantFields(t, err, "date")
	if n := g.source.calls.Load(); n != 0 {
		t.Errorf("%d calls for nonsense", n)
	}
}

// BenchmarkCachedFlight is a look-up that the cache answers, as REST makes it.
func BenchmarkCachedFlight(b *testing.B) {
	d := dbtest.SQLite(b)
	r := benchResolver(b, d)
	ctx := access.With(b.Context(), access.Identity{Account: "acc"})
	if _, err := r.Query().Flight(ctx, aa100, false); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := r.Query().Flight(ctx, aa100, false)
		if err != nil || len(s.Encode()) == 0 {
			b.Fatal(err)
		}
	}
}
