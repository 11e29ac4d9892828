package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

func keyHash(c string) string { return strings.Repeat(c, 64) }

func TestKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		before := d.Now()
		a, err := d.CreateKey(t.Context(), db.Operator, "Acme", "free", "k1", keyHash("a"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(a.Account, "acc_") || a.CreatedAt.Before(before) || a.CreatedAt.After(d.Now()) || a.CreatedAt.Location() != time.UTC {
			t.Errorf("created %+v", a)
		}
		want := db.APIKey{ID: "k1", Account: a.Account, AccountName: "Acme", Plan: "free", Hash: keyHash("a"), Version: 1, CreatedAt: a.CreatedAt}
		if got, err := d.Key(t.Context(), "k1"); err != nil || got != want || a != want {
			t.Errorf("created %+v, read %+v, %v, want %+v", a, got, err, want)
		}
		b, err := d.CreateKey(t.Context(), db.Operator, "Acme", "", "k2", keyHash("b"))
		if err != nil || b.Account != a.Account || b.Plan != "free" {
			t.Errorf("second key %+v, %v", b, err)
		}
		c, err := d.CreateKey(t.Context(), db.Operator, "Bcme", "pro", "k0", keyHash("c"))
		if err != nil || c.Account == a.Account {
			t.Errorf("another account's key %+v, %v", c, err)
		}

		r, err := d.RotateKey(t.Context(), db.Operator, "k1", keyHash("d"))
		if err != nil {
			t.Fatal(err)
		}
		want.Hash, want.Version, want.RotatedAt = keyHash("d"), 2, r.RotatedAt
		if r != want || r.RotatedAt.Before(r.CreatedAt) {
			t.Errorf("rotated %+v, want %+v", r, want)
		}
		r, err = d.RevokeKey(t.Context(), db.Operator, "k1")
		if err != nil {
			t.Fatal(err)
		}
		want.Version, want.RevokedAt = 3, r.RevokedAt
		if r != want || r.RevokedAt.Before(r.RotatedAt) {
			t.Errorf("revoked %+v, want %+v", r, want)
		}
		if again, err := d.RevokeKey(t.Context(), db.Operator, "k1"); err != nil || again != want {
			t.Errorf("revoked again: %+v, %v", again, err)
		}
		if got, err := d.RotateKey(t.Context(), db.Operator, "k1", keyHash("e")); flight.CodeOf(err) != flight.CodeConflict || got != (db.APIKey{}) {
			t.Errorf("a revoked key is rotated to %+v, %v", got, err)
		}
		list, err := d.Keys(t.Context())
		if err != nil || len(list) != 3 || list[0] != want || list[1] != b || list[2] != c {
			t.Errorf("listed %+v, %v", list, err)
		}
	})
}

func TestKeyErrors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if list, err := d.Keys(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("a new database lists %+v, %v", list, err)
		}
		if _, err := d.CreateKey(t.Context(), db.Operator, "Acme", "free", "k1", keyHash("a")); err != nil {
			t.Fatal(err)
		}
		is := func(name string, err error, want flight.Code) {
			t.Helper()
			if flight.CodeOf(err) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := d.CreateKey(t.Context(), db.Operator, "Acme", "pro", "k2", keyHash("b"))
		is("another plan", err, flight.CodeConflict)
		if fe, ok := errors.AsType[*flight.Error](err); !ok || !strings.Contains(fe.Message, "on the plan free") {
			t.Errorf("the message does not say which plan it is: %v", err)
		}
		_, err = d.CreateKey(t.Context(), db.Operator, "New", "", "k2", keyHash("b"))
		is("new account without a plan", err, flight.CodeInvalid)
		_, err = d.CreateKey(t.Context(), db.Operator, "New", "pro", "k1", keyHash("b"))
		is("an id that is taken", err, flight.CodeConflict)
		if list, err := d.Keys(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("refused keys were stored: %+v, %v", list, err)
		}
		_, err = d.CreateKey(t.Context(), db.Operator, "New", "starter", "k2", keyHash("b"))
		is("the account that a refused key did not make", err, "")
		_, err = d.Key(t.Context(), "none")
		is("read", err, flight.CodeNotFound)
		_, err = d.RotateKey(t.Context(), db.Operator, "none", keyHash("b"))
		is("rotate", err, flight.CodeNotFound)
		_, err = d.RevokeKey(t.Context(), db.Operator, "none")
		is("revoke", err, flight.CodeNotFound)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Key(ended, "k1"); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	})
}

// Keys made at the same time for one new account share it, and rotations at
// the same time all count.
func TestKeysAtTheSameTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				id := fmt.Sprintf("k%d", i)
				if _, err := d.CreateKey(t.Context(), db.Operator, "Acme", "free", id, keyHash("a")); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		for range 16 {
			callers.Go(func() {
				if _, err := d.RotateKey(t.Context(), db.Operator, "k0", keyHash("b")); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		list, err := d.Keys(t.Context())
		if err != nil || len(list) != 16 {
			t.Fatalf("%d keys, %v", len(list), err)
		}
		for _, k := range list {
			if k.Account != list[0].Account {
				t.Fatal("one name has two accounts")
			}
			if k.ID == "k0" && k.Version != 17 {
				t.Errorf("16 rotations gave version %d", k.Version)
			}
		}
	})
}
