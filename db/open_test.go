package db_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// The file of the embedded database has one process; another is told so in a
// line that says what to do.
func TestOneProcessOnSQLite(t *testing.T) {
	c := db.Config{Dir: filepath.Join(t.TempDir(), "a dir?with %41#odd", "name"), Keys: []string{dbtest.SecretKey}}
	first, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "flightwire.db")); err != nil {
		t.Error(err)
	}
	_, err = db.Open(t.Context(), c)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "another flightwire process uses the data folder "+c.Dir) {
		t.Errorf("a second process: %v", err)
	}
	if err := first.Ping(t.Context()); err != nil {
		t.Errorf("the first one was disturbed: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := again.Current(t.Context()); err != nil || !ok {
		t.Errorf("what was migrated is not: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Settings that cannot work are refused without showing a password.
func TestOpenRefuses(t *testing.T) {
	keys := []string{dbtest.SecretKey}
	for name, tt := range map[string]struct {
		c    db.Config
		want string
	}{
		"no key":         {db.Config{Dir: t.TempDir()}, "32 random bytes in base64"},
		"short key":      {db.Config{Dir: t.TempDir(), Keys: []string{"c2hvcnQ="}}, "secret key 1 must be 32 bytes"},
		"second key":     {db.Config{Dir: t.TempDir(), Keys: []string{dbtest.SecretKey, "no base64"}}, "secret key 2 must be 32 bytes"},
		"no place":       {db.Config{Keys: keys}, "needs a data folder"},
		"no URL":         {db.Config{URL: "host=x password=hunter2", Keys: keys}, "postgres://user:password@host"},
		"odd URL":        {db.Config{URL: "postgres://u:hunter2@h:x%zz", Keys: keys}, "postgres://user:password@host"},
		"nobody answers": {db.Config{URL: "postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable", Keys: keys}, "PostgreSQL does not answer"},
	} {
		d, err := db.Open(t.Context(), tt.c)
		if err == nil {
			_ = d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "c2hvcnQ=") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMigrations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		current := func(want bool) {
			t.Helper()
			if ok, err := d.Current(t.Context()); err != nil || ok != want {
				t.Errorf("current: %v, %v, want %v", ok, err, want)
			}
		}
		list, err := d.Migrations(t.Context())
		if err != nil || len(list) < 2 || list[0].Version != 1 || list[0].Name != "00001_accounts.sql" {
			t.Fatalf("%+v, %v", list, err)
		}
		current(true)
		down, err := d.MigrateDown(t.Context())
		if err != nil || down != len(list) {
			t.Fatalf("%d of %d steps back: %v", down, len(list), err)
		}
		current(false)
		if list, err := d.Migrations(t.Context()); err != nil || list[0].Applied || list[1].Applied {
			t.Errorf("%+v, %v", list, err)
		}
		for _, want := range []int{len(list), 0} {
			if up, err := d.MigrateUp(t.Context()); err != nil || up != want {
				t.Errorf("%d steps, want %d: %v", up, want, err)
			}
			current(true)
		}
		newRig(t, d).waiting(2) // it can be used
	})
}

// Processes that start together migrate once.
func TestMigrateAtTheSameTime(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("one process has the SQLite file")
	}
	c := db.Config{URL: dbtest.PostgresURL(t), Keys: []string{dbtest.SecretKey}}
	var handles [3]*db.DB
	for i := range handles {
		d, err := db.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		handles[i] = d
	}
	var all sync.WaitGroup
	var steps [3]int
	for i, d := range handles {
		all.Go(func() {
			var err error
			if steps[i], err = d.MigrateUp(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := handles[0].Migrations(t.Context())
	if err != nil || steps[0]+steps[1]+steps[2] != len(list) {
		t.Errorf("%v steps of %d, %v", steps, len(list), err)
	}
}

func TestWorldClock(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		start := time.Date(2013, 7, 1, 4, 0, 0, 123456789, time.UTC)
		before := m.DB.Now()
		first, err := m.DB.WorldClock(t.Context(), "replay", flight.Clock{Speed: 60, Epoch: start})
		if err != nil {
			t.Fatal(err)
		}
		if first.Speed != 60 || !first.Epoch.Equal(start.Truncate(time.Microsecond)) || first.Start.Before(before) || first.Start.After(m.DB.Now()) {
			t.Errorf("%+v", first)
		}
		if at := first.World(first.Start.Add(time.Minute)); at != flight.TimeOf(start.Add(time.Hour)) {
			t.Errorf("a minute later it is %s", at)
		}
		// Another process, or the next start of this one.
		if err := m.DB.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := db.Open(t.Context(), m.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		for name, want := range map[string]flight.Clock{"whatever": {}, "same speed": {Speed: 60}, "same start": {Epoch: start}} {
			if got, err := d.WorldClock(t.Context(), "replay", want); err != nil || got != first {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		for name, tt := range map[string]struct {
			upstream string
			want     flight.Clock
			says     string
		}{
			"upstream": {"simulator", flight.Clock{}, "upstream replay"},
			"speed":    {"replay", flight.Clock{Speed: 1}, "speed 60"},
			"start":    {"replay", flight.Clock{Epoch: start.Add(time.Second)}, "2013-07-01T04:00:00Z"},
		} {
			if _, err := d.WorldClock(t.Context(), tt.upstream, tt.want); flight.CodeOf(err) != flight.CodeConflict || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("another %s: %v", name, err)
			}
		}
	})
}

func TestWorldClockDefault(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c, err := d.WorldClock(t.Context(), "simulator", flight.Clock{})
		if err != nil || c.Speed != 1 || !c.Epoch.Equal(c.Start) || d.Now().Sub(c.Start).Abs() > time.Minute {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func TestSealer(t *testing.T) {
	key := func(b byte) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 32))) }
	sealer := func(keys ...string) *db.Sealer {
		s, err := db.NewSealer(keys)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old, changed, other := sealer(key('a')), sealer(key('b'), " "+key('a')+"\n"), sealer(key('c'))
	sealed := old.Seal("sub_1", "whsec_é")
	if strings.Contains(sealed, "whsec") || sealed == old.Seal("sub_1", "whsec_é") {
		t.Errorf("sealed as %s", sealed)
	}
	for name, s := range map[string]*db.Sealer{"the same key": old, "an old key": changed} {
		if got, err := s.Open("sub_1", sealed); err != nil || got != "whsec_é" {
			t.Errorf("with %s: %q, %v", name, got, err)
		}
	}
	if _, err := old.Open("sub_1", changed.Seal("sub_1", "x")); err == nil {
		t.Error("a new secret is sealed with the old key")
	}
	for name, open := range map[string]func() (string, error){
		"another key":          func() (string, error) { return other.Open("sub_1", sealed) },
		"another subscription": func() (string, error) { return old.Open("sub_2", sealed) },
		"a flipped bit":        func() (string, error) { return old.Open("sub_1", sealed[:10]+string(sealed[10]^1)+sealed[11:]) },
		"nothing":              func() (string, error) { return old.Open("sub_1", "v1:") },
	} {
		got, err := open()
		if err == nil || got != "" || !strings.Contains(err.Error(), "sub_") || strings.Contains(err.Error(), "whsec") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A process with another key neither delivers nor shows secrets, and says why.
func TestWrongSecretKey(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m.DB)
		s := r.found(r.say(leg()).IDs[0])
		if err := m.DB.Close(); err != nil {
			t.Fatal(err)
		}
		reopen := func(keys ...string) {
			c := m.Config
			c.Keys = keys
			d, err := db.Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			r.d = d
		}
		wrong := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32)))
		reopen(wrong)
		if _, err := r.d.Subscription(t.Context(), r.account, s.ID); err == nil || !strings.Contains(err.Error(), "FLIGHTWIRE_SECRET_KEY") {
			t.Errorf("read: %v", err)
		}
		got, err := dbtest.ClaimEvents(t.Context(), r.d, 10, time.Nanosecond)
		if err != nil || len(got) != 1 || !strings.Contains(got[0].Fault, "FLIGHTWIRE_SECRET_KEY") || got[0].Secret != "" || got[0].Body != nil {
			t.Errorf("claimed %+v, %v", got, err)
		}
		if err := r.d.Close(); err != nil {
			t.Fatal(err)
		}
		reopen(wrong, dbtest.SecretKey)
		if got := r.sub(s.ID); got.Secret != "0123456789abcdef" {
			t.Errorf("%+v", got)
		}
		if got := r.deliver(); len(got) != 1 || got[0].Secret != "0123456789abcdef" {
			t.Errorf("%+v", got)
		}
	})
}

// Times come out as they went in, in UTC and to the microsecond, from columns
// and from expressions.
func TestTime(t *testing.T) {
	each(t, func(r *rig) {
		if at := db.At(time.Time{}); !at.Std().IsZero() || at.Flight().Known() {
			r.Errorf("the zero time is %v", at)
		}
		east := time.Date(2026, 3, 1, 1, 2, 3, 123456789, time.FixedZone("", 5*3600))
		r.say(leg())
		for _, want := range []time.Time{east, time.Date(1969, 12, 31, 23, 59, 59, 999000, time.UTC), {}} {
			if _, err := r.d.Poke(r.Context(), `UPDATE flights SET next_poll_at = $1`, db.At(want)); err != nil {
				r.Fatal(err)
			}
			for _, query := range []string{`SELECT next_poll_at FROM flights`, `SELECT max(next_poll_at) FROM flights`} {
				var got []db.Time
				if err := r.d.Peek(r.Context(), &got, query); err != nil {
					r.Fatal(err)
				}
				if g := got[0].Std(); !g.Equal(want.Truncate(time.Microsecond)) || g.Location() != time.UTC || got[0].Flight() != flight.TimeOf(want) {
					r.Errorf("%s: %s, want %s", query, g, want)
				}
			}
		}
		var bad db.Time
		if err := bad.Scan("2026"); err == nil {
			r.Error("a text is a time")
		}
	})
}

func TestClockAndErrors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if off := time.Until(d.Now()).Abs(); off > 5*time.Second { // one machine has one clock
			t.Errorf("the database's clock is %s off", off)
		}
		if err := d.SyncClock(t.Context()); err != nil {
			t.Error(err)
		}
		if at := d.Now(); at.Location() != time.UTC || at.Nanosecond()%1000 != 0 {
			t.Errorf("now is %s", at)
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := dbtest.ClaimEvents(ended, d, 1, time.Minute); err == nil || flight.CodeOf(err) != flight.CodeInternal {
			t.Errorf("with an ended context: %v", err)
		}
	})
}
