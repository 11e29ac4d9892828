-- +goose Up

-- What creates with an Idempotency-Key have made. Rows outlive their
-- subscription and are dropped some time after their 24 hours.
CREATE TABLE idempotency_keys (
  api_key_id      TEXT NOT NULL, -- whose key it is: two API keys do not share them
  idempotency_key TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  request         TEXT NOT NULL, -- digest of what was asked for, sealed: a client's secret is in it
  created_at      TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (api_key_id, idempotency_key)
);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);

-- A row for each watched flight: what the free plan's cap and bills go by. It
-- stays when the subscription is deleted. Rows and no counter, so that nobody
-- waits for a lock whose plan has no cap.
CREATE TABLE watched_flights (
  month           TEXT NOT NULL, -- YYYY-MM, UTC
  account_id      TEXT NOT NULL REFERENCES accounts (id),
  subscription_id TEXT NOT NULL,
  PRIMARY KEY (month, account_id, subscription_id)
);

-- Newest first, and the same order for those of one moment.
DROP INDEX deliveries_newest;
CREATE INDEX deliveries_newest ON deliveries (subscription_id, attempted_at, id);

-- +goose Down
DROP INDEX deliveries_newest;
CREATE INDEX deliveries_newest ON deliveries (subscription_id, attempted_at);
DROP TABLE watched_flights;
DROP TABLE idempotency_keys;
