package access

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// The process that is alone answers every question as the script does, through
// minutes, days and months, wrong secrets, unknown keys and counts that SQL
// must be asked for.
func TestTallyIsTheScript(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		rapid.Check(t, func(rt *rapid.T) {
			plans := Plans{
				{Name: "free", Requests: Limits{1, 2, 3}},
				{Name: "gold", Requests: Limits{anyLimit.Draw(rt, "minute"), anyLimit.Draw(rt, "day"), anyLimit.Draw(rt, "month")}},
			}
			alone, id, now := newTally(plans), newKeyID(), time.Date(2026, 11, 29, 23, 58, 0, 0, time.UTC)
			stored := ""
			for range rapid.IntRange(1, 12).Draw(rt, "questions") {
				now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 24 * time.Hour}).Draw(rt, "later"))
				if s := rapid.SampledFrom([]string{stored, "", "no", "held", "ok h acc_1 gold A B", "ok other acc_1 free A"}).Draw(rt, "entry"); s != stored {
					stored = s
					m.Redis.Set(t.Context(), entryKey(id), stored, time.Hour)
				}
				q := question{id: id, hash: "h"}
				if rapid.Bool().Draw(rt, "row read") {
					q.entry = "ok h acc_1 gold A B"
				}
				if rapid.Bool().Draw(rt, "counts read") {
					q.seeded, q.day, q.month = Day.period(now), rapid.Int64Range(0, 20).Draw(rt, "day"), rapid.Int64Range(0, 40).Draw(rt, "month")
				}
				runs := anyRuns.Draw(rt, "runs")
				values, err := quotaScript.Run(t.Context(), m.Redis, windowKeys(id, now), q.args(now, planArgs(plans), runs)...).Slice()
				if err != nil {
					rt.Fatal(err)
				}
				want, err := readReply(values, len(runs), now)
				if err != nil {
					rt.Fatal(err)
				}
				if got := alone.take(q, stored, runs, now); !reflect.DeepEqual(got, want) {
					rt.Fatalf("alone: %+v; the script: %+v", got, want)
				}
			}
		})
	})
}

// 64 callers of the process that is alone get exactly the limit, on both sides
// of the edge of a month, and a restart reads what the day has had.
func TestAloneIsExact(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		clock := new(hand)
		clock.set(edge)
		alone := func() *Guard {
			g := New(Config{DB: m.DB, Redis: m.Redis, Plans: testPlans(100, 150, NoLimit), Now: clock.now, Alone: true})
			t.Cleanup(g.Close)
			return g
		}
		g := alone()
		for _, at := range []time.Time{edge, edge.Add(1)} {
			clock.set(at)
			if n := admit(t, []*Guard{g}, key.Key, 64, 1) + admit(t, []*Guard{g}, key.Key, 64, 1); n != 100 {
				t.Errorf("%d of 128 pass at %v", n, at)
			}
		}
		g.Close() // saves
		if n := admit(t, []*Guard{alone()}, key.Key, 64, 1); n != 50 {
			t.Errorf("%d pass after a restart, where 50 are left of the day", n)
		}
		if _, _, err := g.Admit(t.Context(), key.Key, 1); flight.CodeOf(err) != flight.CodeQuotaUnavailable {
			t.Errorf("a closed guard: %v", err)
		}
	})
}
