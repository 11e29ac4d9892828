-- +goose Up

-- Values that the upstream has stopped saying and that still count for a while:
-- JSON, '' for none. snapshot is what counts and what subscribers hear; raw is
-- what the upstream said where that is something else, '' where it is not.
ALTER TABLE flights ADD COLUMN held TEXT NOT NULL DEFAULT '';
ALTER TABLE updates ADD COLUMN raw TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE updates DROP COLUMN raw;
ALTER TABLE flights DROP COLUMN held;
