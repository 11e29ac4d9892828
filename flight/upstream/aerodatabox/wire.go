package aerodatabox

import (
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/upstream"
)

type text = upstream.Text

// row is one flight under one of its numbers.
type row struct {
	Number    text     `json:"number"` // "KL 1164"
	Status    text     `json:"status"`
	Codeshare text     `json:"codeshareStatus"` // IsOperator, IsCodeshared or Unknown
	Departure movement `json:"departure"`
	Arrival   movement `json:"arrival"`
	Airline   struct {
		Name text `json:"name"`
		IATA text `json:"iata"`
		ICAO text `json:"icao"`
	} `json:"airline"`
	Aircraft struct {
		Tail  text `json:"reg"`
		Model text `json:"model"`
	} `json:"aircraft"`

	path string // of the row in the answer
}

// movement is one end of a flight.
type movement struct {
	Airport   airport `json:"airport"`
	Scheduled instant `json:"scheduledTime"`
	Revised   instant `json:"revisedTime"` // on the airport's board
	Predicted instant `json:"predictedTime"`
	Runway    instant `json:"runwayTime"` // observed
	Terminal  text    `json:"terminal"`
	Gate      text    `json:"gate"`
	Baggage   text    `json:"baggageBelt"`

	// The retired names of the same, which older services of the provider have.
	OldScheduled text `json:"scheduledTimeUtc"`
	OldRevised   text `json:"actualTimeUtc"`
	OldRunway    text `json:"runwayTimeUtc"`
}

// instant is a moment, in two spellings.
type instant struct {
	UTC   text `json:"utc"`
	Local text `json:"local"` // with its offset
}

type airport struct {
	ICAO     text `json:"icao"`
	IATA     text `json:"iata"`
	Local    text `json:"localCode"`
	Name     text `json:"name"` // sometimes the town's only
	City     text `json:"municipalityName"`
	Country  text `json:"countryCode"`
	Timezone text `json:"timeZone"`
}

// parse decodes a body.
func parse(body []byte) ([]row, error) {
	var rows []row
	if _, err := upstream.Decode(body, '[', &rows); err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].path = fmt.Sprintf("[%d]", i)
		for _, m := range [...]*movement{&rows[i].Departure, &rows[i].Arrival} {
			for _, t := range [...]struct {
				to  *instant
				old text
			}{{&m.Scheduled, m.OldScheduled}, {&m.Revised, m.OldRevised}, {&m.Runway, m.OldRunway}} {
				if *t.to == (instant{}) {
					t.to.UTC = t.old
				}
			}
		}
	}
	return rows, nil
}

// The provider's times have a space in them; RFC 3339 is read too.
const (
	layout        = "2006-01-02 15:04Z07:00"
	layoutSeconds = "2006-01-02 15:04:05Z07:00"
)

// moment is an instant that has been read.
type moment struct {
	at    time.Time // UTC; zero when it is unknown
	local string    // what the airport's clocks show, without offset; "" when it is unknown
}

func (t instant) read() (m moment, err error) {
	for _, f := range [...]text{t.Local, t.UTC} {
		if f == "" {
			continue
		}
		at, err := upstream.ParseTime(string(f), layout, layoutSeconds, time.RFC3339)
		if err != nil {
			return m, err
		}
		if f == t.Local {
			m.local = at.Format(localLayout)
		}
		m.at = at.UTC()
	}
	return m, nil
}

const localLayout = "2006-01-02T15:04:05.000"

// passed reports whether it is known, and not after now.
func (m moment) passed(now flight.Time) bool {
	return !m.at.IsZero() && flight.TimeOf(m.at) <= now
}

// on returns the moment on the clocks of a zone, those of the provider where
// the zone is unknown; nil when there is none.
func (m moment) on(tz string) *flight.FlightTime {
	ft := places.FlightTime(m.at, tz)
	if ft != nil && ft.Local == "" {
		ft.Local = m.local
	}
	return ft
}
