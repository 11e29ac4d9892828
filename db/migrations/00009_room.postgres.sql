-- +goose Up

-- Claims and polls write a leg's row again and again. With room on its page the
-- new row stays beside the old one, and no index but that of the due times hears
-- of it.
ALTER TABLE flights SET (fillfactor = 60);

-- +goose Down
ALTER TABLE flights RESET (fillfactor);
