package flight_test

import (
	"testing"

	"github.com/flightwire/flightwire/flight"
)

// Every cell of statuses × event types.
func TestSends(t *testing.T) {
	tests := map[flight.EventType]bool{flight.EventTest: true}
	own := map[flight.EventType]bool{flight.EventTest: true, flight.EventSuspended: true}
	all := map[flight.EventType]bool{}
	for _, e := range flight.EventTypes {
		all[e] = true
	}
	for status, sent := range map[flight.Status]map[flight.EventType]bool{
		flight.SubscriptionActive: all, flight.SubscriptionPending: all, flight.SubscriptionCompleted: all,
		flight.SubscriptionPaused: tests, flight.SubscriptionSuspended: own,
	} {
		for _, e := range flight.EventTypes {
			err := status.Sends(e)
			switch {
			case sent[e] && err != nil:
				t.Errorf("%s to one that is %s: %v", e, status, err)
			case !sent[e] && (flight.CodeOf(err) != flight.CodeInvalidState || err.(*flight.Error).Status != status):
				t.Errorf("%s to one that is %s: %#v", e, status, err)
			}
		}
	}
}
