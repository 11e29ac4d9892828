package db_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// crowd is a rig whose writers can be held at their commits.
type crowd struct {
	*rig
	mu      sync.Mutex
	hold    int
	config  db.Config
	inside  chan struct{}
	release chan struct{}
	commits int // since the writers were held, without theirs
}

func eachTogether(t *testing.T, f func(*crowd)) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		x := &crowd{inside: make(chan struct{}), release: make(chan struct{})}
		x.config = dbtest.Patient(m.Config)
		c := x.config
		c.BeforeCommit = x.commit
		_ = m.DB.Close() // SQLite has one process
		d, err := db.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		x.rig = newRig(t, d)
		f(x)
	})
}

func (x *crowd) commit(op string) {
	if op != "accept" {
		return
	}
	x.mu.Lock()
	held := x.hold > 0
	if held {
		x.hold--
	} else {
		x.commits++
	}
	x.mu.Unlock()
	if held {
		x.inside <- struct{}{}
		<-x.release
	}
}

// holdWriters holds every writer at its commit, so that what comes now gathers.
func (x *crowd) holdWriters(all *sync.WaitGroup) (letGo func()) {
	writers := 1
	if x.d.Kind() == "postgres" {
		writers = 2
	}
	x.mu.Lock()
	x.hold, x.commits = writers, 0
	x.mu.Unlock()
	for i := range writers {
		k := numbered(900 + i)
		a := x.answer(k, legOf(k, "JFK", "LHR", k.Number))
		all.Go(func() {
			if _, err := x.d.Accept(x.Context(), a); err != nil {
				x.Error(err)
			}
		})
		<-x.inside
	}
	return func() {
		for range writers {
			x.release <- struct{}{}
		}
	}
}

// gathered returns when n answers wait.
func (x *crowd) gathered(n int) {
	for x.d.Gathering() < n {
		runtime.Gosched()
	}
}

// acceptAll hands answers in so that they come in at the same time, and returns
// what came of each.
func (x *crowd) acceptAll(answers []db.Answer) (out []db.Accepted, errs []error) {
	var all sync.WaitGroup
	letGo := x.holdWriters(&all)
	out, errs = make([]db.Accepted, len(answers)), make([]error, len(answers))
	for i, a := range answers {
		all.Go(func() { out[i], errs[i] = x.d.Accept(x.Context(), a) })
		x.gathered(i + 1)
	}
	letGo()
	all.Wait()
	return out, errs
}

func TestAcceptTogether(t *testing.T) {
	eachTogether(t, func(x *crowd) {
		const flights = 20
		at := func(i int, gate string) *flight.Snapshot {
			l := legOf(numbered(i), "JFK", "LHR", fmt.Sprint(i))
			l.Departure.Gate = gate
			return l
		}
		var subs []*flight.Subscription
		var ids []string
		for i := range flights {
			ids = append(ids, x.accept(x.answer(numbered(i), at(i, "A1"))).IDs[0])
			subs = append(subs, x.found(ids[i], func(n *db.NewSubscription) { n.Key = numbered(i) }))
		}
		x.deliver()
		gates := func(answers []db.Answer, gate string) []db.Answer {
			for i := range flights {
				answers = append(answers, x.answer(numbered(i), at(i, gate)))
			}
			return answers
		}

		// One flight's second answer goes after its first, and a flight that is seen
		// for the first time is made beside the others.
		answers := gates(nil, "B1")
		answers = append(answers, x.answer(numbered(3), at(3, "C1")), x.answer(numbered(700), at(700, "A1")))
		out, errs := x.acceptAll(answers)
		for i, err := range errs {
			if err != nil || len(out[i].Changed) != 1 || len(out[i].IDs) != 1 || out[i].Legs[0].FlightNumber != answers[i].Key.Number {
				x.Fatalf("answer %d: %+v, %v", i, out[i], err)
			}
		}
		if x.commits > 3 {
			x.Errorf("%d answers took %d transactions", len(answers), x.commits)
		}
		for i := range flights {
			if len(out[i].Due) != 1 || out[i].Due[0].SubscriptionID != subs[i].ID {
				x.Errorf("due for flight %d: %+v", i, out[i].Due)
			}
		}
		told := x.toldAll()
		for i, s := range subs {
			want := []string{"flight.updated: Departure gate changed from A1 to B1"}
			if i == 3 {
				want = append(want, "flight.updated: Departure gate changed from B1 to C1")
			}
			x.same(fmt.Sprint("flight ", i), told[s.ID], want)
		}
		x.sound()

		// What cannot be accepted is its own fault, and nobody else's.
		if _, err := x.d.Poke(x.Context(), `UPDATE flights SET held = 'no JSON' WHERE id = $1`, ids[7]); err != nil {
			x.Fatal(err)
		}
		_, errs = x.acceptAll(gates(nil, "D1"))
		for i, err := range errs {
			if (err != nil) != (i == 7) || err != nil && !strings.Contains(err.Error(), ids[7]) {
				x.Errorf("answer %d: %v", i, err)
			}
		}
		told = x.toldAll()
		for i, s := range subs {
			if got := told[s.ID]; (len(got) == 1) == (i == 7) {
				x.Errorf("flight %d was told %q", i, got)
			}
		}
		if _, err := x.d.Poke(x.Context(), `UPDATE flights SET held = '' WHERE id = $1`, ids[7]); err != nil {
			x.Fatal(err)
		}
		x.sound()
	})
}

// While another process holds one flight, answers for others that came in with
// one for it are accepted.
func TestAcceptDoesNotWaitForAnothersFlight(t *testing.T) {
	eachTogether(t, func(x *crowd) {
		if x.d.Kind() != "postgres" {
			x.Skip("SQLite has one process")
		}
		c := x.config
		inside, release := make(chan struct{}), make(chan struct{})
		c.BeforeCommit = func(string) { close(inside); <-release }
		holder, err := db.Open(x.Context(), c)
		if err != nil {
			x.Fatal(err)
		}
		defer func() { _ = holder.Close() }()
		paused := x.found(x.say(leg()).IDs[0])
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := holder.PauseSubscription(x.Context(), x.account, paused.ID); err != nil {
				x.Error(err)
			}
		})
		<-inside
		held, free := make(chan error, 1), make(chan error, 1)
		letGo := x.holdWriters(&all)
		for i, to := range []chan error{held, free} {
			k := []flight.Key{key, numbered(1)}[i]
			a := x.answer(k, legOf(k, "JFK", "LHR", "1"))
			go func() {
				_, err := x.d.Accept(x.Context(), a)
				to <- err
			}()
			x.gathered(i + 1)
		}
		letGo()
		if err := <-free; err != nil {
			x.Error(err)
		}
		select {
		case err := <-held:
			x.Errorf("the answer for the held flight did not wait: %v", err)
		default:
		}
		close(release)
		if err := <-held; err != nil {
			x.Error(err)
		}
		all.Wait()
		x.sound()
	})
}
