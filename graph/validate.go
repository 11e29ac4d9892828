package graph

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/webhook"
)

// maxPage is the longest page of subscriptions, and the most of a log.
const maxPage = 200

// faults returns the error that lists every fault of an input: those of its
// form, which the caller found, then those of its content, but none of a field
// whose form is wrong already. nil when there is none.
func faults(form, content flight.Invalid) error {
	malformed := make(map[string]bool, len(form))
	for _, f := range form {
		malformed[f.Field] = true
	}
	all := slices.Clip(form)
	for _, f := range content {
		if !malformed[f.Field] {
			all = append(all, f)
		}
	}
	return all.Err()
}

// parseLeg brings a leg into normal form. It records every fault in v.
func (r *Resolver) parseLeg(v *flight.Invalid, in LegInput) (flight.Key, flight.Selector) {
	key := flight.ParseKey(v, in.Carrier, in.FlightNumber, in.Date)
	sel := flight.ParseSelector(v, in.Origin, in.Destination, in.FlightID)
	flight.CheckAhead(v, key.Date, r.lookups.now())
	return canonical(key), sel
}

// canonical returns the key with the carrier's IATA code, so that both
// spellings are one flight.
func canonical(k flight.Key) flight.Key {
	if a, ok := places.FindAirline(k.Carrier); ok && a.IATA != "" {
		k.Carrier = a.IATA
	}
	return k
}

// parseSubscription brings the parts of a new subscription into the form in
// which they are stored. It records every fault in v.
func (r *Resolver) parseSubscription(v *flight.Invalid, in CreateSubscriptionInput) (n db.NewSubscription) {
	n.Key, n.Selector = r.parseLeg(v, in.LegInput)
	n.WebhookURL = r.parseURL(v, in.WebhookURL)
	n.Secret = in.Secret
	if n.Secret == "" {
		n.Secret = webhook.GenerateSecret()
	} else if err := webhook.CheckSecret(n.Secret); err != nil {
		v.Add("secret", "%s", err)
	}
	n.Events = parseEvents(v, in.Events)
	n.DelayThreshold = flight.DefaultDelayThreshold
	if d := in.DelayThresholdMinutes; d != nil {
		n.DelayThreshold = *d
		checkThreshold(v, *d)
	}
	n.Headers = in.Headers
	r.checkHeaders(v, in.Headers)
	n.Metadata = parseMetadata(v, in.Metadata)
	return n
}

// parseUpdate brings what a subscription is to be changed to into the form in
// which it is stored. It records every fault in v.
func (r *Resolver) parseUpdate(v *flight.Invalid, in UpdateSubscriptionInput) (u db.SubscriptionUpdate) {
	if in.WebhookURL != nil {
		url := r.parseURL(v, *in.WebhookURL)
		u.WebhookURL = &url
	}
	if in.Events != nil {
		set := parseEvents(v, in.Events)
		u.Events = &set
	}
	if u.DelayThreshold = in.DelayThresholdMinutes; u.DelayThreshold != nil {
		checkThreshold(v, *u.DelayThreshold)
	}
	if in.Headers != nil {
		u.Headers = &in.Headers
		r.checkHeaders(v, in.Headers)
	}
	if in.Metadata != nil {
		metadata := parseMetadata(v, in.Metadata)
		u.Metadata = &metadata
	}
	return u
}

func (r *Resolver) parseURL(v *flight.Invalid, raw string) string {
	url := strings.TrimSpace(raw)
	if err := webhook.CheckURL(url, r.cfg.AllowPrivateWebhooks); err != nil {
		v.Add("webhookUrl", "%s", err)
	}
	return url
}

func checkThreshold(v *flight.Invalid, minutes int) {
	if minutes < flight.MinDelayThreshold || minutes > flight.MaxDelayThreshold {
		v.Add("delayThresholdMinutes", "must be %d to %d minutes", flight.MinDelayThreshold, flight.MaxDelayThreshold)
	}
}

func (r *Resolver) checkHeaders(v *flight.Invalid, headers map[string]string) {
	for _, f := range webhook.CheckHeaders(headers, r.cfg.LegacyPrefix) {
		field := "headers"
		if f.Name != "" {
			field += "." + f.Name
		}
		v.Add(bounded(field), "%s", f.Message)
	}
}

// maxIdempotencyKey is how many bytes an idempotency key may have.
const maxIdempotencyKey = 255

// checkIdempotencyKey records a fault under the name of REST, where the key is
// at home.
func checkIdempotencyKey(v *flight.Invalid, key string) {
	if len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		v.Add("Idempotency-Key", "must be at most %d printable ASCII characters", maxIdempotencyKey)
	}
}

// digest returns the same text for creates that ask for the same: for one
// flight by any of its names, with what is left out as its default. secret is
// the client's own.
func digest(n db.NewSubscription, secret string) string {
	var metadata any
	d := json.NewDecoder(bytes.NewReader(n.Metadata))
	d.UseNumber()
	_ = d.Decode(&metadata) // it has been validated, or is empty
	headers := n.Headers
	if len(headers) == 0 {
		headers = nil
	}
	text, err := json.Marshal([]any{n.Key, n.Selector, n.WebhookURL, secret, n.Events, n.DelayThreshold, headers, metadata})
	if err != nil { // strings and numbers
		panic(fmt.Sprintf("graph: digest: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func parseEvents(v *flight.Invalid, events []flight.ChangeType) flight.ChangeSet {
	if events == nil {
		return flight.AllChanges
	}
	if len(events) == 0 {
		v.Add("events", "must name at least one change type")
	}
	var set flight.ChangeSet
	for _, e := range events {
		one, ok := flight.NewChangeSet(e)
		if !ok {
			v.Add("events", "%.64q is not a change type", string(e))
		}
		set |= one
	}
	return set
}

// parseMetadata takes an object of which every byte is kept.
func parseMetadata(v *flight.Invalid, raw json.RawMessage) json.RawMessage {
	text := bytes.TrimSpace(raw)
	switch {
	case len(text) == 0 || string(text) == "null":
		return nil
	case text[0] != '{' || !utf8.Valid(raw) || !json.Valid(raw):
		v.Add("metadata", "must be a JSON object")
	case len(raw) > flight.MaxMetadataBytes:
		v.Add("metadata", "must be at most %d bytes", flight.MaxMetadataBytes)
	}
	return raw
}

// parseFilter brings a filter into normal form. It records every fault in v.
func parseFilter(v *flight.Invalid, in *SubscriptionFilter) (out SubscriptionFilter) {
	if in == nil {
		return out
	}
	out.Faults = in.Faults
	// What is left out is checked as something that is right.
	or := func(s, instead string) string {
		if s == "" {
			return instead
		}
		return s
	}
	key := canonical(flight.ParseKey(v, or(in.Carrier, "AA"), or(in.FlightNumber, "1"), or(in.Date, "2000-01-01")))
	if in.Carrier != "" {
		out.Carrier = key.Carrier
	}
	if in.FlightNumber != "" {
		out.FlightNumber = key.Number
	}
	if in.Date != "" {
		out.Date = key.Date
	}
	if _, known := statuses.quoted[in.Status]; !known && in.Status != "" {
		v.Add("status", "must be active, pending, paused, completed or suspended")
	}
	out.Status = in.Status
	return out
}

func checkPage(v *flight.Invalid, offset, limit int) {
	if offset < 0 {
		v.Add("offset", "must not be negative")
	}
	checkLimit(v, limit)
}

func checkLimit(v *flight.Invalid, limit int) {
	if limit < 1 || limit > maxPage {
		v.Add("limit", "must be 1 to %d", maxPage)
	}
}

// checkID refuses what cannot be a subscription's id, which need not be looked
// for. CodeSubscriptionMissing.
func checkID(id string) error {
	if wellFormed("sub_", id) {
		return nil
	}
	return missing(id)
}

// wellFormed reports whether text may be an id with that prefix.
func wellFormed(prefix, text string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && rest != "" && len(rest) <= 64 && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func missing(id string) error {
	return flight.Errorf(flight.CodeSubscriptionMissing, "There is no subscription %.64q in this account.", strings.ToValidUTF8(id, "?"))
}
