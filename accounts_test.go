package main

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// command runs a command with --json and decodes what it prints.
func (m mode) json(t *testing.T, out any, args ...string) {
	t.Helper()
	stdout, stderr, code := runCommand(t, append(args, "--json"), m.env)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), out); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stdout)
	}
}

// graphQL runs an operation and returns the status and the body.
func (c client) graphQL(query string) (status int, body string) {
	c.t.Helper()
	var out json.RawMessage
	status = c.do("POST", "/graphql", map[string]string{"query": query}, &out)
	return status, string(out)
}

// TestAccounts works on accounts beside a process that runs, and in the
// embedded mode without one too.
func TestAccounts(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		if m.command == "dev" {
			t.Run("not running", func(t *testing.T) { accountsRoundTrip(t, m, nil) })
		}
		p := startBinary(t, []string{m.command}, m.env)
		t.Run("running", func(t *testing.T) { accountsRoundTrip(t, m, p) })
		for _, kind := range []string{"fw_", "fwa_"} {
			for line := range strings.Lines(p.out.String()) {
				if strings.Contains(line, kind) && !strings.Contains(line, "plan unlimited; kept in") && strings.Contains(line, "level=") {
					t.Errorf("a credential is in the log: %s", line)
				}
			}
		}
	})
}

// accountsRoundTrip takes an account through its life; p, where it runs, must
// agree at once.
func accountsRoundTrip(t *testing.T, m mode, p *process) {
	type account struct{ ID, Account, Plan, Token, CreatedAt, TokenIssuedAt, DisabledAt string }
	name := "=acme of " + t.Name()
	var made, again, view account
	m.json(t, &made, "accounts", "create", name, "--plan", "starter")
	if !strings.HasPrefix(made.Token, "fwa_") || !strings.HasPrefix(made.ID, "acc_") || made.Account != name || made.Plan != "starter" || made.CreatedAt == "" {
		t.Errorf("create: %+v", made)
	}
	var key struct{ Key, ID string }
	m.json(t, &key, "keys", "create", "--account", name)
	check := func(when string, credential string, want int) {
		t.Helper()
		if p == nil {
			return
		}
		if got, body := (client{t, p.base, credential}).graphQL(`{ __typename }`); got != want {
			t.Errorf("%s: %d, want %d: %s", when, got, want, body)
		}
	}
	check("token", made.Token, http.StatusOK)
	check("key", key.Key, http.StatusOK)
	if p != nil {
		if _, body := (client{t, p.base, made.Token}).graphQL(`{ account { name plan { name } keys { id } } }`); !strings.Contains(body, `"name":"starter"},"keys":[{"id":"`+key.ID) {
			t.Errorf("the account: %s", body)
		}
	}
	m.json(t, &again, "accounts", "token", name)
	check("old token", made.Token, http.StatusUnauthorized)
	check("new token", again.Token, http.StatusOK)

	m.json(t, &view, "accounts", "plan", name, "pro")
	if view.Plan != "pro" || view.Token != "" || view.TokenIssuedAt == "" || view.DisabledAt != "" {
		t.Errorf("plan: %+v", view)
	}
	m.json(t, &view, "accounts", "disable", name)
	if view.DisabledAt == "" {
		t.Errorf("disable: %+v", view)
	}
	check("disabled token", again.Token, http.StatusForbidden)
	check("disabled key", key.Key, http.StatusForbidden)
	view = account{}
	m.json(t, &view, "accounts", "enable", name)
	if view.DisabledAt != "" {
		t.Errorf("enable: %+v", view)
	}
	check("enabled key", key.Key, http.StatusOK)

	var accounts []account
	m.json(t, &accounts, "accounts", "list")
	if i := slices.IndexFunc(accounts, func(a account) bool { return a.ID == made.ID }); i < 0 || accounts[i].Plan != "pro" || accounts[i].Token != "" {
		t.Errorf("list: %+v", accounts)
	}
	auditOf(t, m, name, key.ID, made.ID)
	usageOf(t, m, name)
	for _, c := range []struct{ args, says string }{
		{"accounts list", made.ID}, {"accounts plan NAME free", "is on the plan free"}, {"accounts disable NAME", "disabled"},
		{"accounts enable NAME", "in use"}, {"accounts token NAME", "fwa_"}, {"audit", "account.disabled"}, {"usage", made.ID}, {"usage --month 2001-01", made.ID},
		{"secrets reencrypt", "0 encrypted anew, 0 remaining, 0 unreadable"},
	} {
		if out, errs, code := runCommand(t, withName(c.args, name), m.env); code != 0 || !strings.Contains(out, c.says) || strings.Contains(out, again.Token[20:]) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
	for _, args := range []string{
		"accounts create NAME --plan pro", "accounts create other --plan gold", "accounts token nobody", "accounts plan NAME gold", "accounts plan nobody pro",
		"accounts disable nobody", "accounts enable nobody", "audit --account nobody",
	} {
		if _, errs, code := runCommand(t, withName(args, name), m.env); code != exitUsage || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, want 2 and one line:\n%s", args, code, errs)
		}
	}
}

func withName(args, name string) []string {
	out := strings.Fields(args)
	for i := range out {
		if out[i] == "NAME" {
			out[i] = name
		}
	}
	return out
}

// auditOf checks what the audit log has of an account.
func auditOf(t *testing.T, m mode, name, key, id string) {
	t.Helper()
	var log []struct{ Account, AccountID, Actor, ActorID, Action, Target, Detail, At string }
	m.json(t, &log, "audit", "--account", name)
	var got []string
	for _, e := range slices.Backward(log) {
		if e.Account != name || e.AccountID != id || e.Actor != "operator" || e.At == "" {
			t.Errorf("audit: %+v", e)
		}
		got = append(got, e.Action+" "+e.Detail)
		if e.Action == "key.created" && e.Target != key {
			t.Errorf("the key that was made is %s", e.Target)
		}
	}
	want := []string{"account.created plan starter", "token.issued ", "key.created ", "token.issued in place of the one before",
		"account.plan_changed starter to pro", "account.disabled ", "account.enabled "}
	if !slices.Equal(got, want) {
		t.Errorf("audit: %q, want %q", got, want)
	}
	var one []struct{ Action string }
	if m.json(t, &one, "audit", "--limit", "1"); len(one) != 1 || one[0].Action != "account.enabled" {
		t.Errorf("the newest entry is %+v", one)
	}
}

// usageOf checks the bill of a month without use, in both forms.
func usageOf(t *testing.T, m mode, name string) {
	t.Helper()
	var rows []struct {
		Account, Plan            string
		Requests, WatchedFlights *int
	}
	m.json(t, &rows, "usage", "--month", "2001-09")
	if i := slices.IndexFunc(rows, func(r struct {
		Account, Plan            string
		Requests, WatchedFlights *int
	}) bool {
		return r.Account == name
	}); i < 0 || rows[i].Plan != "pro" || *rows[i].Requests != 0 || *rows[i].WatchedFlights != 0 {
		t.Errorf("usage: %+v", rows)
	}
	out, _, code := runCommand(t, []string{"usage", "--month", "2001-09", "--csv"}, m.env)
	table, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != 0 || err != nil || fmt.Sprint(table[0]) != "[account id plan requests watched_flights]" {
		t.Fatalf("usage --csv: exit %d, %v: %s", code, err, out)
	}
	if !slices.ContainsFunc(table, func(row []string) bool { return row[0] == "'"+name && row[3] == "0" }) {
		t.Errorf("usage --csv: %s", out)
	}
}

func TestPlainCell(t *testing.T) {
	for in, want := range map[string]string{"Acme": "Acme", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "": "", "a=b": "a=b"} {
		if got := plainCell(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestUsageOfAMonth: what was asked for and watched is on the bill.
func TestUsageOfAMonth(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		s := m.serve(t)
		key, receiver := tomorrow(), newReceiver(t)
		for range 2 {
			if status := s.do("POST", "/v1/subscriptions", subscriptionTo(key, receiver.URL), nil); status != http.StatusCreated {
				t.Fatal(status)
			}
		}
		for range 3 {
			s.do("GET", "/v1/subscriptions", nil, nil)
		}
		var rows []struct {
			Account, ID              string
			Requests, WatchedFlights int64
		}
		eventually(t, "what was counted is written", func() bool {
			m.json(t, &rows, "usage")
			return len(rows) == 1 && rows[0].Requests == 5
		})
		if rows[0].WatchedFlights != 2 {
			t.Errorf("usage: %+v", rows)
		}
		var keys []struct{ LastUsedAt string }
		if m.json(t, &keys, "keys", "list"); len(keys) != 1 || keys[0].LastUsedAt == "" {
			t.Errorf("keys: %+v", keys)
		}
	})
}

// TestDisabledDemo: dev says what to do when its own account is disabled.
func TestDisabledDemo(t *testing.T) {
	m := embeddedMode(t)
	p := startBinary(t, []string{m.command}, m.env)
	p.Signal(syscall.SIGTERM)
	p.Wait()
	if _, errs, code := runCommand(t, []string{"accounts", "disable", "demo"}, m.env); code != 0 {
		t.Fatal(errs)
	}
	if _, errs, code := runCommand(t, []string{"dev"}, m.env); code != exitFailed || !strings.Contains(errs, "flightwire accounts enable demo") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := runCommand(t, []string{"accounts", "enable", "demo"}, m.env); code != 0 {
		t.Fatal(errs)
	}
	startBinary(t, []string{m.command}, m.env)
}

// verifier is a customer's endpoint that knows the secrets of its subscriptions.
type verifier struct {
	*httptest.Server
	mu       sync.Mutex
	secrets  map[string]string
	verified map[string]int // test events with a right signature, by subscription
	faults   []string
}

func newVerifier(t *testing.T) *verifier {
	v := &verifier{secrets: map[string]string{}, verified: map[string]int{}}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("x-service-subscription-id")
		v.mu.Lock()
		defer v.mu.Unlock()
		if r.Header.Get("x-service-event-type") != "subscription.test" {
			return
		}
		if err := webhook.Verify(v.secrets[id], r.Header.Get("x-service-signature"), body, time.Now()); err != nil {
			v.faults = append(v.faults, id+": "+err.Error())
			return
		}
		v.verified[id]++
	}))
	t.Cleanup(v.Close)
	return v
}

// TestReencrypt changes the secret key of a service for good: with the old key
// gone, secrets are revealed and deliveries signed as before.
func TestReencrypt(t *testing.T) {
	third := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("3", 32)))
	fresh := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 32)))
	eachMode(t, func(t *testing.T, m mode) {
		settings := m.env
		under := func(keys ...string) []string {
			return append(slices.Clip(settings), "FLIGHTWIRE_SECRET_KEY="+strings.Join(keys, ","))
		}
		stop := func(s *service) {
			s.Signal(syscall.SIGTERM)
			if code := s.Wait(); code != 0 {
				t.Fatalf("exit %d", code)
			}
		}
		v := newVerifier(t)
		m.env = under(dbtest.SecretKey)
		s := m.serve(t)
		for range 5 {
			var sub struct{ ID, Secret string }
			if status := s.do("POST", "/v1/subscriptions", subscriptionTo(tomorrow(), v.URL), &sub); status != http.StatusCreated {
				t.Fatal(status)
			}
			v.mu.Lock()
			v.secrets[sub.ID] = sub.Secret
			v.mu.Unlock()
		}
		key := s.key
		if m.command == "dev" { // the running process would seal under its own key
			_, errs, code := runCommand(t, []string{"secrets", "reencrypt"}, under(fresh, dbtest.SecretKey))
			if code != exitUsage || !strings.Contains(errs, "another key") {
				t.Errorf("under another key than the process has: exit %d: %s", code, errs)
			}
		}
		stop(s)

		// A key that opens nothing: each subscription is named, nothing is changed.
		_, errs, code := runCommand(t, []string{"secrets", "reencrypt"}, under(third))
		if code != exitFailed || strings.Count(errs, "\n") != 1 {
			t.Errorf("with a key that opens nothing: exit %d: %s", code, errs)
		}
		for id := range v.secrets {
			if !strings.Contains(errs, id) {
				t.Errorf("%s is not named: %s", id, errs)
			}
		}

		m.env = under(fresh, dbtest.SecretKey)
		s = m.serve(t)
		var done struct {
			Done, Remaining int
			Unreadable      []string
		}
		for _, want := range []int{len(v.secrets), 0} {
			m.json(t, &done, "secrets", "reencrypt")
			if done.Done != want || done.Remaining != 0 || len(done.Unreadable) != 0 {
				t.Errorf("re-encrypted %+v, want %d", done, want)
			}
		}
		stop(s)
		m.json(t, &done, "secrets", "reencrypt") // nothing runs
		if done.Done != 0 {
			t.Errorf("re-encrypted %+v once more", done)
		}

		m.env = under(fresh)
		s = m.serve(t)
		s.key = key
		for id, secret := range v.secrets {
			var revealed struct{ Secret string }
			if status := s.do("GET", "/v1/subscriptions/"+id+"/secret", nil, &revealed); status != http.StatusOK || revealed.Secret != secret {
				t.Errorf("%s reveals %d", id, status)
			}
			if status := s.do("POST", "/v1/subscriptions/"+id+"/test", nil, nil); status != http.StatusOK {
				t.Errorf("%s is tested: %d", id, status)
			}
		}
		eventually(t, "every test event has arrived", func() bool {
			v.mu.Lock()
			defer v.mu.Unlock()
			return len(v.verified) == len(v.secrets) || len(v.faults) > 0
		})
		if len(v.faults) > 0 {
			t.Errorf("wrong signatures: %q", v.faults)
		}
	})
}

// TestDisabledAccountStops: what an account watches stands still while it is
// disabled, and each subscription is resumed by itself.
func TestDisabledAccountStops(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		s := m.serve(t)
		var made, key struct{ Token, Key string }
		m.json(t, &made, "accounts", "create", "acme", "--plan", "pro")
		m.json(t, &key, "keys", "create", "--account", "acme")
		c := client{t, s.process.base, key.Key}
		receiver := newReceiver(t)
		var sub struct{ ID, Status, StatusReason string }
		if status := c.do("POST", "/v1/subscriptions", subscriptionTo(tomorrow(), receiver.URL), &sub); status != http.StatusCreated {
			t.Fatal(status)
		}
		if event := <-receiver.events; event != "subscription.created" {
			t.Fatal(event)
		}
		m.json(t, &made, "accounts", "disable", "acme")
		var refused struct{ Code string }
		if status := c.do("GET", "/v1/subscriptions/"+sub.ID, nil, &refused); status != http.StatusForbidden || refused.Code != "account_disabled" {
			t.Errorf("disabled: %d %+v", status, refused)
		}
		m.json(t, &made, "accounts", "enable", "acme")
		if status := c.do("GET", "/v1/subscriptions/"+sub.ID, nil, &sub); status != http.StatusOK || sub.Status != "paused" || !strings.Contains(sub.StatusReason, "disabled") {
			t.Errorf("enabled again: %d %+v", status, sub)
		}
		sub.StatusReason = ""
		if status := c.do("POST", "/v1/subscriptions/"+sub.ID+"/resume", nil, &sub); status != http.StatusCreated || sub.Status != "active" || sub.StatusReason != "" {
			t.Errorf("resumed: %d %+v", status, sub)
		}
	})
}

// tomorrow is a flight of the simulator that has not begun.
func tomorrow() flight.Key {
	return flight.Key{Carrier: "AA", Number: "100", Date: time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)}
}
