-- The ids by which other upstreams than the one of the last answer know a leg:
-- a JSON object by upstream, or empty.
-- +goose Up
ALTER TABLE flights ADD COLUMN other_ids TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE flights DROP COLUMN other_ids;
