package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// Whoever adds, each provider's month has its sum.
func TestAddCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var processes sync.WaitGroup
		for range 8 {
			processes.Go(func() {
				for range 5 {
					for _, err := range []error{
						d.AddCalls(t.Context(), "cirium", "2026-11", 2), d.AddCalls(t.Context(), "cirium", "2026-12", 1),
						d.AddCalls(t.Context(), "aeroapi", "2026-11", 3),
					} {
						if err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		processes.Wait()
		for _, c := range []struct {
			provider, month string
			want            int64
		}{{"cirium", "2026-11", 80}, {"cirium", "2026-12", 40}, {"aeroapi", "2026-11", 120}, {"aeroapi", "2026-12", 0}} {
			if got, err := d.Calls(t.Context(), c.provider, c.month); err != nil || got != c.want {
				t.Errorf("%s in %s: %d, %v, want %d", c.provider, c.month, got, err, c.want)
			}
		}
	})
}

// A poll that is put off is made later and is no failure; what stands stays.
func TestPutOffPoll(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.deliver()
		polled := r.sub(s.ID).LastPolledAt
		putOff := func(c db.PollClaim, p flight.Poll) bool {
			r.Helper()
			due, err := r.d.PutOffPoll(r.Context(), c, r.now, p)
			if err != nil {
				r.Fatal(err)
			}
			return len(due) > 0
		}
		c := r.onlyPoll(time.Minute)
		if putOff(c, flight.Poll{At: r.now + 7*minute, Reason: "over the call rate"}) || r.planned(id) != r.now+7*minute {
			r.Errorf("next at %s, want in 7 min", r.planned(id))
		}
		if n := r.count(`SELECT poll_failures FROM flights`); n != 0 {
			r.Errorf("%d failures", n)
		}
		r.same("reason", r.strings(`SELECT poll_reason FROM flights`), []string{"over the call rate"})
		if st := r.standing(); st.Legs[0].Departure.Gate != "B1" || r.sub(s.ID).LastPolledAt != polled {
			r.Error("it counts as an answer")
		}
		if putOff(c, flight.Poll{At: r.now + 99*minute}) || r.planned(id) != r.now+7*minute {
			r.Errorf("a claim that has ended moves the plan to %s", r.planned(id))
		}
		r.noPoll()
		r.now += 72 * 60 * minute
		if !putOff(r.onlyPoll(time.Minute), flight.Poll{At: r.now + minute}) {
			r.Error("nobody is woken for the completion")
		}
		r.same("events", r.told(s.ID), []string{"subscription.completed"})
		if at := r.planned(id); at.Known() {
			r.Errorf("still polled at %s", at)
		}
		r.sound()
	})
}

func TestPollRank(t *testing.T) {
	each(t, func(r *rig) {
		r.found(r.say(leg()).IDs[0])
		c := r.onlyPoll(time.Minute)
		want := func(c db.PollClaim, now flight.Time, want flight.Rank) {
			r.Helper()
			if got, err := r.d.PollRank(r.Context(), c, now); err != nil || got != want {
				r.Errorf("rank %d, %v, want %d", got, err, want)
			}
		}
		want(c, epoch-600*minute, flight.RankFar)
		want(c, epoch+60*minute, flight.RankSoon)
		want(c, epoch+115*minute, flight.RankAtHand)
		if _, err := r.d.PollRank(r.Context(), db.PollClaim{FlightID: "flt_gone"}, epoch); flight.CodeOf(err) != flight.CodeNotFound {
			r.Errorf("of a leg that is gone: %v", err)
		}
	})
}

func TestPollRankOfSearch(t *testing.T) {
	each(t, func(r *rig) {
		r.pending()
		c := r.onlyPoll(time.Minute)
		for now, want := range map[flight.Time]flight.Rank{epoch: flight.RankSoon, epoch - 100*60*minute: flight.RankFar} {
			if got, err := r.d.PollRank(r.Context(), c, now); err != nil || got != want {
				r.Errorf("rank %d, %v, want %d", got, err, want)
			}
		}
	})
}
