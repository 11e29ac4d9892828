-- +goose Up

-- A snapshot is kept deflated: packed instead of snapshot, packed_raw instead
-- of raw, packed_changes instead of changes, which is '[]' where there are none.
-- Versions of a leg resemble one another, so most are packed with an earlier
-- one, base, as what came before them; 0: the version stands alone. Raw and
-- changes are packed with the version itself. Rows from before have plain text.
ALTER TABLE updates ADD COLUMN base BIGINT NOT NULL DEFAULT 0;
ALTER TABLE updates ADD COLUMN packed BYTEA;
ALTER TABLE updates ADD COLUMN packed_raw BYTEA;
ALTER TABLE updates ADD COLUMN packed_changes BYTEA;

-- Up to which version a leg's history has been deleted for good; -1: nothing
-- has. A leg that nobody watches is in the index while there may be more.
ALTER TABLE flights ADD COLUMN trimmed BIGINT NOT NULL DEFAULT -1;
CREATE INDEX flights_old ON flights (date, id) WHERE next_poll_at IS NULL AND trimmed < version;

-- +goose Down
DROP INDEX flights_old;
ALTER TABLE flights DROP COLUMN trimmed;
ALTER TABLE updates DROP COLUMN packed_changes;
ALTER TABLE updates DROP COLUMN packed_raw;
ALTER TABLE updates DROP COLUMN packed;
ALTER TABLE updates DROP COLUMN base;
