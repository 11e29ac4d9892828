package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

const (
	head      = "service_date,carrier,flight,origin,dest,tailnum,status,dep_delay,arr_delay,sched_dep_utc,act_dep_utc,sched_arr_utc,act_arr_utc\n"
	flown     = "2013-07-10,B6,486,JFK,ROC,N236JB,landed,92,112,2013-07-11T02:45Z,2013-07-11T04:17Z,2013-07-11T04:03Z,2013-07-11T05:55Z\n"
	cancelled = "2013-07-10,EV,3841,EWR,CVG,,cancelled,,,2013-07-10T21:20Z,,2013-07-10T23:32Z,\n"
	elsewhere = "2013-07-10,MQ,3493,LGA,CLE,N735MQ,no_arrival_at_dest,-6,,2013-07-10T17:25Z,2013-07-10T17:19Z,2013-07-10T19:05Z,\n"
)

// TestFaults: whatever is wrong with a file is one line that says where.
func TestFaults(t *testing.T) {
	swap := func(row, old, with string) string { return head + cancelled + strings.Replace(row, old, with, 1) }
	for name, tt := range map[string]struct{ csv, want string }{
		"empty":             {"", "is empty"},
		"no flights":        {head, "has no flights"},
		"no column":         {strings.Replace(head, "origin", "from", 1) + flown, "line 1: there is no column origin"},
		"short row":         {head + flown + "2013-07-10,B6\n", "line 3, column 1: wrong number of fields"},
		"open quote":        {head + "\"2013", "line 2, column 6: extraneous or missing \" in quoted-field"},
		"date":              {swap(flown, "2013-07-10", "2013-07-32"), `line 3, column 1 (service_date): "2013-07-32" must be a calendar date`},
		"carrier":           {swap(flown, "B6", "b"), "line 3, column 2 (carrier)"},
		"number":            {swap(flown, "486", "48600"), "line 3, column 3 (flight)"},
		"origin":            {swap(flown, "JFK", "JJJ"), `line 3, column 4 (origin): there is no airport "JJJ"`},
		"destination":       {swap(flown, "ROC", ""), "line 3, column 5 (dest)"},
		"status":            {swap(flown, "landed", "Landed"), `line 3, column 7 (status): "Landed" is none of`},
		"delay":             {swap(flown, "92", "91"), `line 3, column 8 (dep_delay): "91" is not the 92 minutes`},
		"arrival delay":     {swap(flown, "112", "x"), "line 3, column 9 (arr_delay)"},
		"time":              {swap(flown, "2013-07-11T02:45Z", "2013-07-11 02:45"), "line 3, column 10 (sched_dep_utc)"},
		"no departure":      {swap(flown, "2013-07-11T04:17Z", ""), "line 3, column 11 (act_dep_utc): a time is missing"},
		"no arrival":        {swap(flown, "2013-07-11T05:55Z", "NA"), "line 3, column 13 (act_arr_utc): a time is missing"},
		"cancelled flew":    {swap(cancelled, "Z,,2013", "Z,2013-07-10T21:20Z,2013"), "line 3, column 11 (act_dep_utc): a leg of status cancelled has no such time"},
		"arrived elsewhere": {swap(elsewhere, "19:05Z,", "19:05Z,2013-07-10T19:05Z"), "line 3, column 13 (act_arr_utc)"},
		"backwards":         {swap(flown, "2013-07-11T04:03Z", "2013-07-11T02:45Z"), "line 3, column 12 (sched_arr_utc)"},
		"arrived too soon":  {swap(flown, "2013-07-11T05:55Z", "2013-07-11T04:17Z"), "line 3, column 13 (act_arr_utc)"},
		"another date":      {swap(flown, "2013-07-10", "2013-07-11"), "line 3, column 10 (sched_dep_utc): the scheduled departure is not on 2013-07-11 at JFK"},
		"days late":         {swap(flown, "2013-07-11T04:17Z", "2013-07-14T04:17Z"), "line 3, column 11 (act_dep_utc): the departure is more than 48 hours off"},
		"twice":             {head + flown + cancelled + flown, "line 4, column 3 (flight): repeats the leg of line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := replay.New(replay.Config{CSV: strings.NewReader(tt.csv)})
			if flight.CodeOf(err) != flight.CodeInvalid || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.csv")
	if _, err := replay.New(replay.Config{Path: path}); flight.CodeOf(err) != flight.CodeInvalid || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("\ufeff"+head+cancelled), 0o600); err != nil {
		t.Fatal(err)
	}
	day, err := replay.New(replay.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if keys := day.Flights(); len(keys) != 1 || keys[0].String() != "EV3841:2013-07-10" {
		t.Errorf("the day has %v", keys)
	}
}

// TestSeveralLegs: one number with two legs, which the file has in the wrong
// order and in columns of another order.
func TestSeveralLegs(t *testing.T) {
	const second = "CLE,MQ,3493,2013-07-10,PIT,N735MQ,cancelled,2013-07-10T21:00Z,,2013-07-10T22:00Z,\n"
	const first = "LGA,MQ,3493,2013-07-10,CLE,N735MQ,landed,2013-07-10T17:25Z,2013-07-10T17:19Z,2013-07-10T19:05Z,2013-07-10T19:00Z\n"
	const head = "origin,carrier,flight,service_date,dest,tailnum,status,sched_dep_utc,act_dep_utc,sched_arr_utc,act_arr_utc\n"
	day, err := replay.New(replay.Config{CSV: strings.NewReader(head + second + first)})
	if err != nil {
		t.Fatal(err)
	}
	if len(day.Flights()) != 1 {
		t.Errorf("flights: %v", day.Flights())
	}
	legs, err := day.Legs(context.Background(), day.Flights()[0], utc(t, "2013-07-10T20:00Z"))
	if err != nil || len(legs) != 2 {
		t.Fatalf("%d legs, %v", len(legs), err)
	}
	for i, want := range []string{"nyc-20130710-MQ-3493-LGA-CLE arrived", "nyc-20130710-MQ-3493-CLE-PIT cancelled"} {
		s := legs[i]
		if got := s.ProviderFlightID + " " + string(s.Status.Phase); got != want || len(s.Alternates) != 2 || !s.Alternates[i].Selected {
			t.Errorf("leg %d is %s, alternates %+v; want %s", i, got, s.Alternates, want)
		}
	}
}

// FuzzNew: no file brings the reader, or the telling of what it read, down.
func FuzzNew(f *testing.F) {
	for _, seed := range []string{"", head, head + flown, head + cancelled + elsewhere, head + flown + flown, "\ufeff" + head + "NA,NA\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		day, err := replay.New(replay.Config{CSV: strings.NewReader(file)})
		if err != nil {
			if flight.CodeOf(err) != flight.CodeInvalid {
				t.Fatalf("%v", err)
			}
			return
		}
		_, to := day.Span()
		for _, key := range day.Flights() {
			if legs, err := day.Legs(context.Background(), key, to); err != nil || len(legs) == 0 {
				t.Fatalf("%s: %v", key, err)
			}
		}
	})
}
