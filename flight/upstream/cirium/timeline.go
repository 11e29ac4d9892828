package cirium

import (
	"slices"
	"strings"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/upstream"
)

// field is what an update can change: its code, what it is called, and the
// title of an update in which it is the most important one.
type field struct {
	code, noun, title string
}

// fields lists the codes of the provider's updates, the most telling first.
var fields = []field{
	{"STS", "Status", "Status changed"},
	{"AGA", "Actual gate arrival", "Arrived at the gate"},
	{"ARA", "Actual landing", "Landed"},
	{"ARD", "Actual take-off", "Took off"},
	{"AGD", "Actual gate departure", "Left the gate"},
	{"SGD", "Scheduled gate departure", "Schedule changed"},
	{"SGA", "Scheduled gate arrival", "Schedule changed"},
	{"DGT", "Departure gate", "Departure gate changed"},
	{"AGT", "Arrival gate", "Arrival gate changed"},
	{"DTM", "Departure terminal", "Departure terminal changed"},
	{"ATM", "Arrival terminal", "Arrival terminal changed"},
	{"BGG", "Baggage belt", "Baggage belt changed"},
	{"EGD", "Estimated gate departure", "Estimates changed"},
	{"ERD", "Estimated take-off", "Estimates changed"},
	{"EGA", "Estimated gate arrival", "Estimates changed"},
	{"ERA", "Estimated landing", "Estimates changed"},
	{"SRD", "Scheduled take-off", "Schedule changed"},
	{"SRA", "Scheduled landing", "Schedule changed"},
	{"AQP", "Aircraft", "Aircraft changed"},
	{"SQP", "Scheduled aircraft", "Aircraft changed"},
	{"TAL", "Tail number", "Tail number changed"},
}

// statusWords are the provider's status codes in words.
var statusWords = map[string]string{
	"S": "Scheduled", "A": "Active", "L": "Landed", "C": "Cancelled", "D": "Diverted",
	"R": "Redirected", "U": "Unknown", "DN": "Data needed", "NO": "Not operational",
}

// operations are the types of irregular operations in words.
var operations = map[string]string{
	"CANCELLATION":    "Cancelled",
	"CONTINUATION_OF": "Continues another flight",
	"CONTINUED_BY":    "Continued by another flight",
	"DIVERSION":       "Diverted",
	"FLOWN_OVER":      "A planned stop is left out",
	"FLYOVER":         "Flies over a planned stop",
	"MISCELLANEOUS":   "Irregular operation",
	"REINSTATEMENT":   "Reinstated",
	"REPLACED_BY":     "Replaced by another flight",
	"REPLACEMENT_FOR": "Replaces another flight",
}

// timeline returns the leg's history, newest first: its updates, its irregular
// operations and an incident. Entries without a moment or anything to tell are
// left out.
func (b *book) timeline(rec *record) []flight.TimelineEntry {
	entries := make([]flight.TimelineEntry, 0, len(rec.Updates)+len(rec.Irregular)+1)
	for i := range rec.Updates {
		u := &rec.Updates[i]
		if at, err := parseUTC(u.At.UTC); err == nil {
			entries = append(entries, flight.TimelineEntry{
				OccurredAt: flight.TimeOf(at), Title: u.title(), Source: u.Source, Events: b.events(u),
			})
		}
	}
	for i := range rec.Irregular {
		op := &rec.Irregular[i]
		if at, err := parseUTC(op.At); err == nil {
			entries = append(entries, flight.TimelineEntry{
				OccurredAt: flight.TimeOf(at), Title: operation(op.Type), Events: b.operationEvents(op),
			})
		}
	}
	if rec.Incident != nil && rec.Incident.Message != "" {
		if at, err := parseUTC(rec.Incident.Date); err == nil {
			entries = append(entries, flight.TimelineEntry{
				OccurredAt: flight.TimeOf(at), Title: "Confirmed incident",
				Events: []string{strings.Join(strings.Fields(rec.Incident.Message), " ")},
			})
		}
	}
	entries = slices.DeleteFunc(entries, func(e flight.TimelineEntry) bool { return len(e.Events) == 0 })
	slices.Reverse(entries) // of two at one moment, the later one first
	slices.SortStableFunc(entries, func(x, y flight.TimelineEntry) int {
		switch {
		case x.OccurredAt > y.OccurredAt:
			return -1
		case x.OccurredAt < y.OccurredAt:
			return 1
		}
		return 0
	})
	return entries
}

// title names an update for the most telling field that it changes: a change
// of status for the new status.
func (u *update) title() string {
	for _, f := range fields {
		for _, t := range u.Texts {
			if t.Field != f.code {
				continue
			}
			if f.code != "STS" || t.To == "" {
				return f.title
			}
			if t.From == "C" && t.To != "U" {
				return "Reinstated"
			}
			return statusWord(string(t.To))
		}
		if slices.ContainsFunc(u.Dates, func(d dateUpdate) bool {
			return d.Field == f.code && (d.ToLocal != "" || d.ToUTC != "" || f.code[0] != 'A')
		}) {
			return f.title
		}
	}
	return "Updated"
}

// events says in words what an update changed.
func (b *book) events(u *update) []string {
	var events []string
	for _, t := range u.Texts {
		events = appendEvent(events, noun(t.Field), b.value(t.Field, string(t.From)), b.value(t.Field, string(t.To)))
	}
	for _, d := range u.Dates {
		events = appendEvent(events, noun(d.Field), clock(d.FromLocal, d.FromUTC), clock(d.ToLocal, d.ToUTC))
	}
	return events
}

func appendEvent(events []string, noun, from, to string) []string {
	switch {
	case from == to:
		return events
	case from == "":
		return append(events, noun+" set to "+to)
	case to == "":
		return append(events, noun+" "+from+" withdrawn")
	}
	return append(events, noun+" changed from "+from+" to "+to)
}

// noun names a field; one that we do not know goes by its code.
func noun(code string) string {
	for _, f := range fields {
		if f.code == code {
			return f.noun
		}
	}
	return "Field " + code
}

// value spells out the value of a text field.
func (b *book) value(code, v string) string {
	if v == "" {
		return ""
	}
	switch code {
	case "STS":
		return statusWord(v)
	case "SQP", "AQP":
		if name := b.aircraftName(v); name != "" {
			return v + " (" + name + ")"
		}
	}
	return v
}

func statusWord(code string) string {
	if w := statusWords[code]; w != "" {
		return w
	}
	return "Status " + code
}

// clock writes a moment for people, on local clocks where they are given:
// "10 Oct 07:08". What is no time is written as it is.
func clock(local, utc string) string {
	const readable = "2 Jan 15:04"
	if local != "" {
		if t, err := parseLocal(local); err == nil {
			return t.Format(readable)
		}
		return upstream.Clip(local, 40)
	}
	if utc == "" {
		return ""
	}
	if t, err := parseUTC(utc); err == nil {
		return t.Format(readable) + " UTC"
	}
	return upstream.Clip(utc, 40)
}

// operation names a type of irregular operation; one that we do not know by
// its own words.
func operation(kind string) string {
	if w := operations[kind]; w != "" {
		return w
	}
	words := strings.ToLower(strings.ReplaceAll(kind, "_", " "))
	if words == "" {
		return operations["MISCELLANEOUS"]
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// operation says in words what an irregular operation did.
func (b *book) operation(op *irregular) string {
	if op.NewArrival == "" {
		return operation(op.Type)
	}
	a := b.airport(op.NewArrival)
	if a.Name == a.IATA {
		return operation(op.Type) + " to " + a.IATA
	}
	return operation(op.Type) + " to " + a.Name + " (" + a.IATA + ")"
}

func (b *book) operationEvents(op *irregular) []string {
	events := []string{b.operation(op)}
	if m := strings.TrimSpace(op.Message); m != "" {
		events = append(events, m)
	}
	if op.Related != "" {
		events = append(events, "The other flight has the id "+string(op.Related))
	}
	return events
}
