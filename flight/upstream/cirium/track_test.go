package cirium

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// byID is the answer to a question by id: the first record of an answer by
// flight.
func byID(t *testing.T, body []byte) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	whole["flightStatus"] = whole["flightStatuses"].([]any)[0]
	delete(whole, "flightStatuses")
	body, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A leg that the airline gives another number, or another day, is still the leg
// of the flight that it was found as; its new number is one of its codeshares.
func TestLegKeepsItsIdentity(t *testing.T) {
	renumbered := func(rec map[string]any) { rec["flightNumber"] = "9170" }
	otherDay := func(rec map[string]any) {
		moved := map[string]any{"dateLocal": "2026-07-04T10:00:00.000", "dateUtc": "2026-07-04T08:00:00.000Z"}
		rec["departureDate"] = moved
		rec["operationalTimes"].(map[string]any)["publishedDeparture"] = moved
	}
	otherCarrier := func(rec map[string]any) {
		rec["carrierFsCode"], rec["primaryCarrierFsCode"], rec["flightNumber"] = "CL", "CL", "12"
	}
	key := flight.Key{Carrier: "LH", Number: "9999", Date: "2026-07-01"}
	for name, c := range map[string]struct {
		edit func(map[string]any)
		sold []flight.CodeshareRef
	}{
		"as it was":        {func(map[string]any) {}, nil},
		"another number":   {renumbered, []flight.CodeshareRef{{Carrier: "LH", Name: "Lufthansa", FlightNumber: "9170"}}},
		"another day":      {otherDay, nil},
		"another operator": {otherCarrier, []flight.CodeshareRef{{Carrier: "CL", Name: "Lufthansa CityLine", FlightNumber: "12"}}},
	} {
		t.Run(name, func(t *testing.T) {
			body := edit(t, fixture(t, "synthetic_not_operational.json"), c.edit)
			var id string
			asked := make(chan string, 1)
			s := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.RequestURI
				_, _ = w.Write(byID(t, body))
			})
			edit(t, body, func(rec map[string]any) { id = string(idOf(t, rec)) })
			leg, err := s.Leg(t.Context(), key, id, worldNow)
			if err != nil {
				t.Fatal(err)
			}
			if want := "/flex/flightstatus/rest/v2/json/flight/status/" + id + "?extendedOptions=" + options; <-asked != want {
				t.Errorf("did not ask for %s", want)
			}
			if leg.Key() != key || leg.Carrier.Name != "Lufthansa" || leg.ProviderFlightID != id || leg.FetchedAt != worldNow {
				t.Errorf("%s %+v, id %s", leg.Key(), leg.Carrier, leg.ProviderFlightID)
			}
			if !slices.Equal(leg.Codeshares, c.sold) {
				t.Errorf("sold as %v, want %v", leg.Codeshares, c.sold)
			}
			if len(leg.Alternates) != 1 || !leg.Alternates[0].Selected || leg.Fingerprint == "" {
				t.Errorf("not completed: %+v", leg)
			}
		})
	}
}

func idOf(t *testing.T, rec map[string]any) text {
	t.Helper()
	b, err := json.Marshal(rec["flightId"])
	if err != nil {
		t.Fatal(err)
	}
	var id text
	if err := id.UnmarshalJSON(b); err != nil || id == "" {
		t.Fatal(err, "no id")
	}
	return id
}

func TestLegRefusals(t *testing.T) {
	key := flight.Key{Carrier: "LH", Number: "9999", Date: "2026-07-01"}
	other := byID(t, fixture(t, "synthetic_not_operational.json"))
	for name, c := range map[string]struct {
		status int
		body   []byte
		code   flight.Code
	}{
		"not known any more": {404, []byte(`{"error":{"httpStatusCode":404,"errorCode":"NOT_FOUND"}}`), flight.CodeFlightNotFound},
		"nothing":            {200, fixture(t, "synthetic_empty.json"), flight.CodeFlightNotFound},
		"another flight":     {200, other, flight.CodeUpstream},
		"down":               {503, nil, flight.CodeUpstreamUnavailable},
		"no JSON":            {200, []byte(`no`), flight.CodeUpstream},
	} {
		leg, err := serve(t, c.status, c.body).Leg(t.Context(), key, "1", worldNow)
		if leg != nil || flight.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
