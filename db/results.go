package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Result is what came of an attempt.
type Result struct {
	Attempt      Attempt
	Lane         Lane                  // of the subscription's next event
	Status       flight.DeliveryStatus // succeeded, retrying, failed or interrupted
	RetryAfter   time.Duration         // with retrying: from now
	StatusCode   int                   // 0: no answer
	Error        string                // "" when there was none
	Latency      time.Duration
	AttemptedAt  time.Time
	ResponseBody string // its first KiB
}

// Recorded says what is to be woken after results have been recorded.
type Recorded struct {
	Turns   []Due       // events that may be attempted at once
	Retries []time.Time // when the retries are due
}

type deliveryRow struct {
	ID             string                `json:"id"`
	SubscriptionID string                `json:"subscription_id"`
	EventID        string                `json:"event_id"`
	EventType      flight.EventType      `json:"event_type"`
	Attempt        int                   `json:"attempt"`
	Status         flight.DeliveryStatus `json:"status"`
	StatusCode     int                   `json:"status_code"`
	Error          string                `json:"error"`
	LatencyMS      int64                 `json:"latency_ms"`
	AttemptedAt    any                   `json:"attempted_at"`
	NextAttemptAt  any                   `json:"next_attempt_at"`
	ResponseBody   string                `json:"response_body"`
	Seq            int64                 `json:"seq"`
}

func (tx *Tx) insertDeliveries(ctx context.Context, rows []deliveryRow) error {
	if len(rows) == 0 {
		return nil
	}
	if tx.kind.copies(len(rows)) {
		values := make([]any, len(deliveryColumns))
		return tx.copyRows(ctx, "deliveries", deliveryColumns, len(rows), func(i int) []any {
			r := &rows[i]
			return append(values[:0], r.ID, r.SubscriptionID, r.EventID, string(r.EventType), r.Attempt, string(r.Status), r.StatusCode, r.Error,
				r.LatencyMS, r.AttemptedAt, r.NextAttemptAt, r.ResponseBody, r.Seq)
		})
	}
	columns := strings.Join(deliveryColumns, ", ")
	_, err := tx.exec(ctx, `INSERT INTO deliveries (`+columns+`) SELECT `+columns+`
		FROM `+tx.kind.rows("id text", "subscription_id text", "event_id text", "event_type text", "attempt int", "status text",
		"status_code int", "error text", "latency_ms bigint", "attempted_at timestamptz", "next_attempt_at timestamptz", "response_body text", "seq bigint"),
		jsonText(rows))
	return err
}

// deliveryColumns are the columns of deliveries.
var deliveryColumns = []string{"id", "subscription_id", "event_id", "event_type", "attempt", "status", "status_code", "error",
	"latency_ms", "attempted_at", "next_attempt_at", "response_body", "seq"}

// RecordResults writes the results of attempts in one transaction: the log,
// the events, the counters, the turn of the next event in line, and the
// suspension of a subscription whose deliveries keep failing. A result whose
// claim has gone to another process changes nothing.
func (db *DB) RecordResults(ctx context.Context, results []Result) (Recorded, error) {
	var out Recorded
	err := db.tx(ctx, "record results", func(tx *Tx) error {
		r := recorder{Tx: tx, now: db.Now()}
		if err := r.lock(ctx, results); err != nil {
			return err
		}
		if err := r.settle(ctx, results); err != nil {
			return err
		}
		if err := r.advance(ctx); err != nil {
			return err
		}
		if err := r.suspend(ctx); err != nil {
			return err
		}
		out = r.out
		return r.writeCounts(ctx)
	})
	return out, err
}

// recorder is one pass through RecordResults.
type recorder struct {
	*Tx
	now    time.Time
	states []*stateRow
	subs   map[string]*follower // by subscription, without what only an event's body needs
	freed  map[string]bool      // subscriptions whose head has had its first attempt
	cutOff []string             // heads whose attempt a dying process cut off
	out    Recorded
}

// lock locks the states of the subscriptions concerned, in the order of ids.
func (r *recorder) lock(ctx context.Context, results []Result) error {
	var ids []string
	for _, res := range results {
		ids = append(ids, res.Attempt.SubscriptionID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	err := r.sel(ctx, &r.states, `SELECT `+stateColumns+` FROM subscription_state
		WHERE subscription_id `+r.kind.oneOf()+` ORDER BY subscription_id`+r.kind.forUpdate(), idList(ids))
	if err != nil {
		return err
	}
	var subs []*follower
	err = r.sel(ctx, &subs, `SELECT id, account_id, status, flight_id, webhook_url FROM subscriptions WHERE id `+r.kind.oneOf(), idList(ids))
	if err != nil {
		return err
	}
	r.subs, r.freed = make(map[string]*follower, len(subs)), make(map[string]bool)
	for _, s := range subs {
		r.subs[s.ID] = s
	}
	for _, st := range r.states {
		if s := r.subs[st.SubscriptionID]; s != nil {
			s.state = st
		}
	}
	return nil
}

// settled is an element of the JSON array that updates events.
type settled struct {
	ID            string             `json:"id"`
	Token         string             `json:"token"`
	Status        flight.EventStatus `json:"status"`
	NextAttemptAt any                `json:"next_attempt_at"`
	Lane          Lane               `json:"lane"`
	DeliveredAt   any                `json:"delivered_at"`
	Interrupted   int                `json:"interrupted"` // 1: a dying process cut the attempt off
}

// settle writes the events and the log, and reckons the counters.
func (r *recorder) settle(ctx context.Context, results []Result) error {
	rows := make([]settled, 0, len(results))
	due := make([]time.Time, len(results))
	for i, res := range results {
		row := settled{ID: res.Attempt.EventID, Token: res.Attempt.token, Lane: Slow} // where retries wait
		switch stopped := r.stopped(res.Attempt); {
		case res.Status == flight.DeliverySucceeded:
			row.Status, row.DeliveredAt = flight.EventDelivered, r.kind.moment(r.now)
		case res.Status == flight.DeliveryFailed:
			row.Status = flight.EventFailed
		case stopped:
			row.Status = flight.EventMissed
		case res.Status == flight.DeliveryInterrupted: // it is made anew
			row.Status, row.Lane, due[i] = flight.EventPending, res.Attempt.Lane, r.now
			row.NextAttemptAt = r.kind.moment(r.now)
		default:
			row.Status, due[i] = flight.EventPending, r.now.Add(res.RetryAfter)
			row.NextAttemptAt = r.kind.moment(due[i])
		}
		if res.Status == flight.DeliveryInterrupted {
			row.Interrupted = 1
		}
		rows = append(rows, row)
	}
	var mine []struct {
		ID       string `db:"id"`
		Seq      int64  `db:"seq"`
		Attempts int    `db:"attempts"`
	}
	err := r.sel(ctx, &mine, `UPDATE events SET status = x.status, next_attempt_at = x.next_attempt_at, lane = x.lane, delivered_at = x.delivered_at, lease_token = '',
			interruptions = interruptions + x.interrupted
		FROM `+r.kind.rows("id text", "token text", "status text", "next_attempt_at timestamptz", "lane int", "delivered_at timestamptz", "interrupted int")+`
		WHERE events.id = x.id AND events.lease_token = x.token AND events.status = 'pending' RETURNING events.id, events.seq, events.attempts`, jsonText(rows))
	if err != nil {
		return err
	}
	type attempt struct { // the event alone would not do: one group may have an attempt whose claim ran out and its successor
		event  string
		number int
	}
	seqs := make(map[attempt]int64, len(mine))
	for _, m := range mine {
		seqs[attempt{m.ID, m.Attempts}] = m.Seq
	}
	var log []deliveryRow
	for i, res := range results {
		seq, ok := seqs[attempt{res.Attempt.EventID, res.Attempt.Number}]
		s := r.subs[res.Attempt.SubscriptionID]
		if !ok || s == nil || s.state == nil {
			continue // the claim ran out, or the subscription is deleted
		}
		s.state.AttemptSeq++
		log = append(log, r.deliveryRow(res, due[i], s.state.AttemptSeq))
		switch {
		case due[i].IsZero():
		case res.Status == flight.DeliveryInterrupted:
			r.lineUp(s, res, seq)
			continue
		default:
			r.out.Retries = append(r.out.Retries, due[i])
		}
		r.count(s, res, seq)
	}
	return r.insertDeliveries(ctx, log)
}

// stopped reports whether an event of a subscription that was paused or
// suspended meanwhile is given up.
func (r *recorder) stopped(a Attempt) bool {
	s := r.subs[a.SubscriptionID]
	return s != nil && !a.EventType.SentWhile(s.Status)
}

func (r *recorder) deliveryRow(res Result, next time.Time, seq int64) deliveryRow {
	a := res.Attempt
	return deliveryRow{
		ID: newID("dlv_"), SubscriptionID: a.SubscriptionID, EventID: a.EventID, EventType: a.EventType, Attempt: a.Number,
		Status: res.Status, StatusCode: res.StatusCode, Error: storable(res.Error), LatencyMS: res.Latency.Milliseconds(),
		AttemptedAt: r.kind.moment(res.AttemptedAt), NextAttemptAt: r.kind.moment(next), ResponseBody: storable(res.ResponseBody), Seq: seq,
	}
}

// storable is text that both databases take: what a receiver says may hold
// anything, and one odd byte must not keep a group of results from the log.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// count reckons the counters and the head of one subscription.
func (r *recorder) count(s *follower, res Result, seq int64) {
	st := s.state
	st.Lane = res.Lane
	switch res.Status {
	case flight.DeliverySucceeded:
		st.DeliveredCount++
		st.FailureStreak = 0
		st.LastDeliveryAt = At(r.now)
	case flight.DeliveryFailed:
		st.FailedCount++
		if s.Status != flight.SubscriptionPaused && s.Status != flight.SubscriptionCompleted {
			st.FailureStreak++
		}
	}
	r.free(s, seq)
}

// free takes the turn from the head of a subscription, and reports whether the
// event of that place had it.
func (r *recorder) free(s *follower, seq int64) bool {
	had := s.state.HeadSeq != nil && *s.state.HeadSeq == seq
	if had {
		s.state.HeadSeq = nil
		r.freed[s.ID] = true
	}
	return had
}

// lineUp puts a head whose attempt was cut off back into the line: an earlier
// event that was replayed meanwhile goes first.
func (r *recorder) lineUp(s *follower, res Result, seq int64) {
	if r.free(s, seq) {
		r.cutOff = append(r.cutOff, res.Attempt.EventID)
	}
}

// advance gives the next event in line its turn, where the one before has had
// its first attempt or has lost its turn.
func (r *recorder) advance(ctx context.Context) error {
	if len(r.freed) == 0 {
		return nil
	}
	if len(r.cutOff) > 0 {
		if _, err := r.exec(ctx, `UPDATE events SET next_attempt_at = NULL WHERE id `+r.kind.oneOf(), idList(r.cutOff)); err != nil {
			return err
		}
	}
	ids := make([]string, 0, len(r.freed))
	for id := range r.freed {
		ids = append(ids, id)
	}
	var heads []struct {
		ID  string `db:"subscription_id"`
		Seq int64  `db:"seq"`
	}
	err := r.sel(ctx, &heads, `SELECT subscription_id, min(seq) AS seq FROM events
		WHERE status = 'pending' AND next_attempt_at IS NULL AND subscription_id `+r.kind.oneOf()+`
		GROUP BY subscription_id`, idList(ids))
	if err != nil || len(heads) == 0 {
		return err
	}
	type turn struct {
		ID   string `json:"id"`
		Seq  int64  `json:"seq"`
		Lane Lane   `json:"lane"`
	}
	turns := make([]turn, len(heads))
	for i, h := range heads {
		st := r.subs[h.ID].state
		turns[i] = turn{h.ID, h.Seq, st.Lane}
		st.HeadSeq = &heads[i].Seq
	}
	var due []Due
	err = r.sel(ctx, &due, `UPDATE events SET next_attempt_at = $2, lane = x.lane FROM `+r.kind.rows("id text", "seq bigint", "lane int")+`
		WHERE events.subscription_id = x.id AND events.seq = x.seq RETURNING events.id, events.subscription_id, events.lane`, jsonText(turns), At(r.now))
	for _, d := range due {
		s := r.subs[d.SubscriptionID]
		d.Account, d.URL = s.Account, s.URL
		r.out.Turns = append(r.out.Turns, d)
	}
	return err
}

// writeCounts writes back of the states what results change.
func (r *recorder) writeCounts(ctx context.Context) error {
	if len(r.states) == 0 {
		return nil
	}
	type row struct {
		ID             string `json:"id"`
		HeadSeq        *int64 `json:"head_seq"`
		Delivered      int64  `json:"delivered"`
		Failed         int64  `json:"failed"`
		Streak         int    `json:"streak"`
		LastDeliveryAt any    `json:"last_delivery_at"`
		Lane           Lane   `json:"lane"`
		AttemptSeq     int64  `json:"attempt_seq"`
	}
	rows, ids := make([]row, len(r.states)), make([]string, len(r.states))
	for i, s := range r.states {
		ids[i] = s.SubscriptionID
		rows[i] = row{s.SubscriptionID, s.HeadSeq, s.DeliveredCount, s.FailedCount, s.FailureStreak, r.kind.moment(s.LastDeliveryAt.Std()), s.Lane, s.AttemptSeq}
	}
	_, err := r.exec(ctx, `UPDATE subscription_state SET head_seq = x.head_seq, delivered_count = x.delivered, failed_count = x.failed,
			failure_streak = x.streak, last_delivery_at = x.last_delivery_at, lane = x.lane, attempt_seq = x.attempt_seq
		FROM `+r.kind.rows("id text", "head_seq bigint", "delivered bigint", "failed bigint", "streak int", "last_delivery_at timestamptz", "lane int", "attempt_seq bigint")+`
		WHERE subscription_state.subscription_id = x.id`+r.kind.lookedUp("subscription_state.subscription_id", "$2"), jsonText(rows), idList(ids))
	return err
}

// suspend suspends the subscriptions whose deliveries failed too often in a
// row and tells them so.
func (r *recorder) suspend(ctx context.Context) error {
	for _, s := range r.subs {
		if s.state == nil || s.state.FailureStreak < flight.FailuresToSuspend {
			continue
		}
		next, changed, err := s.Status.Next(flight.TriggerFailures, true)
		if err != nil || !changed {
			continue
		}
		if err := r.get(ctx, s, `SELECT `+followerColumns+` FROM subscriptions WHERE id = $1`, s.ID); err != nil {
			return err
		}
		s.Status = next
		reason := fmt.Sprintf("%d deliveries in a row failed.", s.state.FailureStreak)
		if err := r.changeStatus(ctx, []string{s.ID}, next, reason); err != nil {
			return err
		}
		if err := r.missWaiting(ctx, s.state); err != nil {
			return err
		}
		f := new(flightRow)
		if err := r.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE id = $1`, s.FlightID); err != nil {
			return err
		}
		e := event{kind: flight.EventSuspended, flight: f}
		if e.next, err = r.present(ctx, f); err != nil {
			return err
		}
		out := outbox{tx: r.Tx, now: r.now}
		out.add(s, e)
		if err := out.write(ctx); err != nil {
			return err
		}
		r.out.Turns = append(r.out.Turns, out.due...)
	}
	return nil
}
