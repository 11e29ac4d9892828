-- +goose Up

-- Calls made to each upstream provider: a row a UTC month ('2026-11'). Redis
-- counts; this is what survives it, some seconds behind.
CREATE TABLE provider_calls (
  provider   TEXT NOT NULL,
  month      TEXT NOT NULL CHECK (length(month) = 7),
  calls      BIGINT NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (provider, month)
);

-- +goose Down
DROP TABLE provider_calls;
