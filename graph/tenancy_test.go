package graph

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
)

// owned are the fields that take the id of something that an account owns,
// each with operations that use it; $id is the id. Operations that are wrong in
// other ways too must not tell the two ids apart either.
var owned = map[string][]string{
	"Query.subscription": {
		`query($id: ID!) { subscription(id: $id) { id secret webhookUrl } }`,
		`query($id: ID!) { subscription(id: $id) { deliveries { total data { id } } eventLog { total data { id } } } }`,
		`query($id: ID!) { subscription(id: $id) { deliveries(limit: 0) { total } } }`,
		`query($id: ID!) { subscription(id: $id) { deliveriesConnection { totalCount edges { node { id } } } eventsConnection(last: 5) { totalCount edges { node { id } } } } }`,
		`query($id: ID!) { subscription(id: $id) { eventsConnection(first: -1, after: "!") { totalCount } } }`,
	},
	"Mutation.updateSubscription": {
		`mutation($id: ID!) { updateSubscription(id: $id, input: {webhookUrl: "https://evil.example/", delayThresholdMinutes: 240, metadata: {a: 1}}) { id } }`,
		`mutation($id: ID!) { updateSubscription(id: $id, input: {delayThresholdMinutes: 0}) { id } }`,
		`mutation($id: ID!) { updateSubscription(id: $id, input: {}) { id } }`,
	},
	"Mutation.deleteSubscription": {`mutation($id: ID!) { deleteSubscription(id: $id) }`},
	"Mutation.pauseSubscription":  {`mutation($id: ID!) { pauseSubscription(id: $id) { id } }`},
	"Mutation.resumeSubscription": {`mutation($id: ID!) { resumeSubscription(id: $id) { id } }`},
	"Mutation.redeliverEvent": {
		`mutation($id: ID!) { redeliverEvent(id: $id, eventId: "EVENT") { id } }`, `mutation($id: ID!) { redeliverEvent(id: $id, eventId: "evt_0") { id } }`,
	},
	"Mutation.replayEvents": {
		`mutation($id: ID!) { replayEvents(id: $id, input: {since: "2020-01-01T00:00:00Z"}) { count } }`,
		`mutation($id: ID!) { replayEvents(id: $id, input: {after: "EVENT", includeFailed: true}) { count } }`,
		`mutation($id: ID!) { replayEvents(id: $id, input: {}) { count } }`,
	},
	"Mutation.testSubscription": {`mutation($id: ID!) { testSubscription(id: $id) { eventId } }`},
	"Mutation.revealSecret":     {`mutation($id: ID!) { revealSecret(id: $id) { secret } }`},
	"Mutation.rotateSecret":     {`mutation($id: ID!) { rotateSecret(id: $id) { secret } }`},
}

// tokens are the fields that take the id of a key, under an account token.
var tokens = map[string]string{
	"Mutation.rotateKey": "TestAnotherAccountsKey",
	"Mutation.revokeKey": "TestAnotherAccountsKey",
}

// everybodys are the arguments that look like ids and name what belongs to
// nobody.
var everybodys = map[string]string{
	"LegInput.flightId":                "an upstream's id of a leg",
	"CreateSubscriptionInput.flightId": "an upstream's id of a leg",
	"Subscription.flightChanged.after": "a place in the history of a leg; one of another leg is refused",
	"FlightSnapshot.history.after":     "a place in the history of a leg; one of another leg is refused",

	"Query.subscriptionsConnection.after":            "a place in the account's own list; one of another account's is refused (TestConnectionRefuses)",
	"Query.subscriptionsConnection.before":           "as after",
	"FlightSubscription.deliveriesConnection.after":  "a place in the log of a subscription that was read; one of another log is refused",
	"FlightSubscription.deliveriesConnection.before": "as after",
	"FlightSubscription.eventsConnection.after":      "a place in the log of a subscription that was read; one of another log is refused",
	"FlightSubscription.eventsConnection.before":     "as after",
}

// ownLists are the fields that list what an account owns, with operations that
// would find the other account's, and what they answer then.
var ownLists = map[string][]string{
	"Query.subscriptions": {
		`{ subscriptions { count total data { id secret } } }`,
		`{ subscriptions(filter: {status: ACTIVE}, limit: 200) { count total data { id } } }`,
		`{ subscriptions(filter: {carrier: "aal", flightNumber: "0100"}) { count total data { id } } }`,
		`{ subscriptions { count total data { id eventLog { data { id } } deliveries { data { id } } } } }`,
	},
	"Query.subscriptionsConnection": {
		`{ subscriptionsConnection { totalCount edges { cursor node { id secret } } } }`,
		`{ subscriptionsConnection(last: 200, orderBy: FLIGHT_DATE_ASC, filter: {statuses: [ACTIVE], carrier: "aal", flightNumber: "0100"}) { totalCount edges { node { id } } } }`,
		`{ subscriptionsConnection { totalCount edges { node { id eventsConnection { edges { node { id } } } deliveriesConnection { edges { node { id } } } } } } }`,
	},
}

// twoKeys is a Guard for tests: goodKey is of one account, rivalKey of another.
type twoKeys struct {
	keyring
	rival string
}

const rivalKey = "fw_rival_key"

func (k twoKeys) Authenticate(ctx context.Context, presented string) (access.Identity, error) {
	if presented == rivalKey {
		return access.Identity{Account: k.rival, KeyID: "rival", Plan: "unlimited"}, nil
	}
	return k.keyring.Authenticate(ctx, presented)
}

func (k twoKeys) Admit(ctx context.Context, presented string, _ int) (access.Identity, access.Quota, error) {
	id, err := k.Authenticate(ctx, presented)
	return id, access.Quota{}, err
}

// What is another account's is not there: its id is answered as one that does
// not exist, to the byte, over HTTP and over a websocket, and nothing happens
// to it.
func TestTenancy(t *testing.T) {
	eachMode(t, func(t *testing.T, g *rig) {
		who, _ := access.From(g.ctx)
		s := g.serve(func(c *HandlerConfig) { c.Auth = twoKeys{keyring{who.Account}, g.account("rival")} })
		theirs := g.create(newInput()).ID
		const none = "sub_00000000000000000000000000000000"
		s0, err := g.r.Query().Subscription(g.ctx, theirs)
		if err != nil {
			t.Fatal(err)
		}
		log, err := g.r.FlightSubscription().EventLog(g.ctx, s0, 1)
		if err != nil {
			t.Fatal(err)
		}
		event := log.Data[0].ID
		before := g.holdings(theirs)
		socket := dial(t, s)
		socket.send(`{"type":"connection_init","payload":{"x-api-key":"` + rivalKey + `"}}`)
		socket.want("", "connection_ack", "")
		for field, operations := range owned {
			for _, op := range operations {
				op = strings.Replace(op, "EVENT", event, 1)
				answers := map[string]string{}
				for _, id := range []string{theirs, none} {
					r := post(t, s.URL, op, map[string]any{"id": id}, "X-Api-Key", rivalKey)
					answers["HTTP "+id] = strings.ReplaceAll(r.body, id, "ID")
					if c := r.code(); c != "SUBSCRIPTION_NOT_FOUND" && c != "INVALID_REQUEST" {
						t.Errorf("%s: %s", field, r.body)
					}
					payload, err := json.Marshal(map[string]any{"query": op, "variables": map[string]any{"id": id}})
					if err != nil {
						t.Fatal(err)
					}
					socket.send(`{"id":"1","type":"subscribe","payload":` + string(payload) + `}`)
					answers["websocket "+id] = strings.ReplaceAll(string(socket.want("1", "next", "_").Payload), id, "ID")
					socket.want("1", "complete", "")
				}
				for _, over := range []string{"HTTP ", "websocket "} {
					if a, b := answers[over+theirs], answers[over+none]; a != b {
						t.Errorf("%sto %s: another account's id is answered with\n%s\none that does not exist with\n%s", over, op, a, b)
					}
				}
			}
		}
		for _, op := range slices.Concat(slices.Collect(maps.Values(ownLists))...) {
			r := post(t, s.URL, op, nil, "X-Api-Key", rivalKey)
			if !strings.HasSuffix(r.body, `{"count":0,"total":0,"data":[]}}}`) && !strings.HasSuffix(r.body, `{"totalCount":0,"edges":[]}}}`) {
				t.Errorf("%s shows %s", op, r.body)
			}
		}
		if after := g.holdings(theirs); after != before {
			t.Errorf("the owner had\n%s\nand has\n%s", before, after)
		}
	})
}

// holdings is all that the owner can see of a subscription.
func (g *rig) holdings(id string) string {
	g.t.Helper()
	s, err := g.r.Query().Subscription(g.ctx, id)
	if err != nil {
		g.t.Fatal(err)
	}
	secret, err := g.r.Mutation().RevealSecret(g.ctx, id)
	if err != nil {
		g.t.Fatal(err)
	}
	events, err := g.r.FlightSubscription().EventLog(g.ctx, s, 200)
	if err != nil {
		g.t.Fatal(err)
	}
	text, err := json.Marshal([]any{s, secret, events})
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// The logs of a subscription that another account has got hold of in Go are not
// shown either.
func TestLogsOfAnotherAccount(t *testing.T) {
	g := newRig(t, dbtest.Mode{DB: dbtest.SQLite(t), Redis: dbtest.EmbeddedRedis(t)}, nil)
	s := g.create(newInput())
	rival := access.With(t.Context(), access.Identity{Account: g.account("rival")})
	_, err := g.r.FlightSubscription().Deliveries(rival, s, 50)
	wantCode(t, err, "subscription_not_found")
	_, err = g.r.FlightSubscription().EventLog(rival, s, 50)
	wantCode(t, err, "subscription_not_found")
}

// Every field of the schema with an argument that is, or may be, an id is in
// the tables above, and so is every one of Query that gives a page.
func TestTenancyIsWhole(t *testing.T) {
	known := map[string]bool{}
	for _, d := range schema().Types {
		if d.BuiltIn || d.Kind != ast.Object {
			continue
		}
		for _, f := range d.Fields {
			name := d.Name + "." + f.Name
			known[name] = true
			for _, a := range f.Arguments {
				for _, path := range identifiers(name, a.Name, a.Type, nil) {
					if owned[name] == nil && tokens[name] == "" && everybodys[path] == "" {
						t.Errorf("%s takes the id %s, and nobody tries another account's", name, path)
					}
				}
			}
			lists := strings.HasSuffix(f.Type.Name(), "Page") || strings.HasSuffix(f.Type.Name(), "Connection")
			if d.Name == "Query" && lists && ownLists[name] == nil {
				t.Errorf("%s is a list, and nobody looks for another account's in it", name)
			}
		}
	}
	for name := range owned {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// identifiers returns the arguments, and the fields of arguments, that are of
// the type ID or have the name of one.
func identifiers(field, arg string, typ *ast.Type, seen []string) []string {
	d := schema().Types[typ.Name()]
	switch lower := strings.ToLower(arg); {
	case d.Kind == ast.InputObject && !slices.Contains(seen, d.Name):
		var all []string
		for _, f := range d.Fields {
			all = append(all, identifiers(d.Name, f.Name, f.Type, append(seen, d.Name))...)
		}
		return all
	case d.Name == "ID", strings.HasSuffix(lower, "id"), strings.HasSuffix(lower, "ids"), lower == "after", lower == "before", lower == "cursor":
		return []string{field + "." + arg}
	}
	return nil
}
