package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// Plan is what an account may use; NoLimit wherever there is no limit.
type Plan struct {
	Name           string
	Requests       Limits // of each key, in a UTC minute, day and month
	WatchedFlights int64  // that the account may add in a UTC month
	LiveLegs       int64  // that the account may watch live at the same time
	Connections    int64  // that the account may have open: websockets, and answers that are streams
	Streams        int64  // live operations that it may have open on them
}

// Plans are all plans there are. The nil Plans are the built-in ones.
type Plans []Plan

// builtIn is the table of the service's decisions.
var builtIn = Plans{
	{"free", Limits{10, 500, 5_000}, 3, 3, 10, 20},
	{"starter", Limits{60, 10_000, 200_000}, NoLimit, 50, 100, 500},
	{"pro", Limits{300, 100_000, 2_000_000}, NoLimit, 1_000, 2_000, 10_000},
	{"unlimited", Limits{NoLimit, NoLimit, NoLimit}, NoLimit, NoLimit, NoLimit, NoLimit},
}

func (p Plans) all() Plans {
	if p == nil {
		return builtIn
	}
	return p
}

// Names lists the plans.
func (p Plans) Names() []string {
	var names []string
	for _, plan := range p.all() {
		names = append(names, plan.Name)
	}
	return names
}

// Of returns the plan of that name. An account may be on one that is in no
// table any more: it has what the first plan has, which is free unless a file
// says otherwise, until the operator moves it.
func (p Plans) Of(name string) Plan {
	for _, plan := range p.all() {
		if plan.Name == name {
			return plan
		}
	}
	plan := p.all()[0]
	plan.Name = name
	return plan
}

// check records a fault in v when there is no plan of that name.
func (p Plans) check(v *flight.Invalid, plan string) {
	if !slices.Contains(p.Names(), plan) {
		v.Add("plan", "must be one of %s", strings.Join(p.Names(), ", "))
	}
}

const (
	maxPlans     = 50
	maxPlanLimit = 1_000_000_000_000
)

// LoadPlans reads a file that overrides the built-in plans:
//
//	{
//	  "free": {"minute": 20},
//	  "partner": {"minute": 600, "day": null, "month": null, "watchedFlights": 100, "liveLegs": null}
//	}
//
// A plan that is built in keeps what is left out; a new one must give all five,
// and may give connections and streams, of which it has no limit otherwise. null
// is no limit, windows take at least 1. The error is one line that says
// what to mend.
func LoadPlans(path string) (Plans, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the plan file cannot be read: %w", err)
	}
	plans, err := parsePlans(text)
	if err != nil {
		return nil, fmt.Errorf("the plan file %s: %w", path, err)
	}
	return plans, nil
}

func parsePlans(text []byte) (Plans, error) {
	var file map[string]map[string]*json.Number
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("it must be a JSON object of plans, each an object of whole numbers or null: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is something after the JSON object")
	}
	plans := slices.Clone(builtIn)
	for _, name := range slices.Sorted(maps.Keys(file)) {
		i := slices.IndexFunc(plans, func(p Plan) bool { return p.Name == name })
		if i < 0 {
			if name == "" || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				return nil, fmt.Errorf("the name %.40q is not 1 to 32 characters of a-z, 0-9 and -", name)
			}
			i = len(plans)
			plans = append(plans, Plan{Name: name})
		}
		if err := plans[i].override(file[name], i >= len(builtIn)); err != nil {
			return nil, fmt.Errorf("plan %s: %w", name, err)
		}
	}
	if len(plans) > maxPlans {
		return nil, fmt.Errorf("%d plans are more than %d", len(plans), maxPlans)
	}
	return plans, nil
}

// override replaces what values gives; all that is not optional must be there
// when whole.
func (p *Plan) override(values map[string]*json.Number, whole bool) error {
	if values == nil {
		return errors.New("must be an object")
	}
	type field struct {
		name  string
		into  *int64
		least int64

		optional bool // no limit where it is left out of a new plan
	}
	fields := []field{
		{"minute", &p.Requests[Minute], 1, false}, {"day", &p.Requests[Day], 1, false}, {"month", &p.Requests[Month], 1, false},
		{"watchedFlights", &p.WatchedFlights, 0, false}, {"liveLegs", &p.LiveLegs, 0, false},
		{"connections", &p.Connections, 0, true}, {"streams", &p.Streams, 0, true},
	}
	known := 0
	for _, f := range fields {
		v, given := values[f.name]
		if !given {
			if whole && f.optional {
				*f.into = NoLimit
			} else if whole {
				return fmt.Errorf("%s is missing (null: no limit)", f.name)
			}
			continue
		}
		known++
		if v == nil {
			*f.into = NoLimit
			continue
		}
		n, err := v.Int64()
		if err != nil || n < f.least || n > maxPlanLimit {
			return fmt.Errorf("%s must be a whole number from %d to %d, or null for no limit", f.name, f.least, int64(maxPlanLimit))
		}
		*f.into = n
	}
	if known == len(values) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("%.40q is not one of minute, day, month, watchedFlights, liveLegs, connections, streams", name)
		}
	}
	return nil
}
