package main

import (
	"context"
	"fmt"
	"io"

	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/replay"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// greeting is what dev says of itself.
type greeting struct {
	Config
	base   string
	demo   *demo
	clock  flight.Clock
	source upstream.Source
	every  time.Duration
	now    flight.Time // world time
}

// example is a flight to try things with.
type example struct {
	shell string // sets C, N and D: carrier, number and date
	what  string // what is to be seen of it
}

// greet prints the addresses of everything that dev serves, the key, and what
// to copy and paste for a first webhook.
func greet(w io.Writer, g greeting) {
	kept := "SQLite in " + g.DataDir
	if g.DatabaseURL != "" {
		kept = "PostgreSQL"
	}
	e := g.example()
	_, _ = fmt.Fprintf(w, `flightwire dev: %s, flights by %s

  REST        %[3]s/v1   (described at /v1/docs and /v1/openapi.json)
  GraphQL     %[3]s/graphql   (a page for browsers; ws, for live subscriptions)
  Inbox       %[3]s/dev/inbox   (shows the webhooks that arrive there; .json for programs)
  Operation   %[3]s/healthz  /readyz  /metrics
  Key         %[4]s   (plan unlimited; kept in %[5]s)

Try it: copy all of this into another terminal, then look at the inbox.
%[6]s
  K=%[4]s
  %[7]s
  curl -sw '\n' -H "x-api-key: $K" %[3]s/v1/flights/$C/$N/$D
  curl -sw '\n' -H "x-api-key: $K" -H 'content-type: application/json' %[3]s/v1/subscriptions \
    -d '{"carrier":"'$C'","flightNumber":"'$N'","date":"'$D'","webhookUrl":"%[3]s/dev/inbox"}'

`, kept, g.describe(), g.base, g.demo.key, g.demo.keyFile, e.what, e.shell)
}

// describe names the world, and how it moves.
func (g greeting) describe() string {
	text := "the " + g.source.Name()
	for i, name := range g.Upstreams {
		if p, ok := vendorOf(name); ok && i == 0 {
			text = p.title
		} else if ok {
			text += ", then " + p.title
		}
	}
	if g.clock.Speed != 0 && g.clock.Speed != 1 {
		text += fmt.Sprintf(" at speed %g", g.clock.Speed)
	}
	if !g.wallTime() {
		text += ", where it is " + g.now.Std().Format("2006-01-02 15:04 MST")
	}
	if g.every != 0 {
		text += ", each looked at every " + g.every.String()
	}
	return text
}

// wallTime reports whether the world shows the time that clocks show.
func (g greeting) wallTime() bool {
	return g.clock.Speed == 0 || g.clock.Speed == 1 && g.clock.Start.Equal(g.clock.Epoch)
}

func (g greeting) example() example {
	switch s := g.source.(type) {
	case *simulator.Source:
		if g.wallTime() {
			return example{
				fmt.Sprintf("C=FI N=$((%d + ($(date +%%s) / 60 + 1) %% 1440)) D=$(date -u +%%F)", simulator.FirstMinuteNumber),
				"The flight leaves at the next full minute and lives its whole life in it.",
			}
		}
		soon := g.now + flight.Time(g.clock.Speed*float64(time.Minute.Milliseconds()))
		return known(simulator.MinuteFlight("FI", soon), "The flight leaves in about a minute and lives its whole life in one of its world's minutes.")
	case *replay.Source:
		if key, ok := g.nextOf(s); ok {
			return known(key, "The flight is the next one to leave on the replayed day.")
		}
		return known(s.Flights()[0], "The replayed day is over, so nothing changes any more; a fresh data folder begins it again.")
	}
	return example{"C=LH N=400 D=$(date -u +%F)", "Put a flight of today in here; its changes arrive as they happen."}
}

func known(k flight.Key, what string) example {
	return example{fmt.Sprintf("C=%s N=%s D=%s", k.Carrier, k.Number, k.Date), what}
}

// nextOf returns the flight that leaves first after the minute that it takes
// to copy and paste.
func (g greeting) nextOf(s *replay.Source) (next flight.Key, ok bool) {
	soon := g.now + flight.Time(g.clock.Speed*float64(time.Minute.Milliseconds()))
	best := flight.Time(0)
	for _, leg := range departures(context.Background(), s, g.now) {
		at := leg.Departure.Times.ScheduledGate.At()
		if leg.Status.Phase == flight.PhaseScheduled && at > soon && (best == 0 || at < best) {
			best, next = at, leg.Key()
		}
	}
	return next, best != 0
}
