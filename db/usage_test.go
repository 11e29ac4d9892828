package db_test

import (
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

func wantUsage(t *testing.T, d *db.DB, key, day, month string, inDay, inMonth int64) {
	t.Helper()
	gotDay, gotMonth, err := d.Usage(t.Context(), key, day, month)
	if err != nil || gotDay != inDay || gotMonth != inMonth {
		t.Errorf("%s: %d in %s and %d in %s, %v; want %d and %d", key, gotDay, day, gotMonth, month, err, inDay, inMonth)
	}
}

// Whoever adds, and in whatever order the rows come, the sum is right.
func TestAddUsage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wantUsage(t, d, "a", "2026-11-21", "2026-11", 0, 0)
		if err := d.AddUsage(t.Context(), nil); err != nil {
			t.Error(err)
		}
		var processes sync.WaitGroup
		for i := range 8 {
			processes.Go(func() {
				rows := []db.Usage{
					{Period: "2026-11-21", KeyID: "a", Requests: 1}, {Period: "2026-11", KeyID: "a", Requests: 2},
					{Period: "2026-11-21", KeyID: "b", Requests: 10}, {Period: "2026-11-22", KeyID: "a", Requests: 100},
				}
				if i%2 == 1 {
					rows[0], rows[2] = rows[2], rows[0]
				}
				for range 5 {
					if err := d.AddUsage(t.Context(), rows); err != nil {
						t.Error(err)
					}
				}
			})
		}
		processes.Wait()
		wantUsage(t, d, "a", "2026-11-21", "2026-11", 40, 80)
		wantUsage(t, d, "b", "2026-11-21", "2026-11", 400, 0)
		wantUsage(t, d, "a", "2026-11-22", "2026-12", 4000, 0)
	})
}

func TestDropUsageDays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := d.AddUsage(t.Context(), []db.Usage{
			{Period: "2026-10-31", KeyID: "a", Requests: 1}, {Period: "2026-10", KeyID: "a", Requests: 1}, {Period: "2026-11-21", KeyID: "a", Requests: 1},
		}); err != nil {
			t.Fatal(err)
		}
		if err := d.DropUsageDays(t.Context(), "2026-11-21"); err != nil {
			t.Fatal(err)
		}
		wantUsage(t, d, "a", "2026-10-31", "2026-10", 0, 1)
		wantUsage(t, d, "a", "2026-11-21", "2026-11", 1, 0)
	})
}
