package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// price is what a field costs: own, and times what is selected below it.
type price struct {
	own   int
	times int
	by    string // argument that says how often, instead of times
	or    string // another one that does
}

// prices lists the fields that cost something else than one, and one times what
// is selected below. A list that is not listed costs five times that.
var prices = map[string]price{
	"Query.flight":          {own: 50, times: 1}, // perhaps an upstream call
	"Query.flights":         {own: 10, by: "legs"},
	"FlightResult.flight":   {own: 50, times: 1}, // perhaps an upstream call, each
	"Query.subscription":    {own: 10, times: 1},
	"Query.subscriptions":   {own: 20, by: "limit"},
	"SubscriptionPage.data": {own: 1, times: 1}, // the limit has been reckoned

	"Query.subscriptionsConnection":           {own: 20, by: "first", or: "last"},
	"FlightSubscription.deliveriesConnection": {own: 20, by: "first", or: "last"},
	"FlightSubscription.eventsConnection":     {own: 20, by: "first", or: "last"},
	"FlightSubscriptionConnection.edges":      {own: 1, times: 1}, // first or last has been reckoned
	"DeliveryConnection.edges":                {own: 1, times: 1},
	"SentEventConnection.edges":               {own: 1, times: 1},

	"Query.countries":               {own: 10, times: 249},
	"Query.country":                 {own: 10, times: 1},
	"Mutation.createSubscription":   {own: 100, times: 1},
	"Mutation.updateSubscription":   {own: 50, times: 1},
	"Mutation.deleteSubscription":   {own: 50, times: 1},
	"Mutation.pauseSubscription":    {own: 50, times: 1},
	"Mutation.resumeSubscription":   {own: 50, times: 1},
	"Mutation.testSubscription":     {own: 50, times: 1},
	"Mutation.redeliverEvent":       {own: 50, times: 1},
	"Mutation.replayEvents":         {own: 100, times: 1},
	"Mutation.revealSecret":         {own: 50, times: 1},
	"Mutation.rotateSecret":         {own: 50, times: 1},
	"FlightSubscription.deliveries": {own: 20, by: "limit"},
	"FlightSubscription.eventLog":   {own: 20, by: "limit"},
	"DeliveryLog.data":              {own: 1, times: 1}, // the limit has been reckoned
	"EventLog.data":                 {own: 1, times: 1},
	"Mutation.createKey":            {own: 50, times: 1},
	"Mutation.rotateKey":            {own: 50, times: 1},
	"Mutation.revokeKey":            {own: 50, times: 1},
	"Query.account":                 {own: 10, times: 1},
	"Account.keys":                  {own: 20, times: 50},
	"Account.usage":                 {own: 20, times: 1},
	"Account.auditLog":              {own: 20, by: "limit"},
	"AccountUsage.days":             {own: 1, times: 31},
	"AccountUsage.keys":             {own: 1, times: 50},
	"Subscription.flightChanged":    {own: 50, times: 1},
	"FlightSnapshot.timeline":       {own: 1, times: 20},
	"FlightSnapshot.alternates":     {own: 1, times: 3},
	"FlightSnapshot.history":        {own: 20, by: "first"},
	"FlightHistoryConnection.edges": {own: 1, times: 1}, // first has been reckoned
	"Query.__schema":                {own: 100, times: 1},
	"__Schema.types":                {own: 1, times: 10}, // many, but mostly small
	"__Type.inputFields":            {own: 1, times: 2},
	"__Type.interfaces":             {own: 1, times: 2},
	"__Type.possibleTypes":          {own: 1, times: 2},
	"__Type.enumValues":             {own: 1, times: 2},
	"__Field.args":                  {own: 1, times: 2},
	"__Directive.args":              {own: 1, times: 2},
}

const listTimes = 5

// costLimit refuses documents that cost more than max. Reckoning takes one
// look at each selection of the document, however its fragments are nested:
// each fragment is priced once.
type costLimit struct {
	max    int
	fields map[*ast.FieldDefinition]price
}

// newCostLimit prices every field of a schema.
func newCostLimit(schema *ast.Schema, max int) *costLimit {
	c := &costLimit{max: max, fields: make(map[*ast.FieldDefinition]price)}
	for _, t := range schema.Types {
		for _, f := range t.Fields {
			p, listed := prices[t.Name+"."+f.Name]
			if !listed {
				p = price{own: 1, times: 1}
				if f.Type.Elem != nil {
					p.times = listTimes
				}
			}
			c.fields[f] = p
		}
	}
	return c
}

// ExtensionName implements graphql.HandlerExtension.
func (*costLimit) ExtensionName() string { return "CostLimit" }

// Validate implements graphql.HandlerExtension.
func (*costLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (c *costLimit) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	r := reckoning{fields: c.fields, variables: op.Variables, fragments: make(map[*ast.FragmentDefinition]int)}
	cost := r.selections(op.Operation.SelectionSet)
	if cost <= c.max {
		return nil
	}
	return &gqlerror.Error{
		Message:    fmt.Sprintf("The operation costs more than the limit of %d. Ask for less, or in several requests.", c.max),
		Extensions: map[string]any{"code": "COST_LIMIT_EXCEEDED", "cost": cost, "limit": c.max},
	}
}

// reckoning is the pricing of one operation.
type reckoning struct {
	fields    map[*ast.FieldDefinition]price
	variables map[string]any
	fragments map[*ast.FragmentDefinition]int
}

func (r *reckoning) selections(set ast.SelectionSet) int {
	sum := 0
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			sum = plus(sum, r.field(s))
		case *ast.InlineFragment:
			sum = plus(sum, r.selections(s.SelectionSet))
		case *ast.FragmentSpread:
			cost, done := r.fragments[s.Definition]
			if !done {
				cost = r.selections(s.Definition.SelectionSet) // a cycle does not pass the validator
				r.fragments[s.Definition] = cost
			}
			sum = plus(sum, cost)
		}
	}
	return sum
}

func (r *reckoning) field(f *ast.Field) int {
	p, known := r.fields[f.Definition]
	if !known { // __typename, __schema and __type belong to no type of the schema
		if p, known = prices["Query."+f.Name]; !known {
			p = price{own: 1, times: 1}
		}
	}
	if p.by != "" {
		p.times = r.argument(f, p)
	}
	return plus(p.own, times(p.times, r.selections(f.SelectionSet)))
}

// argument returns what the arguments of a price say, between one and the
// longest page: what is out of range is refused later.
func (r *reckoning) argument(f *ast.Field, p price) int {
	arguments := f.ArgumentMap(r.variables)
	n := number(arguments[p.by])
	if p.or != "" {
		n = max(n, number(arguments[p.or]))
		if arguments[p.by] == nil && arguments[p.or] == nil {
			n = defaultPage
		}
	}
	return min(max(n, 1), maxPage)
}

// number is an Int argument, or how many a list has.
func number(argument any) (n int) {
	switch v := argument.(type) {
	case []any:
		n = len(v)
	case []map[string]any:
		n = len(v)
	case int:
		n = v
	case int64:
		n = int(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			n = int(i)
		}
	}
	return n
}

// plus and times stop at the greatest integer. Their operands are not negative.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func times(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}
