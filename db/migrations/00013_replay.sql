-- +goose Up

-- What a replay sends again.
CREATE INDEX events_unsent ON events (subscription_id, seq) WHERE status IN ('missed', 'failed');

-- The last version that the subscription was told of, as far as no event says
-- so any more: a delivered event that is sent again is a pending one, and may
-- end as failed or missed. NULL: the events say it all.
ALTER TABLE subscription_state ADD COLUMN told_version BIGINT;

-- +goose Down
ALTER TABLE subscription_state DROP COLUMN told_version;
DROP INDEX events_unsent;
