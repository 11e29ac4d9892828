-- +goose Up

-- The place of an attempt in the log of its subscription: given under the lock
-- of the subscription's state and so in the order of commits, which neither ids
-- nor times are. 0: logged before there were places.
ALTER TABLE subscription_state ADD COLUMN attempt_seq BIGINT NOT NULL DEFAULT 0; -- of the last attempt
ALTER TABLE deliveries ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX deliveries_in_order ON deliveries (subscription_id, seq);

-- Where and when a leg stands on the boards of its two airports. A table of its
-- own, because a poll writes the leg's row, and with it every index of it, each
-- time, while the best known time changes now and then. A leg that was there
-- before this table comes in when one of its times changes.
CREATE TABLE boards (
  flight_id TEXT NOT NULL REFERENCES flights (id) ON DELETE CASCADE,
  direction INTEGER NOT NULL CHECK (direction IN (0, 1)), -- 0: departures, 1: arrivals
  airport   TEXT NOT NULL,
  at        TIMESTAMPTZ,                                  -- the best known time, of the world; NULL: none is known
  PRIMARY KEY (flight_id, direction)
);
CREATE INDEX boards_in_order ON boards (airport, direction, at, flight_id);

-- Whether an account has a subscription of a leg.
CREATE INDEX subscriptions_of_leg ON subscriptions (flight_id, account_id);

-- +goose Down
DROP INDEX subscriptions_of_leg;
DROP TABLE boards;
DROP INDEX deliveries_in_order;
ALTER TABLE deliveries DROP COLUMN seq;
ALTER TABLE subscription_state DROP COLUMN attempt_seq;
