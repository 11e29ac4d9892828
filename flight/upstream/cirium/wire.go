package cirium

import (
	"errors"
	"strconv"
	"strings"

	"github.com/flightwire/flightwire/flight/upstream"
)

// answer is the body of a flight status answer, as far as it is used. A field
// of a wrong type counts as absent; what a snapshot cannot do without is
// checked where it is read.
type answer struct {
	Error    *wireError `json:"error"`
	Appendix appendix   `json:"appendix"`
	Statuses []record   `json:"flightStatuses"` // by flight
	Status   *record    `json:"flightStatus"`   // by id
}

type wireError struct {
	Status  minutes `json:"httpStatusCode"`
	Code    string  `json:"errorCode"`
	ID      string  `json:"errorId"`
	Message string  `json:"errorMessage"`
}

type appendix struct {
	Airlines   []wireAirline   `json:"airlines"`
	Airports   []wireAirport   `json:"airports"`
	Equipments []wireEquipment `json:"equipments"`
}

type wireAirline struct {
	Fs   string `json:"fs"`
	IATA string `json:"iata"`
	ICAO string `json:"icao"`
	Name string `json:"name"`
}

type wireAirport struct {
	Fs          string `json:"fs"`
	IATA        string `json:"iata"`
	ICAO        string `json:"icao"`
	Name        string `json:"name"`
	City        string `json:"city"`
	State       string `json:"stateCode"`
	Country     string `json:"countryCode"`
	CountryName string `json:"countryName"`
	Timezone    string `json:"timeZoneRegionName"`
}

type wireEquipment struct {
	IATA string `json:"iata"`
	Name string `json:"name"` // "??" when unknown
}

// record is one leg.
type record struct {
	ID            text              `json:"flightId"`
	Carrier       string            `json:"carrierFsCode"` // who operates it
	Operating     string            `json:"operatingCarrierFsCode"`
	Primary       string            `json:"primaryCarrierFsCode"` // under whose code it is published
	Number        text              `json:"flightNumber"`
	Origin        string            `json:"departureAirportFsCode"`
	Destination   string            `json:"arrivalAirportFsCode"`
	Diverted      string            `json:"divertedAirportFsCode"`
	DepartureDate *stamp            `json:"departureDate"`
	ArrivalDate   *stamp            `json:"arrivalDate"`
	Status        string            `json:"status"`
	Times         map[string]*stamp `json:"operationalTimes"`
	Codeshares    []codeshare       `json:"codeshares"`
	Durations     struct {
		ScheduledBlock minutes `json:"scheduledBlockMinutes"`
		Block          minutes `json:"blockMinutes"`
	} `json:"flightDurations"`
	Resources struct {
		DepartureTerminal text `json:"departureTerminal"`
		DepartureGate     text `json:"departureGate"`
		ArrivalTerminal   text `json:"arrivalTerminal"`
		ArrivalGate       text `json:"arrivalGate"`
		Baggage           text `json:"baggage"`
	} `json:"airportResources"`
	Equipment struct {
		Scheduled  text `json:"scheduledEquipmentIataCode"`
		Actual     text `json:"actualEquipmentIataCode"`
		TailNumber text `json:"tailNumber"`
	} `json:"flightEquipment"`
	Updates   []update    `json:"flightStatusUpdates"`
	Irregular []irregular `json:"irregularOperations"`
	Incident  *struct {
		Date    string `json:"date"`
		Message string `json:"message"`
	} `json:"confirmedIncident"`
}

// codeshare is another number of a leg. Its relationship is L or Z where the
// number is a commercial duplicate, S or X where it is the number under which
// a shared designator or wet lease is sold, C for another number of the
// operator.
type codeshare struct {
	Carrier      string `json:"fsCode"`
	Number       text   `json:"flightNumber"`
	Relationship string `json:"relationship"`
}

func (c *codeshare) lease() bool { return c.Relationship == "S" || c.Relationship == "X" }

// update is one entry of a leg's history, oldest first in an answer.
type update struct {
	At     stamp        `json:"updatedAt"`
	Source string       `json:"source"`
	Texts  []textUpdate `json:"updatedTextFields"`
	Dates  []dateUpdate `json:"updatedDateFields"`
}

type textUpdate struct {
	Field string `json:"field"`
	From  text   `json:"originalText"`
	To    text   `json:"newText"`
}

type dateUpdate struct {
	Field     string `json:"field"`
	FromLocal string `json:"originalDateLocal"`
	ToLocal   string `json:"newDateLocal"`
	FromUTC   string `json:"originalDateUtc"`
	ToUTC     string `json:"newDateUtc"`
}

type irregular struct {
	Type       string `json:"type"`
	At         string `json:"dateUtc"`
	Message    string `json:"message"`
	NewArrival string `json:"newArrivalAirportFsCode"`
	Related    text   `json:"relatedFlightId"`
}

// stamp is a moment: local is without zone.
type stamp struct {
	Local string `json:"dateLocal"`
	UTC   string `json:"dateUtc"`
}

// parse decodes a body. What it returns beside an error may be used for its
// Error alone.
func parse(body []byte) (*answer, error) {
	a := new(answer)
	mistyped, err := upstream.Decode(body, '{', a)
	if err != nil {
		return nil, err
	}
	if mistyped != nil || a.Statuses == nil && a.Status == nil {
		a = new(answer)
		if _, err := upstream.Decode(unwrap(body), '{', a); err != nil {
			return nil, err
		}
	}
	if a.Status != nil {
		a.Statuses = append(a.Statuses, *a.Status)
	}
	if a.Statuses == nil {
		return a, errors.New("the answer has no flightStatuses")
	}
	return a, nil
}

type text = upstream.Text

// minutes is a whole number that may come as a string. Zero is absent: no leg
// takes no time.
type minutes int

// UnmarshalJSON never fails: what is no number of a sensible size is absent.
func (m *minutes) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(b), `"`))
	if err != nil || n <= 0 || n > 7*24*60 {
		n = 0
	}
	*m = minutes(n)
	return nil
}

// known returns the number, or nil when it is absent.
func (m minutes) known() *int {
	if m == 0 {
		return nil
	}
	n := int(m)
	return &n
}
