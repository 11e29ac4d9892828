package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
)

// The Redis entry fw:{<key id>}:key says what a check needs to know. It is one
// of
//
//	ok <hash> <account id> <plan> <account name>    the key's row as it stands
//	off <hash> <account id> <plan> <account name>   the same, of a disabled account
//	no                                              no such key, or revoked
//	lease <token>                                   somebody is reading the row
//	held                                            the row is being changed
//
// What is said of a key holds of an account token too; their ids are of one
// kind. Only the holder of the lease puts ok, off or no, and only while its own lease is
// still there. Whoever changes a row holds the entry first and removes it
// afterwards, and with it any lease, so that a reader that was slower than the
// change has nothing left to replace. That holds whatever Redis forgets in
// between; the times to live bound memory, and the span of a second fault.
const (
	entryHeld   = "held"
	entryNo     = "no"
	leasePrefix = "lease "

	knownFor   = time.Minute
	unknownFor = 5 * time.Second // ids that somebody made up
	leaseFor   = 10 * time.Second
	heldFor    = 30 * time.Second // longer than a change may take
)

// entryKey is the entry's name; the braces keep everything that belongs to one
// key on one node of a cluster.
func entryKey(id string) string { return "fw:{" + id + "}:key" }

// check says whether a secret lets its bearer in. Only who has the right one is
// told that the account is disabled.
func (e entry) check(secret string) error {
	switch {
	case !matches(e.hash, secret):
		return errInvalid
	case e.off:
		return errDisabled
	}
	return nil
}

// entry is what is known of a key id. The zero entry fits no secret.
type entry struct {
	hash    string // "" when there is no such key, or it is revoked
	account string
	plan    string
	name    string
	off     bool // its account is disabled
}

func entryOf(k db.APIKey) entry {
	if !k.RevokedAt.IsZero() {
		return entry{}
	}
	return entry{k.Hash, k.Account, k.Plan, k.AccountName, !k.DisabledAt.IsZero()}
}

func (e entry) String() string {
	if e.hash == "" {
		return entryNo
	}
	state := "ok"
	if e.off {
		state = "off"
	}
	return strings.Join([]string{state, e.hash, e.account, e.plan, e.name}, " ")
}

// parseEntry reads what String wrote; ok is false for anything else, for which
// SQL must be asked.
func parseEntry(s string) (e entry, ok bool) {
	if s == entryNo {
		return entry{}, true
	}
	state, rest, _ := strings.Cut(s, " ")
	if state != "ok" && state != "off" {
		return entry{}, false
	}
	e.off = state == "off"
	e.hash, rest, _ = strings.Cut(rest, " ")
	e.account, rest, _ = strings.Cut(rest, " ")
	e.plan, e.name, ok = strings.Cut(rest, " ")
	return e, ok && e.hash != ""
}

// takeLease puts a lease where there is nothing or another's lease, and returns
// what is there otherwise. Taking another's over needs no clock: its holder
// then stores nothing.
var takeLease = redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, #ARGV[3]) ~= ARGV[3] then return v end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`)

// putEntry replaces the caller's own lease, and nothing else.
var putEntry = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// lease announces a reader of a key's row. lease is "" when no lease was
// needed or to be had; found is then what the entry holds.
func (g *Guard) lease(ctx context.Context, id string) (lease, found string) {
	lease = leasePrefix + newSecret()
	found, err := takeLease.Run(ctx, g.redis, []string{entryKey(id)}, lease, leaseFor.Milliseconds(), leasePrefix).Text()
	if errors.Is(err, redis.Nil) {
		return lease, ""
	}
	return "", found
}

// put stores what was read under a lease. It returns false when the lease is
// gone, or Redis is: the next check reads SQL again.
func (g *Guard) put(ctx context.Context, id, lease string, e entry, ttl time.Duration) bool {
	n, err := putEntry.Run(ctx, g.redis, []string{entryKey(id)}, lease, e.String(), ttl.Milliseconds()).Int()
	return err == nil && n == 1
}
