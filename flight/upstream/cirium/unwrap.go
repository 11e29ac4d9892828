package cirium

import (
	"bytes"
	"encoding/json"
	"slices"
)

// lists are the fields that are arrays. Some of the provider's services wrap
// them in an object of one member.
var lists = []string{
	"airlines", "airports", "equipments", "flightStatuses", "codeshares",
	"flightStatusUpdates", "updatedTextFields", "updatedDateFields", "irregularOperations",
}

// unwrap returns a body with its arrays out of their wrappings, and with empty
// ones where they are null. It is for bodies that cannot be read otherwise.
func unwrap(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var whole any
	if d.Decode(&whole) != nil {
		return body
	}
	open(whole)
	plain, err := json.Marshal(whole)
	if err != nil {
		return body
	}
	return plain
}

func open(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			open(item)
		}
	case map[string]any:
		for name, item := range v {
			if slices.Contains(lists, name) {
				item = array(item)
				v[name] = item
			}
			open(item)
		}
	}
}

// array returns what is in the place of an array as one, else as it is.
func array(v any) any {
	switch w := v.(type) {
	case nil:
		return []any{}
	case map[string]any:
		if len(w) == 1 {
			for _, inner := range w {
				return inner
			}
		}
	}
	return v
}
