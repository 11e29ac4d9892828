// Package dbtest gives tests real databases: SQLite with an in-process Redis,
// and, where TEST_DATABASE_URL and TEST_REDIS_URL name them, PostgreSQL with a
// Redis server. Each test has its own, empty and migrated.
package dbtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// SecretKey is the key under which tests seal secrets.
const SecretKey = "ZmxpZ2h0d2lyZS10ZXN0LWtleS0zMi1ieXRlcy1vayE="

// Mode is one of the two ways to run: the embedded one, or with servers.
type Mode struct {
	Name     string // "sqlite" or "postgres"
	DB       *db.DB
	Config   db.Config // opens the same database once more
	Redis    redis.UniversalClient
	RedisURL string // empty: in-process
}

// Each runs f on SQLite and, where it is there, on PostgreSQL.
func Each(t *testing.T, f func(t *testing.T, d *db.DB)) {
	t.Run("sqlite", func(t *testing.T) { f(t, open(t, sqliteConfig(t))) })
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Run("postgres", func(t *testing.T) { f(t, open(t, postgresConfig(t))) })
	}
}

// EachMode runs f in the embedded mode and, where they are there, with servers.
func EachMode(t *testing.T, f func(t *testing.T, m Mode)) {
	t.Run("sqlite", func(t *testing.T) {
		f(t, Embedded(t))
	})
	if os.Getenv("TEST_DATABASE_URL") != "" && os.Getenv("TEST_REDIS_URL") != "" {
		t.Run("postgres", func(t *testing.T) {
			c := postgresConfig(t)
			client, url := RedisServer(t)
			f(t, Mode{Name: "postgres", DB: open(t, c), Config: c, Redis: client, RedisURL: url})
		})
	}
}

// Embedded returns the embedded mode. Nothing of it waits for a network, so it
// can be had in a bubble of testing/synctest.
func Embedded(t testing.TB) Mode {
	c := sqliteConfig(t)
	return Mode{Name: "sqlite", DB: open(t, c), Config: c, Redis: EmbeddedRedis(t)}
}

// SQLite returns an empty migrated SQLite database.
func SQLite(t testing.TB) *db.DB { return open(t, sqliteConfig(t)) }

func sqliteConfig(t testing.TB) db.Config {
	return db.Config{Dir: t.TempDir(), Keys: []string{SecretKey}}
}

func open(t testing.TB, c db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// PostgresURL returns the URL of an empty schema on the test server, and drops
// the schema when the test ends.
func PostgresURL(t testing.TB) string {
	t.Helper()
	base := os.Getenv("TEST_DATABASE_URL")
	conn, err := sqlx.Open("postgres", base)
	if err != nil {
		t.Fatal(err)
	}
	schema := "t_" + random(t)
	if _, err := conn.Exec(`CREATE SCHEMA ` + schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := conn.Exec(`DROP SCHEMA ` + schema + ` CASCADE`)
		if err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func postgresConfig(t testing.TB) db.Config {
	return db.Config{URL: PostgresURL(t), Keys: []string{SecretKey}}
}

func random(t testing.TB) string {
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// EmbeddedRedis returns a client of an in-process Redis, which ends with the
// test.
func EmbeddedRedis(t testing.TB) redis.UniversalClient {
	t.Helper()
	m := miniredis.NewMiniRedis() // it listens nowhere
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // it does not advance time by itself
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				m.FastForward(time.Second)
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		_ = client.Close()
		m.Close()
	})
	return client
}

// RedisServer returns a client of an empty database on the test server, and
// its URL. Nobody else gets that database until the test ends.
func RedisServer(t testing.TB) (redis.UniversalClient, string) {
	t.Helper()
	base := os.Getenv("TEST_REDIS_URL")
	o, err := redis.ParseURL(base)
	if err != nil {
		t.Fatal(err)
	}
	admin := redis.NewClient(o)
	n := takeDatabase(t, admin)
	own := *o
	own.DB = n
	client := redis.NewClient(&own)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := client.FlushDB(ctx).Err(); err != nil {
			t.Error(err)
		}
		_ = client.Close()
		if err := admin.Del(ctx, takenKey(n)).Err(); err != nil {
			t.Error(err)
		}
		_ = admin.Close()
	})
	return client, withDatabase(t, base, n)
}

// Patient is c for a test that holds a transaction open: PostgreSQL would break
// it off while a busy machine is still at the rest of the test.
func Patient(c db.Config) db.Config {
	if c.URL != "" {
		c.URL += "&idle_in_transaction_session_timeout=60000"
	}
	return c
}
