package cirium

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/flightwire/flightwire/flight/upstream"
)

// answer is the body of a flight status answer, as far as it is used. A field
// of a wrong type counts as absent; what a snapshot cannot do without is
// checked where it is read.
type answer struct {
	Error    *wireError   `json:"error"`
	Appendix appendix     `json:"appendix"`
	Statuses list[record] `json:"flightStatuses"` // by flight
	Status   *record      `json:"flightStatus"`   // by id
}

type wireError struct {
	Status  minutes `json:"httpStatusCode"`
	Code    string  `json:"errorCode"`
	ID      string  `json:"errorId"`
	Message string  `json:"errorMessage"`
}

type appendix struct {
	Airlines   list[wireAirline]   `json:"airlines"`
	Airports   list[wireAirport]   `json:"airports"`
	Equipments list[wireEquipment] `json:"equipments"`
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
	Codeshares    list[codeshare]   `json:"codeshares"`
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
	Updates   list[update]    `json:"flightStatusUpdates"`
	Irregular list[irregular] `json:"irregularOperations"`
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
	At     stamp            `json:"updatedAt"`
	Source string           `json:"source"`
	Texts  list[textUpdate] `json:"updatedTextFields"`
	Dates  list[dateUpdate] `json:"updatedDateFields"`
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
	var a answer
	if err := upstream.Decode(body, '{', &a); err != nil {
		return nil, err
	}
	if a.Status != nil {
		a.Statuses = append(a.Statuses, *a.Status)
	}
	if a.Statuses == nil {
		return &a, errors.New("the answer has no flightStatuses")
	}
	return &a, nil
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

// list is an array, which some of the provider's services wrap in an object of
// one member.
type list[T any] []T

// UnmarshalJSON never fails: what is no array is nil, null an empty one.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if len(b) > 0 && b[0] == '{' {
		var wrapped map[string]json.RawMessage
		if json.Unmarshal(b, &wrapped) != nil || len(wrapped) != 1 {
			return nil
		}
		for _, b = range wrapped {
		}
	}
	switch {
	case len(b) > 0 && b[0] == '[':
		items := make([]T, 0, 4)
		_ = json.Unmarshal(b, &items) // the text is valid; items of a wrong type stay empty
		*l = items
	case string(b) == "null":
		*l = list[T]{}
	}
	return nil
}
