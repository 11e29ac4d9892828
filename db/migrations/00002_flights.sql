-- +goose Up

-- The clock of a simulated or replayed world; one row at most.
CREATE TABLE world (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  start_at TIMESTAMPTZ NOT NULL, -- wall time
  epoch_at TIMESTAMPTZ NOT NULL, -- world time at start_at
  speed    DOUBLE PRECISION NOT NULL CHECK (speed > 0),
  upstream TEXT NOT NULL
);

-- One row a leg, and one for each flight that is looked for and not yet found.
-- It is narrow: the snapshot is in updates. Times of polls are world time,
-- leases are wall time.
CREATE TABLE flights (
  id                 TEXT PRIMARY KEY,
  leg                TEXT NOT NULL UNIQUE, -- flightKey with leg suffix; with ?selector while not found
  flight_key         TEXT NOT NULL,        -- without suffix: what is asked for upstream
  carrier            TEXT NOT NULL,
  number             TEXT NOT NULL,
  date               TEXT NOT NULL,
  resolved           BOOLEAN NOT NULL,
  origin             TEXT NOT NULL,        -- selectors while not found
  destination        TEXT NOT NULL,
  provider           TEXT NOT NULL,        -- whose snapshot stands
  provider_flight_id TEXT NOT NULL,
  version            BIGINT NOT NULL,      -- of the snapshot that stands; 0 while not found
  asked_at           TIMESTAMPTZ,          -- wall time at which the standing answer was asked for
  fetched_at         TIMESTAMPTZ,          -- world time of the same
  catch_up           BOOLEAN NOT NULL,     -- a resumed subscription waits for its net changes
  next_poll_at       TIMESTAMPTZ,          -- NULL: nobody watches
  poll_reason        TEXT NOT NULL,
  poll_token         TEXT NOT NULL,        -- of the claim that is under way
  poll_lease_until   TIMESTAMPTZ,
  poll_failures      INTEGER NOT NULL,     -- upstream errors in a row
  last_polled_at     TIMESTAMPTZ,
  created_at         TIMESTAMPTZ NOT NULL
);
CREATE INDEX flights_due ON flights (next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX flights_by_key ON flights (flight_key);

-- Every version of a leg's snapshot, stored once however many are told of it.
CREATE TABLE updates (
  flight_id           TEXT NOT NULL REFERENCES flights (id) ON DELETE CASCADE,
  version             BIGINT NOT NULL,
  snapshot            TEXT NOT NULL, -- the encoded bytes that go into webhook bodies
  changes             TEXT NOT NULL, -- the Diff to the version before; [] when nothing watched changed
  previous_fetched_at TIMESTAMPTZ,
  source              TEXT NOT NULL,
  created_at          TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (flight_id, version)
);

-- Legs that some process's live viewers watch.
CREATE TABLE viewers (
  process    TEXT NOT NULL,
  flight_id  TEXT NOT NULL REFERENCES flights (id) ON DELETE CASCADE,
  expires_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (flight_id, process)
);

CREATE TABLE subscriptions (
  id              TEXT PRIMARY KEY,
  account_id      TEXT NOT NULL REFERENCES accounts (id),
  flight_id       TEXT NOT NULL REFERENCES flights (id),
  status          TEXT NOT NULL CHECK (status IN ('active', 'pending', 'paused', 'completed', 'suspended')),
  status_reason   TEXT NOT NULL,
  carrier         TEXT NOT NULL,
  number          TEXT NOT NULL,
  date            TEXT NOT NULL,
  webhook_url     TEXT NOT NULL,
  secret          TEXT NOT NULL, -- sealed
  headers         TEXT NOT NULL, -- JSON object, '' when none
  events          BIGINT NOT NULL, -- set of change types, a bit each
  delay_threshold INTEGER NOT NULL,
  metadata        TEXT NOT NULL, -- JSON object to the byte, '' when none
  created_at      TIMESTAMPTZ NOT NULL,
  updated_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX subscriptions_newest ON subscriptions (account_id, created_at, id);
CREATE INDEX subscriptions_by_flight ON subscriptions (flight_id, status);

-- What changes with every event and delivery. Its lock guards the
-- subscription's status and its sequence of events.
CREATE TABLE subscription_state (
  subscription_id  TEXT PRIMARY KEY REFERENCES subscriptions (id) ON DELETE CASCADE,
  seq              BIGINT NOT NULL,  -- of the last event
  head_seq         BIGINT,           -- the event whose first attempt is waited for; NULL: none waits
  told_departure   INTEGER NOT NULL, -- delay minutes last told
  told_arrival     INTEGER NOT NULL,
  resume_from      BIGINT,           -- version to reckon the net changes from, after a resume
  delivered_count  BIGINT NOT NULL,
  failed_count     BIGINT NOT NULL,
  failure_streak   INTEGER NOT NULL,
  last_change_at   TIMESTAMPTZ,
  last_delivery_at TIMESTAMPTZ
);

-- The outbox and the event log.
CREATE TABLE events (
  id              TEXT PRIMARY KEY,
  subscription_id TEXT NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
  seq             BIGINT NOT NULL,
  type            TEXT NOT NULL,
  flight_key      TEXT NOT NULL,
  flight_id       TEXT NOT NULL,
  version         BIGINT NOT NULL, -- of the update whose snapshot it carries; 0: none
  envelope        TEXT NOT NULL,   -- the encoded body but for the snapshot
  status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'missed')),
  attempts        INTEGER NOT NULL,
  interruptions   INTEGER NOT NULL, -- attempts that a dying process cut off
  next_attempt_at TIMESTAMPTZ,      -- NULL: not its turn; while claimed: when the claim expires
  lease_token     TEXT NOT NULL,    -- of the claim that is under way
  leased_at       TIMESTAMPTZ,      -- when it was claimed
  created_at      TIMESTAMPTZ NOT NULL,
  delivered_at    TIMESTAMPTZ,
  UNIQUE (subscription_id, seq)
);
CREATE INDEX events_waiting ON events (subscription_id, seq) WHERE status = 'pending' AND next_attempt_at IS NULL;
CREATE INDEX events_due ON events (next_attempt_at) WHERE status = 'pending' AND next_attempt_at IS NOT NULL;

-- Every attempt.
CREATE TABLE deliveries (
  id              TEXT PRIMARY KEY,
  subscription_id TEXT NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
  event_id        TEXT NOT NULL,
  event_type      TEXT NOT NULL,
  attempt         INTEGER NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('succeeded', 'retrying', 'failed', 'interrupted')),
  status_code     INTEGER NOT NULL, -- 0: no answer
  error           TEXT NOT NULL,
  latency_ms      BIGINT NOT NULL,
  attempted_at    TIMESTAMPTZ NOT NULL,
  next_attempt_at TIMESTAMPTZ,
  response_body   TEXT NOT NULL
);
CREATE INDEX deliveries_newest ON deliveries (subscription_id, attempted_at);

-- +goose Down
DROP TABLE deliveries;
DROP TABLE events;
DROP TABLE subscription_state;
DROP TABLE subscriptions;
DROP TABLE viewers;
DROP TABLE updates;
DROP TABLE flights;
DROP TABLE world;
