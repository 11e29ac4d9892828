package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight/upstream/replay"
)

// TestRealDay replays a real day through the running service at high speed,
// with every flight subscribed over REST, and holds what the receiver heard
// against what the day's file says. In the ordinary run it is a cut of the
// day; FLIGHTWIRE_REPLAY_DAY=full takes all of it.
func TestRealDay(t *testing.T) {
	t.Parallel()
	full := os.Getenv("FLIGHTWIRE_REPLAY_DAY") == "full"
	eachMode(t, func(t *testing.T, m mode) {
		rows := readDay(t, replay.Shipped())
		speed := 600.0
		if !full {
			rows, speed = cutDay(rows), 1500
		}
		runDay(t, m, rows, speed)
	})
}

// dayRow is one flight as the file tells it.
type dayRow struct {
	fields                        []string
	carrier, number, origin, dest string
	date, status                  string
	schedDep, actDep              time.Time
	schedArr, actArr              time.Time
	depDelay, arrDelay            int
}

func (r dayRow) name() string { return r.carrier + r.number + " " + r.origin + "-" + r.dest }

// Of the file's columns, those that the truth is made of.
var dayColumns = []string{"service_date", "carrier", "flight", "origin", "dest", "status", "sched_dep_utc", "act_dep_utc", "sched_arr_utc", "act_arr_utc", "dep_delay", "arr_delay"}

var dayHeader []string

func readDay(t *testing.T, file []byte) []dayRow {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	dayHeader = records[0]
	at := func(rec []string, i int) string { return rec[slices.Index(dayHeader, dayColumns[i])] }
	moment := func(s string) time.Time {
		if s == "" || s == "NA" {
			return time.Time{}
		}
		v, err := time.Parse("2006-01-02T15:04Z", s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // NA where it did not fly
		return n
	}
	var rows []dayRow
	for _, rec := range records[1:] {
		rows = append(rows, dayRow{
			fields: rec, date: at(rec, 0), carrier: at(rec, 1), number: at(rec, 2), origin: at(rec, 3), dest: at(rec, 4), status: at(rec, 5),
			schedDep: moment(at(rec, 6)), actDep: moment(at(rec, 7)), schedArr: moment(at(rec, 8)), actArr: moment(at(rec, 9)),
			depDelay: number(at(rec, 10)), arrDelay: number(at(rec, 11)),
		})
	}
	return rows
}

// cutDay takes a few hours of the day: some dozens of flown flights, and every
// cancelled and diverted one among them.
func cutDay(rows []dayRow) []dayRow {
	from := time.Date(2013, 7, 10, 15, 0, 0, 0, time.UTC)
	var cut []dayRow
	flown := 0
	for _, r := range rows {
		if r.schedDep.Before(from) || r.schedDep.After(from.Add(3*time.Hour)) {
			continue
		}
		if r.status == "landed" {
			if flown++; flown%4 != 0 {
				continue
			}
		}
		cut = append(cut, r)
	}
	return cut
}

// dayFile writes the rows as a file of their own.
func dayFile(t *testing.T, rows []dayRow) string {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(dayHeader)
	for _, r := range rows {
		_ = w.Write(r.fields)
	}
	w.Flush()
	path := filepath.Join(t.TempDir(), "day.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// worldOf returns when the world of some flights is to begin, so that there is
// time to subscribe to all of them, and how long it takes at a speed, with some
// time more for a busy machine.
func worldOf(rows []dayRow, speed float64) (start time.Time, takes time.Duration) {
	first := slices.MinFunc(rows, func(a, b dayRow) int { return a.schedDep.Compare(b.schedDep) }).schedDep
	// What is known starts to change an hour before; subscribing takes its time.
	margin := time.Duration((10*time.Second+time.Duration(len(rows))*20*time.Millisecond).Seconds()*speed) * time.Second
	start = first.Add(-time.Hour - margin)
	last := first
	for _, r := range rows {
		for _, at := range []time.Time{r.schedArr, r.actArr, r.schedDep} {
			if at.After(last) {
				last = at
			}
		}
	}
	return start, time.Duration(float64(last.Sub(start)+3*time.Hour)/speed) + 90*time.Second
}

func runDay(t *testing.T, m mode, rows []dayRow, speed float64) {
	start, takes := worldOf(rows, speed)
	s := m.serve(t, "FLIGHTWIRE_UPSTREAM=replay", "FLIGHTWIRE_REPLAY_FILE="+dayFile(t, rows),
		"FLIGHTWIRE_SPEED="+strconv.FormatFloat(speed, 'g', -1, 64), "FLIGHTWIRE_START="+start.Format(time.RFC3339))
	ear := newEar(t)
	subs := subscribeAll(t, s.client, ear, rows)

	began := time.Now()
	waitForDay(t, ear, rows, subs, began.Add(takes))

	for i, r := range rows {
		checkStory(t, r, ear.events[subs[i]])
	}
	for _, f := range ear.faults {
		t.Error(f)
	}
	report(t, m, s, ear, len(rows), time.Since(began))
}

func subscribeAll(t *testing.T, s client, e *ear, rows []dayRow) []string {
	t.Helper()
	ids := make([]string, len(rows))
	var wg sync.WaitGroup
	limit := make(chan struct{}, 8)
	for i, r := range rows {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			var sub struct{ ID, Secret, Status string }
			status := s.do("POST", "/v1/subscriptions", map[string]any{
				"carrier": r.carrier, "flightNumber": r.number, "date": r.date, "origin": r.origin, "destination": r.dest, "webhookUrl": e.URL,
			}, &sub)
			if status != http.StatusCreated || sub.Status != "active" {
				t.Errorf("%s: subscribing answered %d %+v", r.name(), status, sub)
			}
			e.mu.Lock()
			e.secrets[sub.ID] = sub.Secret
			e.mu.Unlock()
			ids[i] = sub.ID
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return ids
}

// waitForDay returns when every subscriber has heard of its flight's end.
func waitForDay(t *testing.T, e *ear, rows []dayRow, subs []string, deadline time.Time) {
	t.Helper()
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	for i := 0; i < len(rows); {
		done := false
		switch rows[i].status {
		case "landed":
			done = e.heardType(subs[i], "subscription.completed")
		case "cancelled":
			done = e.heardChange(subs[i], "flight.cancelled")
		default:
			done = e.heardChange(subs[i], "flight.diverted")
		}
		if done {
			i++
			continue
		}
		select {
		case <-e.arrived:
		case <-timeout.C:
			t.Errorf("%s (%s): its end was not heard of in time", rows[i].name(), rows[i].status)
			return
		}
	}
}

// tally counts what one subscriber heard, events and changes alike, and returns
// what he knows in the end. It checks that each change goes on from the one
// before.
func tally(t *testing.T, r dayRow, events []heard) (count map[string]int, known map[string]any) {
	t.Helper()
	count, known = map[string]int{}, map[string]any{}
	for i, h := range events {
		count[h.Type]++
		if i == 0 && h.Type != "subscription.created" {
			t.Errorf("%s: the first event is %s", r.name(), h.Type)
		}
		for _, c := range h.Changes {
			count[c.Type]++
			switch c.Type {
			case "flight.departed", "flight.arrived", "flight.cancelled", "flight.reinstated":
				continue // they name the change of phase that status.changed tells
			}
			// Each value goes on from the one told before: nothing is missing and
			// nothing is told twice.
			if before, told := known[c.Path]; told && word(before) != word(c.From) {
				t.Errorf("%s: %s was told to be %v, then changed from %v to %v", r.name(), c.Path, before, c.From, c.To)
			}
			if c.From == c.To {
				t.Errorf("%s: %s changed from %v to itself", r.name(), c.Path, c.From)
			}
			known[c.Path] = c.To
		}
	}
	return count, known
}

// checkStory holds what one subscriber heard against the file.
func checkStory(t *testing.T, r dayRow, events []heard) {
	t.Helper()
	count, known := tally(t, r, events)
	want := map[string]int{"subscription.created": 1, "flight.departed": 0, "flight.arrived": 0, "flight.cancelled": 0, "flight.diverted": 0, "flight.reinstated": 0}
	switch r.status {
	case "landed":
		want["flight.departed"], want["flight.arrived"], want["subscription.completed"] = 1, 1, 1
		is(t, r, "departure.times.actualGate", known, r.actDep)
		is(t, r, "arrival.times.actualGate", known, r.actArr)
		near(t, r, "departure.delayMinutes", known, r.depDelay)
		near(t, r, "arrival.delayMinutes", known, r.arrDelay)
	case "cancelled":
		want["flight.cancelled"] = 1
	default:
		want["flight.departed"], want["flight.diverted"] = 1, 1
		is(t, r, "departure.times.actualGate", known, r.actDep)
	}
	for kind, n := range want {
		if count[kind] != n {
			t.Errorf("%s (%s): heard %s %d times, want %d", r.name(), r.status, kind, count[kind], n)
		}
	}
}

// is checks that the time last told is the file's.
func is(t *testing.T, r dayRow, path string, known map[string]any, want time.Time) {
	t.Helper()
	if s, _ := known[path].(string); s != want.Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("%s: %s was told to be %v, the file says %v", r.name(), path, known[path], want)
	}
}

// near checks that the delay last told is the file's, but for a swing under the
// threshold. Nothing told means on time.
func near(t *testing.T, r dayRow, path string, known map[string]any, want int) {
	t.Helper()
	told, _ := known[path].(float64)
	if d := int(told) - want; d <= -5 || d >= 5 {
		t.Errorf("%s: %s was told to be %v, the file says %d", r.name(), path, known[path], want)
	}
}

// report prints what the day was made of.
func report(t *testing.T, m mode, s *service, e *ear, flights int, took time.Duration) {
	t.Helper()
	var delays []time.Duration
	deliveries := 0
	for _, events := range e.events {
		for _, h := range events {
			deliveries++
			if h.Type == "flight.updated" {
				delays = append(delays, h.received.Sub(h.CreatedAt))
			}
		}
	}
	slices.Sort(delays)
	quantile := func(q float64) time.Duration {
		return delays[int(q*float64(len(delays)-1))].Round(100 * time.Microsecond)
	}
	fmt.Printf("real day, %s: %d flights, %s polls, %d events (%d of changes), %s deliveries, from change to receipt median %v, 99th percentile %v, in %v\n",
		m.name, flights, s.metric("flightwire_polls_total"), len(e.bodies), len(delays), s.metric("flightwire_delivery_attempt_seconds_count"),
		quantile(.5), quantile(.99), took.Round(time.Second))
	if deliveries < flights {
		t.Errorf("%d deliveries for %d flights", deliveries, flights)
	}
}
