package replay_test

import (
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
	"github.com/flightwire/flightwire/flight/upstream/upstreamtest"
)

// twoLegsCSV is made up: the flights of the shipped days all leave New York.
const twoLegsCSV = `service_date,carrier,flight,origin,dest,tailnum,status,sched_dep_utc,act_dep_utc,sched_arr_utc,act_arr_utc
2013-07-10,BA,178,JFK,BOS,N236JB,landed,2013-07-10T21:30Z,2013-07-10T21:30Z,2013-07-10T23:00Z,2013-07-10T23:00Z
2013-07-10,BA,178,BOS,LHR,N236JB,landed,2013-07-11T01:00Z,2013-07-11T01:00Z,2013-07-11T07:30Z,2013-07-11T07:30Z
`

func TestConformance(t *testing.T) {
	s := shippedDay(t)
	two, err := replay.New(replay.Config{CSV: strings.NewReader(twoLegsCSV)})
	if err != nil {
		t.Fatal(err)
	}
	on := func(carrier, number string) flight.Key {
		return flight.Key{Carrier: carrier, Number: number, Date: replay.ShippedDate}
	}
	of := func(key flight.Key, moments ...string) upstreamtest.Case {
		c := upstreamtest.Case{Key: key}
		for _, m := range moments {
			c.Looks = append(c.Looks, upstreamtest.Look{Source: s, Now: upstreamtest.At(t, m)})
		}
		return c
	}
	late, cancelled, early, diverted := on("B6", "486"), first(t, "cancelled"), first(t, "early"), first(t, "no_arrival_at_dest")
	const noRunway = "the file has gate times only"
	upstreamtest.Run(t, map[upstreamtest.Situation]upstreamtest.Case{
		upstreamtest.FarAhead:  of(late, "2013-07-05 12:00"),
		upstreamtest.Boarding:  of(late, "2013-07-11 04:10").But("the file says nothing of boarding"),
		upstreamtest.Taxiing:   of(late, "2013-07-11 04:18").But(noRunway),
		upstreamtest.Airborne:  of(late, "2013-07-11 05:00"),
		upstreamtest.Landed:    of(late, "2013-07-11 05:54").But(noRunway),
		upstreamtest.Arrived:   of(late, "2013-07-11 06:00"),
		upstreamtest.Early:     of(early, "2013-07-12 12:00"),
		upstreamtest.Cancelled: of(cancelled, "2013-07-12 12:00"),
		upstreamtest.Reinstated: of(cancelled, "2013-07-12 12:00", "2013-07-12 13:00").
			But("the file has how each flight ended, not what was taken back on the way"),
		upstreamtest.Diverted: {Key: diverted, Looks: divertedLooks(t, s, diverted)},
		upstreamtest.TwoLegs: {
			Key: on("BA", "178"), Looks: []upstreamtest.Look{{Source: two, Now: upstreamtest.At(t, "2013-07-10 22:00")}},
		},
		upstreamtest.Codeshare: of(late, "2013-07-10 12:00").But("the file has no codeshares"),
	})
	upstreamtest.FailWithin(t, s, late, on("B6", "9999"), upstreamtest.At(t, "2013-07-10 12:00"))
}

// first returns the first flight of the shipped day that ended in a way.
func first(t *testing.T, how string) flight.Key {
	t.Helper()
	for _, r := range rows(t, replay.ShippedDate) {
		early := r.actArr != 0 && r.actArr < r.schedArr
		if r.status == how || how == "early" && early {
			return r.key
		}
	}
	t.Fatalf("no flight of the day is %s", how)
	return flight.Key{}
}

// divertedLooks finds when the flight is on its way elsewhere, and is there.
func divertedLooks(t *testing.T, s *replay.Source, key flight.Key) []upstreamtest.Look {
	t.Helper()
	var looks []upstreamtest.Look
	from, to := s.Span()
	for _, phase := range []flight.Phase{flight.PhaseRedirected, flight.PhaseDiverted} {
		for now := from; now <= to; now += 60_000 {
			if leg(t, s, key, now).Status.Phase == phase {
				looks = append(looks, upstreamtest.Look{Source: s, Now: now})
				break
			}
		}
	}
	return looks
}
