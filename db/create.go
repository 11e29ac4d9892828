package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// NewSubscription is what a subscription is made of. Its parts have been
// validated.
type NewSubscription struct {
	Account        string
	Key            flight.Key
	Selector       flight.Selector // looked for while the flight is not found
	FlightID       string          // row of the leg; empty: not found yet
	WebhookURL     string
	Secret         string
	Headers        map[string]string
	Events         flight.ChangeSet
	DelayThreshold int             // minutes
	Metadata       json.RawMessage // a JSON object, or nil
	Idempotency    Idempotency     // zero: nothing is repeated
	Cap            WatchCap        // of the account's plan
	Now            flight.Time     // world time
	PollAt         flight.Time     // when its flight is polled first, unless that is planned; unknown: at Now
}

// creation is a subscription on its way into the database.
type creation struct {
	NewSubscription
	id string // that it is to have

	// What the last run of the transaction found.
	flight *flightRow // locked; nil: somebody else holds it
	stands string     // the subscription that its idempotency key stands for; "": it takes the key
	fault  error      // why this one cannot be made
	row    *subscriptionRow
	state  *stateRow

	done chan struct{} // closed when err is final
	err  error
}

// refused reports whether nothing is made: its key stands for another, or it
// has a fault.
func (c *creation) refused() bool { return c.stands != "" || c.fault != nil }

// CreateSubscription stores a subscription with its subscription.created event
// and starts the polling of its flight. The answer holds the whole secret. With
// an idempotency key that is taken already it is what [DB.Replay] returns.
// CodeWatchedFlightLimit when the plan allows no more; CodeConflict when the
// leg's row has gone meanwhile; CodeAccountDisabled.
//
// Creates that come in at the same time share a transaction, unless one must
// wait for what another need not: a cap's lock, a flight that is looked for.
func (db *DB) CreateSubscription(ctx context.Context, n NewSubscription) (*flight.Subscription, error) {
	c := &creation{NewSubscription: n, id: newID("sub_")}
	var err error
	if n.Cap.Capped || n.FlightID == "" {
		err = db.create(ctx, []*creation{c}, true)
	} else {
		err = db.createShared(ctx, c)
	}
	switch {
	case err != nil:
		return nil, err
	case c.fault != nil:
		return nil, c.fault
	case c.stands != "":
		return db.Subscription(ctx, n.Account, c.stands)
	}
	return db.subscription(c.row)
}

// create makes subscriptions in one transaction. With wait it waits for the
// locks of flights; without, one whose flight somebody holds is left out.
func (db *DB) create(ctx context.Context, list []*creation, wait bool) error {
	return db.tx(ctx, "create subscription", func(tx *Tx) error {
		for _, c := range list {
			c.flight, c.stands, c.fault, c.row, c.state = nil, "", nil, nil, nil
		}
		if err := tx.refuseDisabled(ctx, list); err != nil {
			return err
		}
		if err := tx.lockForCreate(ctx, list, wait); err != nil {
			return err
		}
		list := slices.DeleteFunc(slices.Clone(list), func(c *creation) bool { return c.flight == nil || c.refused() })
		if err := tx.takeKeys(ctx, list); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, (*creation).refused)
		if len(list) == 0 {
			return errNothing
		}
		for _, c := range list {
			if err := tx.checkCap(ctx, c.Account, c.Cap); err != nil {
				return err
			}
		}
		return tx.insertSubscriptions(ctx, list)
	})
}

// lockForCreate locks the account where its cap must be kept, then the flights.
func (tx *Tx) lockForCreate(ctx context.Context, list []*creation, wait bool) error {
	if c := list[0]; len(list) == 1 {
		if err := tx.lockCap(ctx, c.Account, c.Cap); err != nil {
			return err
		}
		if c.FlightID == "" {
			var err error
			c.flight, err = tx.lockSought(ctx, c.NewSubscription)
			return err
		}
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.FlightID
	}
	lock := tx.kind.skipLocked("flights")
	if wait {
		lock = tx.kind.forUpdate()
	}
	var rows []*flightRow
	err := tx.sel(ctx, &rows, `SELECT `+flightColumns+` FROM flights WHERE id `+tx.kind.oneOf()+` ORDER BY id`+lock, idList(ids))
	if err != nil {
		return err
	}
	for _, c := range list {
		i := slices.IndexFunc(rows, func(f *flightRow) bool { return f.ID == c.FlightID })
		switch {
		case i >= 0:
			c.flight = rows[i]
		case wait:
			c.fault = flight.Errorf(flight.CodeConflict, "The flight changed while the subscription was made. Try again.")
		}
	}
	return nil
}

// lockSought locks the row of a flight that is not found yet, and makes it if
// need be.
func (tx *Tx) lockSought(ctx context.Context, n NewSubscription) (*flightRow, error) {
	leg := n.Key.String() + "?" + strings.Join([]string{n.Selector.Origin, n.Selector.Destination, n.Selector.FlightID}, "&")
	err := tx.insertFlight(ctx, flightRow{
		ID: newID("flt_"), Leg: leg, FlightKey: n.Key.String(), Carrier: n.Key.Carrier, Number: n.Key.Number, Date: n.Key.Date,
		Origin: n.Selector.Origin, Destination: n.Selector.Destination, ProviderFlightID: n.Selector.FlightID,
	})
	if err != nil {
		return nil, err
	}
	f := new(flightRow)
	err = tx.get(ctx, f, `SELECT `+flightColumns+` FROM flights WHERE leg = $1`+tx.kind.forUpdate(), leg)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errMoved // it was there, and was found between the two statements
	}
	return f, err
}

// insertSubscriptions writes subscriptions of locked flights, with their first
// events and all that is counted.
func (tx *Tx) insertSubscriptions(ctx context.Context, list []*creation) error {
	out := outbox{tx: tx, now: tx.db.Now()}
	rows := make([]newRow, len(list))
	counted := make([]tally, len(list))
	for i, c := range list {
		if err := tx.begin(ctx, c, &out); err != nil {
			return err
		}
		rows[i] = c.newRow()
		counted[i] = tally{Account: c.Account, Status: c.row.Status, N: 1}
	}
	if err := tx.insertRows(ctx, jsonText(rows), out.now); err != nil {
		return err
	}
	if err := out.writeEvents(ctx); err != nil {
		return err
	}
	if err := tx.count(ctx, counted); err != nil {
		return err
	}
	return tx.startPollingAll(ctx, list)
}

// begin reckons the first state of a subscription and adds its first event.
func (tx *Tx) begin(ctx context.Context, c *creation, out *outbox) error {
	f := c.flight
	e := event{kind: flight.EventCreated, flight: f}
	var err error
	if e.next, err = tx.present(ctx, f); err != nil {
		return err
	}
	c.state = &stateRow{SubscriptionID: c.id}
	status := flight.SubscriptionPending
	if e.next != nil {
		status = flight.SubscriptionActive
		c.state.setTold(flight.ToldBy(e.next))
	}
	c.row = &subscriptionRow{
		ID: c.id, AccountID: c.Account, FlightID: f.ID, Status: status, Carrier: f.Carrier, Number: f.Number, Date: f.Date,
		WebhookURL: c.WebhookURL, Secret: tx.db.seal.Seal(c.id, c.Secret), Headers: encodeHeaders(c.Headers),
		Events: c.Events, DelayThreshold: c.DelayThreshold, Metadata: string(c.Metadata),
		CreatedAt: At(out.now), UpdatedAt: At(out.now), LastPolledAt: f.LastPolledAt, Resolved: f.Resolved,
	}
	out.add(&follower{
		ID: c.id, Account: c.Account, URL: c.WebhookURL, Status: status, FlightID: f.ID, Carrier: f.Carrier, Number: f.Number, Date: f.Date,
		Events: c.Events, DelayThreshold: c.DelayThreshold, Metadata: c.row.Metadata, state: c.state,
	}, e)
	return nil
}

// newRow is an element of the JSON array that becomes rows of subscriptions and
// of what belongs to each.
type newRow struct {
	ID             string        `json:"id"`
	AccountID      string        `json:"account_id"`
	FlightID       string        `json:"flight_id"`
	Status         flight.Status `json:"status"`
	Carrier        string        `json:"carrier"`
	Number         string        `json:"number"`
	Date           string        `json:"date"`
	WebhookURL     string        `json:"webhook_url"`
	Secret         string        `json:"secret"`
	Headers        string        `json:"headers"`
	Events         int64         `json:"events"`
	DelayThreshold int           `json:"delay_threshold"`
	Metadata       string        `json:"metadata"`
	Seq            int64         `json:"seq"`
	HeadSeq        *int64        `json:"head_seq"`
	ToldDeparture  int           `json:"told_departure"`
	ToldArrival    int           `json:"told_arrival"`
}

func (c *creation) newRow() newRow {
	r, st := c.row, c.state
	return newRow{
		r.ID, r.AccountID, r.FlightID, r.Status, r.Carrier, r.Number, r.Date, r.WebhookURL, r.Secret, r.Headers,
		int64(r.Events), r.DelayThreshold, r.Metadata, st.Seq, st.HeadSeq, st.ToldDeparture, st.ToldArrival,
	}
}

// insertRows writes the rows of new subscriptions, their states, and the
// watched flights that they are.
func (tx *Tx) insertRows(ctx context.Context, rows string, now time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO subscriptions (id, account_id, flight_id, status, status_reason, carrier, number, date,
			webhook_url, secret, headers, events, delay_threshold, metadata, created_at, updated_at)
		SELECT x.id, x.account_id, x.flight_id, x.status, '', x.carrier, x.number, x.date,
			x.webhook_url, x.secret, x.headers, x.events, x.delay_threshold, x.metadata, $2, $2
		FROM `+tx.kind.rows("id text", "account_id text", "flight_id text", "status text", "carrier text", "number text", "date text",
		"webhook_url text", "secret text", "headers text", "events bigint", "delay_threshold int", "metadata text"), rows, At(now))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `INSERT INTO subscription_state (subscription_id, seq, head_seq, told_departure, told_arrival, delivered_count, failed_count, failure_streak)
		SELECT x.id, x.seq, x.head_seq, x.told_departure, x.told_arrival, 0, 0, 0
		FROM `+tx.kind.rows("id text", "seq bigint", "head_seq bigint", "told_departure int", "told_arrival int"), rows)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `INSERT INTO watched_flights (month, account_id, subscription_id)
		SELECT $2, x.account_id, x.id FROM `+tx.kind.rows("id text", "account_id text"), rows, MonthOf(now))
	return err
}

// startPollingAll plans the polls of those legs of new subscriptions that have
// none.
func (tx *Tx) startPollingAll(ctx context.Context, list []*creation) error {
	begun := make(map[string]bool)
	for _, c := range list {
		if c.flight.watched() || begun[c.flight.ID] {
			continue
		}
		begun[c.flight.ID] = true
		if err := tx.startPolling(ctx, c.flight.ID, cmp.Or(c.PollAt, c.Now), false); err != nil {
			return err
		}
	}
	return nil
}
