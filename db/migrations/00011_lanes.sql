-- +goose Up

-- Which lane an event waits in: 0 is for prompt receivers, 1 for those that
-- hang or fail, and for retries. A subscription's lane is what its last attempt
-- says of its receiver; its next event takes it over.
ALTER TABLE events ADD COLUMN lane INTEGER NOT NULL DEFAULT 0 CHECK (lane IN (0, 1));
ALTER TABLE subscription_state ADD COLUMN lane INTEGER NOT NULL DEFAULT 0 CHECK (lane IN (0, 1));
UPDATE events SET lane = 1 WHERE status = 'pending' AND attempts > 0;

-- A lane is read in the order of due times, from wherever the last look ended.
DROP INDEX events_due;
CREATE INDEX events_due ON events (lane, next_attempt_at, id) WHERE status = 'pending' AND next_attempt_at IS NOT NULL;

-- +goose Down
DROP INDEX events_due;
CREATE INDEX events_due ON events (next_attempt_at) WHERE status = 'pending' AND next_attempt_at IS NOT NULL;
ALTER TABLE subscription_state DROP COLUMN lane;
ALTER TABLE events DROP COLUMN lane;
