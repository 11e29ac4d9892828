package db_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

func benchOnly(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") == "" {
		t.Skip("a benchmark: set FLIGHTWIRE_BENCH=1")
	}
}

// story is the life of a simulated leg as n versions. Where the simulator tells
// less, the estimate of the arrival moves and the timeline says so, as those of
// busy flights do.
func story(t *testing.T, sim *simulator.Source, k flight.Key, n int) []*flight.Snapshot {
	day, err := time.Parse(time.DateOnly, k.Date)
	if err != nil {
		t.Fatal(err)
	}
	var natural []*flight.Snapshot
	for at := flight.TimeOf(day.Add(-24 * time.Hour)); at < flight.TimeOf(day.Add(48*time.Hour)); at += 10 * minute {
		legs, err := sim.Legs(t.Context(), k, at)
		if err != nil {
			t.Fatal(err)
		}
		if len(natural) == 0 || !flight.SameContent(natural[len(natural)-1], legs[0]) {
			natural = append(natural, legs[0])
		}
	}
	var out []*flight.Snapshot
	var extra []flight.TimelineEntry
	for i, s := range natural {
		emit := func(shift flight.Time) {
			c := *s
			c.Timeline = append(slices.Clone(extra), c.Timeline...)
			if shift != 0 {
				c.Arrival.Times.EstimatedGate = at(c.Arrival.Times.ScheduledGate.UTC + shift*minute)
			}
			c.FetchedAt = s.FetchedAt + flight.Time(len(out))*1000
			c.Complete()
			out = append(out, &c)
		}
		emit(0)
		until := min(n-1, (i+1)*n/(len(natural)-1)) // spread over its life
		for i < len(natural)-1 && len(out) < until-(len(natural)-i-2)/n {
			extra = append([]flight.TimelineEntry{{OccurredAt: s.FetchedAt, Title: "Estimated arrival", Source: "Positional",
				Events: []string{fmt.Sprintf("Estimated arrival 20:%02d EST", len(out))}}}, extra...)
			emit(flight.Time(len(out)))
		}
	}
	if len(out) < n {
		t.Fatalf("%s has %d versions, want %d", k, len(out), n)
	}
	return out[:n]
}

// TestBenchPlannerStorage prints what a watched leg takes of the database before
// its first update, and with forty.
func TestBenchPlannerStorage(t *testing.T) {
	benchOnly(t)
	const legs, updates = 100, 40
	sim := simulator.New(simulator.Config{})
	var stories [][]*flight.Snapshot
	text := 0
	for i := range legs {
		k := flight.Key{Carrier: []string{"AA", "BA", "LH", "DL"}[i%4], Number: fmt.Sprint(100 + i), Date: "2026-11-21"}
		stories = append(stories, story(t, sim, k, updates+1))
		for _, s := range stories[i] {
			text += len(s.Encode())
		}
	}
	t.Logf("a snapshot has %d bytes on average", text/legs/(updates+1))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		empty := r.bytes()
		tell := func(s *flight.Snapshot) db.Accepted {
			r.asked = r.asked.Add(time.Millisecond)
			return r.accept(db.Answer{Source: "simulator", Key: s.Key(), AskedAt: r.asked, Now: s.FetchedAt, Schedule: fiveMinutes, Legs: flight.Legs{s}})
		}
		for _, story := range stories {
			id := tell(story[0]).IDs[0]
			r.found(id, func(n *db.NewSubscription) { n.Key = story[0].Key() })
		}
		report := func(when string) {
			now := r.bytes()
			leg := now["flights"] + now["updates"] + now["boards"] - empty["flights"] - empty["updates"] - empty["boards"]
			rest := 0
			for table, n := range now {
				rest += n - empty[table]
			}
			t.Logf("%s: %.1f KB a leg; its subscription with events and deliveries besides: %.1f KB",
				when, float64(leg)/legs/1024, float64(rest-leg)/legs/1024)
		}
		report("before the first update (bound: 8 KB)")
		for i, story := range stories {
			for _, s := range story[1:] {
				tell(s)
			}
			if i%20 == 19 && d.Kind() == "postgres" { // autovacuum has hours for what is done here in seconds
				var none []string
				if err := d.Peek(r.Context(), &none, `VACUUM boards`); err != nil {
					r.Fatal(err)
				}
			}
		}
		if n := r.count(`SELECT count(*) FROM updates`); n != legs*(updates+1) {
			t.Fatalf("%d versions, want %d", n, legs*(updates+1))
		}
		r.deliver()
		report(fmt.Sprintf("with %d updates (bound: 40 KB)", updates))
	})
}

// bytes returns what each table takes, with its indexes.
func (r *rig) bytes() map[string]int {
	r.Helper()
	query := `SELECT c.relname AS name, pg_total_relation_size(c.oid) AS size FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`
	if r.d.Kind() == "sqlite" {
		query = `SELECT m.tbl_name AS name, sum(s.pgsize) AS size FROM dbstat s JOIN sqlite_master m ON m.name = s.name GROUP BY m.tbl_name`
	}
	var rows []struct {
		Name string `db:"name"`
		Size int    `db:"size"`
	}
	if err := r.d.Peek(r.Context(), &rows, query); err != nil {
		r.Fatal(err)
	}
	sizes := make(map[string]int, len(rows))
	for _, row := range rows {
		sizes[row.Name] = row.Size
	}
	return sizes
}

// TestBenchPlannerClaim prints how long it takes to find and claim the thousand
// legs that are most due of a million that are watched, on PostgreSQL.
func TestBenchPlannerClaim(t *testing.T) {
	benchOnly(t)
	if os.Getenv("TEST_DATABASE_URL") == "" {
		t.Skip("set TEST_DATABASE_URL")
	}
	const watched, limit, rounds = 1_000_000, 1000, 30
	url := dbtest.PostgresURL(t)
	d, err := db.Open(t.Context(), db.Config{URL: url, Keys: []string{dbtest.SecretKey}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d)
	conn, err := sqlx.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	watchedLegs(t, conn, r.account, watched)
	t.Logf("%d watched legs made in %v", watched, time.Since(began).Round(time.Second))

	var took []time.Duration
	for range rounds {
		began := time.Now()
		claims, err := d.ClaimPolls(t.Context(), r.now, limit, time.Minute)
		took = append(took, time.Since(began))
		if err != nil || len(claims) != limit {
			t.Fatalf("%d claims, %v", len(claims), err)
		}
		ids := make([]string, len(claims))
		for i, c := range claims {
			ids[i] = c.FlightID
		}
		_, err = conn.Exec(`UPDATE flights SET next_poll_at = next_poll_at + interval '10 minutes', poll_token = '', poll_lease_until = NULL
			WHERE id = ANY(string_to_array($1, ' '))`, strings.Join(ids, " ")) // as their polls will
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(took)
	round := func(i int) time.Duration { return took[i].Round(100 * time.Microsecond) }
	t.Logf("the %d most due of %d found and claimed: median of %d %v, fastest %v, slowest %v (bound: 30 ms)",
		limit, watched, rounds, round(rounds/2), round(0), round(rounds-1))
	explain(t, conn, d.ClaimStatement(), r.now, limit)
}

// watchedLegs fills the tables with legs that have an active subscription each.
// One in a hundred is due, and nothing lies in the order of its due time.
// Indexes and constraints that no claim reads are left out.
func watchedLegs(t *testing.T, conn *sqlx.DB, account string, n int) {
	t.Helper()
	for _, statement := range []string{
		`ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_flight_id_fkey, DROP CONSTRAINT subscriptions_account_id_fkey`,
		`DROP INDEX subscriptions_newest, subscriptions_by_status, subscriptions_filtered, subscriptions_by_flight, flights_due, flights_old`,
		fmt.Sprintf(`INSERT INTO flights (id, leg, flight_key, carrier, number, date, resolved, origin, destination, provider, provider_flight_id,
				version, asked_at, fetched_at, catch_up, next_poll_at, poll_reason, poll_token, poll_failures, last_polled_at, created_at)
			SELECT 'flt_01a1fe544f0d7992' || lpad(to_hex(i), 12, '0'), 'AA' || i || ':2026-11-21:JFK-LHR', 'AA' || i || ':2026-11-21', 'AA', i, '2026-11-21', true,
				'JFK', 'LHR', 'simulator', 'sim-20261121-AA-' || i || '-JFK-LHR', 20, now(), now(), false,
				to_timestamp(%d) + ((hashint8(i)::bigint %% 1000000) / 1000000.0 - 0.98) * interval '-1 hour' * 50, 'between', '', 0, now(), now()
			FROM generate_series(1, %d) AS i`, epoch.Std().Unix(), n),
		fmt.Sprintf(`INSERT INTO subscriptions (id, account_id, flight_id, status, status_reason, carrier, number, date, webhook_url, secret, headers,
				events, delay_threshold, metadata, created_at, updated_at)
			SELECT 'sub_01a1fe544f0d7992' || lpad(to_hex(i), 12, '0'), '%s', 'flt_01a1fe544f0d7992' || lpad(to_hex(i), 12, '0'), 'active', '', 'AA', i, '2026-11-21',
				'https://example.com/hook', repeat('s', 90), '', 8388607, 5, '', now(), now()
			FROM generate_series(1, %d) AS i`, account, n),
		`CREATE INDEX subscriptions_by_flight ON subscriptions (flight_id, status)`,
		`CREATE INDEX flights_due ON flights (next_poll_at) WHERE next_poll_at IS NOT NULL`,
		`VACUUM (ANALYZE) flights, subscriptions, viewers`,
	} {
		if _, err := conn.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// explain prints how a claim is executed.
func explain(t *testing.T, conn *sqlx.DB, statement string, now flight.Time, limit int) {
	t.Helper()
	var plan []string
	err := conn.Select(&plan, `EXPLAIN (ANALYZE, BUFFERS) `+statement, now.Std(), time.Now(), limit, "token", time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + strings.Join(plan, "\n"))
}
