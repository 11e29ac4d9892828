package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// nobody holds nothing.
func nobody(context.Context, []string) error { return nil }

// Every act is in the log once, with who did it and to what; what changes
// nothing is not, nor is any secret.
func TestAudit(t *testing.T) {
	each(t, func(r *rig) {
		ctx := r.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		before := r.d.Now()
		a, err := r.d.CreateAccount(ctx, db.Operator, "Bcme", "free", "tok", keyHash("a"))
		must(err)
		own := db.Actor{Kind: db.ActorToken, ID: "tok", Account: a.ID, Request: "req_1"}
		_, err = r.d.AddKey(ctx, own, "k7", keyHash("b"), 9)
		must(err)
		_, err = r.d.RotateKey(ctx, own, "k7", keyHash("c"))
		must(err)
		s, err := r.d.CreateSubscription(ctx, db.NewSubscription{Account: a.ID, Key: key, WebhookURL: "https://example.com/",
			Secret: "0123456789abcdef", Events: flight.AllChanges, DelayThreshold: 5, Now: r.now})
		must(err)
		by := db.Actor{Kind: db.ActorKey, ID: "k7", Account: a.ID}
		_, err = r.d.RevealSecret(ctx, by, a.ID, s.ID)
		must(err)
		_, err = r.d.RotateSecret(ctx, by, a.ID, s.ID, "0123456789abcdeX")
		must(err)
		for range 2 {
			_, err = r.d.RevokeKey(ctx, own, "k7")
			must(err)
			_, err = r.d.SetPlan(ctx, db.Operator, "Bcme", "pro", nobody)
			must(err)
			_, err = r.d.SetDisabled(ctx, db.Operator, "Bcme", true, nobody)
			must(err)
		}
		_, err = r.d.SetDisabled(ctx, db.Operator, "Bcme", false, nobody)
		must(err)
		_, _, err = r.d.IssueToken(ctx, db.Operator, "Bcme", "unused", keyHash("d"), nobody)
		must(err)
		// What is refused leaves no trace.
		if _, err := r.d.RotateKey(ctx, own, "k1", keyHash("e")); flight.CodeOf(err) != flight.CodeNotFound {
			t.Errorf("another account's key is rotated: %v", err)
		}
		if _, err := r.d.RevokeKey(ctx, own, "k1"); flight.CodeOf(err) != flight.CodeNotFound {
			t.Errorf("another account's key is revoked: %v", err)
		}
		if _, err := r.d.RevealSecret(ctx, by, r.account, s.ID); flight.CodeOf(err) != flight.CodeSubscriptionMissing {
			t.Errorf("another account's secret is revealed: %v", err)
		}
		if _, err := r.d.RotateSecret(ctx, by, r.account, s.ID, "0123456789abcdeX"); flight.CodeOf(err) != flight.CodeSubscriptionMissing {
			t.Errorf("another account's secret is rotated: %v", err)
		}

		want := []string{
			"operator account.created " + a.ID + " plan free",
			"operator token.issued tok ",
			"account_token key.created k7 ",
			"account_token key.rotated k7 ",
			"api_key secret.revealed " + s.ID + " ",
			"api_key secret.rotated " + s.ID + " ",
			"account_token key.revoked k7 ",
			"operator account.plan_changed " + a.ID + " free to pro",
			"operator account.disabled " + a.ID + " ",
			"operator account.enabled " + a.ID + " ",
			"operator token.issued tok in place of the one before",
		}
		r.same("the account's log", r.audited(a.ID), want)
		if all := r.audited(""); len(all) != len(want)+2 || !strings.HasPrefix(all[0], "operator account.created "+r.account) {
			t.Errorf("the whole log: %q", all)
		}
		log, err := r.d.Audit(ctx, a.ID, 3)
		must(err)
		e := log[2]
		if len(log) != 3 || !strings.HasPrefix(e.ID, "aud_") || e.AccountName != "Bcme" || e.At.Before(before) || e.At.After(r.d.Now()) {
			t.Errorf("the third newest is %+v", e)
		}
		if all, err := r.d.Audit(ctx, a.ID, 100); err != nil || all[8].Request != "req_1" || all[8].ActorID != "tok" {
			t.Errorf("the key was made by %+v, %v", all[8], err)
		}
	})
}

// Nothing is changed when the holds fail.
func TestHoldFails(t *testing.T) {
	each(t, func(r *rig) {
		down := errors.New("down")
		var told []string
		hold := func(_ context.Context, ids []string) error { told = ids; return down }
		_, plan := r.d.SetPlan(r.Context(), db.Operator, "acme", "free", hold)
		_, disabled := r.d.SetDisabled(r.Context(), db.Operator, "acme", true, hold)
		_, _, token := r.d.IssueToken(r.Context(), db.Operator, "acme", "tok", keyHash("a"), hold)
		for _, err := range []error{plan, disabled, token} {
			if !errors.Is(err, down) {
				t.Errorf("got %v", err)
			}
		}
		a, err := r.d.Account(r.Context(), r.account)
		if err != nil || a.Plan != "unlimited" || !a.DisabledAt.IsZero() || !a.TokenAt.IsZero() || a.Keys != 1 || !slices.Equal(told, []string{"k1"}) {
			t.Errorf("the account is %+v, %v, held %v", a, err, told)
		}
	})
}

// Disabling pauses what there is, in every state; what is under way ends.
func TestPauseDisabled(t *testing.T) {
	each(t, func(r *rig) {
		shared := r.say(leg()).IDs[0]
		other, err := r.d.CreateKey(r.Context(), db.Operator, "rival", "unlimited", "k2", keyHash("b"))
		if err != nil {
			t.Fatal(err)
		}
		theirs := r.found(shared, func(n *db.NewSubscription) { n.Account = other.Account })
		active, paused, claimed := r.found(shared), r.found(shared), r.found(shared)
		waiting := r.pending(func(n *db.NewSubscription) { n.Key.Number = "777" })
		r.pause(paused.ID)
		if _, err := r.d.TestSubscription(r.Context(), r.account, paused.ID); err != nil {
			t.Fatal(err)
		}
		var underWay db.Attempt
		for _, a := range r.claim(10, time.Minute) {
			if a.SubscriptionID == claimed.ID {
				underWay = a
				continue
			}
			again := result(a, flight.DeliveryRetrying)
			again.RetryAfter = time.Hour
			r.record(again)
		}
		if n, err := r.d.PauseDisabled(r.Context(), r.account, 10); n != 0 || err != nil {
			t.Errorf("an account in use: %d, %v", n, err)
		}
		if _, err := r.d.SetDisabled(r.Context(), db.Operator, "acme", true, nobody); err != nil {
			t.Fatal(err)
		}
		var found []int
		for n := 1; n > 0; {
			if n, err = r.d.PauseDisabled(r.Context(), r.account, 3); err != nil {
				t.Fatal(err)
			}
			found = append(found, n)
			r.sound()
		}
		if fmt.Sprint(found) != "[3 1 0]" {
			t.Errorf("found %v", found)
		}
		late := result(underWay, flight.DeliveryRetrying)
		late.RetryAfter = time.Hour
		r.record(late)
		for _, id := range []string{active.ID, paused.ID, claimed.ID, waiting.ID} {
			s := r.sub(id)
			if s.Status != flight.SubscriptionPaused || (id != paused.ID) != strings.Contains(s.StatusReason, "disabled") {
				t.Errorf("%s is %s, %q", id, s.Status, s.StatusReason)
			}
			for _, line := range r.log(id) {
				if !strings.HasSuffix(line, " missed") {
					t.Errorf("%s goes on: %s", id, line)
				}
			}
		}
		if n := r.count(`SELECT count(*) FROM flights WHERE number = '777' AND next_poll_at IS NOT NULL`); n != 0 {
			t.Error("a flight that nobody else watches is polled")
		}
		if s, err := r.d.Subscription(r.Context(), other.Account, theirs.ID); err != nil || s.Status != flight.SubscriptionActive || !r.planned(shared).Known() {
			t.Errorf("another account's is %+v, %v", s, err)
		}

		// Enabled again, each is resumed by itself.
		if _, err := r.d.SetDisabled(r.Context(), db.Operator, "acme", false, nobody); err != nil {
			t.Fatal(err)
		}
		if s := r.sub(active.ID); s.Status != flight.SubscriptionPaused {
			t.Errorf("it went on by itself: %s", s.Status)
		}
		if s := r.resume(active.ID); s.Status != flight.SubscriptionActive || s.StatusReason != "" {
			t.Errorf("resumed %s, %q", s.Status, s.StatusReason)
		}
		r.sound()
	})
}

// While accounts are disabled and enabled beside them, no create and no resume
// leaves a subscription at work in a disabled one.
func TestDisableBesideCreates(t *testing.T) {
	each(t, func(r *rig) {
		shared := r.say(leg()).IDs[0]
		kept := r.found(shared)
		r.pause(kept.ID)
		for range 10 {
			var disabled atomic.Bool
			errs := together(9, func(i int) error {
				switch {
				case i == 8:
					if _, err := r.d.SetDisabled(r.Context(), db.Operator, "acme", true, nobody); err != nil {
						return err
					}
					disabled.Store(true)
					for n := 1; n > 0; {
						var err error
						if n, err = r.d.PauseDisabled(r.Context(), r.account, 100); err != nil {
							return err
						}
					}
					return nil
				case i == 7:
					_, err := r.d.ResumeSubscription(r.Context(), r.account, kept.ID, r.now)
					return err
				}
				late := disabled.Load()
				_, err := r.create(db.Idempotency{}, func(n *db.NewSubscription) { n.FlightID = shared })
				if err == nil && late {
					return errors.New("made in a disabled account")
				}
				return err
			})
			for _, err := range errs {
				if err != nil && flight.CodeOf(err) != flight.CodeAccountDisabled {
					t.Error(err)
				}
			}
			if n := r.count(`SELECT count(*) FROM subscriptions WHERE status <> 'paused'`); n != 0 {
				t.Fatalf("%d subscriptions of a disabled account are at work", n)
			}
			r.sound()
			if _, err := r.d.SetDisabled(r.Context(), db.Operator, "acme", false, nobody); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The bill of a month has every key of an account, revoked ones too, every
// subscription that it made, and nothing of its token.
func TestUsageOfAll(t *testing.T) {
	each(t, func(r *rig) {
		ctx := r.Context()
		a, err := r.d.CreateAccount(ctx, db.Operator, "Acme", "pro", "tok", keyHash("a"))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"k7", "k8"} {
			if _, err := r.d.CreateKey(ctx, db.Operator, "Acme", "", id, keyHash("b")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.d.RevokeKey(ctx, db.Operator, "k8"); err != nil {
			t.Fatal(err)
		}
		late := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
		if err := r.d.AddUsage(ctx, []db.Usage{
			{Period: "2026-11", KeyID: "k7", Requests: 5_000_000_000, LastAt: late}, {Period: "2026-11", KeyID: "k8", Requests: 2},
			{Period: "2026-11", KeyID: "tok", Requests: 100}, {Period: "2026-10", KeyID: "k7", Requests: 1000}, {Period: "2026-11", KeyID: "k1", Requests: 3},
			{Period: "2026-11-01", KeyID: "k7", Requests: 4}, {Period: "2026-11-30", KeyID: "k8", Requests: 2}, {Period: "2026-12-01", KeyID: "k7", Requests: 9},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.d.Poke(ctx, `INSERT INTO watched_flights (month, account_id, subscription_id) VALUES ('2026-11', $1, 'sub_1'), ('2026-11', $1, 'sub_2'), ('2026-10', $1, 'sub_3')`, a.ID); err != nil {
			t.Fatal(err)
		}
		got, err := r.d.UsageOfAll(ctx, "2026-11")
		want := []db.AccountUsage{{a.ID, "Acme", "pro", 5_000_000_002, 2}, {r.account, "acme", "unlimited", 3, 0}}
		slices.SortFunc(got, func(a, b db.AccountUsage) int { return strings.Compare(a.Name, b.Name) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		rows, err := r.d.UsageOf(ctx, a.ID, late)
		if err != nil || fmt.Sprint(rows) != fmt.Sprint([]db.Usage{{Period: "2026-11", KeyID: "k7", Requests: 5_000_000_000}, {Period: "2026-11", KeyID: "k8", Requests: 2},
			{Period: "2026-11-01", KeyID: "k7", Requests: 4}, {Period: "2026-11-30", KeyID: "k8", Requests: 2}}) {
			t.Errorf("got %+v, %v", rows, err)
		}
		if n, err := r.d.WatchedFlightsIn(ctx, a.ID, "2026-11"); n != 2 || err != nil {
			t.Errorf("watched %d, %v", n, err)
		}
		// An older use does not replace a newer one.
		if err := r.d.AddUsage(ctx, []db.Usage{{Period: "2026-11", KeyID: "k7", Requests: 1, LastAt: late.Add(-time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		if k, err := r.d.Key(ctx, "k7"); err != nil || !k.LastUsedAt.Equal(late) {
			t.Errorf("last used %v, %v", k.LastUsedAt, err)
		}
		if k, err := r.d.Key(ctx, "k8"); err != nil || !k.LastUsedAt.IsZero() {
			t.Errorf("last used %v, %v", k.LastUsedAt, err)
		}
	})
}
