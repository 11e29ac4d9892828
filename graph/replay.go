package graph

import (
	"context"
	"strings"

	"github.com/flightwire/flightwire/flight"
)

// ReplayInput says which events are to be sent again, as the caller wrote it.
type ReplayInput struct {
	Since         string // a time; empty: After says it
	After         string // id of an event; empty: Since says it
	IncludeFailed bool
	Faults        flight.Invalid // as in [LegInput]
}

// RedeliverEvent sends an event again, under its id and with its body; on one
// that waits already it changes nothing. Errors: CodeSubscriptionMissing,
// CodeEventMissing, CodeInvalidState while nothing is sent to the subscription,
// CodeEventGone when what it carried is not kept any more.
func (m *mutations) RedeliverEvent(ctx context.Context, id string, eventID string) (*flight.SentEvent, error) {
	acc, err := accountFor(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := checkEventID(eventID); err != nil {
		return nil, err
	}
	sent, err := m.r.cfg.DB.RedeliverEvent(ctx, acc, id, eventID)
	if err != nil {
		return nil, err
	}
	m.deliver(ctx)
	return sent, nil
}

// ReplayEvents sends again what a subscription missed since a time or after an
// event, in the order in which it was recorded. Errors: CodeInvalid,
// CodeSubscriptionMissing, CodeEventMissing when input names no event of it,
// CodeInvalidState while nothing is sent to it.
func (m *mutations) ReplayEvents(ctx context.Context, id string, input ReplayInput) (*flight.Replayed, error) {
	acc, err := account(ctx)
	if err != nil {
		return nil, err
	}
	var v flight.Invalid
	from := parseReplay(&v, input)
	if err := faults(input.Faults, v); err != nil {
		return nil, err
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	if from.After != "" {
		if err := checkEventID(from.After); err != nil {
			return nil, err
		}
	}
	got, err := m.r.cfg.DB.ReplayEvents(ctx, acc, id, from, flight.MaxReplay)
	if got.Count > 0 {
		m.deliver(ctx) // also when it broke off
	}
	if err != nil {
		return nil, err
	}
	return &got, nil
}

// parseReplay reads which events are to be sent again. It records every fault
// in v.
func parseReplay(v *flight.Invalid, in ReplayInput) flight.Replay {
	out := flight.Replay{After: in.After, IncludeFailed: in.IncludeFailed}
	switch {
	case in.Since == "" && in.After == "":
		v.Add("since", "must be given, or after")
	case in.Since != "" && in.After != "":
		v.Add("after", "must be left out where since is given")
	}
	if in.Since != "" && out.Since.UnmarshalGQL(in.Since) != nil {
		v.Add("since", "must be a time in ISO 8601 with an offset or Z, such as 2026-11-21T20:00:00Z")
	}
	return out
}

// checkEventID refuses what cannot be an event's id, which need not be looked
// for. CodeEventMissing.
func checkEventID(id string) error {
	if wellFormed("evt_", id) {
		return nil
	}
	return flight.Errorf(flight.CodeEventMissing, "There is no event %.64q of this subscription, or none any more.", strings.ToValidUTF8(id, "?"))
}
