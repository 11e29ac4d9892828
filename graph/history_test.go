package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/jobs"
)

func (g *rig) history(first int, after *string) *FlightHistoryConnection {
	g.t.Helper()
	page, err := g.r.FlightSnapshot().History(g.ctx, g.flight(aa100, false), first, after)
	if err != nil {
		g.t.Fatal(err)
	}
	return page
}

// Pages of any size, one after the other, are the whole history: each entry
// once, newest first, each known until the next one was.
func TestHistoryPages(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		const entries = 23
		for i := range entries {
			g.source.say(atGate(fmt.Sprint("B", i)))
			g.flight(aa100, true)
		}
		for _, first := range []int{1, 2, 7, entries, 100} {
			var seen int
			var after *string
			until := flight.Time(0)
			for more := true; more; {
				page := g.history(first, after)
				info := page.PageInfo
				if page.TotalCount != entries || len(page.Edges) == 0 || len(page.Edges) > first || info.HasPreviousPage != (after != nil) {
					t.Fatalf("%d at once: after %d there are %d of %d, %+v", first, seen, len(page.Edges), page.TotalCount, info)
				}
				if *info.StartCursor != page.Edges[0].Cursor || *info.EndCursor != page.Edges[len(page.Edges)-1].Cursor {
					t.Errorf("%+v", info)
				}
				for _, e := range page.Edges {
					want := fmt.Sprint("B", entries-1-seen)
					if e.Node.Flight.Departure.Gate != want || e.Node.Until != until || e.Node.Source != "script" || e.Node.Held {
						t.Fatalf("%d at once: entry %d is %+v until %v, want gate %s until %v", first, seen, e.Node.Flight.Departure.Gate, e.Node.Until, want, until)
					}
					if changes := e.Node.Changes; seen < entries-1 && (len(changes) != 1 || changes[0].To != want) || seen == entries-1 && len(changes) != 0 {
						t.Errorf("entry %d: %+v", seen, changes)
					}
					until = e.Node.KnownAt
					seen++
				}
				after, more = info.EndCursor, info.HasNextPage
			}
			if seen != entries {
				t.Errorf("%d at once: %d entries", first, seen)
			}
		}
		oldest := g.history(entries, nil).PageInfo.EndCursor
		if behind := g.history(5, oldest); len(behind.Edges) != 0 || behind.PageInfo.EndCursor != nil || behind.PageInfo.HasNextPage || !behind.PageInfo.HasPreviousPage {
			t.Errorf("behind the oldest: %+v", behind)
		}
	})
}

func TestHistoryRefuses(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		s := g.flight(aa100, false)
		g.source.say(leg("100", "JFK", "LHR"), leg("200", "JFK", "CDG"))
		other := g.flight(LegInput{Carrier: "AA", FlightNumber: "200", Date: today}, false)
		ask := func(of *flight.Snapshot, first int, after string) error {
			cursor := &after
			if after == "" {
				cursor = nil
			}
			_, err := g.r.FlightSnapshot().History(g.ctx, of, first, cursor)
			return err
		}
		mine := *g.history(1, nil).PageInfo.EndCursor
		id, _, err := g.db.LegOf(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, after := range map[string]string{
			"nonsense": "!", "no place": "Zmx0", "the future": cursor{id, 2}.String(), "nothing": cursor{id, 0}.String(), "less": cursor{id, -1}.String(),
		} {
			err := ask(s, 20, after)
			if flight.CodeOf(err) != flight.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
			wantFields(t, err, "after")
		}
		wantFields(t, ask(other, 20, mine), "after")
		wantFields(t, ask(s, 0, ""), "first")
		wantFields(t, ask(s, 101, "!"), "first", "after")
		if _, err := g.r.FlightSnapshot().History(t.Context(), s, 20, nil); flight.CodeOf(err) != flight.CodeMissingAPIKey {
			t.Errorf("without a key: %v", err)
		}
		if err := ask(s, 100, mine); err != nil {
			t.Error(err)
		}
		unknown := leg("300", "JFK", "LHR")
		unknown.Complete()
		page, err := g.r.FlightSnapshot().History(g.ctx, &unknown, 20, nil)
		if err != nil || page.TotalCount != 0 || len(page.Edges) != 0 || page.PageInfo != (PageInfo{}) {
			t.Errorf("of a leg that nothing is kept of: %+v, %v", page, err)
		}
	})
}

const historyQuery = `query($leg: LegInput!, $first: Int! = 20, $after: String) { flight(leg: $leg) { departure { gate }
	history(first: $first, after: $after) { totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
		edges { cursor node { knownAt until source held changes { type message } flight { departure { gate } history(first: 1) { totalCount } } } } } } }`

// A gate that the upstream stops saying is held: the history has what was said,
// and that it counted on. A cursor is a place for a live subscription too.
func TestHistoryOverHTTP(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		g.r.cfg.Intake = jobs.NewIntake(jobs.IntakeConfig{DB: g.db, Client: g.r.cfg.Client, Providers: []jobs.Provider{{Source: g.source}}, Hold: time.Hour})
		g.r.lookups.intake = g.r.cfg.Intake
		for _, gate := range []string{"B1", "B2", ""} {
			g.source.say(atGate(gate))
			g.flight(aa100, true)
		}
		s := g.serve(nil)
		r := post(t, s.URL, historyQuery, legVariable())
		text, err := json.Marshal(r.Data["flight"])
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(r.body, err)
		}
		var f struct {
			Departure struct{ Gate string }
			History   struct {
				TotalCount int
				Edges      []struct {
					Cursor string
					Node   struct {
						KnownAt, Until, Source string
						Held                   bool
						Changes                []struct{ Message string }
						Flight                 struct {
							Departure struct{ Gate *string }
							History   struct{ TotalCount int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, e := range f.History.Edges {
			gate := "-"
			if g := e.Node.Flight.Departure.Gate; g != nil {
				gate = *g
			}
			line := fmt.Sprint(gate, " ", e.Node.Held)
			for _, c := range e.Node.Changes {
				line += " " + c.Message
			}
			told = append(told, line)
		}
		if got := strings.Join(told, "; "); f.Departure.Gate != "B2" || got != "- true; B2 false Departure gate changed from B1 to B2; B1 false" {
			t.Errorf("gate %s; %s", f.Departure.Gate, got)
		}
		if e := f.History.Edges; f.History.TotalCount != 3 || e[1].Node.Until != e[0].Node.KnownAt || e[0].Node.Until != "" || e[1].Node.Flight.History.TotalCount != 3 {
			t.Errorf("%+v", f.History)
		}

		v := legVariable()
		v["first"], v["after"] = 101, "!"
		r = post(t, s.URL, historyQuery, v)
		if r.code() != "INVALID_REQUEST" || fmt.Sprint(r.Errors[0].Path) != "[flight history]" {
			t.Errorf("%v %s", r.code(), r.body)
		}
		ctx, stop := context.WithCancel(g.ctx)
		defer stop()
		live, err := g.r.Subscription().FlightChanged(ctx, aa100, &f.History.Edges[2].Cursor)
		if err != nil {
			t.Fatal(err)
		}
		if u := <-live; len(u.Changes) != 1 || u.Changes[0].Message != "Departure gate changed from B1 to B2" {
			t.Errorf("%+v", u)
		}
	})
}
