package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
	"github.com/flightwire/flightwire/flight/upstream/replay"
	"github.com/flightwire/flightwire/flight/upstream/simulator"
)

// upstreamCommand asks providers by itself: no process need run, and the calls
// are not counted in the budget that processes share.
type upstreamCommand struct {
	Check  checkCommand  `cmd:"" help:"Print what each configured provider says of a flight, side by side, and where they differ."`
	Record recordCommand `cmd:"" help:"Write a provider's raw answer to a file, with credentials removed, to report a fault with."`
}

type checkCommand struct {
	Flight   string   `arg:"" help:"Carrier and number, such as AA100."`
	Date     string   `arg:"" help:"Local departure date at the origin, such as 2026-11-21."`
	Provider []string `placeholder:"NAME" help:"Ask these, in this order; unset: every real provider that has its credentials."`
	JSON     bool     `name:"json" help:"Print JSON."`
	providers
}

// Run prints what providers say, also where one fails. It fails when all do.
func (k *checkCommand) Run(s session) error {
	key, err := flightNamed(k.Flight, k.Date)
	if err == nil {
		err = k.providers.check()
	}
	if err != nil {
		return err
	}
	names := k.Provider
	for _, v := range vendors {
		if len(k.Provider) == 0 && k.configured(v.name) {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return usagef("no provider has its credentials: set %s, %s or %s", vendors[0].needs, vendors[1].needs, vendors[2].needs)
	}
	var said []upstream.Said
	failed := 0
	for _, name := range names {
		source, err := k.source(name, nil)
		if err != nil {
			return err
		}
		legs, err := source.Legs(s, key, flight.TimeOf(time.Now()))
		if err != nil {
			failed++
		}
		said = append(said, upstream.Said{Provider: name, Legs: legs, Err: err})
	}
	if err := k.print(s.stdout, key, said); err != nil {
		return err
	}
	if failed == len(said) {
		return fmt.Errorf("no provider had anything to say of %s", key)
	}
	return nil
}

// source returns a provider by name, real or not.
func (p *providers) source(name string, client *http.Client) (upstream.Source, error) {
	v, ok := vendorOf(name)
	switch {
	case ok && !p.configured(name):
		return nil, usagef("--provider %s needs %s", name, v.needs)
	case ok:
		return p.open(name, "", client), nil
	case name == simulated:
		return simulator.New(simulator.Config{}), nil
	case name == replayed:
		return replay.New(replay.Config{})
	}
	return nil, usagef("--provider: there is no %q: have cirium, aeroapi, aerodatabox, simulator, replay", name)
}

// flightNamed reads a carrier and a number in one word. A code of two
// characters is IATA's, and a digit follows it; one of three letters is ICAO's.
func flightNamed(word, date string) (flight.Key, error) {
	n := 3
	if len(word) > 2 && word[2] >= '0' && word[2] <= '9' {
		n = 2
	}
	n = min(n, len(word))
	var v flight.Invalid
	key := flight.ParseKey(&v, word[:n], strings.TrimSpace(word[n:]), date)
	return key, v.Err()
}

// outcome is what a look-up came to, in a line.
func outcome(legs flight.Legs, err error) string {
	if err != nil {
		text := errorLine(err)
		if e, ok := errors.AsType[*flight.Error](err); ok && e.Cause != nil {
			text += " (" + e.Cause.Error() + ")"
		}
		return text
	}
	words := []string{}
	for _, s := range legs {
		words = append(words, s.Departure.Airport.IATA+"-"+s.Arrival.Airport.IATA+" "+s.Status.Code+" "+string(s.Status.Phase))
	}
	return strings.Join(words, ", ")
}

func (k *checkCommand) print(w io.Writer, key flight.Key, said []upstream.Said) error {
	comparisons := upstream.Compare(said)
	if k.JSON {
		type answer struct {
			Provider string      `json:"provider"`
			Error    string      `json:"error,omitempty"`
			Legs     flight.Legs `json:"legs,omitempty"`
		}
		out := struct {
			Flight  string   `json:"flight"`
			Answers []answer `json:"answers"`
			Differs []string `json:"differs"` // route and field
		}{Flight: key.String(), Differs: []string{}}
		for _, s := range said {
			a := answer{Provider: s.Provider, Legs: s.Legs}
			if s.Err != nil {
				a.Error = outcome(nil, s.Err)
			}
			out.Answers = append(out.Answers, a)
		}
		for _, c := range comparisons {
			for _, r := range c.Rows {
				if r.Differs {
					out.Differs = append(out.Differs, c.Route+" "+r.Name)
				}
			}
		}
		return json.NewEncoder(w).Encode(out)
	}
	return printComparison(w, key, said, comparisons)
}

// printComparison prints a table for each leg; a line begins with ≠ where two
// providers say different things.
func printComparison(w io.Writer, key flight.Key, said []upstream.Said, comparisons []upstream.Comparison) error {
	_, _ = fmt.Fprintf(w, "%s\n", key)
	for _, s := range said {
		if s.Err != nil {
			_, _ = fmt.Fprintf(w, "  %s: %s\n", s.Provider, outcome(nil, s.Err))
		}
	}
	for _, c := range comparisons {
		_, _ = fmt.Fprintf(w, "\n%s\n", c.Route)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		line := "  \t"
		for _, s := range said {
			line += "\t" + s.Provider
		}
		_, _ = fmt.Fprintln(table, line)
		differing := 0
		for _, r := range c.Rows {
			mark := " "
			if r.Differs {
				mark = "≠"
				differing++
			}
			line := mark + " " + r.Name + "\t"
			for _, v := range r.Values {
				line += "\t" + cmp.Or(v, "–")
			}
			_, _ = fmt.Fprintln(table, line)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if len(said) > 1 {
			_, _ = fmt.Fprintf(w, "%d of %d differ\n", differing, len(c.Rows))
		}
	}
	return nil
}

type recordCommand struct {
	Carrier  string `arg:"" help:"Airline, by IATA or ICAO code."`
	Number   string `arg:"" help:"Flight number."`
	Date     string `arg:"" help:"Local departure date at the origin, such as 2026-11-21."`
	Provider string `required:"" placeholder:"NAME" help:"cirium, aeroapi or aerodatabox."`
	Out      string `required:"" placeholder:"FILE" help:"File to write; it must not be there yet."`
	providers
}

// Run asks the provider once and writes what it answered, also when that is a
// refusal or makes no sense: that is what there is to report.
func (k *recordCommand) Run(s session) error {
	var v flight.Invalid
	key := flight.ParseKey(&v, k.Carrier, k.Number, k.Date)
	if err := v.Err(); err != nil {
		return err
	}
	if err := k.providers.check(); err != nil {
		return err
	}
	if !slices.ContainsFunc(vendors, func(v vendor) bool { return v.name == k.Provider }) {
		return usagef("--provider: there is no %q that answers over a network: have cirium, aeroapi, aerodatabox", k.Provider)
	}
	recorder := &upstream.Recorder{Secrets: k.credentials(k.Provider)}
	source, err := k.source(k.Provider, &http.Client{Transport: recorder})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(k.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return usagef("--out: %w", err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	legs, err := source.Legs(s, key, flight.TimeOf(now))
	said := recorder.Clean(outcome(legs, err))
	e := json.NewEncoder(file)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	err = e.Encode(upstream.Recording{Provider: k.Provider, Flight: key.String(), RecordedAt: now, Outcome: said, Calls: recorder.Calls})
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stdout, "%s: %s\n%d call(s) to %s written to %s, without credentials\n", key, said, len(recorder.Calls), k.Provider, k.Out)
	return err
}
