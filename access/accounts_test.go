package access

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// refusal is the code with which a guard refuses a key; "" when it does not.
func refusal(g *Guard, t *testing.T, key string) flight.Code {
	t.Helper()
	_, asked := g.Authenticate(t.Context(), key)
	_, _, counted := g.Admit(t.Context(), key, 1)
	if flight.CodeOf(asked) != flight.CodeOf(counted) {
		t.Errorf("Authenticate says %v, Admit %v", asked, counted)
	}
	return flight.CodeOf(counted)
}

func TestAccountToken(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		accounts, keys := NewAccounts(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		here, there := NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis) // two processes
		defer here.Close()
		defer there.Close()

		first, err := accounts.Create(t.Context(), " Ada & Co ", "pro")
		if err != nil {
			t.Fatal(err)
		}
		if first.Account != "Ada & Co" || first.Plan != "pro" || !strings.HasPrefix(first.ID, "acc_") || !strings.HasPrefix(first.Token, "fwa_") {
			t.Errorf("made %+v", first)
		}
		who, quota, err := here.Admit(t.Context(), first.Token, 1)
		if err != nil || !who.Token || who.Account != first.ID || who.Plan != "pro" || quota.Remaining(Minute) != 299 {
			t.Errorf("the token is %+v, %+v, %v", who, quota, err)
		}
		if a := who.Actor(); a.Kind != db.ActorToken || a.ID != who.KeyID || a.Account != first.ID {
			t.Errorf("it acts as %+v", a)
		}
		// The prefix is part of the secret: neither passes for the other.
		key := create(t, keys, "Ada & Co")
		for _, swapped := range []string{"fw_" + strings.TrimPrefix(first.Token, "fwa_"), "fwa_" + strings.TrimPrefix(key.Key, "fw_")} {
			if code := refusal(here, t, swapped); code != flight.CodeInvalidAPIKey {
				t.Errorf("under the other prefix: %s", code)
			}
		}
		if who, err := here.Authenticate(t.Context(), key.Key); err != nil || who.Token || who.Actor().Kind != db.ActorKey {
			t.Errorf("the key is %+v, %v", who, err)
		}

		if code := refusal(there, t, first.Token); code != "" {
			t.Errorf("the second process refuses the token: %s", code)
		}
		second, err := accounts.IssueToken(t.Context(), "Ada & Co")
		if err != nil || second.Token == first.Token || second.Token[:20] != first.Token[:20] || second.ID != first.ID {
			t.Fatalf("issued %+v, %v", second, err)
		}
		for _, g := range []*Guard{here, there} {
			if refusal(g, t, first.Token) != flight.CodeInvalidAPIKey || refusal(g, t, second.Token) != "" || refusal(g, t, key.Key) != "" {
				t.Error("after the second issue it is not the new token and the key that are accepted")
			}
		}

		create(t, keys, "Acme") // an account without a token
		list, err := accounts.List(t.Context())
		if err != nil || len(list) != 2 || list[0].Name != "Acme" || list[0].TokenAt.Known() || list[0].Keys != 1 || !list[1].TokenAt.Known() {
			t.Errorf("listed %+v, %v", list, err)
		}
		if acme, err := accounts.IssueToken(t.Context(), "Acme"); err != nil || refusal(here, t, acme.Token) != "" {
			t.Errorf("a first token: %v", err)
		}
		if _, err := accounts.Create(t.Context(), "Acme", "pro"); flight.CodeOf(err) != flight.CodeConflict {
			t.Errorf("made twice: %v", err)
		}
		if _, err := accounts.IssueToken(t.Context(), "Nobody"); flight.CodeOf(err) != flight.CodeNotFound {
			t.Errorf("of nobody: %v", err)
		}
		var fe *flight.Error
		if _, err := accounts.Create(t.Context(), "\n", "gold"); !errors.As(err, &fe) || len(fe.Fields) != 2 {
			t.Errorf("two faults: %v", err)
		}
	})
}

func TestIssuedTokenJSON(t *testing.T) {
	b, err := json.Marshal(IssuedToken{"acc_1", "Acme", "free", "fwa_i_s", 1_700_000_000_000})
	if want := `{"id":"acc_1","account":"Acme","plan":"free","token":"fwa_i_s","createdAt":"2023-11-14T22:13:20.000Z"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

// A disabled account's keys and token are refused with the next request on
// every process, and work again when it is enabled; only who has the right
// secret is told why.
func TestDisable(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		accounts, keys := NewAccounts(m.DB, m.Redis), NewKeys(m.DB, m.Redis)
		alone := New(Config{DB: m.DB, Redis: m.Redis, Alone: true, Grace: DefaultGrace})
		guards := []*Guard{NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis), alone}
		for _, g := range guards {
			defer g.Close()
		}
		made, err := accounts.Create(t.Context(), "Acme", "pro")
		if err != nil {
			t.Fatal(err)
		}
		key, other := create(t, keys, "Acme"), create(t, keys, "Bcme")
		expect := func(when string, want flight.Code) {
			t.Helper()
			for i, g := range guards {
				for _, k := range []string{key.Key, made.Token} {
					if code := refusal(g, t, k); code != want {
						t.Errorf("%s, guard %d: %q, want %q", when, i, code, want)
					}
				}
				if code := refusal(g, t, keyText(key.ID, testSecret)); code != flight.CodeInvalidAPIKey {
					t.Errorf("%s, guard %d: a wrong secret is answered with %q", when, i, code)
				}
				if code := refusal(g, t, other.Key); code != "" {
					t.Errorf("%s, guard %d: another account's key is refused: %s", when, i, code)
				}
			}
		}
		expect("at first", "")
		for range 2 { // the second time changes nothing
			a, err := accounts.Disable(t.Context(), "Acme")
			if err != nil || !a.DisabledAt.Known() {
				t.Fatalf("disabled %+v, %v", a, err)
			}
			expect("disabled", flight.CodeAccountDisabled)
		}
		if late := create(t, keys, "Acme"); refusal(guards[0], t, late.Key) != flight.CodeAccountDisabled {
			t.Error("a key that was made meanwhile works")
		}
		for range 2 {
			if a, err := accounts.Enable(t.Context(), "Acme"); err != nil || a.DisabledAt.Known() {
				t.Fatalf("enabled %+v, %v", a, err)
			}
			expect("enabled", "")
		}
		if _, err := accounts.Disable(t.Context(), "Nobody"); flight.CodeOf(err) != flight.CodeNotFound {
			t.Errorf("nobody is disabled: %v", err)
		}
	})
}

// Without Redis too.
func TestDisabledWithoutRedis(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		if _, err := NewAccounts(m.DB, m.Redis).Disable(t.Context(), "Acme"); err != nil {
			t.Fatal(err)
		}
		r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", MaxRetries: -1})
		defer r.Close()
		r.AddHook(hook{
			command:  func(context.Context, redis.Cmder, redis.ProcessHook) error { return errors.New("down") },
			pipeline: func(context.Context, []redis.Cmder, redis.ProcessPipelineHook) error { return errors.New("down") },
		})
		g := NewGuard(m.DB, r)
		defer g.Close()
		if code := refusal(g, t, key.Key); code != flight.CodeAccountDisabled {
			t.Errorf("got %q", code)
		}
		accounts := NewAccounts(m.DB, r)
		_, enabled := accounts.Enable(t.Context(), "Acme")
		_, moved := accounts.SetPlan(t.Context(), "Acme", "free")
		for _, err := range []error{enabled, moved} {
			var fe *flight.Error
			if !errors.As(err, &fe) || fe.Code != flight.CodeInternal || !strings.Contains(fe.Message, "try again") {
				t.Errorf("got %v", err)
			}
		}
		if a, err := m.DB.AccountNamed(t.Context(), "Acme"); err != nil || a.DisabledAt.IsZero() || a.Plan != "pro" {
			t.Errorf("it is now %+v, %v", a, err)
		}
	})
}

// A plan holds from the next request on, on every process, whatever a process
// was just reading.
func TestSetPlan(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		accounts := NewAccounts(m.DB, m.Redis)
		key := create(t, NewKeys(m.DB, m.Redis), "Acme")
		here, there := NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis)
		defer here.Close()
		defer there.Close()
		for _, plan := range []string{"free", "starter", "starter", "pro"} {
			if a, err := accounts.SetPlan(t.Context(), "Acme", plan); err != nil || a.Plan != plan {
				t.Fatalf("moved to %+v, %v", a, err)
			}
			for _, g := range []*Guard{here, there} {
				who, q, err := g.Admit(t.Context(), key.Key, 1)
				if err != nil || who.Plan != plan || q.Limits != g.plans.Of(plan).Requests {
					t.Errorf("on %s: %+v, %+v, %v", plan, who, q, err)
				}
			}
		}
		if _, err := accounts.SetPlan(t.Context(), "Acme", "gold"); flight.CodeOf(err) != flight.CodeInvalid {
			t.Errorf("no such plan: %v", err)
		}
		if _, err := accounts.SetPlan(t.Context(), "Nobody", "free"); flight.CodeOf(err) != flight.CodeNotFound {
			t.Errorf("no such account: %v", err)
		}
	})
}

// While 64 callers use a key, not one gets through after its account was
// answered to be disabled.
func TestDisableUnderLoad(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		if _, err := NewAccounts(m.DB, m.Redis).Create(t.Context(), "Acme", "unlimited"); err != nil {
			t.Fatal(err)
		}
		key, err := NewKeys(m.DB, m.Redis).Create(t.Context(), "Acme", "")
		if err != nil {
			t.Fatal(err)
		}
		guards := []*Guard{NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis)}
		var callers sync.WaitGroup
		for range 3 {
			stop := make(chan struct{})
			var disabled time.Time
			late := make(chan time.Time, 64)
			for i := range 64 {
				callers.Go(func() {
					for last := (time.Time{}); ; {
						began := time.Now()
						if _, _, err := guards[i%2].Admit(t.Context(), key.Key, 1); err == nil {
							last = began
						}
						select {
						case <-stop:
							late <- last
							return
						default:
						}
					}
				})
			}
			eventually(t, func() bool { return refusal(guards[0], t, key.Key) == "" })
			if _, err := NewAccounts(m.DB, m.Redis).Disable(t.Context(), "Acme"); err != nil {
				t.Error(err)
			}
			disabled = time.Now()
			for range 3 {
				refusal(guards[0], t, key.Key)
			}
			close(stop)
			callers.Wait()
			close(late)
			for last := range late {
				if last.After(disabled) {
					t.Errorf("let in %v after it was disabled", last.Sub(disabled))
				}
			}
			if _, err := NewAccounts(m.DB, m.Redis).Enable(t.Context(), "Acme"); err != nil {
				t.Error(err)
			}
		}
		for _, g := range guards {
			g.Close()
		}
	})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it never came about")
		}
	}
}

// An account manages its own keys and sees no other's.
func TestAccountKeys(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		all := NewKeys(m.DB, m.Redis)
		theirs := create(t, all, "Bcme")
		g := NewGuard(m.DB, m.Redis)
		defer g.Close()
		token, err := NewAccounts(m.DB, m.Redis).Create(t.Context(), "Acme", "free")
		if err != nil {
			t.Fatal(err)
		}
		who, err := g.Authenticate(t.Context(), token.Token)
		if err != nil {
			t.Fatal(err)
		}
		keys := all.For(who)
		first, err := keys.Create(t.Context())
		if err != nil || refusal(g, t, first.Key) != "" {
			t.Fatal("made", err)
		}
		second, err := keys.Rotate(t.Context(), first.ID)
		if err != nil || refusal(g, t, first.Key) != flight.CodeInvalidAPIKey || refusal(g, t, second.Key) != "" {
			t.Error("rotated", err)
		}
		var absent string
		for _, id := range []string{testID, theirs.ID, "", "\xff", "fw_" + testID, "x}y"} {
			_, rotated := keys.Rotate(t.Context(), id)
			_, revoked := keys.Revoke(t.Context(), id)
			if flight.CodeOf(rotated) != flight.CodeNotFound || flight.CodeOf(revoked) != flight.CodeNotFound || rotated.Error() != revoked.Error() {
				t.Errorf("%q: %v, %v", id, rotated, revoked)
			}
			switch id {
			case testID:
				absent = strings.ReplaceAll(rotated.Error(), id, "ID")
			case theirs.ID:
				if got := strings.ReplaceAll(rotated.Error(), id, "ID"); got != absent {
					t.Errorf("another's key is told apart from none: %q, %q", got, absent)
				}
			}
		}
		if refusal(g, t, theirs.Key) != "" {
			t.Error("another account's key was touched")
		}
		if gone, err := keys.Revoke(t.Context(), first.ID); err != nil || !gone.RevokedAt.Known() || refusal(g, t, second.Key) != flight.CodeInvalidAPIKey {
			t.Errorf("revoked %+v, %v", gone, err)
		}
		if list, err := keys.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != first.ID {
			t.Errorf("listed %+v, %v", list, err)
		}
		for range MaxKeys - 1 { // a revoked one of this month counts
			if _, err := keys.Create(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := keys.Create(t.Context()); flight.CodeOf(err) != flight.CodeConflict {
			t.Errorf("one too many: %v", err)
		}
		if more, err := all.Create(t.Context(), "Acme", ""); err != nil || more.Plan != "free" {
			t.Errorf("the operator is bound too: %v", err)
		}
	})
}

// A key's last use is written with the counts, and only then.
func TestLastUsed(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		used, idle := create(t, keys, "Acme"), create(t, keys, "Acme")
		g := NewGuard(m.DB, m.Redis)
		defer g.Close()
		before := flight.TimeOf(m.DB.Now())
		if _, _, err := g.Admit(t.Context(), used.Key, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Authenticate(t.Context(), idle.Key); err != nil {
			t.Fatal(err)
		}
		if err := g.ledger.save(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := keys.List(t.Context())
		if err != nil || list[0].LastUsedAt < before || list[0].LastUsedAt > flight.TimeOf(m.DB.Now()) || list[1].LastUsedAt.Known() {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}
