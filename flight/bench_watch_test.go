package flight_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream/replay"
)

// benchDays are the recorded days, the one that the schedule was set on last.
var benchDays = []struct{ date, weather string }{
	{replay.BlizzardDate, "a blizzard"},
	{replay.ShippedDate, "thunderstorms"},
}

// TestBenchWatch prints how both days are watched under each schedule, and
// draws the curve of calls against delay. It fails on no figure.
func TestBenchWatch(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") != "1" {
		t.Skip("make bench-watch runs it")
	}
	var panels []panel
	for _, day := range benchDays {
		flights := recordedDay(t, day.date, 1, assumption{})
		fmt.Printf("\n%s, %s: %d flights\n\n%s", day.date, day.weather, len(flights), rowHead("schedule"))
		p := panel{title: day.date + ", " + day.weather}
		for _, line := range benchLines {
			drawn := series{name: line.name, class: line.class, below: line.class == "adaptive"}
			for _, s := range line.schedules {
				o := simulate(flights, s.next)
				fmt.Println(o.row(s.name))
				drawn.add(s.label, &o)
			}
			p.series = append(p.series, drawn)
		}
		best := oracle(flights)
		fmt.Println(best.row("oracle"))
		drawn := series{name: "oracle", class: "oracle"}
		drawn.add("", &best)
		p.series = append(p.series, drawn)
		panels = append(panels, p)
	}
	printAssumptions(t)
	printWhen(t)
	if err := os.WriteFile(filepath.Join("..", "docs", "watch.svg"), plot(panels), 0o644); err != nil {
		t.Fatal(err)
	}
}

// benchLine is schedules that make a line of the plot.
type benchLine struct {
	name, class string
	schedules   []benchSchedule
}

type benchSchedule struct {
	name, label string
	next        planner
}

var benchLines = []benchLine{
	{"fixed interval", "fixed", []benchSchedule{
		{"fixed, 1 min", "1 min", under(flight.Schedule{Fixed: time.Minute})},
		{"fixed, 3 min", "3 min", under(flight.Schedule{Fixed: 3 * time.Minute})},
		{"fixed, 5 min", "5 min", under(flight.Schedule{Fixed: 5 * time.Minute})},
		{"fixed, 15 min", "15 min", under(flight.Schedule{Fixed: 15 * time.Minute})},
	}},
	{"starting table", "starting", []benchSchedule{{"starting table", "", startingTable}}},
	{"adaptive, by load", "adaptive", []benchSchedule{
		{"adaptive", "load 0", under(flight.Schedule{})},
		{"adaptive, load 1/3", "", under(flight.Schedule{Load: 1. / 3})},
		{"adaptive, load 2/3", "", under(flight.Schedule{Load: 2. / 3})},
		{"adaptive, load 1", "load 1", under(flight.Schedule{Load: 1})},
	}},
}

// startingTable is the schedule that the adaptive one began as: intervals by
// the time left alone.
func startingTable(s *flight.Snapshot, now flight.Time, jitter float64) flight.Time {
	type step struct{ left, every time.Duration }
	const h, m = time.Hour, time.Minute
	table, to := []step{{24 * h, 6 * h}, {6 * h, h}, {3 * h, 20 * m}, {h, 10 * m}, {-96 * h, 3 * m}}, s.Departure.Times.Best()
	switch s.Status.Phase {
	case flight.PhaseCancelled:
		table = []step{{-6 * h, h}, {-96 * h, 6 * h}}
	case flight.PhaseEnRoute:
		table, to = []step{{90 * m, 15 * m}, {30 * m, 7 * m}, {-96 * h, 3 * m}}, s.Arrival.Times.Best()
	case flight.PhaseRedirected:
		table = []step{{-96 * h, 5 * m}}
	case flight.PhaseDiverted:
		table, to = []step{{-6 * h, 15 * m}, {-96 * h, 6 * h}}, s.Diverted.Times.Best()
	}
	left := to.Std().Sub(now.Std())
	i := slices.IndexFunc(table, func(r step) bool { return left > r.left })
	every := table[i].every
	if i+1 < len(table) && table[i+1].every < every {
		every = min(every, max(left-table[i].left, table[i+1].every))
	}
	return plus(now, every+time.Duration((jitter-0.5)/5*float64(every)))
}

func rowHead(first string) string {
	return "| " + first + " | calls a flight | a flown one | departure | arrival | delay | cancellation |\n|---|---|---|---|---|---|---|\n"
}

// row writes an outcome as a row of a table: calls, and for each kind the
// minutes within which half, 95 % and 99 % were found.
func (o *outcome) row(name string) string {
	all, flown := o.perFlight()
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %.1f | %.1f |", name, all, flown)
	for _, k := range []kind{departure, arrival, delayed, cancellation} {
		if len(o.after[k]) == 0 {
			b.WriteString(" none |")
			continue
		}
		fmt.Fprintf(&b, " %.1f / %.1f / %.1f |", o.quantile(.5, k).Minutes(), o.quantile(.95, k).Minutes(), o.quantile(.99, k).Minutes())
	}
	return b.String()
}

// printAssumptions prints what becomes of the adaptive schedule where the
// replay upstream is wrong about what is known when.
func printAssumptions(t *testing.T) {
	fmt.Printf("\nadaptive, where something else is known than the replay upstream says\n\n%s", rowHead("day, assumption"))
	for _, day := range benchDays {
		for _, a := range []assumption{
			{name: "as the replay says"},
			{name: "estimated departures 20 min off", vague: true},
			{name: "no estimated departures", blind: true},
			{name: "cancelled at any time of the last 24 h", earlyCancel: true},
		} {
			o := simulate(recordedDay(t, day.date, 1, a), under(flight.Schedule{}))
			fmt.Println(o.row(day.date + ", " + a.name))
		}
	}
}

// printWhen prints when flights depart and arrive, as the files have it: of
// those that have not yet, how many do so in a minute.
func printWhen(t *testing.T) {
	edges := []int{-60, -40, -30, -25, -20, -15, -10, -5, 0, 5, 10, 20, 30, 60, 120, 240}
	var columns [4][]int // minutes from the schedule, or from the estimate
	for i, day := range benchDays {
		for _, f := range recordedDay(t, day.date, 1, assumption{}) {
			s := f.at(plus(f.from, 96*time.Hour))
			dep, arr := &s.Departure.Times, &s.Arrival.Times
			if dep.ActualGate != nil {
				columns[i] = append(columns[i], dep.ActualGate.UTC.Minutes(dep.ScheduledGate.UTC))
			}
			if arr.ActualGate != nil {
				columns[2+i] = append(columns[2+i], arr.ActualGate.UTC.Minutes(arr.EstimatedGate.UTC))
			}
		}
	}
	fmt.Printf("\nper cent a minute of those still waiting\n\n| minutes | departs, %s | %s | arrives, %[1]s | %[2]s |\n|---|---|---|---|---|\n", benchDays[0].date, benchDays[1].date)
	for i, from := range edges[:len(edges)-1] {
		fmt.Printf("| %d to %d |", from, edges[i+1])
		for _, minutes := range columns {
			fmt.Printf(" %.1f |", perMinute(minutes, from, edges[i+1]))
		}
		fmt.Println()
	}
}

// perMinute returns how many per cent of those that waited at from ended their
// wait in a minute, up to to.
func perMinute(minutes []int, from, to int) float64 {
	ended, waited := 0, 0
	for _, m := range minutes {
		if m < from {
			continue
		}
		waited += min(m, to) - from
		if m < to {
			ended++
		}
	}
	return 100 * float64(ended) / float64(max(waited, 1))
}
