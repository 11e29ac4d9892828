package simulator

import (
	"strconv"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// airportCodes are the airports of the world: the big ones of each region.
var airportCodes = strings.Fields(`
	ATL BOS CLT DEN DFW DTW EWR IAD IAH JFK LAS LAX MCO MDW MIA MSP MSY ORD PDX PHL PHX SAN SEA SFO SLC
	YUL YVR YYC YYZ MEX CUN GDL PTY BOG LIM SCL EZE GRU GIG UIO
	AMS ARN ATH BCN BRU BUD CDG CPH DUB DUS FCO FRA GVA HAM HEL IST LHR LIS MAD MAN MUC MXP NCE OPO ORY
	OSL PRG STN VIE WAW ZRH KEF
	AUH BOM CAI DEL DOH DXB JED RUH TLV ADD JNB CPT LOS ACC NBO CMN
	BKK CAN CGK HKG HND ICN KUL MNL NRT PEK PVG SGN SIN TPE AKL BNE MEL PER SYD`)

// The minute flight's airports keep UTC all year.
const minuteOrigin, minuteDestination = "KEF", "RKV"

// port is an airport of the world.
type port struct {
	places.Airport
	ref flight.AirportRef
	loc *time.Location
}

func portsOf(flagBase string) map[string]*port {
	ports := make(map[string]*port, len(airportCodes)+1)
	for _, code := range append([]string{minuteDestination}, airportCodes...) {
		a, ok := places.FindAirport(code)
		if !ok { // a test keeps the list true
			panic("simulator: there is no airport " + code)
		}
		loc, err := places.Location(a.Timezone)
		if err != nil { // no zones on this machine nor in the binary
			loc = time.UTC
		}
		ports[code] = &port{a, a.Ref(flagBase), loc}
	}
	return ports
}

func (a *port) km(b *port) float64 { return places.GreatCircleKm(a.Airport, b.Airport) }

// time returns t on the clocks of the airport.
func (a *port) time(t flight.Time) *flight.FlightTime { return places.FlightTime(t.Std(), a.Timezone) }

// clock writes t as the clocks of the airport show it.
func (a *port) clock(t flight.Time) string {
	return t.Std().In(a.loc).Format("15:04 MST")
}

// bases are where the known carriers fly from; of others the dice decide.
var bases = map[string]string{
	"AA": "DFW CLT ORD MIA PHL JFK PHX", "DL": "ATL DTW MSP SLC JFK SEA", "UA": "ORD DEN IAH EWR SFO IAD",
	"WN": "MDW LAS DEN PHX", "B6": "JFK BOS MCO", "AS": "SEA PDX SFO", "NK": "MCO LAS", "F9": "DEN MCO", "HA": "LAX",
	"AC": "YYZ YUL YVR", "WS": "YYC YYZ", "AM": "MEX", "CM": "PTY", "AV": "BOG", "LA": "SCL GRU LIM", "AR": "EZE", "G3": "GRU GIG",
	"BA": "LHR", "VS": "LHR MAN", "U2": "MXP GVA NCE", "FR": "DUB STN", "EI": "DUB", "LH": "FRA MUC", "EW": "DUS HAM",
	"LX": "ZRH GVA", "OS": "VIE", "SN": "BRU", "AF": "CDG ORY", "KL": "AMS", "IB": "MAD", "VY": "BCN", "TP": "LIS OPO",
	"AZ": "FCO", "SK": "CPH ARN OSL", "AY": "HEL", "DY": "OSL CPH", "LO": "WAW", "A3": "ATH", "TK": "IST", "FI": "KEF", "W6": "BUD WAW",
	"EK": "DXB", "QR": "DOH", "EY": "AUH", "SV": "JED RUH", "LY": "TLV", "MS": "CAI", "ET": "ADD", "KQ": "NBO", "SA": "JNB CPT", "AT": "CMN",
	"AI": "DEL BOM", "6E": "DEL BOM", "SQ": "SIN", "MH": "KUL", "TG": "BKK", "GA": "CGK", "VN": "SGN", "PR": "MNL", "CX": "HKG",
	"CI": "TPE", "BR": "TPE", "CZ": "CAN", "MU": "PVG", "CA": "PEK", "JL": "HND NRT", "NH": "HND NRT", "KE": "ICN", "OZ": "ICN",
	"QF": "SYD MEL BNE PER", "VA": "SYD BNE MEL", "NZ": "AKL",
}

// alliances are who sells whose flights.
var alliances = [][]string{
	strings.Fields("UA LH AC NH SQ TP LX OS SN TK ET CA AI AV CM LO A3 NZ MS SA BR TG OZ"),
	strings.Fields("AA BA IB AY JL QR QF CX MH AS AT"),
	strings.Fields("DL AF KL KE AM AR MU VS SV VN KQ CI GA"),
}

// aircraft is a type of aeroplane.
type aircraft struct{ iata, name string }

// fleets are the types by the distance that they are used for.
var fleets = []struct {
	upTo  float64 // kilometres
	types []aircraft
}{
	{700, []aircraft{{"AT7", "ATR 72"}, {"E75", "Embraer 175"}, {"CR9", "Canadair Regional Jet 900"}}},
	{4500, []aircraft{{"320", "Airbus A320"}, {"321", "Airbus A321"}, {"738", "Boeing 737-800"}, {"7M8", "Boeing 737 MAX 8"}, {"223", "Airbus A220-300"}}},
	{20100, []aircraft{{"789", "Boeing 787-9"}, {"359", "Airbus A350-900"}, {"333", "Airbus A330-300"}, {"77W", "Boeing 777-300ER"}}},
}

func fleetFor(km float64) []aircraft {
	for _, f := range fleets {
		if km <= f.upTo {
			return f.types
		}
	}
	return fleets[len(fleets)-1].types
}

// marks are the letters that registrations of a country begin with, each
// followed by as many letters as the number says.
var marks = map[string]struct {
	prefix  string
	letters int
}{
	"AE": {"A6-E", 2}, "AR": {"LV-", 3}, "AT": {"OE-L", 2}, "AU": {"VH-", 3}, "BE": {"OO-S", 2}, "BR": {"PR-", 3}, "CA": {"C-F", 3},
	"CH": {"HB-J", 2}, "DE": {"D-A", 3}, "DK": {"OY-K", 2}, "ES": {"EC-M", 2}, "FI": {"OH-L", 2}, "FR": {"F-G", 3}, "GB": {"G-", 4},
	"GR": {"SX-D", 2}, "IE": {"EI-", 3}, "IN": {"VT-", 3}, "IS": {"TF-", 3}, "IT": {"EI-I", 2}, "MX": {"XA-", 3}, "NL": {"PH-B", 2},
	"NO": {"LN-", 3}, "NZ": {"ZK-", 3}, "PL": {"SP-L", 2}, "PT": {"CS-T", 2}, "QA": {"A7-", 3}, "SE": {"SE-R", 2}, "SG": {"9V-S", 2},
	"TR": {"TC-J", 2}, "ZA": {"ZS-", 3},
}

// tailAt returns a registration of the country of base.
func tailAt(d *dice, base *port) string {
	m, ok := marks[base.Country]
	if !ok {
		return "N" + strconv.Itoa(d.between(100, 999)) + letters(d, 2)
	}
	return m.prefix + letters(d, m.letters)
}

// letters leaves out I and O, as registrations do.
func letters(d *dice, n int) string {
	const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[d.n(len(alphabet))]
	}
	return string(b)
}
