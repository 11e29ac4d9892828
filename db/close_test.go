package db_test

import (
	"net/url"
	"os"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

// A process that stops after PostgreSQL was restarted stops cleanly, though its
// connections were dead already.
func TestCloseAfterRestart(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("there is no PostgreSQL")
	}
	u, err := url.Parse(dbtest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	name := "close after restart " + q.Get("search_path")
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	d, err := db.Open(t.Context(), db.Config{URL: u.String(), Keys: []string{dbtest.SecretKey}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ClaimEvents(t.Context(), []string{"evt_none"}, 0); err != nil { // its statement stays prepared
		t.Fatal(err)
	}
	admin, err := sqlx.Open("postgres", os.Getenv("TEST_DATABASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	var ended []bool
	if err := admin.Select(&ended, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1`, name); err != nil || len(ended) == 0 {
		t.Fatalf("%d connections were ended: %v", len(ended), err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
