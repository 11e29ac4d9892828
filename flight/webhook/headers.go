package webhook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a subscription's own headers: their number, and the bytes of
// all names and values together.
const (
	MaxHeaders     = 20
	MaxHeaderBytes = 4096
)

// Fault says what is wrong with one of a subscription's own headers. Name is
// the header's name as given, or "" for the headers as a whole.
type Fault struct {
	Name    string
	Message string
}

// CheckHeaders returns every fault of a subscription's own headers, sorted by
// name, those of the whole first; nil when there is none. Refused are more than
// [MaxHeaders] headers or [MaxHeaderBytes] bytes, names that are not HTTP
// tokens, that differ from another only in case or that the service sets
// itself, and values with control characters. An empty legacyPrefix reserves no
// legacy names.
func CheckHeaders(headers map[string]string, legacyPrefix string) []Fault {
	var faults []Fault
	size := 0
	seen := make(map[string]bool, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		size += len(name) + len(value)
		lower := strings.ToLower(name)
		switch {
		case !isToken(name):
			faults = append(faults, Fault{name, "is not a valid header name"})
		case isReserved(lower, legacyPrefix):
			faults = append(faults, Fault{name, "is set by the service and cannot be chosen"})
		case seen[lower]:
			faults = append(faults, Fault{name, "is there twice: header names do not depend on case"})
		case !isValue(value):
			faults = append(faults, Fault{name, "must be text without control characters"})
		}
		seen[lower] = true
	}
	if size > MaxHeaderBytes {
		faults = slices.Insert(faults, 0, Fault{"", fmt.Sprintf("must not exceed %d bytes in all, names and values together", MaxHeaderBytes)})
	}
	if len(headers) > MaxHeaders {
		faults = slices.Insert(faults, 0, Fault{"", fmt.Sprintf("must not be more than %d", MaxHeaders)})
	}
	return faults
}

// CheckLegacyPrefix returns nil for a prefix that makes valid header names, and
// for the empty one, which turns the legacy copies off: up to 64 lower-case
// letters, digits and hyphens. "service" is refused: it is the primary prefix.
func CheckLegacyPrefix(prefix string) error {
	if len(prefix) > 64 || strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return errors.New("the legacy prefix must be up to 64 lower-case letters, digits and hyphens")
	}
	if prefix == "service" {
		return errors.New("the legacy prefix must not be that of the primary headers, service")
	}
	return nil
}

// reserved are the names that the service, or HTTP itself, sets: what describes
// the body, and the hop-by-hop names.
var reserved = map[string]bool{
	"content-type": true, "content-length": true, "content-encoding": true,
	"host": true, "user-agent": true,
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "trailers": true,
	"transfer-encoding": true, "upgrade": true, "expect": true, "http2-settings": true,
}

// isReserved takes the name in lower case.
func isReserved(name, legacyPrefix string) bool {
	if reserved[name] || strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "proxy-") {
		return true
	}
	rest, ok := strings.CutPrefix(name, "x-")
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "service-") {
		return true
	}
	rest, ok = strings.CutPrefix(rest, strings.ToLower(legacyPrefix))
	return ok && legacyPrefix != "" && strings.HasPrefix(rest, "-")
}

// isToken says whether s is a token as in RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isValue says whether s may stand as a header's value: nothing in it can end
// the header.
func isValue(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
