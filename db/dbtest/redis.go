package dbtest

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func takenKey(n int) string { return fmt.Sprintf("flightwire:test:%d", n) }

// takeDatabase takes the number of an empty database, as test/README.md says,
// waiting for one that another test gives back.
func takeDatabase(t testing.TB, admin *redis.Client) int {
	ctx := t.Context()
	count := 16
	if conf, err := admin.ConfigGet(ctx, "databases").Result(); err == nil {
		if n, err := strconv.Atoi(conf["databases"]); err == nil {
			count = n
		}
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		for n := 1; n < count; n++ {
			won, err := admin.SetNX(ctx, takenKey(n), "1", time.Hour).Result()
			if err != nil {
				t.Fatal(err)
			}
			if !won {
				continue
			}
			if empty(t, admin, n) {
				return n
			}
			admin.Del(ctx, takenKey(n))
		}
	}
	t.Fatal("no empty Redis database is free; give the tests a server of their own")
	return 0
}

func empty(t testing.TB, admin *redis.Client, n int) bool {
	o := *admin.Options()
	o.DB = n
	c := redis.NewClient(&o)
	defer func() { _ = c.Close() }()
	size, err := c.DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return size == 0
}

func withDatabase(t testing.TB, base string, n int) string {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + strconv.Itoa(n)
	return u.String()
}
