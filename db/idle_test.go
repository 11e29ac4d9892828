package db_test

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

// TestStoppedProcessHoldsNoLocks looks at the setting by which PostgreSQL ends
// the transaction of a process that was stopped in the middle of it.
func TestStoppedProcessHoldsNoLocks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Kind() != "postgres" {
			return // one process: nobody else waits for its locks
		}
		var got string
		if err := d.ExtContext.(*sqlx.DB).GetContext(t.Context(), &got, `SHOW idle_in_transaction_session_timeout`); err != nil {
			t.Fatal(err)
		}
		limit, err := time.ParseDuration(got)
		if err != nil || limit <= 0 || limit > 5*time.Second {
			t.Errorf("it is %q: a stopped process would hold its locks past the bound for deliveries", got)
		}
	})
}
