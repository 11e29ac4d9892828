package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// The columns that a day's file must have, in any order; it may have more.
// Times are UTC, in the form 2013-07-10T22:45Z. The delay columns, where there
// are any, must agree with the times.
var columns = []string{
	"service_date", "carrier", "flight", "origin", "dest", "tailnum", "status",
	"sched_dep_utc", "act_dep_utc", "sched_arr_utc", "act_arr_utc",
}

// The values of the column status.
const (
	statusLanded    = "landed"
	statusCancelled = "cancelled"
	statusElsewhere = "no_arrival_at_dest"
)

// mostLate bounds what a file may claim, and with it the work that a row makes.
const mostLate = 48 * time.Hour

const timeForm = "2006-01-02T15:04Z"

// reader reads a day's file. The first fault stops it and stands in err.
type reader struct {
	csv      *csv.Reader
	index    map[string]int // column → position
	record   []string
	err      error
	airports map[string]airport
	flagBase string
}

// read returns the legs of a day's file.
func read(in io.Reader, flagBase string) ([]*leg, error) {
	r := &reader{csv: csv.NewReader(in), airports: map[string]airport{}, flagBase: flagBase}
	r.csv.ReuseRecord = true
	if !r.header() {
		return nil, r.err
	}
	var legs []*leg
	seen := map[string]int{} // leg → its line
	for r.next() {
		l := r.leg()
		if r.err != nil {
			return nil, r.err
		}
		line, _ := r.csv.FieldPos(0)
		if first := seen[l.id()]; first != 0 {
			return nil, r.fault("flight", "repeats the leg of line %d", first)
		}
		seen[l.id()] = line
		legs = append(legs, l)
	}
	if r.err == nil && len(legs) == 0 {
		r.err = flight.Errorf(flight.CodeInvalid, "The day to replay has no flights.")
	}
	return legs, r.err
}

func (r *reader) header() bool {
	if !r.next() {
		if r.err == nil {
			r.err = flight.Errorf(flight.CodeInvalid, "The day to replay is empty.")
		}
		return false
	}
	r.index = make(map[string]int, len(r.record))
	for i, name := range r.record {
		r.index[strings.TrimPrefix(name, "\ufeff")] = i
	}
	for _, name := range columns {
		if _, ok := r.index[name]; !ok {
			r.err = flight.Errorf(flight.CodeInvalid, "The day to replay, line 1: there is no column %s.", name)
			return false
		}
	}
	return true
}

// next reads a record; false at the end or at a fault.
func (r *reader) next() bool {
	record, err := r.csv.Read()
	if err == io.EOF {
		return false
	}
	if err != nil {
		if pe, ok := errors.AsType[*csv.ParseError](err); ok {
			err = fmt.Errorf("line %d, column %d: %w", pe.Line, pe.Column, pe.Err)
		}
		r.err = flight.Errorf(flight.CodeInvalid, "The day to replay, %v.", err)
		return false
	}
	r.record = record
	return true
}

// fault records, unless one stands already, what is wrong with a column.
func (r *reader) fault(column, format string, args ...any) error {
	if r.err == nil {
		i := r.index[column]
		line, _ := r.csv.FieldPos(i)
		r.err = flight.Errorf(flight.CodeInvalid, "The day to replay, line %d, column %d (%s): %s.", line, i+1, column, fmt.Sprintf(format, args...))
	}
	return r.err
}

// get returns a value; NA is how R writes that there is none.
func (r *reader) get(column string) string {
	i, ok := r.index[column]
	if !ok || r.record[i] == "NA" {
		return ""
	}
	return strings.TrimSpace(r.record[i])
}

// leg reads the row. It is of no use when r.err stands afterwards.
func (r *reader) leg() *leg {
	l := &leg{
		key: r.key(), tail: r.get("tailnum"),
		origin: r.airport("origin"), dest: r.airport("dest"),
	}
	l.carrier = carrierRef(l.key.Carrier)
	status := r.get("status")
	if !slices.Contains([]string{statusLanded, statusCancelled, statusElsewhere}, status) {
		r.fault("status", "%q is none of %s, %s, %s", status, statusLanded, statusCancelled, statusElsewhere)
	}
	l.schedDep, l.schedArr = r.time("sched_dep_utc", true), r.time("sched_arr_utc", true)
	l.actDep = r.time("act_dep_utc", status != statusCancelled)
	l.actArr = r.time("act_arr_utc", status == statusLanded)
	if r.err == nil {
		r.checkTimes(l)
	}
	if r.err == nil && status == statusElsewhere {
		code := diversionFor(l.origin.ref.IATA, l.dest.ref.IATA)
		l.diversion = r.lookUp("dest", code)
	}
	if r.err == nil {
		l.foresee()
	}
	return l
}

func (r *reader) key() flight.Key {
	var v flight.Invalid
	key := flight.ParseKey(&v, r.get("carrier"), r.get("flight"), r.get("service_date"))
	if len(v) > 0 {
		column := map[string]string{"carrier": "carrier", "flightNumber": "flight", "date": "service_date"}[v[0].Field]
		r.fault(column, "%q %s", r.get(column), v[0].Message)
	}
	return key
}

func (r *reader) airport(column string) airport { return r.lookUp(column, r.get(column)) }

func (r *reader) lookUp(column, code string) airport {
	if a, ok := r.airports[code]; ok {
		return a
	}
	found, ok := places.FindAirport(code)
	if !ok {
		r.fault(column, "there is no airport %q", code)
		return airport{}
	}
	loc, err := places.Location(found.Timezone)
	if err != nil {
		r.fault(column, "the time zone of %s is unknown", code)
		return airport{}
	}
	a := airport{found.Ref(r.flagBase), loc}
	r.airports[code] = a
	return a
}

// time reads a time that must be there, or must not.
func (r *reader) time(column string, wanted bool) flight.Time {
	text := r.get(column)
	switch {
	case text == "" && !wanted:
		return 0
	case text == "":
		r.fault(column, "a time is missing")
		return 0
	case !wanted:
		r.fault(column, "a leg of status %s has no such time", r.get("status"))
		return 0
	}
	t, err := time.Parse(timeForm, text)
	if err != nil {
		r.fault(column, "%q is not a time of the form 2013-07-10T22:45Z", text)
	}
	return flight.TimeOf(t)
}

func (r *reader) checkTimes(l *leg) {
	late := l.actDep.Std().Sub(l.schedDep.Std())
	switch {
	case l.schedArr <= l.schedDep:
		r.fault("sched_arr_utc", "the scheduled arrival is not after the scheduled departure")
	case l.schedDep.Std().In(l.origin.loc).Format(time.DateOnly) != l.key.Date:
		r.fault("sched_dep_utc", "the scheduled departure is not on %s at %s", l.key.Date, l.origin.ref.IATA)
	case l.actDep != 0 && late.Abs() > mostLate:
		r.fault("act_dep_utc", "the departure is more than %d hours off its schedule", mostLate/time.Hour)
	case l.actArr != 0 && l.actArr <= l.actDep:
		r.fault("act_arr_utc", "the arrival is not after the departure")
	}
	r.checkDelay("dep_delay", l.schedDep, l.actDep)
	r.checkDelay("arr_delay", l.schedArr, l.actArr)
}

func (r *reader) checkDelay(column string, scheduled, actual flight.Time) {
	text := r.get(column)
	if text == "" || actual == 0 {
		return
	}
	if n, err := strconv.Atoi(text); err != nil || n != actual.Minutes(scheduled) {
		r.fault(column, "%q is not the %d minutes between schedule and fact", text, actual.Minutes(scheduled))
	}
}
