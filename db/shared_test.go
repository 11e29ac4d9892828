package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// While another process holds one flight, creates of other flights go on.
func TestCreatesDoNotWaitForAnothersFlight(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Name != "postgres" {
			t.Skip("SQLite has one process")
		}
		c := dbtest.Patient(m.Config)
		inside, release := make(chan struct{}), make(chan struct{})
		c.BeforeCommit = func(op string) {
			if op == "pause subscription" {
				close(inside)
				<-release
			}
		}
		holder, err := db.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = holder.Close() }()
		r := newRig(t, m.DB)
		other := flight.Key{Carrier: "BA", Number: "1", Date: key.Date}
		held, free := r.say(leg()).IDs[0], r.accept(r.answer(other, legOf(other, "LHR", "JFK", "9"))).IDs[0]
		paused := r.found(held)
		var holding, waiting, going sync.WaitGroup
		holding.Go(func() {
			if _, err := holder.PauseSubscription(t.Context(), r.account, paused.ID); err != nil {
				t.Error(err)
			}
		})
		<-inside
		for range 8 {
			waiting.Go(func() { r.found(held) })
			going.Go(func() { r.found(free) })
		}
		going.Wait()
		if n := r.count(`SELECT count(*) FROM subscriptions WHERE flight_id = $1`, held); n != 1 {
			t.Errorf("%d of the held flight", n)
		}
		close(release)
		holding.Wait()
		waiting.Wait()
		if n := r.count(`SELECT count(*) FROM subscriptions WHERE flight_id = $1`, held); n != 9 {
			t.Errorf("%d of the flight that was held", n)
		}
		r.sound()
	})
}

// A caller who gives up is told so, and nothing is left half made.
func TestCreateThatIsGivenUp(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		_, err := r.d.CreateSubscription(ctx, db.NewSubscription{Account: r.account, Key: key, FlightID: id, Events: flight.AllChanges, Now: r.now})
		if !errors.Is(err, context.Canceled) || r.count(`SELECT count(*) FROM subscriptions`) != 0 {
			r.Errorf("%v", err)
		}
	})
}
