package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// text writes a string as gqlgen does, except that "", which means unknown in
// the domain, is null where the schema allows null.
type text string

// MarshalString writes the scalar String.
func MarshalString(s string) graphql.ContextMarshaler { return text(s) }

// MarshalGQLContext implements graphql.ContextMarshaler.
func (s text) MarshalGQLContext(ctx context.Context, w io.Writer) error {
	if s == "" && nullable(ctx) {
		_, err := io.WriteString(w, "null")
		return err
	}
	graphql.MarshalString(string(s)).MarshalGQL(w)
	return nil
}

// nullable reports whether the field that is being written, or the elements of
// its list, may be null.
func nullable(ctx context.Context) bool {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || fc.Field.Field == nil || fc.Field.Definition == nil {
		return false
	}
	t := fc.Field.Definition.Type
	for t.Elem != nil {
		t = t.Elem
	}
	return !t.NonNull
}

// UnmarshalString reads the scalar String; null is "". Other scalars are not
// made into strings.
func UnmarshalString(_ context.Context, v any) (string, error) { return stringOf(v) }

func stringOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", unfit("must be a string")
}

// unfit is the error for a value that a scalar does not take.
func unfit(message string) error {
	return &flight.Error{Code: flight.CodeInvalid, Message: "The value " + message + "."}
}

// MarshalInt writes the scalar Int.
func MarshalInt(v int) graphql.Marshaler { return graphql.MarshalInt(v) }

// UnmarshalInt reads the scalar Int, 32 bits wide.
func UnmarshalInt(v any) (int, error) {
	n, err := graphql.UnmarshalInt32(v)
	if err != nil {
		return 0, unfit("must be an integer of 32 bits")
	}
	return int(n), nil
}

// MarshalCount writes the scalar Count.
func MarshalCount(v int64) graphql.Marshaler { return graphql.MarshalInt64(v) }

// UnmarshalCount reads the scalar Count.
func UnmarshalCount(v any) (int64, error) {
	n, err := graphql.UnmarshalInt64(v)
	if err != nil {
		return 0, unfit("must be an integer")
	}
	return n, nil
}

// MarshalID writes the scalar ID.
func MarshalID(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalID reads the scalar ID.
func UnmarshalID(v any) (string, error) {
	s, err := graphql.UnmarshalID(v)
	if err != nil {
		return "", unfit("must be an id")
	}
	return s, nil
}

// MarshalDate writes the scalar Date.
func MarshalDate(s string) graphql.Marshaler {
	if s == "" {
		return graphql.Null
	}
	return graphql.MarshalString(s)
}

// UnmarshalDate reads the scalar Date. What is no date is refused together
// with the other faults of the input, by [flight.ParseKey].
func UnmarshalDate(v any) (string, error) { return stringOf(v) }

// MarshalMoment writes the scalar DateTime from its text.
func MarshalMoment(s string) graphql.Marshaler { return MarshalDate(s) }

// UnmarshalMoment reads the scalar DateTime where it is an input. What is no
// time is refused together with the other faults of the input.
func UnmarshalMoment(v any) (string, error) { return stringOf(v) }

// MarshalRawJSON writes the scalar JSON from its own bytes.
func MarshalRawJSON(v json.RawMessage) graphql.Marshaler {
	if len(v) == 0 {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(v) })
}

// UnmarshalRawJSON reads the scalar JSON; null is nil. By the time that
// GraphQL hands a value on, the order of its keys is gone: REST passes bytes.
func UnmarshalRawJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, unfit("must be a JSON value")
	}
	return b, nil
}

// MarshalStringMap writes the scalar JSON from an object of strings.
func MarshalStringMap(v map[string]string) graphql.Marshaler {
	if v == nil {
		return graphql.Null
	}
	return MarshalJSON(v)
}

// UnmarshalStringMap takes nothing. gqlgen wants it beside MarshalStringMap;
// what an object of strings is read by is in inputs.go, where its faults join
// the others.
func UnmarshalStringMap(any) (map[string]string, error) {
	return nil, unfit("is not read as an object of strings")
}

// MarshalJSON writes the scalar JSON from any value that encodes.
func MarshalJSON(v any) graphql.Marshaler {
	b, err := json.Marshal(v)
	if err != nil { // only decoded JSON, and what the domain puts into a change
		panic(fmt.Sprintf("graph: encode %T: %v", v, err))
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(b) })
}

// UnmarshalJSON reads the scalar JSON.
func UnmarshalJSON(v any) (any, error) { return v, nil }

// names maps the values of a domain type to GraphQL names and back: upper
// case, with an underscore for each dot.
type names[T ~string] struct {
	quoted map[T]string
	values map[string]T
}

func newNames[T ~string](values ...T) names[T] {
	n := names[T]{make(map[T]string, len(values)), make(map[string]T, len(values))}
	for _, v := range values {
		name := strings.ToUpper(strings.ReplaceAll(string(v), ".", "_"))
		n.quoted[v], n.values[name] = `"`+name+`"`, v
	}
	return n
}

func (n names[T]) marshal(v T) graphql.Marshaler {
	quoted, ok := n.quoted[v]
	if !ok {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, quoted) })
}

func (n names[T]) unmarshal(v any) (T, error) {
	if v == nil {
		return "", nil
	}
	s, _ := v.(string)
	value, ok := n.values[s]
	if !ok {
		return "", unfit("must be a value of the enum")
	}
	return value, nil
}

var (
	changeTypes = newNames(flight.ChangeTypes...)
	phases      = newNames(flight.Phases...)
	statuses    = newNames(flight.SubscriptionActive, flight.SubscriptionPending, flight.SubscriptionPaused,
		flight.SubscriptionCompleted, flight.SubscriptionSuspended)
	eventTypes         = newNames(flight.EventTypes...)
	eventStatuses      = newNames(flight.EventPending, flight.EventDelivered, flight.EventFailed, flight.EventMissed)
	subscriptionOrders = newNames(db.CreatedDescending, db.CreatedAscending, db.DateAscending, db.DateDescending)
	deliveryStatuses   = newNames(flight.DeliverySucceeded, flight.DeliveryRetrying, flight.DeliveryFailed, flight.DeliveryInterrupted)
)

// MarshalChangeType writes the enum ChangeType.
func MarshalChangeType(v flight.ChangeType) graphql.Marshaler { return changeTypes.marshal(v) }

// UnmarshalChangeType reads the enum ChangeType.
func UnmarshalChangeType(v any) (flight.ChangeType, error) { return changeTypes.unmarshal(v) }

// MarshalFlightPhase writes the enum FlightPhase.
func MarshalFlightPhase(v flight.Phase) graphql.Marshaler { return phases.marshal(v) }

// UnmarshalFlightPhase reads the enum FlightPhase.
func UnmarshalFlightPhase(v any) (flight.Phase, error) { return phases.unmarshal(v) }

// MarshalSubscriptionStatus writes the enum SubscriptionStatus.
func MarshalSubscriptionStatus(v flight.Status) graphql.Marshaler { return statuses.marshal(v) }

// UnmarshalSubscriptionStatus reads the enum SubscriptionStatus.
func UnmarshalSubscriptionStatus(v any) (flight.Status, error) { return statuses.unmarshal(v) }

// MarshalFlightSubscriptionOrder writes the enum FlightSubscriptionOrder.
func MarshalFlightSubscriptionOrder(v db.SubscriptionOrder) graphql.Marshaler {
	return subscriptionOrders.marshal(v)
}

// UnmarshalFlightSubscriptionOrder reads the enum FlightSubscriptionOrder.
func UnmarshalFlightSubscriptionOrder(v any) (db.SubscriptionOrder, error) {
	return subscriptionOrders.unmarshal(v)
}

// MarshalEventType writes the enum EventType.
func MarshalEventType(v flight.EventType) graphql.Marshaler { return eventTypes.marshal(v) }

// UnmarshalEventType reads the enum EventType.
func UnmarshalEventType(v any) (flight.EventType, error) { return eventTypes.unmarshal(v) }

// MarshalEventStatus writes the enum EventStatus.
func MarshalEventStatus(v flight.EventStatus) graphql.Marshaler { return eventStatuses.marshal(v) }

// UnmarshalEventStatus reads the enum EventStatus.
func UnmarshalEventStatus(v any) (flight.EventStatus, error) { return eventStatuses.unmarshal(v) }

// MarshalDeliveryStatus writes the enum DeliveryStatus.
func MarshalDeliveryStatus(v flight.DeliveryStatus) graphql.Marshaler {
	return deliveryStatuses.marshal(v)
}

// UnmarshalDeliveryStatus reads the enum DeliveryStatus.
func UnmarshalDeliveryStatus(v any) (flight.DeliveryStatus, error) {
	return deliveryStatuses.unmarshal(v)
}
