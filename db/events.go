package db

import (
	"context"
	"slices"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Lane is where an event waits for its attempt, so that receivers that hang or
// fail never stand before the others.
type Lane int

// The lanes.
const (
	Prompt Lane = iota // first attempts for receivers that answered the last one in time
	Slow               // retries, and first attempts for the others
)

// Lanes is how many there are.
const Lanes = 2

// Due is an event whose attempt is due, and what limits go by.
type Due struct {
	EventID        string `db:"id"`
	SubscriptionID string `db:"subscription_id"`
	Account        string `db:"account_id"`
	URL            string `db:"webhook_url"`
	Lane           Lane   `db:"lane"`

	claimed
	At Time `db:"next_attempt_at"` // since when
}

// claimed is the claim on a due event that has run out; none: the token is empty.
type claimed struct {
	Type       flight.EventType `db:"type"`
	Attempts   int              `db:"attempts"`
	LeaseToken string           `db:"lease_token"`
	LeasedAt   Time             `db:"leased_at"`
}

// Interrupted reports whether its claim ran out, because the process that had
// it died. [DB.EndInterrupted] comes before it can be claimed again.
func (d *Due) Interrupted() bool { return d.LeaseToken != "" }

// DuePlace is where a pass through a lane has come to; the zero one is its
// beginning.
type DuePlace struct {
	at time.Time
	id string
}

// DueSince is the place after which is what has become due in the last time.
func (db *DB) DueSince(last time.Duration) DuePlace { return DuePlace{at: db.Now().Add(-last)} }

// DueEvents returns up to limit events of a lane that are due and come after
// from, the longest due first, and where the next look goes on: at the zero
// place when the pass is over. It claims nothing.
func (db *DB) DueEvents(ctx context.Context, lane Lane, from DuePlace, limit int) (due []Due, next DuePlace, err error) {
	if from.at.IsZero() {
		from.at = time.Unix(0, 0) // before all of them, where NULL would be none
	}
	err = db.sel(ctx, &due, `SELECT e.id, e.subscription_id, s.account_id, s.webhook_url, e.lane, e.type, e.attempts, e.lease_token, e.leased_at, e.next_attempt_at
		FROM events e JOIN subscriptions s ON s.id = e.subscription_id
		WHERE e.status = 'pending' AND e.lane = $1 AND e.next_attempt_at <= $2 AND (e.next_attempt_at, e.id) > ($3, $4)
		ORDER BY e.next_attempt_at, e.id LIMIT $5`, lane, At(db.Now()), At(from.at), from.id, limit)
	if err != nil {
		return nil, DuePlace{}, domainError(ctx, "look for due events", err)
	}
	if len(due) == limit {
		last := due[limit-1]
		next = DuePlace{last.At.Std(), last.EventID}
	}
	return due, next, nil
}

// Backlog is what waits in a lane.
type Backlog struct {
	Due    int       // events whose attempt is due or under way too long; counted up to limit
	Oldest time.Time // since when the first of them is; zero: none
}

// Backlog returns what is due in a lane, counting up to limit.
func (db *DB) Backlog(ctx context.Context, lane Lane, limit int) (Backlog, error) {
	var row struct {
		Due    int  `db:"due"`
		Oldest Time `db:"oldest"`
	}
	err := db.get(ctx, &row, `SELECT count(*) AS due, min(next_attempt_at) AS oldest FROM (
			SELECT next_attempt_at FROM events WHERE status = 'pending' AND lane = $1 AND next_attempt_at <= $2 ORDER BY next_attempt_at, id LIMIT $3) AS w`,
		lane, At(db.Now()), limit)
	return Backlog{row.Due, row.Oldest.Std()}, domainError(ctx, "count due events", err)
}

// interrupted is what the log says of an attempt whose claim ran out.
const interrupted = "The process died while the attempt was under way."

// EndInterrupted logs the attempts of those of due whose claims ran out. They
// are due again, or missed where the subscription has been paused or suspended
// meanwhile. Where another process has done so, nothing happens.
func (db *DB) EndInterrupted(ctx context.Context, due []Due) (Recorded, error) {
	var results []Result
	for _, d := range due {
		if d.Interrupted() {
			results = append(results, Result{
				Attempt: Attempt{EventID: d.EventID, EventType: d.Type, SubscriptionID: d.SubscriptionID, Number: d.Attempts, Lane: d.Lane, token: d.LeaseToken},
				Status:  flight.DeliveryInterrupted, Error: interrupted, AttemptedAt: d.LeasedAt.Std(),
			})
		}
	}
	if len(results) == 0 {
		return Recorded{}, nil
	}
	return db.RecordResults(ctx, results)
}

// Attempt is one claimed attempt to deliver an event.
type Attempt struct {
	EventID        string
	EventType      flight.EventType
	SubscriptionID string
	Number         int // from 1, as x-service-delivery-attempt says
	Counted        int // the same without interrupted attempts: what retries are counted by
	Lane           Lane
	URL            string
	Secret         string
	Headers        map[string]string
	Body           []byte
	Fault          string // why it cannot be sent at all, for the log; "" normally

	token string
}

// claimRow is an event that has just been claimed.
type claimRow struct {
	ID             string           `db:"id"`
	SubscriptionID string           `db:"subscription_id"`
	Type           flight.EventType `db:"type"`
	Envelope       string           `db:"envelope"`
	FlightID       string           `db:"flight_id"`
	Version        int64            `db:"version"`
	Attempts       int              `db:"attempts"`
	Interruptions  int              `db:"interruptions"`
	Lane           Lane             `db:"lane"`
}

// ClaimEvents claims those of the events that are due and that nobody else has,
// for as long as lease, in one statement, and returns them in the order given.
// What is claimed must be sent at once: see [SendWithin].
func (db *DB) ClaimEvents(ctx context.Context, events []string, lease time.Duration) ([]Attempt, error) {
	if len(events) == 0 {
		return nil, nil
	}
	var rows []claimRow
	token := newID("")
	err := db.tryAgain(ctx, "claim events", func() error {
		rows = nil
		now := db.Now()
		db.beforeCommit("claim events")
		return db.writes.sel(ctx, &rows, db.kind.claimEvents(),
			idList(events), token, At(now), At(now.Add(lease)))
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	byID, err := db.targets(ctx, rows)
	if err != nil {
		return nil, err // the claims run out
	}
	order := make(map[string]int, len(events))
	for i, id := range events {
		order[id] = i
	}
	slices.SortFunc(rows, func(a, b claimRow) int { return order[a.ID] - order[b.ID] })
	out := make([]Attempt, 0, len(rows))
	for i := range rows {
		if t := byID[rows[i].SubscriptionID]; t != nil {
			out = append(out, db.attempt(ctx, &rows[i], t, token))
		}
	}
	return out, nil
}

// claimEvents finds the rows by their ids and writes each once. The status is
// compared in a way that no index knows: PostgreSQL may believe that nothing is
// pending, as when it last looked, and would go through all that is.
//
// It does not wait until the claim is on the disk: a claim that a crash of the
// database takes back is made anew, and no result can be there without it.
func (d dialect) claimEvents() string {
	return `WITH due AS MATERIALIZED (
			SELECT e.` + d.place() + ` AS place FROM ` + d.ids() + ` JOIN events e ON e.id = x.id
			WHERE e.status || '' = 'pending' AND e.lease_token = '' AND e.next_attempt_at <= $3` + d.skipLocked("e") + `)` + d.commitSoon() + `
		UPDATE events SET attempts = attempts + 1, lease_token = $2, leased_at = $3, next_attempt_at = $4
		FROM due WHERE events.` + d.place() + ` = due.place` + d.committedSoon() + `
		RETURNING id, subscription_id, type, envelope, flight_id, version, attempts, interruptions, lane`
}

// attempt completes a claimed row. What stands in its way is the attempt's
// fault, so that it is logged where an operator looks.
func (db *DB) attempt(ctx context.Context, r *claimRow, t *target, token string) Attempt {
	a := Attempt{
		EventID: r.ID, EventType: r.Type, SubscriptionID: r.SubscriptionID, URL: t.URL,
		Number: r.Attempts, Counted: r.Attempts - r.Interruptions, Lane: r.Lane, token: token,
	}
	var snap *flight.Snapshot
	var err error
	if r.Version > 0 {
		snap, err = db.snapshot(ctx, db.queries, r.FlightID, r.Version)
	}
	if err == nil {
		a.Secret, err = db.seal.Open(t.ID, t.Secret)
	}
	if err == nil {
		a.Headers, err = decodeHeaders(t.ID, t.Headers)
	}
	if err != nil {
		a.Fault = err.Error()
		return a
	}
	a.Body = body(r.Envelope, snap)
	return a
}
