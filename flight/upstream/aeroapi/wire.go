package aeroapi

import (
	"net/url"
	"strings"

	"github.com/flightwire/flightwire/flight/upstream"
)

type text = upstream.Text

// page is the body of an answer, as far as it is used: of flights, of
// schedules, or of an error.
type page struct {
	fault
	Links *struct {
		Next string `json:"next"`
	} `json:"links"`
	Flights   []row      `json:"flights"`
	Scheduled []schedule `json:"scheduled"`
}

// fault is what the provider says instead of an answer.
type fault struct {
	Title  text `json:"title"`
	Reason text `json:"reason"`
	Detail text `json:"detail"`
	Status int  `json:"status"`
}

// row is one flight, or one part of a diverted one.
type row struct {
	Ident          text     `json:"ident"`
	IdentICAO      text     `json:"ident_icao"`
	IdentIATA      text     `json:"ident_iata"`
	ID             text     `json:"fa_flight_id"`
	Operator       text     `json:"operator"` // its ICAO code, else its IATA code
	OperatorICAO   text     `json:"operator_icao"`
	OperatorIATA   text     `json:"operator_iata"`
	Number         text     `json:"flight_number"`
	Registration   text     `json:"registration"`
	Codeshares     []text   `json:"codeshares"`      // ICAO idents
	CodesharesIATA []text   `json:"codeshares_iata"` // the same as IATA has them, in the same order
	Diverted       bool     `json:"diverted"`
	Cancelled      bool     `json:"cancelled"`     // no longer tracked, be it cancelled or not
	PositionOnly   bool     `json:"position_only"` // seen, but without schedule or plan
	Origin         *airport `json:"origin"`
	Destination    *airport `json:"destination"`
	Status         text     `json:"status"` // in words
	Type           text     `json:"aircraft_type"`

	GateOrigin          text `json:"gate_origin"`
	GateDestination     text `json:"gate_destination"`
	TerminalOrigin      text `json:"terminal_origin"`
	TerminalDestination text `json:"terminal_destination"`
	Baggage             text `json:"baggage_claim"`

	// Out and in are at the gate, off and on at the runway.
	ScheduledOut text `json:"scheduled_out"`
	EstimatedOut text `json:"estimated_out"`
	ActualOut    text `json:"actual_out"`
	ScheduledOff text `json:"scheduled_off"`
	EstimatedOff text `json:"estimated_off"`
	ActualOff    text `json:"actual_off"`
	ScheduledOn  text `json:"scheduled_on"`
	EstimatedOn  text `json:"estimated_on"`
	ActualOn     text `json:"actual_on"`
	ScheduledIn  text `json:"scheduled_in"`
	EstimatedIn  text `json:"estimated_in"`
	ActualIn     text `json:"actual_in"`

	scheduled bool   // made of a schedule
	path      string // of the row in the answer
}

type airport struct {
	Code     text `json:"code"` // ICAO, IATA or local code
	ICAO     text `json:"code_icao"`
	IATA     text `json:"code_iata"`
	Local    text `json:"code_lid"`
	Timezone text `json:"timezone"`
	Name     text `json:"name"`
	City     text `json:"city"`
}

// schedule is what an airline has published of a flight. Where its ident is a
// codeshare, the actual ident is the operator's number.
type schedule struct {
	Ident           text `json:"ident"`
	IdentICAO       text `json:"ident_icao"`
	IdentIATA       text `json:"ident_iata"`
	ActualIdent     text `json:"actual_ident"`
	ActualIdentICAO text `json:"actual_ident_icao"`
	ActualIdentIATA text `json:"actual_ident_iata"`
	ID              text `json:"fa_flight_id"` // null until a few days before
	Type            text `json:"aircraft_type"`
	Out             text `json:"scheduled_out"`
	In              text `json:"scheduled_in"`
	Origin          text `json:"origin"`
	OriginICAO      text `json:"origin_icao"`
	OriginIATA      text `json:"origin_iata"`
	OriginLocal     text `json:"origin_lid"`
	Destination     text `json:"destination"`
	DestICAO        text `json:"destination_icao"`
	DestIATA        text `json:"destination_iata"`
	DestLocal       text `json:"destination_lid"`
}

// parse decodes a body. What it returns beside an error may be used for its
// fault alone.
func parse(body []byte) (*page, error) {
	var p page
	if _, err := upstream.Decode(body, '{', &p); err != nil {
		return nil, err
	}
	if p.Flights == nil && p.Scheduled == nil {
		return &p, errNoFlights
	}
	return &p, nil
}

// isFault reports whether the body is an error.
func (p *page) isFault() bool {
	return p.Flights == nil && p.Scheduled == nil && (p.Title != "" || p.Reason != "" || p.fault.Status >= 400)
}

// cursor returns what asks for the page after this one, or "".
func (p *page) cursor() string {
	if p.Links == nil {
		return ""
	}
	u, err := url.Parse(p.Links.Next)
	if err != nil {
		return ""
	}
	return u.Query().Get("cursor")
}

// rows returns the page's flights, schedules brought into their form.
func (p *page) rows() []row {
	rows := p.Flights
	for i := range rows {
		rows[i].path = "flights"
	}
	for i := range p.Scheduled {
		rows = append(rows, p.Scheduled[i].row())
	}
	return rows
}

// row returns the schedule as a flight of its operator.
func (s *schedule) row() row {
	r := row{
		path: "scheduled", scheduled: true, ID: s.ID, Type: s.Type, ScheduledOut: s.Out, ScheduledIn: s.In,
		Ident: s.Ident, IdentICAO: s.IdentICAO, IdentIATA: s.IdentIATA,
		Origin:      &airport{Code: s.Origin, ICAO: s.OriginICAO, IATA: s.OriginIATA, Local: s.OriginLocal},
		Destination: &airport{Code: s.Destination, ICAO: s.DestICAO, IATA: s.DestIATA, Local: s.DestLocal},
	}
	if s.ActualIdent != "" || s.ActualIdentICAO != "" {
		r.Codeshares, r.CodesharesIATA = []text{s.IdentICAO}, []text{s.IdentIATA}
		r.Ident, r.IdentICAO, r.IdentIATA = s.ActualIdent, s.ActualIdentICAO, s.ActualIdentIATA
	}
	return r
}

// splitIdent cuts an ident into the code of an airline, of n characters, and
// its number. Both are empty where it is too short.
func splitIdent(ident text, n int) (carrier, number string) {
	s := strings.ToUpper(string(ident))
	if len(s) <= n {
		return "", ""
	}
	return s[:n], upstream.Number(s[n:])
}
