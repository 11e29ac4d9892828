-- +goose Up

-- Requests counted of each key: a row a UTC day ('2026-11-21') and a row a UTC
-- month ('2026-11'). Redis counts; this is what survives it, some seconds
-- behind, and what bills are made of. Without a foreign key: one row that does
-- not fit must not keep the others of its statement from being counted.
CREATE TABLE usage (
  period     TEXT NOT NULL CHECK (length(period) IN (7, 10)),
  key_id     TEXT NOT NULL,
  requests   BIGINT NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (period, key_id)
);

-- +goose Down
DROP TABLE usage;
