package main

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/flightwire/flightwire/access"
)

// storage are the settings of every command that reads or writes.
type storage struct {
	DataDir     string `default:"./data" env:"FLIGHTWIRE_DATA_DIR" placeholder:"DIR" help:"Where the embedded default keeps its database."`
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"PostgreSQL; unset: the embedded database."`
	RedisURL    string `env:"REDIS_URL" placeholder:"URL" help:"Redis, or a comma list for Redis Cluster; unset: the embedded one."`
	SecretKey   string `env:"FLIGHTWIRE_SECRET_KEY" placeholder:"BASE64" help:"32 bytes in base64: encrypts signing secrets at rest. A comma list encrypts with the first and reads with all. Required by serve; dev makes one and keeps it in the data dir."`
	Plans       string `env:"FLIGHTWIRE_PLANS" placeholder:"PATH" help:"JSON file that overrides the plan table; unset: built in."`
}

func (s storage) fill(c *Config) error {
	c.DataDir, c.DatabaseURL, c.RedisURL = s.DataDir, s.DatabaseURL, s.RedisURL
	if err := checkDatabaseURL(s.DatabaseURL); err != nil {
		return err
	}
	if _, err := redisOptions(s.RedisURL); s.RedisURL != "" && err != nil {
		return err
	}
	if s.Plans != "" {
		plans, err := access.LoadPlans(s.Plans)
		if err != nil {
			return usagef("FLIGHTWIRE_PLANS: %w", err)
		}
		c.Plans = plans
	}
	if s.SecretKey == "" {
		return nil
	}
	for i, key := range strings.Split(s.SecretKey, ",") {
		key = strings.TrimSpace(key)
		if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != 32 {
			return usagef("FLIGHTWIRE_SECRET_KEY: key %d is not 32 bytes in base64; make one with: openssl rand -base64 32", i+1)
		}
		c.SecretKeys = append(c.SecretKeys, key)
	}
	return nil
}

// checkDatabaseURL says what is wrong with a PostgreSQL URL, without repeating
// it: there is a password in it.
func checkDatabaseURL(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return usagef("DATABASE_URL must have the form postgres://user:password@host:5432/name?sslmode=require")
	}
	return nil
}

// redisOptions reads REDIS_URL: one URL, or a comma list of a cluster's nodes
// that share the credentials and TLS settings of the first.
func redisOptions(list string) (*redis.UniversalOptions, error) {
	var all *redis.UniversalOptions
	for i, raw := range strings.Split(list, ",") {
		o, err := redis.ParseURL(strings.TrimSpace(raw))
		if err != nil { // it repeats the password
			return nil, usagef("REDIS_URL: address %d must have the form redis://user:password@host:6379/0 (rediss:// for TLS, commas between the nodes of a cluster)", i+1)
		}
		if all == nil {
			all = &redis.UniversalOptions{
				DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
				IsClusterMode: strings.Contains(list, ","), ContextTimeoutEnabled: true, ClientName: "flightwire",
				// Off: they look the host up when the client is made, and only Redis Enterprise has them.
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			}
		}
		all.Addrs = append(all.Addrs, o.Addr)
	}
	if all.IsClusterMode && all.DB != 0 {
		return nil, usagef("REDIS_URL: a cluster has database 0 only")
	}
	return all, nil
}
