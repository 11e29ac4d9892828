package db_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// TestStorm lets eight clients and workers of two processes do everything to a
// few flights at once, processes die over their claims among them. Whatever
// the order, the rules hold, and what waits can be delivered to the end.
func TestStorm(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		handles, steps := []*db.DB{m.DB, m.DB}, 60 // its writers are alone: most orders are alike
		if m.Name == "postgres" {
			second, err := db.Open(t.Context(), m.Config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = second.Close() }()
			handles[1], steps = second, 200
		}
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		r := newRig(t, m.DB)
		storm := &storm{rig: r, flights: make(map[string]bool)}
		var all sync.WaitGroup
		for i := range 8 {
			s := &sailor{storm: storm, d: handles[i%2], rand: rand.New(rand.NewPCG(seed, uint64(i)))}
			all.Go(func() {
				for n := 0; n < steps && !t.Failed(); n++ {
					s.step()
				}
			})
		}
		all.Wait()
		r.sound()
		if !t.Failed() {
			storm.report()
		}
		storm.calm()
	})
}

// storm is what its sailors share.
type storm struct {
	*rig
	mu      sync.Mutex
	subs    []string
	flights map[string]bool
	done    [12]int // operations that did something, by kind
}

var stormKeys = []flight.Key{key, {Carrier: "BA", Number: "1", Date: key.Date}}

func (s *storm) note(kind int, subs []string, flights ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[kind]++
	s.subs = append(s.subs, subs...)
	for _, f := range flights {
		s.flights[f] = true
	}
}

// report fails when some kind of operation never did anything: then the storm
// tested less than it seems.
func (s *storm) report() {
	s.Logf("created %d, accepted %d, paused %d, resumed %d, deleted %d, claimed %d, polled %d, watched %d, updated %d, tested %d, redelivered %d, replayed %d",
		s.done[0], s.done[1], s.done[2], s.done[3], s.done[4], s.done[5], s.done[6], s.done[7], s.done[8], s.done[9], s.done[10], s.done[11])
	for kind, n := range s.done {
		if n == 0 {
			s.Errorf("nothing of kind %d was done", kind)
		}
	}
}

// calm delivers what is left: after that nothing may wait.
func (s *storm) calm() {
	if _, err := s.d.Poke(s.Context(), `UPDATE events SET next_attempt_at = $1 WHERE next_attempt_at IS NOT NULL`, db.At(s.d.Now().Add(-time.Second))); err != nil {
		s.Fatal(err)
	}
	s.deliver()
	if left := s.strings(`SELECT id FROM events WHERE status = 'pending'`); len(left) > 0 {
		s.Errorf("%d events can never be delivered: %v", len(left), left)
	}
	s.sound()
}

// sailor is one client and worker.
type sailor struct {
	*storm
	d    *db.DB
	rand *rand.Rand
}

func (s *sailor) step() {
	switch n := s.rand.IntN(100); {
	case n < 10:
		s.create()
	case n < 35:
		s.take(nil, stormKeys[s.rand.IntN(len(stormKeys))])
	case n < 41:
		s.change(2, func(id string) error { _, err := s.d.PauseSubscription(s.Context(), s.account, id); return err })
	case n < 50:
		s.change(3, func(id string) error {
			_, err := s.d.ResumeSubscription(s.Context(), s.account, id, s.world())
			return err
		})
	case n < 53:
		s.change(4, func(id string) error { return s.d.DeleteSubscription(s.Context(), s.account, id) })
	case n < 56:
		s.change(8, func(id string) error {
			if s.rand.IntN(3) == 0 {
				_, err := s.d.RotateSecret(s.Context(), db.Operator, s.account, id, "0123456789abcdeX")
				return err
			}
			set := flight.ChangeSet(1 + s.rand.IntN(1<<20))
			_, err := s.d.UpdateSubscription(s.Context(), s.account, id, db.SubscriptionUpdate{Events: &set})
			return err
		})
	case n < 61:
		s.change(9, func(id string) error { _, err := s.d.TestSubscription(s.Context(), s.account, id); return err })
	case n < 66:
		s.change(10, func(id string) error {
			log, _, err := s.d.SentEvents(s.Context(), id, 200)
			if err != nil || len(log) == 0 { // it is deleted
				return flight.Errorf(flight.CodeSubscriptionMissing, "deleted")
			}
			_, err = s.d.RedeliverEvent(s.Context(), s.account, id, log[s.rand.IntN(len(log))].ID)
			return err
		})
	case n < 69:
		s.change(11, func(id string) error {
			_, err := s.d.ReplayEvents(s.Context(), s.account, id, flight.Replay{IncludeFailed: s.rand.IntN(2) == 0}, 1+s.rand.IntN(20))
			return err
		})
	case n < 86:
		s.send()
	case n < 93:
		s.poll()
	default:
		s.watch()
	}
}

// fail reports an error that no client may see.
func (s *sailor) fail(op string, err error, but ...flight.Code) bool {
	if err == nil || slices.Contains(but, flight.CodeOf(err)) {
		return err != nil
	}
	s.Errorf("%s: %v", op, err)
	return true
}

func (s *sailor) world() flight.Time { return epoch + flight.Time(s.rand.IntN(60))*minute }

func (s *sailor) create() {
	k := stormKeys[s.rand.IntN(len(stormKeys))]
	st, err := s.d.Standing(s.Context(), k)
	if s.fail("standing", err) {
		return
	}
	n := db.NewSubscription{
		Account: s.account, Key: k, WebhookURL: "https://example.com/hook", Secret: "0123456789abcdef",
		Events: flight.AllChanges, DelayThreshold: 1 + s.rand.IntN(10), Now: s.world(),
	}
	if len(st.IDs) > 0 && s.rand.IntN(3) > 0 {
		n.FlightID = st.IDs[s.rand.IntN(len(st.IDs))]
	} else if s.rand.IntN(2) == 0 {
		n.Selector.Origin = []string{"JFK", "LHR", "XXX"}[s.rand.IntN(3)] // XXX is never found
	}
	n.Cap = db.WatchCap{Limit: 1 << 20, Capped: s.rand.IntN(2) == 0}
	n.Idempotency = db.Idempotency{APIKey: "k1", Key: []string{"", strconv.Itoa(s.rand.IntN(1000))}[s.rand.IntN(2)]}
	sub, err := s.d.CreateSubscription(s.Context(), n)
	if !s.fail("create", err, flight.CodeSubscriptionMissing) { // one that was made with this key, and deleted
		s.note(0, []string{sub.ID})
	}
}

// take asks an upstream that says something else each time.
func (s *sailor) take(claim *db.PollClaim, k flight.Key) {
	now := s.world()
	a := db.Answer{Source: "script", Key: k, AskedAt: s.d.Now(), Now: now, Schedule: fiveMinutes, Poll: claim}
	var legs flight.Legs
	if s.rand.IntN(6) > 0 {
		legs = append(legs, legOf(k, "JFK", "LHR", "1", gate("B"+strconv.Itoa(s.rand.IntN(4))), late(s.rand.IntN(40))))
	}
	if len(legs) > 0 && s.rand.IntN(2) == 0 {
		to := []string{"CDG", "ORY"}[s.rand.IntN(2)]
		legs = append(legs, legOf(k, "LHR", to, "2", baggage(strconv.Itoa(s.rand.IntN(3)))))
	}
	if len(legs) > 0 && s.rand.IntN(40) == 0 {
		arrived(legs[0])
	}
	if s.rand.IntN(2) == 0 {
		slices.Reverse(legs)
	}
	if len(legs) > 0 {
		var err error
		if a.Legs, err = upstream.Finish(k, legs, now); err != nil {
			s.Error(err)
			return
		}
	}
	got, err := s.d.Accept(s.Context(), a)
	if !s.fail("accept", err) && len(got.IDs) > 0 {
		s.note(1, nil, got.IDs...)
	}
}

func (s *sailor) change(kind int, do func(id string) error) {
	s.mu.Lock()
	var id string
	if len(s.subs) > 0 {
		id = s.subs[s.rand.IntN(len(s.subs))]
	}
	s.mu.Unlock()
	if id != "" && !s.fail(fmt.Sprint("change ", kind), do(id), flight.CodeInvalidState, flight.CodeSubscriptionMissing) {
		s.note(kind, nil)
	}
}

// send delivers a few events, or dies before it can say so, or says so when
// others have long taken over.
func (s *sailor) send() {
	lease := time.Minute
	dies := s.rand.IntN(5) == 0
	if dies {
		lease = time.Microsecond
	}
	got, err := dbtest.ClaimEvents(s.Context(), s.d, 1+s.rand.IntN(8), lease)
	if s.fail("claim", err) || len(got) == 0 || dies && s.rand.IntN(2) == 0 {
		return
	}
	s.note(5, nil)
	var results []db.Result
	for _, a := range got {
		if a.Fault != "" {
			s.Errorf("%s cannot be sent: %s", a.EventID, a.Fault)
		}
		status := flight.DeliveryFailed
		switch s.rand.IntN(6) {
		case 0:
			status = flight.DeliveryRetrying
		case 1:
			status = flight.DeliverySucceeded
		}
		results = append(results, result(a, status))
	}
	_, err = s.d.RecordResults(s.Context(), results)
	s.fail("record", err)
}

func (s *sailor) poll() {
	lease := time.Minute
	if s.rand.IntN(3) == 0 {
		lease = time.Microsecond
	}
	claims, err := s.d.ClaimPolls(s.Context(), epoch+120*minute, 2, lease)
	if s.fail("claim polls", err) {
		return
	}
	for _, c := range claims {
		s.note(6, nil)
		if ok, err := s.d.ConfirmPoll(s.Context(), c, time.Minute); s.fail("confirm", err) || !ok {
			continue
		}
		if s.rand.IntN(4) == 0 {
			_, err := s.d.FailPoll(s.Context(), c, s.world(), fiveMinutes, 0)
			s.fail("fail poll", err)
			continue
		}
		s.take(&c, c.Key)
	}
}

func (s *sailor) watch() {
	s.mu.Lock()
	var ids []string
	for id := range s.flights {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		ids = []string{"flt_none"}
	}
	err := s.d.Watch(s.Context(), "p"+strconv.Itoa(s.rand.IntN(3)), ids, s.d.Now().Add(time.Duration(s.rand.IntN(50))*time.Millisecond), s.world())
	if !s.fail("watch", err) {
		s.note(7, nil)
	}
}

// A transaction that was broken off is run again, and gives up in the end.
func TestTransactionsRunAgain(t *testing.T) {
	each(t, func(r *rig) {
		n := 0
		err := r.d.InTx(r.Context(), "try", func() error {
			if n++; n < 3 {
				return db.Again
			}
			return nil
		})
		if err != nil || n != 3 {
			r.Errorf("after %d runs: %v", n, err)
		}
		n = 0
		err = r.d.InTx(r.Context(), "try", func() error { n++; return db.Again })
		if !errors.Is(err, db.Again) || n != 5 {
			r.Errorf("gave up after %d runs: %v", n, err)
		}
	})
}
