package access

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// BenchmarkAuthenticate is 32 callers with keys that Redis knows, against the
// in-process Redis: what a cached look-up pays for its key.
func BenchmarkAuthenticate(b *testing.B) {
	for _, keys := range []int{1, 100} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			m := miniredis.NewMiniRedis()
			r := redis.NewClient(&redis.Options{Protocol: 2, Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() }})
			g := newGuard(r, func(_ context.Context, id string) (db.APIKey, error) {
				return db.APIKey{ID: id, Account: "acc_1", AccountName: "A Name", Plan: "pro", Hash: hashSecret(testSecret)}, nil
			})
			b.Cleanup(func() { g.Close(); _ = r.Close(); m.Close() })
			texts := make([]string, keys)
			for i := range texts {
				texts[i] = keyText(newKeyID(), testSecret)
				if _, err := g.Authenticate(b.Context(), texts[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetParallelism(16) // on two cores: 32 callers
			b.ReportAllocs()
			var n atomic.Int64
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for i := int(n.Add(1)); pb.Next(); i++ {
					if _, err := g.Authenticate(context.Background(), texts[i%keys]); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checks/s")
		})
	}
}
