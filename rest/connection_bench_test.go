package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/graph"
)

const benchConnection = `query($first: Int, $after: String, $last: Int, $before: String, $order: FlightSubscriptionOrder!, $filter: FlightSubscriptionFilter) {
	subscriptionsConnection(first: $first, after: $after, last: $last, before: $before, orderBy: $order, filter: $filter) {
		totalCount edges { cursor node { id status flightKey date createdAt } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`

type benchPage struct {
	TotalCount int
	Edges      []struct{ Cursor string }
	PageInfo   struct {
		HasNextPage, HasPreviousPage bool
		StartCursor, EndCursor       string
	}
}

// benchConnections measures pages of 50 of the same subscriptions as a
// connection, with their count, in every order.
func (r *rig) benchConnections(t *testing.T) {
	h := graph.NewHandler(r.resolver, graph.HandlerConfig{Auth: r.guard})
	ask := func(variables fields) (page benchPage, took time.Duration) {
		body, err := json.Marshal(map[string]any{"query": benchConnection, "variables": variables})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest("POST", "/graphql", bytes.NewReader(body))
		req.Header.Set("X-Api-Key", r.key)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		start := time.Now()
		h.ServeHTTP(w, req)
		took = time.Since(start)
		var answer struct {
			Data struct{ SubscriptionsConnection *benchPage }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Data.SubscriptionsConnection == nil {
			t.Fatalf("%v %.300s", err, w.Body)
		}
		return *answer.Data.SubscriptionsConnection, took
	}
	for _, order := range []string{"CREATED_AT_DESC", "FLIGHT_DATE_ASC"} {
		all := fields{"order": order}
		page, _ := ask(all.with("first", 200))
		for range benchList/400 - 1 { // to the middle
			page, _ = ask(all.with("first", 200, "after", page.PageInfo.EndCursor))
		}
		middle := page.PageInfo.EndCursor
		some := all.with("filter", fields{"statuses": []string{"ACTIVE", "SUSPENDED"}})
		for _, c := range []struct {
			name      string
			variables fields
		}{
			{"first page", all.with("first", 50)},
			{"last page", all.with("last", 50)},
			{"middle page", all.with("first", 50, "after", middle)},
			{"middle page backward", all.with("last", 50, "before", middle)},
			{"first page of two statuses", some.with("first", 50)},
			{"middle page of two statuses", some.with("first", 50, "after", middle)},
			{"first page of a week", all.with("first", 50, "filter", fields{"dateFrom": benchDate(7), "dateTo": benchDate(13)})},
			{"first page of a flight", all.with("first", 50, "filter", fields{"carrier": "AA", "flightNumber": "100", "dateFrom": benchDate(7), "dateTo": benchDate(7)})},
			{"first page of a status that none has", all.with("first", 50, "filter", fields{"statuses": []string{"PAUSED"}})},
		} {
			var times []float64
			for range 51 {
				_, took := ask(c.variables)
				times = append(times, float64(took.Microseconds())/1000)
			}
			slices.Sort(times)
			t.Logf("connection, 50 of %d, %s, %s, %s: median %.1f ms, slowest of %d %.1f ms", benchList, r.Name, order, c.name, times[len(times)/2], len(times), times[len(times)-1])
		}
	}
}
