package db_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
)

var newKey = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 32)))

func (r *rig) rekey(keys ...string) {
	r.Helper()
	if err := r.d.Rekey(keys...); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) reencrypt() db.Reencrypted {
	r.Helper()
	got, err := r.d.Reencrypt(r.Context(), db.Operator)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// After the re-encryption the old key is not needed for anything: secrets are
// revealed, deliveries signed, and creates repeated.
func TestReencrypt(t *testing.T) {
	each(t, func(r *rig) {
		leg := r.say(leg()).IDs[0]
		secrets := map[string]string{}
		for i := range db.ReencryptBatch + 3 {
			secret := fmt.Sprintf("secret number %04d", i)
			s := r.found(leg, func(n *db.NewSubscription) { n.Secret = secret })
			secrets[s.ID] = secret
		}
		first, err := r.create(once)
		if err != nil {
			t.Fatal(err)
		}
		secrets[first.ID] = first.Secret
		if got := r.reencrypt(); got.Done != 0 || got.Remaining != 0 || got.Unreadable != nil {
			t.Errorf("nothing to do: %+v", got)
		}

		r.rekey(newKey, dbtest.SecretKey)
		if got := r.reencrypt(); got.Done != len(secrets)+1 || got.Remaining != 0 || got.Unreadable != nil {
			t.Errorf("did %+v, want %d", got, len(secrets)+1)
		}
		r.rekey(newKey)
		for id, secret := range secrets {
			s, err := r.d.RevealSecret(r.Context(), db.Operator, r.account, id)
			if err != nil || s.Secret != secret {
				t.Fatalf("%s reveals %v, %v, want %s", id, s, err, secret)
			}
		}
		for _, a := range r.deliver() {
			if a.Secret != secrets[a.SubscriptionID] {
				t.Errorf("%s is signed with %s", a.SubscriptionID, a.Secret)
			}
		}
		if again, err := r.create(once); err != nil || again.ID != first.ID {
			t.Errorf("the create is repeated as %v, %v", again, err)
		}
		if log := r.audited(""); !slices.Contains(log, fmt.Sprintf("operator secrets.reencrypted  %d secrets", db.ReencryptBatch)) {
			t.Errorf("the log has %q", log)
		}
	})
}

// audited lists the audit log of an account as "actor action target detail",
// oldest first.
func (r *rig) audited(account string) (out []string) {
	r.Helper()
	log, err := r.d.Audit(r.Context(), account, 10_000)
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range slices.Backward(log) {
		out = append(out, strings.Join([]string{e.Actor, e.Action, e.Target, e.Detail}, " "))
	}
	return out
}

// What no key opens is named, and the rest is done.
func TestReencryptUnreadable(t *testing.T) {
	each(t, func(r *rig) {
		lost, kept := r.pending(), r.pending()
		if _, err := r.d.Poke(r.Context(), `UPDATE subscriptions SET secret = 'v1:bm90aGluZw==' WHERE id = $1`, lost.ID); err != nil {
			t.Fatal(err)
		}
		r.rekey(newKey, dbtest.SecretKey)
		for _, done := range []int{1, 0} { // it may be run again
			got := r.reencrypt()
			if got.Done != done || got.Remaining != 0 || !slices.Equal(got.Unreadable, []string{lost.ID}) {
				t.Errorf("did %+v, want %d and %s unreadable", got, done, lost.ID)
			}
		}
		r.rekey(newKey)
		if s := r.sub(kept.ID); s.Secret != kept.Secret {
			t.Errorf("got %s", s.Secret)
		}
	})
}

// A rotation beside the re-encryption is not undone.
func TestReencryptBesideRotations(t *testing.T) {
	each(t, func(r *rig) {
		var ids []string
		for range 20 {
			ids = append(ids, r.pending().ID)
		}
		want := make([]string, len(ids))
		for round := range 5 {
			keys := []string{newKey, dbtest.SecretKey}
			if round%2 == 1 {
				slices.Reverse(keys)
			}
			r.rekey(keys...)
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := r.d.Reencrypt(r.Context(), db.Operator); err != nil {
					t.Error(err)
				}
			})
			for i, id := range ids {
				want[i] = fmt.Sprintf("secret of round %d", round)
				if _, err := r.d.RotateSecret(r.Context(), db.Operator, r.account, id, want[i]); err != nil {
					t.Error(err)
				}
			}
			both.Wait()
			r.reencrypt()
			r.rekey(keys[0])
			for i, id := range ids {
				if got := r.sub(id).Secret; got != want[i] {
					t.Fatalf("round %d: %s, want %s", round, got, want[i])
				}
			}
		}
	})
}
