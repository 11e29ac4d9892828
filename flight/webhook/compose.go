package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// headerNames are the names of the six values of the contract, each under the
// primary prefix and, where there is one, the legacy prefix.
type headerNames struct{ eventID, eventType, subscriptionID, attempt, timestamp, signature []string }

func newHeaderNames(legacyPrefix string) headerNames {
	both := func(suffix string) []string {
		names := []string{"x-service-" + suffix}
		if legacyPrefix != "" {
			names = append(names, "x-"+legacyPrefix+"-"+suffix)
		}
		return names
	}
	return headerNames{
		eventID:        both("event-id"),
		eventType:      both("event-type"),
		subscriptionID: both("subscription-id"),
		attempt:        both("delivery-attempt"),
		timestamp:      both("timestamp"),
		signature:      both("signature"),
	}
}

// header composes the headers of an attempt, spelled as the contract spells
// them (HTTP/1 carries the case, though no receiver should care). A
// subscription's own header of a reserved name gives way to ours: it may have
// been stored before the legacy prefix was changed. A header that cannot be sent
// is an error.
func (s *Sender) header(r Request) (http.Header, error) {
	h := make(http.Header, 18+len(r.Headers))
	if err := s.addCustom(h, r.Headers); err != nil {
		return nil, err
	}
	unix := r.Now.Unix()
	timestamp := strconv.FormatInt(unix, 10)
	values := [...]struct {
		names []string
		value string
	}{
		{s.names.eventID, r.EventID},
		{s.names.eventType, r.EventType},
		{s.names.subscriptionID, r.SubscriptionID},
		{s.names.attempt, strconv.Itoa(r.Attempt)},
		{s.names.timestamp, timestamp},
		{s.names.signature, Sign(r.Secret, unix, r.Body)},
	}
	for _, v := range values {
		if !isValue(v.value) {
			return nil, fmt.Errorf("the value of %s cannot be sent", v.names[0])
		}
		one := []string{v.value}
		for _, name := range v.names {
			h[name] = one
		}
	}
	if signature := SignStandard(r.Secret, r.EventID, unix, r.Body); signature != "" {
		h["webhook-id"] = h[s.names.eventID[0]]
		h["webhook-timestamp"] = h[s.names.timestamp[0]]
		h["webhook-signature"] = []string{signature}
	}
	h["Content-Type"] = contentType
	h["User-Agent"] = s.userAgent
	return h, nil
}

var contentType = []string{"application/json"}

// addCustom adds a subscription's own headers, spelled as the customer did.
func (s *Sender) addCustom(h http.Header, headers map[string]string) error {
	for name, value := range headers {
		if !isToken(name) || !isValue(value) {
			return fmt.Errorf("the subscription's header %q cannot be sent", clean([]byte(name), 100))
		}
		switch lower := strings.ToLower(name); {
		case isReserved(lower, s.legacyPrefix):
		case lower == "idempotency-key", lower == "x-idempotency-key":
			// Spelled canonically, these make net/http send a request again
			// by itself: an attempt that no log would show.
			h[lower] = []string{value}
		default:
			h[name] = []string{value}
		}
	}
	return nil
}
