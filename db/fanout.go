package db

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// news is what the subscriptions of a leg may be told of.
type news struct {
	prev, next *flight.Snapshot // prev is nil at first sight, both while not found
	changes    []flight.Change  // the Diff from prev to next
	ended      bool             // the watch ends
	reason     string           // why
}

// follower is a subscription as the fan-out sees it, with its state locked.
type follower struct {
	ID             string           `db:"id"`
	Account        string           `db:"account_id"`
	URL            string           `db:"webhook_url"`
	Status         flight.Status    `db:"status"`
	FlightID       string           `db:"flight_id"`
	Carrier        string           `db:"carrier"`
	Number         string           `db:"number"`
	Date           string           `db:"date"`
	Events         flight.ChangeSet `db:"events"`
	DelayThreshold int              `db:"delay_threshold"`
	Metadata       string           `db:"metadata"`
	state          *stateRow
}

const followerColumns = `id, account_id, webhook_url, status, flight_id, carrier, number, date, events, delay_threshold, metadata`

// stateRow is a row of subscription_state.
type stateRow struct {
	SubscriptionID string `db:"subscription_id"`
	Seq            int64  `db:"seq"`
	HeadSeq        *int64 `db:"head_seq"`
	ToldDeparture  int    `db:"told_departure"`
	ToldArrival    int    `db:"told_arrival"`
	ResumeFrom     *int64 `db:"resume_from"`
	DeliveredCount int64  `db:"delivered_count"`
	FailedCount    int64  `db:"failed_count"`
	FailureStreak  int    `db:"failure_streak"`
	LastChangeAt   Time   `db:"last_change_at"`
	LastDeliveryAt Time   `db:"last_delivery_at"`
	Lane           Lane   `db:"lane"`
	AttemptSeq     int64  `db:"attempt_seq"` // of the last attempt; what records attempts writes it
}

const stateColumns = `subscription_id, seq, head_seq, told_departure, told_arrival, resume_from,
	delivered_count, failed_count, failure_streak, last_change_at, last_delivery_at, lane, attempt_seq`

func (s *stateRow) told() flight.Told {
	return flight.Told{Departure: s.ToldDeparture, Arrival: s.ToldArrival}
}

func (s *stateRow) setTold(t flight.Told) { s.ToldDeparture, s.ToldArrival = t.Departure, t.Arrival }

// fanOut writes one event for each subscription that is to hear of n, and
// completes the subscriptions when the watch ends.
func (d *door) fanOut(ctx context.Context, f *flightRow, n news) error {
	subs, err := d.followers(ctx, f.ID)
	if err != nil {
		return err
	}
	due, rows := len(d.out.due), len(d.out.rows)
	tell := teller{news: n, cache: make(map[tellKey]telling)}
	var completed []string
	for _, s := range subs {
		if n.next != nil && (s.Status == flight.SubscriptionActive || s.Status == flight.SubscriptionSuspended) {
			if err := d.tellOne(ctx, f, s, &tell); err != nil {
				return err
			}
		}
		if next, changed, _ := s.Status.Next(flight.TriggerWatchEnds, f.Resolved); n.ended && changed {
			s.Status = next
			d.out.add(s, event{kind: flight.EventCompleted, flight: f, next: n.next})
			completed = append(completed, s.ID)
		}
	}
	if err := d.changeStatus(ctx, completed, flight.SubscriptionCompleted, n.reason); err != nil {
		return err
	}
	f.CatchUp = false
	d.due = append(d.due, d.out.due[due:]...)
	d.note(f, rows)
	return nil
}

// note notes a leg of which there are events, where there are more than before.
func (d *door) note(f *flightRow, before int) {
	if len(d.out.rows) > before && !slices.Contains(d.told, f.ID) {
		d.told = append(d.told, f.ID)
	}
}

// tellOne adds the flight.updated event of one subscription, if it is to have
// one. After a resume the changes are the net ones since it was last told.
func (d *door) tellOne(ctx context.Context, f *flightRow, s *follower, tell *teller) error {
	t := tell
	if v := s.state.ResumeFrom; v != nil && s.Status == flight.SubscriptionActive {
		from, err := d.db.snapshot(ctx, d.queries, f.ID, *v)
		if err != nil {
			return err
		}
		t = &teller{news: news{prev: from, next: tell.next, changes: flight.Diff(from, tell.next)}, cache: make(map[tellKey]telling)}
		s.state.ResumeFrom = nil
		s.state.setTold(flight.ToldBy(from))
		d.out.touch(s.state)
		defer s.state.setTold(flight.ToldBy(tell.next)) // from here on delays count from the resume
	}
	told := t.tell(s)
	if len(told.changes) == 0 {
		return nil
	}
	s.state.setTold(told.told)
	s.state.LastChangeAt = world(t.next.FetchedAt)
	d.out.add(s, event{kind: flight.EventUpdated, flight: f, next: t.next, prev: t.prev, changes: told.encoded})
	return nil
}

// teller remembers what subscriptions alike are told, so that a thousand of
// them cost one filter and one encoding.
type teller struct {
	news
	cache map[tellKey]telling
}

type tellKey struct {
	filter    flight.ChangeSet
	threshold int
	told      flight.Told
}

type telling struct {
	changes []flight.Change
	told    flight.Told
	encoded json.RawMessage
}

func (t *teller) tell(s *follower) telling {
	key := tellKey{s.Events, s.DelayThreshold, s.state.told()}
	r, ok := t.cache[key]
	if !ok {
		r.changes, r.told = flight.Tell(t.changes, t.next, key.filter, key.threshold, key.told)
		r.encoded = json.RawMessage(jsonText(r.changes))
		t.cache[key] = r
	}
	return r
}

// event is one event to be written.
type event struct {
	kind       flight.EventType
	flight     *flightRow
	next, prev *flight.Snapshot
	changes    json.RawMessage // nil: none
}

// outbox collects the events of one transaction and the states that they
// change, and writes both in a statement each.
type outbox struct {
	tx      *Tx
	now     time.Time
	rows    []outboxRow
	states  []*stateRow
	touched map[string]bool
	due     []Due // events that may be delivered at once
}

// outboxRow is an element of the JSON array that becomes rows of events.
type outboxRow struct {
	ID             string             `json:"id"`
	SubscriptionID string             `json:"subscription_id"`
	Seq            int64              `json:"seq"`
	Type           flight.EventType   `json:"type"`
	FlightKey      string             `json:"flight_key"`
	FlightID       string             `json:"flight_id"`
	Version        int64              `json:"version"`
	Envelope       string             `json:"envelope"`
	Status         flight.EventStatus `json:"status"`
	NextAttemptAt  any                `json:"next_attempt_at"`
	Lane           Lane               `json:"lane"`
}

// touch makes sure that a state is written.
func (o *outbox) touch(s *stateRow) {
	if o.touched == nil {
		o.touched = make(map[string]bool)
	}
	if !o.touched[s.SubscriptionID] {
		o.touched[s.SubscriptionID] = true
		o.states = append(o.states, s)
	}
}

// add appends an event to a subscription's sequence. It is missed when the
// subscription is suspended, unless it is sent all the same; else it waits,
// first in line if no other does.
func (o *outbox) add(s *follower, e event) {
	st := s.state
	st.Seq++
	o.touch(st)
	row := outboxRow{
		ID: newID("evt_"), SubscriptionID: s.ID, Seq: st.Seq, Type: e.kind,
		FlightID: e.flight.ID, Status: flight.EventPending,
	}
	key := flight.Key{Carrier: s.Carrier, Number: s.Number, Date: s.Date}
	row.FlightKey = key.String()
	if e.next != nil {
		row.FlightKey, row.Version = e.next.LegKey(), e.flight.Version
	}
	row.Envelope = string(envelope(row, o.now, e, s.Metadata))
	switch {
	case !e.kind.SentWhile(s.Status):
		row.Status = flight.EventMissed
	case st.HeadSeq == nil:
		st.HeadSeq = &row.Seq
		row.NextAttemptAt, row.Lane = o.tx.kind.moment(o.now), st.Lane
		o.due = append(o.due, Due{EventID: row.ID, SubscriptionID: s.ID, Account: s.Account, URL: s.URL, Lane: row.Lane})
	}
	o.rows = append(o.rows, row)
}

// envelope encodes the body of a webhook but for the snapshot, which [body]
// puts in.
func envelope(row outboxRow, now time.Time, e event, metadata string) []byte {
	v := struct {
		ID                string           `json:"id"`
		Type              flight.EventType `json:"type"`
		CreatedAt         flight.Time      `json:"createdAt"`
		SubscriptionID    string           `json:"subscriptionId"`
		FlightKey         string           `json:"flightKey"`
		Changes           json.RawMessage  `json:"changes"`
		PreviousFetchedAt flight.Time      `json:"previousFetchedAt,omitempty"`
	}{ID: row.ID, Type: e.kind, CreatedAt: flight.TimeOf(now), SubscriptionID: row.SubscriptionID, FlightKey: row.FlightKey, Changes: e.changes}
	if v.Changes == nil {
		v.Changes = json.RawMessage("[]")
	}
	if e.prev != nil {
		v.PreviousFetchedAt = e.prev.FetchedAt
	}
	b := []byte(jsonText(v))
	if metadata != "" { // to the byte: json.Marshal would compact it
		b = append(append(append(b[:len(b)-1], `,"metadata":`...), metadata...), '}')
	}
	return b
}

// body puts the stored bytes of an event together: the same at every attempt.
func body(envelope string, s *flight.Snapshot) []byte {
	if s == nil {
		return []byte(envelope)
	}
	snap := s.Encode()
	b := make([]byte, 0, len(envelope)+len(snap)+len(`,"flight":`))
	b = append(b, envelope[:len(envelope)-1]...)
	b = append(append(b, `,"flight":`...), snap...)
	return append(b, '}')
}

// write stores the collected events and states.
func (o *outbox) write(ctx context.Context) error {
	if err := o.writeEvents(ctx); err != nil {
		return err
	}
	return o.tx.writeStates(ctx, o.states)
}

func (o *outbox) writeEvents(ctx context.Context) error {
	if len(o.rows) == 0 {
		return nil
	}
	if o.tx.kind.copies(len(o.rows)) {
		values := make([]any, len(eventColumns))
		return o.tx.copyRows(ctx, "events", eventColumns, len(o.rows), func(i int) []any {
			r := &o.rows[i]
			return append(values[:0], r.ID, r.SubscriptionID, r.Seq, string(r.Type), r.FlightKey, r.FlightID, r.Version, r.Envelope,
				string(r.Status), r.NextAttemptAt, int64(r.Lane), 0, 0, "", At(o.now))
		})
	}
	_, err := o.tx.exec(ctx, `INSERT INTO events (`+strings.Join(eventColumns, ", ")+`)
		SELECT x.id, x.subscription_id, x.seq, x.type, x.flight_key, x.flight_id, x.version, x.envelope,
			x.status, x.next_attempt_at, x.lane, 0, 0, '', $2
		FROM `+o.tx.kind.rows("id text", "subscription_id text", "seq bigint", "type text", "flight_key text", "flight_id text",
		"version bigint", "envelope text", "status text", "next_attempt_at timestamptz", "lane int"), jsonText(o.rows), At(o.now))
	return err
}

// eventColumns are the columns of events that a new one has.
var eventColumns = []string{"id", "subscription_id", "seq", "type", "flight_key", "flight_id", "version", "envelope",
	"status", "next_attempt_at", "lane", "attempts", "interruptions", "lease_token", "created_at"}

// writeStates writes back the states that this transaction has locked.
func (tx *Tx) writeStates(ctx context.Context, states []*stateRow) error {
	if len(states) == 0 {
		return nil
	}
	type row struct {
		ID             string `json:"id"`
		Seq            int64  `json:"seq"`
		HeadSeq        *int64 `json:"head_seq"`
		ToldDeparture  int    `json:"told_departure"`
		ToldArrival    int    `json:"told_arrival"`
		ResumeFrom     *int64 `json:"resume_from"`
		Delivered      int64  `json:"delivered"`
		Failed         int64  `json:"failed"`
		Streak         int    `json:"streak"`
		LastChangeAt   any    `json:"last_change_at"`
		LastDeliveryAt any    `json:"last_delivery_at"`
		Lane           Lane   `json:"lane"`
	}
	rows, ids := make([]row, len(states)), make([]string, len(states))
	for i, s := range states {
		ids[i] = s.SubscriptionID
		rows[i] = row{
			s.SubscriptionID, s.Seq, s.HeadSeq, s.ToldDeparture, s.ToldArrival, s.ResumeFrom,
			s.DeliveredCount, s.FailedCount, s.FailureStreak,
			tx.kind.moment(s.LastChangeAt.Std()), tx.kind.moment(s.LastDeliveryAt.Std()), s.Lane,
		}
	}
	_, err := tx.exec(ctx, `UPDATE subscription_state SET seq = x.seq, head_seq = x.head_seq,
			told_departure = x.told_departure, told_arrival = x.told_arrival, resume_from = x.resume_from,
			delivered_count = x.delivered, failed_count = x.failed, failure_streak = x.streak,
			last_change_at = x.last_change_at, last_delivery_at = x.last_delivery_at, lane = x.lane
		FROM `+tx.kind.rows("id text", "seq bigint", "head_seq bigint", "told_departure int", "told_arrival int", "resume_from bigint",
		"delivered bigint", "failed bigint", "streak int", "last_change_at timestamptz", "last_delivery_at timestamptz", "lane int")+`
		WHERE subscription_state.subscription_id = x.id`+tx.kind.lookedUp("subscription_state.subscription_id", "$2"), jsonText(rows), idList(ids))
	return err
}

// adopt moves the subscriptions of a flight that was looked for to the leg
// that has been found, and makes the pending ones active.
func (d *door) adopt(ctx context.Context, from, to *flightRow, s *flight.Snapshot) error {
	subs, err := d.followers(ctx, from.ID)
	if err != nil {
		return err
	}
	due, rows := len(d.out.due), len(d.out.rows)
	var ids []string
	for _, sub := range subs {
		if next, changed, _ := sub.Status.Next(flight.TriggerResolved, true); changed {
			sub.Status = next
			ids = append(ids, sub.ID)
			sub.state.setTold(flight.ToldBy(s))
			sub.state.LastChangeAt = world(s.FetchedAt)
			d.out.add(sub, event{kind: flight.EventActivated, flight: to, next: s})
		}
	}
	if err := d.changeStatus(ctx, ids, flight.SubscriptionActive, ""); err != nil {
		return err
	}
	if _, err := d.exec(ctx, `UPDATE subscriptions SET flight_id = $2, carrier = $3, number = $4, date = $5 WHERE flight_id = $1`,
		from.ID, to.ID, to.Carrier, to.Number, to.Date); err != nil {
		return err
	}
	if _, err := d.exec(ctx, `DELETE FROM flights WHERE id = $1`, from.ID); err != nil {
		return err
	}
	d.rows = slices.DeleteFunc(d.rows, func(f *flightRow) bool { return f == from })
	if len(ids) > 0 && !to.watched() {
		to.NextPollAt = world(d.Now) // plan sets the real one
	}
	d.due = append(d.due, d.out.due[due:]...)
	d.note(to, rows)
	return nil
}
