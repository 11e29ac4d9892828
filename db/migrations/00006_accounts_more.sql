-- +goose Up

-- NULL: in use. The keys and the token of a disabled account are refused.
ALTER TABLE accounts ADD COLUMN disabled_at TIMESTAMPTZ;

-- Some seconds behind, as usage is. NULL: never used.
ALTER TABLE api_keys ADD COLUMN last_used_at TIMESTAMPTZ;

-- What manages an account's keys: one token an account, made when it is asked
-- for. Its id is of the same kind as a key's.
CREATE TABLE account_tokens (
  id         TEXT PRIMARY KEY,                        -- stands in the token itself
  account_id TEXT NOT NULL UNIQUE REFERENCES accounts (id),
  hash       TEXT NOT NULL CHECK (length(hash) = 64), -- SHA-256 of prefix and secret, in hex
  version    BIGINT NOT NULL CHECK (version > 0),     -- one more with every rotation
  created_at TIMESTAMPTZ NOT NULL,
  rotated_at TIMESTAMPTZ
);

-- Who did what to keys, tokens, secrets and accounts. A row is written in the
-- transaction of the change that it tells of, and stays for ever. No secret is
-- in it.
CREATE TABLE audit_log (
  id         TEXT PRIMARY KEY, -- aud_, in order of time
  account_id TEXT NOT NULL,    -- '' when it concerns them all
  actor      TEXT NOT NULL CHECK (actor IN ('operator', 'account_token', 'api_key')),
  actor_id   TEXT NOT NULL,    -- of the key or token; '' for the operator
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,    -- id of what it was done to
  detail     TEXT NOT NULL,
  request_id TEXT NOT NULL,    -- '' when there was none
  at         TIMESTAMPTZ NOT NULL
);
CREATE INDEX audit_log_newest ON audit_log (at, id);
CREATE INDEX audit_log_by_account ON audit_log (account_id, at, id);

-- +goose Down
DROP TABLE audit_log;
DROP TABLE account_tokens;
ALTER TABLE api_keys DROP COLUMN last_used_at;
ALTER TABLE accounts DROP COLUMN disabled_at;
