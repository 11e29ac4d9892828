package db_test

import (
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// A watched leg that vanishes before its departure is told to be not
// operational after half an hour, once, and to be back when it is. One that is
// back sooner is not spoken of.
func TestUnlistedLegIsTold(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		s := r.found(id)
		r.told(s.ID)
		missing := func(after time.Duration, source string) {
			r.now += flight.Time(after.Milliseconds()) - minute
			a := r.answer(key)
			a.Source = source
			r.accept(a)
		}
		expect := func(when string, want ...string) {
			r.Helper()
			r.same(when, r.told(s.ID), want)
		}
		missing(time.Minute, "script")
		missing(20*time.Minute, "script")
		expect("20 minutes later")
		r.say(leg())
		expect("back in time")
		if n := r.count(`SELECT count(*) FROM updates`); n != 1 {
			r.Errorf("%d versions of one and the same", n)
		}
		missing(10*time.Minute, "script") // the half hour begins anew
		missing(25*time.Minute, "script")
		expect("25 minutes after it vanished again")
		r.now -= 80 * minute // two hours before its departure is enough for all that follows
		missing(30*time.Minute, "other")
		expect("another upstream does not know it")
		r.now += 80 * minute
		missing(5*time.Minute, "script")
		expect("after half an hour", "flight.updated: Status changed from Scheduled to Not operational")
		u, err := r.d.LatestUpdate(r.Context(), id)
		if err != nil || u.Snapshot.Status.Code != flight.StatusNotOperational || u.Snapshot.FetchedAt != r.now {
			r.Errorf("%+v, %v", u.Snapshot.Status, err)
		}
		missing(10*time.Minute, "script")
		expect("still missing")
		if at := r.planned(id); at != r.now+5*minute {
			r.Errorf("looked for again at %s", at)
		}
		back := r.say(leg())
		expect("back", "flight.updated: Status changed from Not operational to Scheduled")
		if len(back.IDs) != 1 || back.IDs[0] != id || back.Legs[0].Status.Description != "" {
			r.Errorf("%+v", back.Standing)
		}
		r.sound()
	})
}

// A leg that vanished hours ahead is looked for when it is to be known whether
// it is gone, also when another upstream's answer plans its poll meanwhile.
func TestUnlistedLegIsLookedFor(t *testing.T) {
	each(t, func(r *rig) {
		departs := r.now + 10*60*minute
		id := r.say(leg(func(s *flight.Snapshot) { s.Departure.Times.ScheduledGate = at(departs) })).IDs[0]
		r.found(id)
		var vanished, until flight.Time
		for i, source := range []string{"script", "other", "script", "script"} {
			a := r.answer(key)
			a.Source, a.Schedule = source, flight.Schedule{Jitter: .5}
			r.accept(a)
			if i == 0 {
				vanished, until = r.now, r.now+(departs-r.now)/4
			}
			if at := r.planned(id); i < 3 && at != until {
				r.Errorf("%d: looked for at %s, it vanished at %s; want %s", i, at, vanished, until)
			} else if i == 3 && at <= r.now+60*minute {
				r.Errorf("looked for at %s when it is gone", at)
			}
			if i == 2 {
				r.now = until
			}
		}
		r.sound()
	})
}

// A leg that is not operational is no leg of the flight's last answer, and an
// answer from before does not bring it back.
func TestUnlistedLegAmongOthers(t *testing.T) {
	each(t, func(r *rig) {
		got := r.say(leg(), second())
		s := r.found(got.IDs[1])
		r.told(s.ID)
		r.say(leg())
		r.now += 30 * minute
		r.say(leg())
		r.same("told", r.told(s.ID), []string{"flight.updated: Status changed from Scheduled to Not operational"})
		if st := r.standing(); len(st.Legs) != 1 || st.IDs[0] != got.IDs[0] {
			r.Errorf("stands %+v", st.IDs)
		}
		if back := r.say(leg(), second()); len(back.Legs) != 2 {
			r.Errorf("stands %+v", back.IDs)
		}
		r.same("told", r.told(s.ID), []string{"flight.updated: Status changed from Not operational to Scheduled"})
		r.sound()
	})
}
