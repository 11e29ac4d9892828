package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Attempt is one claimed attempt to deliver an event.
type Attempt struct {
	EventID        string
	EventType      flight.EventType
	SubscriptionID string
	Number         int // from 1, as x-service-delivery-attempt says
	Counted        int // the same without interrupted attempts: what retries are counted by
	URL            string
	Secret         string
	Headers        map[string]string
	Body           []byte
	Fault          string // why it cannot be sent at all, for the log; "" normally

	token string
}

type claimRow struct {
	ID             string           `db:"id"`
	SubscriptionID string           `db:"subscription_id"`
	Type           flight.EventType `db:"type"`
	Envelope       string           `db:"envelope"`
	FlightID       string           `db:"flight_id"`
	Version        int64            `db:"version"`
	Attempts       int              `db:"attempts"`
	Interruptions  int              `db:"interruptions"`
	LeaseToken     string           `db:"lease_token"`
	LeasedAt       Time             `db:"leased_at"`
	Status         flight.Status    `db:"status"`
	URL            string           `db:"webhook_url"`
	Secret         string           `db:"secret"`
	Headers        string           `db:"headers"`
}

// stopped reports whether the event must not be sent: its subscription was
// paused or suspended while a process died over it.
func (r *claimRow) stopped() bool {
	return r.Status == flight.SubscriptionPaused || r.Status == flight.SubscriptionSuspended && r.Type != flight.EventSuspended
}

// ClaimEvents claims up to limit events whose attempt is due, the longest due
// first, for as long as lease. An attempt whose claim has run out belongs to a
// process that died: it is logged as interrupted and made anew.
func (db *DB) ClaimEvents(ctx context.Context, limit int, lease time.Duration) ([]Attempt, error) {
	var rows []claimRow
	token := newID("")
	err := db.tx(ctx, "claim events", func(tx *Tx) error {
		now := db.Now()
		rows = nil
		err := tx.sel(ctx, &rows, `SELECT e.id, e.subscription_id, e.type, e.envelope, e.flight_id, e.version, e.attempts, e.interruptions,
				e.lease_token, e.leased_at, s.status, s.webhook_url, s.secret, s.headers
			FROM events e JOIN subscriptions s ON s.id = e.subscription_id
			WHERE e.status = 'pending' AND e.next_attempt_at <= $1
			ORDER BY e.next_attempt_at, e.id LIMIT $2`+tx.kind.skipLocked("e"), At(now), limit)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return errNothing
		}
		if err := tx.logInterrupted(ctx, rows, now); err != nil {
			return err
		}
		stopped, send := partition(rows)
		if len(stopped) > 0 {
			if _, err := tx.exec(ctx, `UPDATE events SET status = 'missed', next_attempt_at = NULL, lease_token = ''
				WHERE id IN (SELECT x.id FROM `+tx.kind.ids()+`)`, jsonText(stopped)); err != nil {
				return err
			}
		}
		rows = slices.DeleteFunc(rows, func(r claimRow) bool { return r.stopped() })
		_, err = tx.exec(ctx, `UPDATE events SET attempts = attempts + 1,
				interruptions = interruptions + CASE WHEN lease_token = '' THEN 0 ELSE 1 END,
				lease_token = $2, leased_at = $3, next_attempt_at = $4
			WHERE id IN (SELECT x.id FROM `+tx.kind.ids()+`)`, jsonText(send), token, At(now), At(now.Add(lease)))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Attempt, 0, len(rows))
	for i := range rows {
		out = append(out, db.attempt(ctx, &rows[i], token))
	}
	return out, nil
}

func partition(rows []claimRow) (stopped, goOn []string) {
	stopped, goOn = []string{}, []string{}
	for i := range rows {
		if rows[i].stopped() {
			stopped = append(stopped, rows[i].ID)
		} else {
			goOn = append(goOn, rows[i].ID)
		}
	}
	return stopped, goOn
}

// logInterrupted logs the attempts whose claims ran out.
func (tx *Tx) logInterrupted(ctx context.Context, rows []claimRow, now time.Time) error {
	var log []deliveryRow
	for i := range rows {
		if r := &rows[i]; r.LeaseToken != "" {
			d := deliveryRow{
				ID: newID("dlv_"), SubscriptionID: r.SubscriptionID, EventID: r.ID, EventType: r.Type, Attempt: r.Attempts,
				Status: flight.DeliveryInterrupted, Error: "The process died while the attempt was under way.",
				AttemptedAt: tx.kind.moment(r.LeasedAt.Std()),
			}
			if !r.stopped() {
				d.NextAttemptAt = tx.kind.moment(now)
			}
			log = append(log, d)
		}
	}
	return tx.insertDeliveries(ctx, log)
}

// attempt completes a claimed row. What stands in its way is the attempt's
// fault, so that it is logged where an operator looks.
func (db *DB) attempt(ctx context.Context, r *claimRow, token string) Attempt {
	a := Attempt{
		EventID: r.ID, EventType: r.Type, SubscriptionID: r.SubscriptionID, URL: r.URL,
		Number: r.Attempts + 1, Counted: r.Attempts + 1 - r.Interruptions, token: token,
	}
	if r.LeaseToken != "" {
		a.Counted--
	}
	var snap *flight.Snapshot
	var err error
	if r.Version > 0 {
		snap, err = db.snapshot(ctx, db.queries, r.FlightID, r.Version)
	}
	if err == nil {
		a.Secret, err = db.seal.Open(r.SubscriptionID, r.Secret)
	}
	if err == nil {
		a.Headers, err = decodeHeaders(r.SubscriptionID, r.Headers)
	}
	if err != nil {
		a.Fault = err.Error()
		return a
	}
	a.Body = body(r.Envelope, snap)
	return a
}

// Result is what came of an attempt.
type Result struct {
	Attempt      Attempt
	Status       flight.DeliveryStatus // succeeded, retrying or failed
	RetryAfter   time.Duration         // with retrying: from now
	StatusCode   int                   // 0: no answer
	Error        string                // "" when there was none
	Latency      time.Duration
	AttemptedAt  time.Time
	ResponseBody string // its first KiB
}

// Recorded says what is to be woken after results have been recorded.
type Recorded struct {
	Due     bool        // an event may be attempted at once
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
}

func (tx *Tx) insertDeliveries(ctx context.Context, rows []deliveryRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `INSERT INTO deliveries (id, subscription_id, event_id, event_type, attempt, status, status_code, error,
			latency_ms, attempted_at, next_attempt_at, response_body)
		SELECT x.id, x.subscription_id, x.event_id, x.event_type, x.attempt, x.status, x.status_code, x.error,
			x.latency_ms, x.attempted_at, x.next_attempt_at, x.response_body
		FROM `+tx.kind.rows("id text", "subscription_id text", "event_id text", "event_type text", "attempt int", "status text",
		"status_code int", "error text", "latency_ms bigint", "attempted_at timestamptz", "next_attempt_at timestamptz", "response_body text"),
		jsonText(rows))
	return err
}

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
		return tx.writeStates(ctx, r.states)
	})
	return out, err
}

// recorder is one pass through RecordResults.
type recorder struct {
	*Tx
	now    time.Time
	states []*stateRow
	subs   map[string]*follower // by subscription
	freed  map[string]bool      // subscriptions whose head has had its first attempt
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
		WHERE subscription_id IN (SELECT x.id FROM `+r.kind.ids()+`) ORDER BY subscription_id`+r.kind.forUpdate(), jsonText(ids))
	if err != nil {
		return err
	}
	var subs []*follower
	err = r.sel(ctx, &subs, `SELECT id, status, flight_id, carrier, number, date, events, delay_threshold, metadata
		FROM subscriptions WHERE id IN (SELECT x.id FROM `+r.kind.ids()+`)`, jsonText(ids))
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
	DeliveredAt   any                `json:"delivered_at"`
}

// settle writes the events and the log, and reckons the counters.
func (r *recorder) settle(ctx context.Context, results []Result) error {
	rows := make([]settled, 0, len(results))
	due := make(map[string]time.Time, len(results))
	for _, res := range results {
		row := settled{ID: res.Attempt.EventID, Token: res.Attempt.token}
		switch res.Status {
		case flight.DeliverySucceeded:
			row.Status, row.DeliveredAt = flight.EventDelivered, r.kind.moment(r.now)
		case flight.DeliveryFailed:
			row.Status = flight.EventFailed
		default:
			row.Status = flight.EventPending
			if r.stopped(res.Attempt) {
				row.Status = flight.EventMissed
			} else {
				due[row.ID] = r.now.Add(res.RetryAfter)
				row.NextAttemptAt = r.kind.moment(due[row.ID])
			}
		}
		rows = append(rows, row)
	}
	var mine []struct {
		ID  string `db:"id"`
		Seq int64  `db:"seq"`
	}
	err := r.sel(ctx, &mine, `UPDATE events SET status = x.status, next_attempt_at = x.next_attempt_at, delivered_at = x.delivered_at, lease_token = ''
		FROM `+r.kind.rows("id text", "token text", "status text", "next_attempt_at timestamptz", "delivered_at timestamptz")+`
		WHERE events.id = x.id AND events.lease_token = x.token RETURNING events.id, events.seq`, jsonText(rows))
	if err != nil {
		return err
	}
	seqs := make(map[string]int64, len(mine))
	for _, m := range mine {
		seqs[m.ID] = m.Seq
	}
	var log []deliveryRow
	for _, res := range results {
		seq, ok := seqs[res.Attempt.EventID]
		if !ok {
			continue // the claim ran out, or the subscription is deleted
		}
		next := due[res.Attempt.EventID]
		if !next.IsZero() {
			r.out.Retries = append(r.out.Retries, next)
		}
		log = append(log, r.deliveryRow(res, next))
		r.count(res, seq)
	}
	return r.insertDeliveries(ctx, log)
}

// stopped reports whether an event of a subscription that was paused or
// suspended meanwhile is given up.
func (r *recorder) stopped(a Attempt) bool {
	s := r.subs[a.SubscriptionID]
	return s != nil && (s.Status == flight.SubscriptionPaused || s.Status == flight.SubscriptionSuspended && a.EventType != flight.EventSuspended)
}

func (r *recorder) deliveryRow(res Result, next time.Time) deliveryRow {
	a := res.Attempt
	return deliveryRow{
		ID: newID("dlv_"), SubscriptionID: a.SubscriptionID, EventID: a.EventID, EventType: a.EventType, Attempt: a.Number,
		Status: res.Status, StatusCode: res.StatusCode, Error: res.Error, LatencyMS: res.Latency.Milliseconds(),
		AttemptedAt: r.kind.moment(res.AttemptedAt), NextAttemptAt: r.kind.moment(next), ResponseBody: res.ResponseBody,
	}
}

// count reckons the counters and the head of one subscription.
func (r *recorder) count(res Result, seq int64) {
	s := r.subs[res.Attempt.SubscriptionID]
	if s == nil || s.state == nil {
		return
	}
	st := s.state
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
	if st.HeadSeq != nil && *st.HeadSeq == seq {
		st.HeadSeq = nil
		r.freed[s.ID] = true
	}
}

// advance gives the next event in line its turn, where the one before has had
// its first attempt.
func (r *recorder) advance(ctx context.Context) error {
	if len(r.freed) == 0 {
		return nil
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
		WHERE status = 'pending' AND next_attempt_at IS NULL AND subscription_id IN (SELECT x.id FROM `+r.kind.ids()+`)
		GROUP BY subscription_id`, jsonText(ids))
	if err != nil || len(heads) == 0 {
		return err
	}
	type turn struct {
		ID  string `json:"id"`
		Seq int64  `json:"seq"`
	}
	turns := make([]turn, len(heads))
	for i, h := range heads {
		turns[i] = turn{h.ID, h.Seq}
		r.subs[h.ID].state.HeadSeq = &heads[i].Seq
	}
	r.out.Due = true
	_, err = r.exec(ctx, `UPDATE events SET next_attempt_at = $2 FROM `+r.kind.rows("id text", "seq bigint")+`
		WHERE events.subscription_id = x.id AND events.seq = x.seq`, jsonText(turns), At(r.now))
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
		s.Status = next
		reason := fmt.Sprintf("%d deliveries in a row failed.", s.state.FailureStreak)
		if err := r.setStatus(ctx, s.ID, next, reason); err != nil {
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
		if f.Resolved && f.Version > 0 {
			snap, err := r.db.snapshot(ctx, r.queries, f.ID, f.Version)
			if err != nil {
				return err
			}
			e.next = snap.FetchedAgain(f.FetchedAt.Flight())
		}
		out := outbox{tx: r.Tx, now: r.now}
		out.add(s, e)
		if err := out.write(ctx); err != nil {
			return err
		}
		r.out.Due = r.out.Due || out.waiting
	}
	return nil
}
