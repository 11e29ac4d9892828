package rest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// query reads the documented parameters of a request and collects what is
// wrong with them. A parameter that is empty is not there.
type query struct {
	values url.Values
	faults flight.Invalid
}

func newQuery(r *http.Request) *query {
	q := new(query)
	var err error
	if q.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		q.faults.Add("query", "must be pairs of name=value joined by &, with other characters percent-encoded")
	}
	return q
}

// text returns a parameter, "" when it is not there.
func (q *query) text(name string) string {
	v := q.values[name]
	if len(v) == 0 {
		return ""
	}
	if len(v) > 1 {
		q.faults.Add(name, "must not be repeated")
	}
	return v[0]
}

// flag reads a switch: its name alone turns it on.
func (q *query) flag(name string) bool {
	s := q.text(name)
	if _, there := q.values[name]; !there {
		return false
	}
	switch strings.ToLower(s) {
	case "", "true", "1", "yes", "on":
		return true
	case "false", "0", "no", "off":
	default:
		q.faults.Add(name, "must be true or false")
	}
	return false
}

// number reads a whole number, whose range is the resolver's to check.
func (q *query) number(name string, otherwise int) int {
	s := q.text(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		q.faults.Add(name, "must be a whole number")
	}
	return n
}
