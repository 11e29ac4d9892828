package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
)

// service is a running flightwire with a key to call it, whose failpoints can
// be armed while it runs.
type service struct {
	*process
	client
	failpoint string // file that names the failpoint
}

// serve starts the service and returns when it is ready.
func (m mode) serve(t *testing.T, env ...string) *service {
	t.Helper()
	s := m.work(t, env...)
	s.client.key = m.newKey(t)
	return s
}

// work is serve without a key: nobody calls that process.
func (m mode) work(t *testing.T, env ...string) *service {
	t.Helper()
	s := &service{failpoint: filepath.Join(t.TempDir(), "failpoint")}
	env = append(append([]string{"FLIGHTWIRE_FAILPOINT_FILE=" + s.failpoint}, m.env...), env...)
	s.process = startBinary(t, []string{m.command}, env)
	s.client = client{t, s.process.base, ""}
	return s
}

// arm makes the process send itself SIGKILL or SIGSTOP when it comes to a
// point the next time.
func (s *service) arm(point, action string) {
	s.client.t.Helper()
	next := s.failpoint + ".new"
	if err := os.WriteFile(next, []byte(point+"="+action), 0o600); err != nil {
		s.client.t.Error(err)
	}
	if err := os.Rename(next, s.failpoint); err != nil {
		s.client.t.Error(err)
	}
}

// armed returns the failpoints that arm sets; each is hit once.
func armed(file string, step func(string)) func(string) {
	if file == "" {
		return step
	}
	return func(name string) {
		if step != nil {
			step(name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return // nothing is armed
		}
		point, action, _ := strings.Cut(string(text), "=")
		if point != name || os.Remove(file) != nil { // whoever removes it is the one
			return
		}
		fmt.Fprintf(os.Stderr, "failpoint %s: %s\n", name, action)
		if action == "stop" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			return
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it takes effect on all threads, but not at once
	}
}

// stop ends the service as SIGTERM does, with what is under way finished.
func (s *service) stop() {
	s.client.t.Helper()
	s.Signal(syscall.SIGTERM)
	if code := s.Wait(); code != 0 {
		s.client.t.Errorf("a clean stop ended with exit code %d", code)
	}
}

// metric returns the sum of a metric over its labels.
func (s *service) metric(name string) string {
	s.client.t.Helper()
	resp, err := http.Get(s.client.base + "/metrics")
	if err != nil {
		s.client.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	sum := 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == '{' || rest[0] == ' ') {
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				s.client.t.Fatal(err)
			}
			sum += v
		}
	}
	return strconv.FormatFloat(sum, 'f', -1, 64)
}

// setting returns one of the mode's settings.
func (m mode) setting(name string) string {
	for _, v := range m.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// redis returns a client of the mode's Redis server.
func (m mode) redis(t *testing.T) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(m.setting("REDIS_URL"))
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// sql returns a connection to the mode's database; an embedded one must not
// run.
func (m mode) sql(t *testing.T) *sqlx.DB {
	t.Helper()
	driver, dsn := "postgres", m.setting("DATABASE_URL")
	if dsn == "" {
		driver, dsn = "sqlite", "file:"+filepath.Join(m.dir, "flightwire.db")
	}
	d, err := sqlx.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// dump returns all that is stored of a subscription's events and attempts, and
// of the updates of its flight.
func (m mode) dump(t *testing.T, sub string) []byte {
	t.Helper()
	d := m.sql(t)
	var out []byte
	for _, query := range []string{
		`SELECT * FROM events WHERE subscription_id = $1 ORDER BY id`,
		`SELECT * FROM deliveries WHERE subscription_id = $1 ORDER BY id`,
		`SELECT * FROM subscription_state WHERE subscription_id = $1`,
		`SELECT u.* FROM updates u JOIN subscriptions s ON s.flight_id = u.flight_id WHERE s.id = $1 ORDER BY u.version`,
	} {
		rows, err := d.Queryx(query, sub)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			row := map[string]any{}
			if err := rows.MapScan(row); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, b...), '\n')
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
