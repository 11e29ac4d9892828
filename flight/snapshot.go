package flight

// Snapshot is one flight leg as an upstream last described it: the contract's
// "Flight snapshot". A snapshot that has been accepted is never changed again,
// so it may be shared between goroutines; to alter it, copy it and call
// [Snapshot.Complete] on the copy.
type Snapshot struct {
	FlightKey        string          `json:"flightKey"`                  // "<carrier><number>:<date>", see [Key]
	CarrierCode      string          `json:"carrierCode"`                // IATA, else ICAO or the upstream's own code
	FlightNumber     string          `json:"flightNumber"`               // no leading zeros; may end in a letter
	Date             string          `json:"date"`                       // local departure date at the origin, YYYY-MM-DD
	ProviderFlightID string          `json:"providerFlightId,omitempty"` // the upstream's id of this leg
	FetchedAt        Time            `json:"fetchedAt"`                  // world time at which the upstream was asked
	Carrier          CarrierRef      `json:"carrier"`
	OperatedBy       string          `json:"operatedBy,omitempty"` // the operating carrier's name, where it is another
	Codeshares       []CodeshareRef  `json:"codeshares"`           // sorted by carrier and number
	Departure        Endpoint        `json:"departure"`
	Arrival          Endpoint        `json:"arrival"`
	Diverted         *Endpoint       `json:"diverted,omitempty"` // where it lands instead of Arrival
	Status           StatusInfo      `json:"status"`
	Equipment        EquipmentInfo   `json:"equipment"`
	Duration         DurationInfo    `json:"duration"`
	Timeline         []TimelineEntry `json:"timeline"`   // the upstream's change history, newest first
	Alternates       []LegRef        `json:"alternates"` // every leg of this number and date
	Fingerprint      string          `json:"fingerprint"`

	Provenance `json:"-"`

	encoded []byte // the JSON form, once [Snapshot.Encode] has made it
}

// Provenance is where a snapshot comes from. It is no part of its content.
type Provenance struct {
	Source   string   // the upstream that said it, as in FLIGHTWIRE_UPSTREAM; empty: not noted
	OtherIDs []string // the ids by which other upstreams know the leg
	Stale    bool     // the upstream was asked again since FetchedAt, and did not answer
}

// CarrierRef names an airline.
type CarrierRef struct {
	IATA string `json:"iata"` // its ICAO or upstream code where it has no IATA code
	ICAO string `json:"icao,omitempty"`
	Name string `json:"name"`
}

// CodeshareRef is another flight number under which the same leg is sold.
type CodeshareRef struct {
	Carrier      string `json:"carrier"`
	Name         string `json:"name"`
	FlightNumber string `json:"flightNumber"`
}

// same reports whether both are one flight number, whatever the airline is
// called.
func (c CodeshareRef) same(d CodeshareRef) bool {
	return c.Carrier == d.Carrier && c.FlightNumber == d.FlightNumber
}

// CountryRef names a country.
type CountryRef struct {
	Code          string `json:"code"` // ISO 3166-1 alpha-2
	Name          string `json:"name"`
	Emoji         string `json:"emoji"`
	FlagSVG       string `json:"flagSvg"`       // URL of the 4x3 flag
	FlagSVGSquare string `json:"flagSvgSquare"` // URL of the 1x1 flag
}

// AirportRef names an airport.
type AirportRef struct {
	IATA     string     `json:"iata"` // its ICAO or upstream code where it has no IATA code
	ICAO     string     `json:"icao,omitempty"`
	Code     string     `json:"code,omitempty"` // the upstream's own code
	Name     string     `json:"name"`
	City     string     `json:"city,omitempty"`
	State    string     `json:"state,omitempty"`
	Country  CountryRef `json:"country"`
	Timezone string     `json:"timezone,omitempty"` // IANA zone name
}

// Is reports whether code names this airport by its IATA, ICAO or upstream
// code. code is in upper case.
func (a *AirportRef) Is(code string) bool {
	return code != "" && (code == a.IATA || code == a.ICAO || code == a.Code)
}

// FlightTime is one moment, in UTC and on the clocks of its airport.
type FlightTime struct {
	UTC      Time   `json:"utc"`
	Local    string `json:"local,omitempty"`    // without offset, 2006-01-02T15:04:05.000
	Timezone string `json:"timezone,omitempty"` // zone abbreviation, such as EDT
}

// At returns the moment, or unknown when there is none.
func (t *FlightTime) At() Time {
	if t == nil {
		return 0
	}
	return t.UTC
}

// EndpointTimes are the times of one end of a leg. Gate times are off-block
// and on-block, runway times wheels-off and wheels-on.
type EndpointTimes struct {
	ScheduledGate   *FlightTime `json:"scheduledGate,omitempty"`
	EstimatedGate   *FlightTime `json:"estimatedGate,omitempty"`
	ActualGate      *FlightTime `json:"actualGate,omitempty"`
	ScheduledRunway *FlightTime `json:"scheduledRunway,omitempty"`
	EstimatedRunway *FlightTime `json:"estimatedRunway,omitempty"`
	ActualRunway    *FlightTime `json:"actualRunway,omitempty"`
}

// Best returns the best known time: actual, else estimated, else scheduled,
// and of each the gate before the runway.
func (t *EndpointTimes) Best() Time {
	for _, ft := range [...]*FlightTime{
		t.ActualGate, t.ActualRunway, t.EstimatedGate, t.EstimatedRunway, t.ScheduledGate, t.ScheduledRunway,
	} {
		if at := ft.At(); at.Known() {
			return at
		}
	}
	return 0
}

// Delay returns the signed minutes between the schedule and the best known
// time, negative when early. Both sides are gate times; the runway pair is
// used only where there is no gate pair. ok is false where neither pair is
// complete.
func (t *EndpointTimes) Delay() (minutes int, ok bool) {
	if d, ok := delayOf(t.ScheduledGate, t.EstimatedGate, t.ActualGate); ok {
		return d, true
	}
	return delayOf(t.ScheduledRunway, t.EstimatedRunway, t.ActualRunway)
}

func delayOf(scheduled, estimated, actual *FlightTime) (int, bool) {
	best := actual.At()
	if !best.Known() {
		best = estimated.At()
	}
	if !best.Known() || !scheduled.At().Known() {
		return 0, false
	}
	return best.Minutes(scheduled.UTC), true
}

// delayOnRunway reports whether the delay is that of the runway pair.
func (t *EndpointTimes) delayOnRunway() bool {
	if _, gate := delayOf(t.ScheduledGate, t.EstimatedGate, t.ActualGate); gate {
		return false
	}
	_, runway := delayOf(t.ScheduledRunway, t.EstimatedRunway, t.ActualRunway)
	return runway
}

// Endpoint is one end of a leg.
type Endpoint struct {
	Airport      AirportRef    `json:"airport"`
	Terminal     string        `json:"terminal,omitempty"`
	Gate         string        `json:"gate,omitempty"`
	Baggage      string        `json:"baggage,omitempty"` // carousel, arrival only
	Times        EndpointTimes `json:"times"`
	BestTimeUTC  Time          `json:"bestTimeUtc,omitempty"`
	DelayMinutes *int          `json:"delayMinutes,omitempty"` // of the gate; negative when early
}

// StatusInfo says where the leg stands.
type StatusInfo struct {
	Code                      string `json:"code"` // S, A, L, C, D, R, U or NO
	Label                     string `json:"label"`
	Description               string `json:"description,omitempty"`
	Color                     string `json:"color,omitempty"` // green, yellow, orange, red or gray, for a board
	Phase                     Phase  `json:"phase"`
	Delayed                   bool   `json:"delayed"`
	Cancelled                 bool   `json:"cancelled"`
	Diverted                  bool   `json:"diverted"`
	DepartureGateDelayMinutes *int   `json:"departureGateDelayMinutes,omitempty"`
	ArrivalGateDelayMinutes   *int   `json:"arrivalGateDelayMinutes,omitempty"`
}

// EquipmentInfo is the aircraft.
type EquipmentInfo struct {
	TailNumber string `json:"tailNumber,omitempty"`
	IATA       string `json:"iata,omitempty"` // aircraft type code
	Name       string `json:"name,omitempty"`
	Source     string `json:"source,omitempty"` // "actual" or "scheduled"
}

// DurationInfo is gate to gate, in minutes.
type DurationInfo struct {
	ScheduledMinutes *int `json:"scheduledMinutes,omitempty"`
	EstimatedMinutes *int `json:"estimatedMinutes,omitempty"`
	ActualMinutes    *int `json:"actualMinutes,omitempty"`
}

// TimelineEntry is one entry of the upstream's change history.
type TimelineEntry struct {
	OccurredAt Time     `json:"occurredAt"`
	Title      string   `json:"title"`
	Source     string   `json:"source,omitempty"`
	Events     []string `json:"events"` // what changed, in words
}

// LegRef names one leg of a flight number on a date.
type LegRef struct {
	ProviderFlightID        string `json:"providerFlightId,omitempty"` // usable as the flightId selector
	Carrier                 string `json:"carrier,omitempty"`
	DepartureIATA           string `json:"departureIata"`
	ArrivalIATA             string `json:"arrivalIata"`
	ScheduledDepartureLocal string `json:"scheduledDepartureLocal,omitempty"` // HH:MM
	ScheduledArrivalLocal   string `json:"scheduledArrivalLocal,omitempty"`   // HH:MM
	Selected                bool   `json:"selected"`                          // the leg that the snapshot describes
}

// Phase is where a leg is between its schedule and its gate.
type Phase string

// The phases of the contract.
const (
	PhaseScheduled  Phase = "scheduled"
	PhaseBoarding   Phase = "boarding"
	PhaseDeparted   Phase = "departed"
	PhaseEnRoute    Phase = "en_route"
	PhaseLanded     Phase = "landed"
	PhaseArrived    Phase = "arrived"
	PhaseCancelled  Phase = "cancelled"
	PhaseDiverted   Phase = "diverted"
	PhaseRedirected Phase = "redirected"
	PhaseUnknown    Phase = "unknown"
)

// Phases lists every phase.
var Phases = []Phase{
	PhaseScheduled, PhaseBoarding, PhaseDeparted, PhaseEnRoute, PhaseLanded,
	PhaseArrived, PhaseCancelled, PhaseDiverted, PhaseRedirected, PhaseUnknown,
}

// InAir reports whether a leg in this phase has left its gate and not landed.
func (p Phase) InAir() bool {
	return p == PhaseDeparted || p == PhaseEnRoute || p == PhaseRedirected
}

// Status codes of the contract, which are the upstream's.
const (
	StatusScheduled      = "S"
	StatusActive         = "A"
	StatusLanded         = "L"
	StatusCancelled      = "C"
	StatusDiverted       = "D"
	StatusRedirected     = "R"
	StatusUnknown        = "U"
	StatusNotOperational = "NO"
)
