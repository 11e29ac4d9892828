-- +goose Up

-- How many subscriptions an account has, by status: the sum of n. A ledger and
-- no counter: each transaction adds its difference as a row, so that nobody
-- waits for a lock, and now and then one folds an account's rows together.
-- Without a foreign key: what it counts has one.
CREATE TABLE subscription_counts (
  account_id TEXT NOT NULL,
  id         TEXT NOT NULL,
  status     TEXT NOT NULL,
  n          BIGINT NOT NULL,
  PRIMARY KEY (account_id, id)
);
INSERT INTO subscription_counts (account_id, id, status, n)
  SELECT account_id, status, status, count(*) FROM subscriptions GROUP BY account_id, status;

-- A page is found in an index alone, and only its rows are read: all of an
-- account's in subscriptions_newest, those of one status in the first of these.
-- The second finds those of a flight, and judges the other filters when they are
-- counted.
CREATE INDEX subscriptions_by_status ON subscriptions (account_id, status, created_at, id);
CREATE INDEX subscriptions_filtered ON subscriptions (account_id, number, date, carrier, status);

-- +goose Down
DROP INDEX subscriptions_filtered;
DROP INDEX subscriptions_by_status;
DROP TABLE subscription_counts;
