package rest

import (
	"net/http"

	"github.com/flightwire/flightwire/flight"
)

// Routes lists the interface as "METHOD path".
func Routes() []string {
	var list []string
	for _, rt := range routes {
		list = append(list, rt.method+" "+rt.path)
	}
	return list
}

// Codes lists the codes of failures with their statuses.
func Codes() map[string]int {
	codes := map[string]int{string(flight.CodeInternal): http.StatusInternalServerError}
	for code, status := range statuses {
		codes[string(code)] = status
	}
	return codes
}
