package access

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/flightwire/flightwire/db"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testSecret = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// hook stands between a client and Redis; nil fields pass on.
type hook struct {
	command  func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error
	pipeline func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	if h.command == nil {
		return next
	}
	return func(ctx context.Context, cmd redis.Cmder) error { return h.command(ctx, cmd, next) }
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	if h.pipeline == nil {
		return next
	}
	return func(ctx context.Context, cmds []redis.Cmder) error { return h.pipeline(ctx, cmds, next) }
}

// memory is a usage store without a database.
type memory struct {
	mu    sync.Mutex
	rows  map[ledgerRow]int64
	reads int
	fail  error
}

func (m *memory) AddUsage(_ context.Context, more []db.Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.rows == nil {
		m.rows = map[ledgerRow]int64{}
	}
	for _, u := range more {
		m.rows[ledgerRow{u.Period, u.KeyID}] += u.Requests
	}
	return nil
}

func (m *memory) Usage(_ context.Context, id, day, month string) (int64, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	return m.rows[ledgerRow{day, id}], m.rows[ledgerRow{month, id}], m.fail
}

func (m *memory) DropUsageDays(context.Context, string) error { return nil }

// newGuard is a guard without a database.
func newGuard(r redis.UniversalClient, read func(context.Context, string) (db.APIKey, error)) *Guard {
	return newGuardOn(Config{Redis: r, Now: time.Now, Grace: DefaultGrace}, read, new(memory))
}
