-- +goose Up

-- Subscriptions by the date of their flight: a status at a time, as
-- subscriptions_by_status has them by when they were made.
CREATE INDEX subscriptions_by_date ON subscriptions (account_id, status, date, id);

-- +goose Down
DROP INDEX subscriptions_by_date;
