package graph

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
	"github.com/flightwire/flightwire/flight/webhook"
)

// maxPage is the longest page of subscriptions.
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
	n.WebhookURL = strings.TrimSpace(in.WebhookURL)
	if err := webhook.CheckURL(n.WebhookURL, r.cfg.AllowPrivateWebhooks); err != nil {
		v.Add("webhookUrl", "%s", err)
	}
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
		if *d < flight.MinDelayThreshold || *d > flight.MaxDelayThreshold {
			v.Add("delayThresholdMinutes", "must be %d to %d minutes", flight.MinDelayThreshold, flight.MaxDelayThreshold)
		}
	}
	n.Headers = in.Headers
	for _, f := range webhook.CheckHeaders(in.Headers, r.cfg.LegacyPrefix) {
		field := "headers"
		if f.Name != "" {
			field += "." + f.Name
		}
		v.Add(bounded(field), "%s", f.Message)
	}
	n.Metadata = parseMetadata(v, in.Metadata)
	return n
}

func parseEvents(v *flight.Invalid, events []flight.ChangeType) flight.ChangeSet {
	if events == nil {
		return flight.AllChanges
	}
	if len(events) == 0 {
		v.Add("events", "must name at least one change type; leave it out to be told of all")
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
	if limit < 1 || limit > maxPage {
		v.Add("limit", "must be 1 to %d", maxPage)
	}
}

// checkID refuses what cannot be a subscription's id, which need not be looked
// for. CodeSubscriptionMissing.
func checkID(id string) error {
	rest, ok := strings.CutPrefix(id, "sub_")
	if !ok || rest == "" || len(rest) > 64 || strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return flight.Errorf(flight.CodeSubscriptionMissing, "There is no subscription %.64q in this account.", strings.ToValidUTF8(id, "?"))
	}
	return nil
}
