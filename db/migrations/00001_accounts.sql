-- +goose Up

-- Whoever owns subscriptions. The plans are the program's, so their names are
-- not checked here.
CREATE TABLE accounts (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE CHECK (name <> ''),
  plan       TEXT NOT NULL CHECK (plan <> ''),
  created_at TIMESTAMPTZ NOT NULL
);

-- Keys are kept for ever: a revoked one still says whose it was.
CREATE TABLE api_keys (
  id         TEXT PRIMARY KEY,                          -- stands in the key itself
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash       TEXT NOT NULL CHECK (length(hash) = 64),   -- SHA-256 of the secret, in hex
  version    BIGINT NOT NULL CHECK (version > 0),       -- one more with every rotation and the revocation
  created_at TIMESTAMPTZ NOT NULL,
  rotated_at TIMESTAMPTZ,
  revoked_at TIMESTAMPTZ
);
CREATE INDEX api_keys_by_account ON api_keys (account_id);

-- +goose Down
DROP TABLE api_keys;
DROP TABLE accounts;
