package access

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func accepts(t *testing.T, g *Guard, key string) bool {
	t.Helper()
	_, err := g.Authenticate(t.Context(), key)
	if err != nil && flight.CodeOf(err) != flight.CodeInvalidAPIKey {
		t.Fatal(err)
	}
	return err == nil
}

func create(t *testing.T, k *Keys, account string) IssuedKey {
	t.Helper()
	key, err := k.Create(t.Context(), account, "pro")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeyLife(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		here, there := NewGuard(m.DB, m.Redis), NewGuard(m.DB, m.Redis) // two processes
		defer here.Close()
		defer there.Close()

		first := create(t, keys, " Ada & Co ")
		id, err := here.Authenticate(t.Context(), first.Key)
		if err != nil {
			t.Fatal(err)
		}
		if id.AccountName != "Ada & Co" || id.KeyID != first.ID || id.Plan != "pro" || !strings.HasPrefix(id.Account, "acc_") {
			t.Errorf("identity %+v", id)
		}
		if !accepts(t, there, first.Key) || accepts(t, there, keyText(first.ID, testSecret)) {
			t.Error("the second process does not tell the right secret from a wrong one")
		}

		second, err := keys.Rotate(t.Context(), first.ID)
		if err != nil {
			t.Fatal(err)
		}
		if second.ID != first.ID || second.Key == first.Key || second.CreatedAt != first.CreatedAt {
			t.Errorf("rotated to %+v", second)
		}
		for _, g := range []*Guard{here, there} {
			if accepts(t, g, first.Key) || !accepts(t, g, second.Key) {
				t.Error("after the rotation it is not the new secret alone that is accepted")
			}
		}
		if again, err := here.Authenticate(t.Context(), second.Key); err != nil || again != id {
			t.Errorf("the rotation changed the identity to %+v, %v", again, err)
		}

		other := create(t, keys, "Ada & Co")
		for range 2 { // the second time changes nothing
			gone, err := keys.Revoke(t.Context(), first.ID)
			if err != nil || !gone.RevokedAt.Known() {
				t.Fatalf("revoked to %+v, %v", gone, err)
			}
		}
		for _, g := range []*Guard{here, there} {
			if accepts(t, g, second.Key) || !accepts(t, g, other.Key) {
				t.Error("after the revocation it is not the other key alone that is accepted")
			}
		}
		if _, err := keys.Rotate(t.Context(), first.ID); flight.CodeOf(err) != flight.CodeConflict {
			t.Errorf("a revoked key is rotated: %v", err)
		}
		list, err := keys.List(t.Context())
		if err != nil || len(list) != 2 || list[0].ID != first.ID || list[1].ID != other.ID ||
			list[0].AccountID != list[1].AccountID || !list[0].RevokedAt.Known() || list[1].RevokedAt.Known() {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}

func TestIssuedKeyJSON(t *testing.T) {
	b, err := json.Marshal(IssuedKey{"i", "fw_i_s", "Acme", "free", 1_700_000_000_000})
	if want := `{"id":"i","key":"fw_i_s","account":"Acme","plan":"free","createdAt":"2023-11-14T22:13:20.000Z"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRefusedChanges(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys := NewKeys(m.DB, m.Redis)
		create(t, keys, "Acme")
		for name, c := range map[string]struct {
			account, plan string
			want          flight.Code
			fields        int
		}{
			"no name":                  {"  ", "pro", flight.CodeInvalid, 1},
			"line break in the name":   {"A\nB", "pro", flight.CodeInvalid, 1},
			"name that is no text":     {"A\xff", "pro", flight.CodeInvalid, 1},
			"long name":                {strings.Repeat("ä", 101), "pro", flight.CodeInvalid, 1},
			"unknown plan":             {"New", "gold", flight.CodeInvalid, 1},
			"both":                     {"", "gold", flight.CodeInvalid, 2},
			"new account, no plan":     {"New", "", flight.CodeInvalid, 1},
			"another plan than it has": {"Acme", "free", flight.CodeConflict, 0},
		} {
			_, err := keys.Create(t.Context(), c.account, c.plan)
			var fe *flight.Error
			if !errors.As(err, &fe) || fe.Code != c.want || len(fe.Fields) != c.fields {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := keys.Create(t.Context(), strings.Repeat("ä", 100), "free"); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"", testID, "fw_" + testID, "x}y"} {
			if _, err := keys.Rotate(t.Context(), id); flight.CodeOf(err) != flight.CodeNotFound {
				t.Errorf("rotate %q: %v", id, err)
			}
			if _, err := keys.Revoke(t.Context(), id); flight.CodeOf(err) != flight.CodeNotFound {
				t.Errorf("revoke %q: %v", id, err)
			}
		}
	})
}

// A change whose end is not known, or whose process died, must not leave the
// old entry in force.
func TestChangeCutOff(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		keys, g := NewKeys(m.DB, m.Redis), NewGuard(m.DB, m.Redis)
		defer g.Close()
		key := create(t, keys, "Acme")
		if !accepts(t, g, key.Key) {
			t.Fatal("a new key is refused")
		}
		_, err := keys.change(t.Context(), key.ID, func(ctx context.Context) (db.APIKey, error) {
			if _, err := m.DB.RevokeKey(ctx, db.Operator, key.ID); err != nil {
				t.Error(err)
			}
			return db.APIKey{}, errors.New("the answer to the commit was lost")
		})
		if flight.CodeOf(err) != flight.CodeInternal {
			t.Errorf("got %v", err)
		}
		if accepts(t, g, key.Key) {
			t.Error("the entry of before the change is still in force")
		}
		if v := m.Redis.Get(t.Context(), entryKey(key.ID)).Val(); v != entryHeld {
			t.Errorf("the entry is %q, not held: a commit that is still under way would be missed", v)
		}
	})
}

func TestNothingChangesWithoutRedis(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", MaxRetries: -1})
		defer r.Close()
		r.AddHook(hook{command: func(context.Context, redis.Cmder, redis.ProcessHook) error { return errors.New("down") }})
		keys := NewKeys(d, r)
		key := create(t, keys, "Acme")
		_, rotated := keys.Rotate(t.Context(), key.ID)
		_, revoked := keys.Revoke(t.Context(), key.ID)
		for _, err := range []error{rotated, revoked} {
			var fe *flight.Error
			if !errors.As(err, &fe) || fe.Code != flight.CodeInternal || !strings.Contains(fe.Message, "try again") {
				t.Errorf("got %v", err)
			}
		}
		if row, err := d.Key(t.Context(), key.ID); err != nil || row.Version != 1 || !row.RevokedAt.IsZero() {
			t.Errorf("the key is now %+v, %v", row, err)
		}
	})
}
