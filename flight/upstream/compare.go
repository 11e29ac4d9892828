package upstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// Said is what one provider says of a flight.
type Said struct {
	Provider string
	Legs     flight.Legs // nil when Err is set
	Err      error
}

// Comparison is what providers say of one leg.
type Comparison struct {
	Route string    // "JFK-LHR"
	Rows  []FieldOf // what somebody knows
}

// FieldOf is one field of a leg, as each provider has it.
type FieldOf struct {
	Name    string   // its path in the snapshot
	Values  []string // in the order of the providers; "" where one does not say
	Differs bool     // two of them say different things
}

// Compare puts side by side what providers say, leg by leg, in the order in
// which legs are first named. A provider that failed, or does not have a leg,
// says nothing of it.
func Compare(said []Said) []Comparison {
	var routes []string
	for _, s := range said {
		for _, leg := range s.Legs {
			if r := route(leg); !slices.Contains(routes, r) {
				routes = append(routes, r)
			}
		}
	}
	var all []Comparison
	for _, r := range routes {
		c := Comparison{Route: r}
		for _, f := range compared {
			row := FieldOf{Name: f.name}
			for _, s := range said {
				v := ""
				if i := slices.IndexFunc(s.Legs, func(leg *flight.Snapshot) bool { return route(leg) == r }); i >= 0 {
					v = f.value(s.Legs[i])
				}
				row.Values = append(row.Values, v)
			}
			row.Differs = differ(row.Values)
			if slices.ContainsFunc(row.Values, func(v string) bool { return v != "" }) {
				c.Rows = append(c.Rows, row)
			}
		}
		all = append(all, c)
	}
	return all
}

func route(s *flight.Snapshot) string {
	return s.Departure.Airport.IATA + "-" + s.Arrival.Airport.IATA
}

func differ(values []string) bool {
	first := ""
	for _, v := range values {
		if first == "" {
			first = v
		}
		if v != "" && v != first {
			return true
		}
	}
	return false
}

// comparedField is a field that providers are compared by.
type comparedField struct {
	name  string
	value func(*flight.Snapshot) string
}

var compared = slices.Concat(
	[]comparedField{
		{"flightKey", func(s *flight.Snapshot) string { return s.FlightKey }},
		{"providerFlightId", func(s *flight.Snapshot) string { return s.ProviderFlightID }},
		{"operatedBy", func(s *flight.Snapshot) string { return s.OperatedBy }},
		{"codeshares", codeshares},
		{"status.code", func(s *flight.Snapshot) string { return s.Status.Code }},
		{"status.phase", func(s *flight.Snapshot) string { return string(s.Status.Phase) }},
		{"equipment.iata", func(s *flight.Snapshot) string { return s.Equipment.IATA }},
		{"equipment.tailNumber", func(s *flight.Snapshot) string { return s.Equipment.TailNumber }},
	},
	endpoint("departure", func(s *flight.Snapshot) *flight.Endpoint { return &s.Departure }),
	endpoint("arrival", func(s *flight.Snapshot) *flight.Endpoint { return &s.Arrival }),
	endpoint("diverted", func(s *flight.Snapshot) *flight.Endpoint { return s.Diverted }),
)

func codeshares(s *flight.Snapshot) string {
	var all []string
	for _, c := range s.Codeshares {
		all = append(all, c.Carrier+c.FlightNumber)
	}
	return strings.Join(all, " ")
}

// endpoint lists the fields of one end, which a leg may lack.
func endpoint(name string, of func(*flight.Snapshot) *flight.Endpoint) (fields []comparedField) {
	add := func(field string, value func(*flight.Endpoint) string) {
		fields = append(fields, comparedField{name + "." + field, func(s *flight.Snapshot) string {
			if e := of(s); e != nil {
				return value(e)
			}
			return ""
		}})
	}
	add("airport", func(e *flight.Endpoint) string { return e.Airport.IATA })
	add("terminal", func(e *flight.Endpoint) string { return e.Terminal })
	add("gate", func(e *flight.Endpoint) string { return e.Gate })
	add("baggage", func(e *flight.Endpoint) string { return e.Baggage })
	for _, t := range []struct {
		name string
		of   func(*flight.EndpointTimes) *flight.FlightTime
	}{
		{"scheduledGate", func(t *flight.EndpointTimes) *flight.FlightTime { return t.ScheduledGate }},
		{"estimatedGate", func(t *flight.EndpointTimes) *flight.FlightTime { return t.EstimatedGate }},
		{"actualGate", func(t *flight.EndpointTimes) *flight.FlightTime { return t.ActualGate }},
		{"scheduledRunway", func(t *flight.EndpointTimes) *flight.FlightTime { return t.ScheduledRunway }},
		{"estimatedRunway", func(t *flight.EndpointTimes) *flight.FlightTime { return t.EstimatedRunway }},
		{"actualRunway", func(t *flight.EndpointTimes) *flight.FlightTime { return t.ActualRunway }},
	} {
		add("times."+t.name, func(e *flight.Endpoint) string { return minute(t.of(&e.Times)) })
	}
	add("delayMinutes", func(e *flight.Endpoint) string {
		if e.DelayMinutes == nil {
			return ""
		}
		return fmt.Sprint(*e.DelayMinutes)
	})
	return fields
}

// minute writes a time as far as all providers have it.
func minute(t *flight.FlightTime) string {
	if t == nil {
		return ""
	}
	return t.UTC.Std().Format("2006-01-02 15:04Z")
}
