package db_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// listed is a subscription as a test of lists knows it.
type listed struct {
	ID        string        `db:"id"`
	Status    flight.Status `db:"status"`
	Carrier   string        `db:"carrier"`
	Number    string        `db:"number"`
	Date      string        `db:"date"`
	CreatedAt db.Time       `db:"created_at"`
}

// matches is [db.SubscriptionsWhere] in other words.
func (l listed) matches(w db.SubscriptionsWhere) bool {
	return (len(w.Statuses) == 0 || slices.Contains(w.Statuses, l.Status)) && (w.Carrier == "" || w.Carrier == l.Carrier) &&
		(w.FlightNumber == "" || w.FlightNumber == l.Number) && w.DateFrom <= l.Date && (w.DateTo == "" || l.Date <= w.DateTo)
}

// inOrder compares two subscriptions in an order.
func inOrder(o db.SubscriptionOrder) func(a, b listed) int {
	return func(a, b listed) int {
		n := cmp.Or(a.CreatedAt.Std().Compare(b.CreatedAt.Std()), cmp.Compare(a.ID, b.ID))
		if o == db.DateAscending || o == db.DateDescending {
			n = cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID))
		}
		if o == db.CreatedDescending || o == db.DateDescending {
			n = -n
		}
		return n
	}
}

// manySubscriptions makes subscriptions of several flights and statuses, many of
// them at one moment.
func manySubscriptions(r *rig) {
	days := []string{"2026-11-21", "2026-11-22", "2026-11-23"}
	var ids []string
	for n, day := range days {
		k := flight.Key{Carrier: []string{"AA", "BA"}[n%2], Number: fmt.Sprint(100 + n%2), Date: day}
		ids = append(ids, r.accept(r.answer(k, legOf(k, "JFK", "LHR", fmt.Sprint(n)))).IDs[0])
	}
	for n := range 40 {
		day := n % len(days)
		s := r.found(ids[day], func(s *db.NewSubscription) {
			s.Key = flight.Key{Carrier: []string{"AA", "BA"}[day%2], Number: fmt.Sprint(100 + day%2), Date: days[day]}
		})
		if n%5 == 0 {
			r.pause(s.ID)
		}
		if n%3 > 0 {
			at := db.At(time.Date(2026, 11, 1, 0, 0, n%4, 0, time.UTC))
			if _, err := r.d.Poke(r.Context(), `UPDATE subscriptions SET created_at = $2 WHERE id = $1`, s.ID, at); err != nil {
				r.Fatal(err)
			}
		}
	}
	for range 3 {
		r.pending()
	}
}

func where() *rapid.Generator[db.SubscriptionsWhere] {
	return rapid.Custom(func(t *rapid.T) (w db.SubscriptionsWhere) {
		if rapid.Bool().Draw(t, "by status") {
			w.Statuses = rapid.SliceOfNDistinct(rapid.SampledFrom([]flight.Status{flight.SubscriptionActive, flight.SubscriptionPaused, flight.SubscriptionPending, flight.SubscriptionSuspended}), 1, 4, rapid.ID[flight.Status]).Draw(t, "statuses")
		}
		some := func(name string, values ...string) string {
			return rapid.SampledFrom(append(values, "", "")).Draw(t, name)
		}
		w.Carrier, w.FlightNumber = some("carrier", "AA", "BA", "XX"), some("number", "100", "101")
		w.DateFrom, w.DateTo = some("from", "2026-11-22"), some("to", "2026-11-21", "2026-11-22")
		return w
	})
}

// A part of a list, in whatever order, by whatever filter and from whichever
// end, is what it is of the list that plain Go makes; and places hold where
// their rows have gone.
func TestPartsOfTheListOfSubscriptions(t *testing.T) {
	fewer(t, 60)
	each(t, func(r *rig) {
		manySubscriptions(r)
		var all []listed
		if err := r.d.Peek(r.Context(), &all, `SELECT id, status, carrier, number, date, created_at FROM subscriptions`); err != nil {
			r.Fatal(err)
		}
		rapid.Check(r.T, func(t *rapid.T) {
			w := where().Draw(t, "filter")
			o := rapid.SampledFrom([]db.SubscriptionOrder{db.CreatedDescending, db.CreatedAscending, db.DateAscending, db.DateDescending}).Draw(t, "order")
			want := slices.Clone(all)
			slices.SortFunc(want, inOrder(o))
			want = slices.DeleteFunc(want, func(l listed) bool { return !l.matches(w) })

			whole, err := r.d.SubscriptionsPart(r.Context(), r.account, w, o, db.Part{Limit: 200})
			if err != nil || !slices.Equal(idsOf(whole.Rows), listedIDs(want)) || whole.More || whole.Behind {
				t.Fatalf("the whole list: %v, %v %v\n got %q\nwant %q", err, whole.More, whole.Behind, idsOf(whole.Rows), listedIDs(want))
			}
			if n, err := r.d.CountSubscriptions(r.Context(), r.account, w); err != nil || n != len(want) {
				t.Fatalf("counted %d, want %d, %v", n, len(want), err)
			}
			// From a row or from an end to a row or to the other end.
			from, to := rapid.IntRange(-1, len(want)-1).Draw(t, "from"), rapid.IntRange(0, len(want)).Draw(t, "to")
			p := db.Part{Limit: rapid.IntRange(0, 9).Draw(t, "limit"), FromEnd: rapid.Bool().Draw(t, "from the end")}
			if from >= 0 {
				p.After = &whole.Places[from]
			}
			if to < len(want) {
				p.Before = &whole.Places[to]
			}
			part := listedIDs(want)[from+1 : max(to, from+1)]
			more, behind := len(part) > p.Limit, from >= 0
			if p.FromEnd {
				part, behind = part[max(len(part)-p.Limit, 0):], to < len(want)
			} else {
				part = part[:min(len(part), p.Limit)]
			}
			got, err := r.d.SubscriptionsPart(r.Context(), r.account, w, o, p)
			if err != nil || !slices.Equal(idsOf(got.Rows), part) || got.More != more || got.Behind != behind || len(got.Places) != len(part) {
				t.Fatalf("%+v: %v, more %v, behind %v\n got %q\nwant %q", p, err, got.More, got.Behind, idsOf(got.Rows), part)
			}
		})
	})
}

func idsOf(list []*flight.Subscription) []string {
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func listedIDs(list []listed) []string {
	ids := []string{}
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	return ids
}

// A place stays where it was when its row is deleted, and says whether others
// are behind it.
func TestPlaceOfADeletedRow(t *testing.T) {
	each(t, func(r *rig) {
		id := r.say(leg()).IDs[0]
		var made []string
		for range 5 {
			made = append(made, r.found(id).ID)
		}
		read := func(p db.Part) db.Stretch[*flight.Subscription] {
			p.Limit = 2
			got, err := r.d.SubscriptionsPart(r.Context(), r.account, db.SubscriptionsWhere{}, db.CreatedAscending, p)
			if err != nil {
				r.Fatal(err)
			}
			return got
		}
		first := read(db.Part{})
		for _, gone := range made[:2] {
			if err := r.d.DeleteSubscription(r.Context(), r.account, gone); err != nil {
				r.Fatal(err)
			}
			next := read(db.Part{After: &first.Places[1]})
			if !slices.Equal(idsOf(next.Rows), made[2:4]) || !next.More || next.Behind != (gone == made[0]) {
				r.Errorf("after %s was deleted: %+v", gone, next)
			}
		}
		back := read(db.Part{Before: &first.Places[0], FromEnd: true})
		if len(back.Rows) != 0 || back.More || !back.Behind {
			r.Errorf("before the first: %+v", back)
		}
	})
}

// The parts of both logs are those of the logs.
func TestPartsOfTheLogs(t *testing.T) {
	each(t, func(r *rig) {
		s := r.waiting(7)
		at := r.d.Now().Truncate(time.Millisecond)
		for range 7 {
			for _, a := range r.claim(10, time.Minute) {
				res := result(a, flight.DeliverySucceeded)
				res.AttemptedAt = at // all at one moment
				r.record(res)
			}
		}
		deliveries, total, err := r.d.Deliveries(r.Context(), s.ID, 200)
		if err != nil || total != 7 {
			r.Fatal(total, err)
		}
		events, _, err := r.d.SentEvents(r.Context(), s.ID, 200)
		if err != nil || len(events) != 7 {
			r.Fatal(events, err)
		}
		for limit := 1; limit <= 8; limit++ {
			for _, fromEnd := range []bool{false, true} {
				samePages(r, deliveries, limit, fromEnd, func(p db.Part) (db.Stretch[*flight.Delivery], error) {
					return r.d.DeliveriesPart(r.Context(), s.ID, p)
				})
				samePages(r, events, limit, fromEnd, func(p db.Part) (db.Stretch[*flight.SentEvent], error) {
					return r.d.SentEventsPart(r.Context(), s.ID, p)
				})
			}
		}
		n, err := r.d.CountDeliveries(r.Context(), s.ID)
		m, err2 := r.d.CountSentEvents(r.Context(), s.ID)
		if n != 7 || m != 7 || err != nil || err2 != nil {
			r.Error(n, m, err, err2)
		}
	})
}

// samePages reads a whole log in pages and compares it with the log.
func samePages[T any](r *rig, want []*T, limit int, fromEnd bool, read func(db.Part) (db.Stretch[*T], error)) {
	r.Helper()
	var got []*T
	p := db.Part{Limit: limit, FromEnd: fromEnd}
	for more := true; more; {
		s, err := read(p)
		if err != nil {
			r.Fatal(err)
		}
		if s.Behind != (len(got) > 0) || len(s.Rows) == 0 || len(got) > len(want) {
			r.Fatalf("%d at once: after %d, behind %v, rows %d", limit, len(got), s.Behind, len(s.Rows))
		}
		if more = s.More; fromEnd {
			got, p.Before = append(slices.Clone(s.Rows), got...), &s.Places[0]
		} else {
			got, p.After = append(got, s.Rows...), &s.Places[len(s.Places)-1]
		}
	}
	for i := range want {
		if len(got) != len(want) || !reflect.DeepEqual(got[i], want[i]) {
			r.Fatalf("%d at once, from the end %v: row %d of %d is %+v, want %+v", limit, fromEnd, i, len(got), got[i], want[i])
		}
	}
}
