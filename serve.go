package main

import "slices"

type devCommand struct{ serving }

// Run starts `flightwire dev` and returns when a signal has ended it.
func (d *devCommand) Run(s session) error {
	c, err := d.config()
	if err != nil {
		return err
	}
	if err := setLogger(s.stderr, d.LogLevel, false); err != nil {
		return err
	}
	c.Stdout, c.step = s.stdout, s.step
	return run(s, c)
}

type serveCommand struct {
	serving
	Role    string `default:"all" env:"FLIGHTWIRE_ROLE" placeholder:"ROLE" help:"api, worker or all."`
	Migrate string `default:"auto" env:"FLIGHTWIRE_MIGRATE" placeholder:"MODE" help:"auto: migrate at start, under a lock; off: not ready until migrate up has run."`
}

// Run starts `flightwire serve` and returns when a signal has ended it.
func (v *serveCommand) Run(s session) error {
	c, err := v.config()
	if err != nil {
		return err
	}
	c.Serve, c.Role, c.step = true, v.Role, s.step
	if c.MigrateOff, err = migrateOff(v.Migrate); err != nil {
		return err
	}
	if !slices.Contains([]string{roleAPI, roleWorker, roleAll}, v.Role) {
		return usagef("FLIGHTWIRE_ROLE: there is no %q: have api, worker, all", v.Role)
	}
	if c.DatabaseURL == "" || c.RedisURL == "" {
		return usagef("serve needs both DATABASE_URL and REDIS_URL; `flightwire dev` needs neither")
	}
	if len(c.SecretKeys) == 0 {
		return usagef("serve needs FLIGHTWIRE_SECRET_KEY, the same on every process; make one with: openssl rand -base64 32")
	}
	if err := setLogger(s.stderr, v.LogLevel, true); err != nil {
		return err
	}
	return run(s, c)
}

func migrateOff(mode string) (bool, error) {
	switch mode {
	case "auto", "off":
		return mode == "off", nil
	}
	return false, usagef("FLIGHTWIRE_MIGRATE: there is no %q: have auto, off", mode)
}
