package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func (r *rig) onBoard(b db.BoardRange, after db.BoardPlace, limit int) (out []string) {
	r.Helper()
	places, err := r.d.Board(r.Context(), b, after, limit)
	if err != nil {
		r.Fatal(err)
	}
	for _, p := range places {
		out = append(out, r.strings(`SELECT leg FROM flights WHERE id = $1`, p.FlightID)[0]+" "+p.At.String()[11:16])
	}
	return out
}

func TestBoard(t *testing.T) {
	each(t, func(r *rig) {
		second := flight.Key{Carrier: "BA", Number: "1", Date: key.Date}
		theirs := flight.Key{Carrier: "LH", Number: "1", Date: key.Date}
		mine := r.say(leg()).IDs[0]
		r.accept(r.answer(theirs, legOf(theirs, "JFK", "FRA", "3")))
		other := r.accept(r.answer(second, legOf(second, "JFK", "LHR", "2", late(10)))).IDs[0]
		s := r.found(mine)
		r.found(mine) // two subscriptions of a leg are one line
		r.found(other)
		departures := db.BoardRange{Account: r.account, Airport: "JFK", Direction: db.Departures, From: epoch, To: epoch + 600*minute}
		arrivals := departures
		arrivals.Airport, arrivals.Direction = "LHR", db.Arrivals
		r.same("departures", r.onBoard(departures, db.BoardPlace{}, 10), []string{"AA100:2026-11-21@JFK-LHR 22:00", "BA1:2026-11-21@JFK-LHR 22:10"})
		r.same("arrivals", r.onBoard(arrivals, db.BoardPlace{}, 10), []string{"AA100:2026-11-21@JFK-LHR 05:00", "BA1:2026-11-21@JFK-LHR 05:00"})
		first, err := r.d.Board(r.Context(), departures, db.BoardPlace{}, 1)
		if err != nil {
			r.Fatal(err)
		}
		r.same("the next page", r.onBoard(departures, first[0], 10), []string{"BA1:2026-11-21@JFK-LHR 22:10"})
		if n, err := r.d.CountBoard(r.Context(), departures, 100); n != 2 || err != nil {
			r.Errorf("%d are counted: %v", n, err)
		}

		r.say(leg(late(30)))
		r.same("after a delay", r.onBoard(departures, db.BoardPlace{}, 10), []string{"BA1:2026-11-21@JFK-LHR 22:10", "AA100:2026-11-21@JFK-LHR 22:30"})
		within := departures
		within.From, within.To = epoch+131*minute, epoch+150*minute
		r.same("the end does not count", r.onBoard(within, db.BoardPlace{}, 10), nil)
		within.To++
		r.same("within", r.onBoard(within, db.BoardPlace{}, 10), []string{"AA100:2026-11-21@JFK-LHR 22:30"})

		r.pause(s.ID) // a board shows what the account has, not only what it is told of
		r.same("paused", r.onBoard(within, db.BoardPlace{}, 10), []string{"AA100:2026-11-21@JFK-LHR 22:30"})
		for _, id := range r.strings(`SELECT id FROM subscriptions WHERE flight_id = $1`, mine) {
			if err := r.d.DeleteSubscription(r.Context(), r.account, id); err != nil {
				r.Fatal(err)
			}
		}
		r.same("deleted", r.onBoard(departures, db.BoardPlace{}, 10), []string{"BA1:2026-11-21@JFK-LHR 22:10"})
	})
}

// A change of the route moves a leg to another board; an answer that changes no
// time writes none.
func TestBoardFollowsTheRoute(t *testing.T) {
	each(t, func(r *rig) {
		r.found(r.say(leg()).IDs[0])
		all := db.BoardRange{Account: r.account, Airport: "LGW", Direction: db.Arrivals, From: epoch, To: epoch + 600*minute}
		r.say(legOf(key, "JFK", "LGW", "1"))
		r.same("Gatwick", r.onBoard(all, db.BoardPlace{}, 10), []string{"AA100:2026-11-21@JFK-LGW 05:00"})
		all.Airport = "LHR"
		r.same("Heathrow", r.onBoard(all, db.BoardPlace{}, 10), nil)
		if _, err := r.d.Poke(r.Context(), `DELETE FROM boards`); err != nil {
			r.Fatal(err)
		}
		r.say(legOf(key, "JFK", "LGW", "1", gate("Z")))
		if n := r.count(`SELECT count(*) FROM boards`); n != 0 {
			r.Errorf("a new gate wrote %d lines", n)
		}
	})
}

// What the new reads cost is bounded by what they return: each is answered from
// an index, however long the logs are and whatever other accounts have.
func TestLiveReadsUseIndexes(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if m.Name == "sqlite" {
			t.Skip("the plans are PostgreSQL's")
		}
		r := newRig(t, m.DB)
		s := r.found(r.say(leg()).IDs[0])
		fill(t, r, s.ID)
		conn, err := sqlx.Open("postgres", m.Config.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		for name, q := range map[string]struct {
			index, query string
		}{
			"events":   {"events_subscription_id_seq_key", `SELECT seq, id FROM events WHERE subscription_id = '` + s.ID + `' AND seq > 10 ORDER BY seq LIMIT 64`},
			"attempts": {"deliveries_in_order", `SELECT seq, id FROM deliveries WHERE subscription_id = '` + s.ID + `' AND seq > 10 ORDER BY seq LIMIT 64`},
			"board": {"boards_in_order", `SELECT b.flight_id, b.at` + strings.NewReplacer("$1", "'JFK'", "$2", "0", "$3", "'2026-11-21'", "$4", "'2026-11-22'", "$5", "'"+r.account+"'").Replace(db.BoardWhere) +
				` AND (b.at, b.flight_id) > ('2026-11-21', '') ORDER BY b.at, b.flight_id LIMIT 51`},
		} {
			var plan []string
			if err := conn.Select(&plan, `EXPLAIN `+q.query); err != nil {
				t.Fatal(name, err)
			}
			if text := strings.Join(plan, "\n"); !strings.Contains(text, q.index) || strings.Contains(text, "Seq Scan") {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	})
}

// fill makes tables so large that PostgreSQL has to think.
func fill(t *testing.T, r *rig, sub string) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO deliveries (id, subscription_id, event_id, event_type, attempt, status, status_code, error, latency_ms, attempted_at, response_body, seq)
			SELECT 'dlv_' || n, CASE WHEN n % 2 = 0 THEN '` + sub + `' ELSE 'sub_' || n END, 'evt_1', 'flight.updated', 1, 'succeeded', 200, '', 1, now(), '', n FROM generate_series(1, 20000) n`,
		`INSERT INTO events (id, subscription_id, seq, type, flight_key, flight_id, version, envelope, status, attempts, interruptions, lease_token, created_at)
			SELECT 'evt_' || n, CASE WHEN n % 2 = 0 THEN '` + sub + `' ELSE 'sub_' || n END, n + 10, 'flight.updated', '', '', 0, '{}', 'delivered', 1, 0, '', now() FROM generate_series(1, 20000) n`,
		`INSERT INTO flights (id, leg, flight_key, carrier, number, date, resolved, origin, destination, provider, provider_flight_id, version, catch_up, poll_reason, poll_token, poll_failures, created_at)
			SELECT 'flt_' || n, 'leg' || n, 'key' || n, 'XX', '1', '2026-11-21', true, 'JFK', 'LHR', '', '', 0, false, '', '', 0, now() FROM generate_series(1, 20000) n`,
		`INSERT INTO boards (flight_id, direction, airport, at)
			SELECT 'flt_' || n, 0, 'A' || n % 50, '2026-11-21'::timestamptz + n * interval '1 minute' FROM generate_series(1, 20000) n`,
		`INSERT INTO subscriptions (id, account_id, flight_id, status, status_reason, carrier, number, date, webhook_url, secret, headers, events, delay_threshold, metadata, created_at, updated_at)
			SELECT 'sub_' || n, '` + r.account + `', 'flt_' || n, 'paused', '', 'XX', '1', '2026-11-21', '', '', '', 0, 5, '', now(), now() FROM generate_series(1, 20000) n`,
	} {
		if _, err := r.d.Poke(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.d.Poke(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
}

// The updates of several legs are read together, in the order asked for.
func TestUpdatesOfSeveralLegs(t *testing.T) {
	each(t, func(r *rig) {
		var ids []string
		for n := range 3 {
			k := flight.Key{Carrier: "XX", Number: fmt.Sprint(n + 1), Date: key.Date}
			ids = append(ids, r.accept(r.answer(k, legOf(k, "JFK", "LHR", "x"))).IDs[0])
		}
		r.accept(r.answer(flight.Key{Carrier: "XX", Number: "2", Date: key.Date}, legOf(flight.Key{Carrier: "XX", Number: "2", Date: key.Date}, "JFK", "LHR", "x", gate("Q"))))
		order := []string{ids[2], "flt_none", ids[0], ids[1]}
		got, err := r.d.LatestUpdates(r.Context(), order)
		if err != nil || len(got) != 3 || got[0].FlightID != ids[2] || got[1].FlightID != ids[0] || got[2].FlightID != ids[1] || got[2].Version != 2 {
			r.Errorf("%v %v", got, err)
		}
		moved, err := r.d.Moved(r.Context(), map[string]int64{ids[0]: 1, ids[1]: 1, ids[2]: 0, "flt_none": 0})
		if err != nil || len(moved) != 1 || !moved[ids[1]] {
			r.Errorf("%v %v", moved, err)
		}
		if moved, err = r.d.Moved(r.Context(), nil); err != nil || len(moved) != 0 {
			r.Errorf("%v %v", moved, err)
		}
		_, err = r.d.LatestUpdate(r.Context(), "flt_none")
		wantCode(r.T, err, flight.CodeNotFound)
	})
}
