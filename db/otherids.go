package db

import (
	"encoding/json"
	"maps"
	"slices"
)

// otherIDs are the ids by which upstreams know a leg that another answers for
// now: a JSON object by upstream, empty for none.
type otherIDs string

func (o otherIDs) all() map[string]string {
	ids := map[string]string{}
	if o != "" {
		_ = json.Unmarshal([]byte(o), &ids) // we wrote it
	}
	return ids
}

// list returns the ids in a fixed order.
func (o otherIDs) list() []string {
	if o == "" {
		return nil
	}
	return slices.Sorted(maps.Values(o.all()))
}

// idOf returns the id by which an upstream knows the leg; "" when it has none.
func (f *flightRow) idOf(source string) string {
	if f.Provider == source {
		return f.ProviderFlightID
	}
	return f.OtherIDs.all()[source]
}

// known notes which upstream answers for the leg, and by which id it knows it.
// The id of the one before stays beside it.
func (f *flightRow) known(source, id string) {
	if f.Provider != source {
		ids := f.OtherIDs.all()
		delete(ids, source)
		if f.Provider != "" && f.ProviderFlightID != "" {
			ids[f.Provider] = f.ProviderFlightID
		}
		f.OtherIDs = ""
		if len(ids) > 0 {
			f.OtherIDs = otherIDs(jsonText(ids))
		}
	}
	f.Provider, f.ProviderFlightID = source, id
}
