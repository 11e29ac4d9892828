package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBadInput: whatever is wrong with a command line or a setting is one
// clear line and exit code 2.
func TestBadInput(t *testing.T) {
	secret := "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	servers := "DATABASE_URL=postgres://u:hush@h/d REDIS_URL=redis://:hush@h FLIGHTWIRE_SECRET_KEY=" + secret
	for _, c := range []struct{ name, args, env, says string }{
		{"unknown command", "fly", "", "fly"},
		{"unknown flag", "--fly", "", "--fly"},
		{"argument of dev", "dev now", "", "now"},
		{"version with an argument", "version 2", "", "2"},
		{"migrate alone", "migrate", "", "up"},
		{"migrate elsewhere", "migrate down", "", "down"},
		{"keys alone", "keys", "", "create"},
		{"keys create without an account", "keys create --plan free", "", "--account"},
		{"keys create without a plan", "keys create --account acme", "", "plan"},
		{"keys create with an empty account", "keys create --account= --plan free", "", "account"},
		{"keys create with no plan of ours", "keys create --account acme --plan gold", "", "starter"},
		{"keys rotate without an id", "keys rotate", "", "<id>"},
		{"keys rotate of nothing", "keys rotate nothing", "", "nothing"},
		{"keys revoke of nothing", "keys revoke aaaaaaaaaaaaaaaa", "", "aaaaaaaaaaaaaaaa"},
		{"keys rotate without Redis", "keys rotate x", "DATABASE_URL=postgres://u:hush@h/d", "REDIS_URL"},
		{"keys list with a bad database", "keys list", "DATABASE_URL=mysql://u:hush@h/d", "DATABASE_URL"},
		{"migrate status with a bad database", "migrate status", "DATABASE_URL=:hush", "DATABASE_URL"},
		{"keys with a bad mode", "keys list --migrate perhaps", "", "FLIGHTWIRE_MIGRATE"},
		{"accounts alone", "accounts", "", "create"},
		{"accounts create without a name", "accounts create --plan free", "", "<name>"},
		{"accounts create without a plan", "accounts create acme", "", "--plan"},
		{"accounts create with no plan of ours", "accounts create acme --plan gold", "", "starter"},
		{"accounts plan without a plan", "accounts plan acme", "", "<plan>"},
		{"accounts plan of nobody", "accounts plan nobody pro", "", "nobody"},
		{"accounts plan with no plan of ours", "accounts plan nobody gold", "", "starter"},
		{"accounts token of nobody", "accounts token nobody", "", "nobody"},
		{"accounts disable of nobody", "accounts disable nobody", "", "nobody"},
		{"accounts enable without a name", "accounts enable", "", "<name>"},
		{"accounts disable without Redis", "accounts disable x", "DATABASE_URL=postgres://u:hush@h/d", "REDIS_URL"},
		{"accounts token without Redis", "accounts token x", "DATABASE_URL=postgres://u:hush@h/d", "REDIS_URL"},
		{"usage of no month", "usage --month 2026-13", "", "2026-13"},
		{"usage of a day", "usage --month 2026-11-21", "", "2026-11-21"},
		{"usage in two forms", "usage --csv --json", "", "--csv"},
		{"usage with an argument", "usage 2026-11", "", "2026-11"},
		{"audit of nobody", "audit --account nobody", "", "nobody"},
		{"audit of nothing", "audit --limit 0", "", "--limit"},
		{"audit of too much", "audit --limit 10001", "", "--limit"},
		{"secrets alone", "secrets", "", "reencrypt"},
		{"secrets reencrypt without a key", "secrets reencrypt", "DATABASE_URL=postgres://u:hush@h/d", "FLIGHTWIRE_SECRET_KEY"},
		{"secrets reencrypt with a bad key", "secrets reencrypt", "FLIGHTWIRE_SECRET_KEY=hush", "FLIGHTWIRE_SECRET_KEY"},
		{"upstream alone", "upstream", "", "check"},
		{"upstream check of nothing", "upstream check X 2026-11-21", "AEROAPI_KEY=a", "carrier"},
		{"upstream check without a date", "upstream check AA100 tomorrow", "AEROAPI_KEY=a", "date"},
		{"upstream check with nobody", "upstream check AA100 2026-11-21", "CIRIUM_APP_ID=a", "AEROAPI_KEY"},
		{"upstream check of one without a key", "upstream check AA100 2026-11-21 --provider aeroapi", "", "AEROAPI_KEY"},
		{"upstream check of one that is not there", "upstream check AA100 2026-11-21 --provider crystal", "", "crystal"},
		{"upstream record without a provider", "upstream record AA 100 2026-11-21 --out x", "", "--provider"},
		{"upstream record of the simulator", "upstream record AA 100 2026-11-21 --provider simulator --out x", "", "simulator"},
		{"upstream record with a number that is none", "upstream record AA 1x0 2026-11-21 --provider aeroapi --out x", "AEROAPI_KEY=a", "flightNumber"},
		{"upstream record into nowhere", "upstream record AA 100 2026-11-21 --provider aeroapi --out /none/x", "AEROAPI_KEY=a", "--out"},
		{"address without a port", "dev", "FLIGHTWIRE_ADDR=localhost", "FLIGHTWIRE_ADDR"},
		{"address with a great port", "dev --addr :70000", "", "FLIGHTWIRE_ADDR"},
		{"base without a scheme", "dev", "FLIGHTWIRE_BASE_URL=example.com", "FLIGHTWIRE_BASE_URL"},
		{"base with credentials", "dev", "FLIGHTWIRE_BASE_URL=http://u:hush@example.com", "FLIGHTWIRE_BASE_URL"},
		{"database URL of another kind", "dev", "DATABASE_URL=mysql://u:hush@h/d", "DATABASE_URL"},
		{"database URL that is none", "dev", "DATABASE_URL=postgres://u:hush@h:port/d", "DATABASE_URL"},
		{"Redis URL of another kind", "dev", "REDIS_URL=http://u:hush@h", "REDIS_URL"},
		{"Redis URL that is none", "dev", "REDIS_URL=redis://u:hush@h:port/%", "REDIS_URL"},
		{"second Redis URL", "dev", "REDIS_URL=redis://h,hush@h", "address 2"},
		{"Redis Cluster with a database", "dev", "REDIS_URL=redis://h/3,redis://i", "database 0"},
		{"aeroapi without a key", "dev", "FLIGHTWIRE_UPSTREAM=aeroapi", "FLIGHTWIRE_UPSTREAM=aeroapi needs AEROAPI_KEY"},
		{"aeroapi at speed", "dev --speed 2", "FLIGHTWIRE_UPSTREAM=aeroapi AEROAPI_KEY=a", "FLIGHTWIRE_SPEED"},
		{"aerodatabox without a key", "dev --upstream aerodatabox", "", "AERODATABOX_KEY"},
		{"AeroAPI's base", "dev", "AEROAPI_BASE_URL=http://u:hush@h", "AEROAPI_BASE_URL"},
		{"AeroDataBox's base", "dev --aerodatabox-base-url h", "", "AERODATABOX_BASE_URL"},
		{"a key that cannot be sent", "dev", "AEROAPI_KEY=hush\u00e9", "AEROAPI_KEY"},
		{"a limit of AeroDataBox", "dev", "AERODATABOX_CALLS_PER_MONTH=0", "AERODATABOX_CALLS_PER_MONTH"},
		{"a list with a made-up world", "dev", "FLIGHTWIRE_UPSTREAM=cirium,simulator CIRIUM_APP_ID=a CIRIUM_APP_KEY=b", "stands alone"},
		{"an upstream twice", "dev", "FLIGHTWIRE_UPSTREAM=aeroapi,aeroapi AEROAPI_KEY=a", "twice"},
		{"a list without all credentials", "dev", "FLIGHTWIRE_UPSTREAM=aeroapi,aerodatabox AEROAPI_KEY=a", "FLIGHTWIRE_UPSTREAM=aerodatabox needs AERODATABOX_KEY"},
		{"no such upstream", "dev", "FLIGHTWIRE_UPSTREAM=crystal", "crystal"},
		{"cirium without credentials", "dev", "FLIGHTWIRE_UPSTREAM=cirium", "CIRIUM_APP_ID"},
		{"cirium at speed", "dev --speed 2", "FLIGHTWIRE_UPSTREAM=cirium CIRIUM_APP_ID=a CIRIUM_APP_KEY=b", "FLIGHTWIRE_SPEED"},
		{"cirium with a start", "dev --start 2026-11-21T00:00:00Z", "FLIGHTWIRE_UPSTREAM=cirium CIRIUM_APP_ID=a CIRIUM_APP_KEY=b", "FLIGHTWIRE_START"},
		{"Cirium's base", "dev", "CIRIUM_BASE_URL=ftp://h", "CIRIUM_BASE_URL"},
		{"speed of nothing", "dev --speed 0", "", "FLIGHTWIRE_SPEED"},
		{"speed backwards", "dev --speed=-1", "", "FLIGHTWIRE_SPEED"},
		{"speed that is no number", "dev", "FLIGHTWIRE_SPEED=fast", "FLIGHTWIRE_SPEED"},
		{"speed NaN", "dev", "FLIGHTWIRE_SPEED=NaN", "FLIGHTWIRE_SPEED"},
		{"start that is no time", "dev --start yesterday", "", "FLIGHTWIRE_START"},
		{"replay file for the simulator", "dev --replay-file x.csv", "", "FLIGHTWIRE_REPLAY_FILE"},
		{"replay file that is not there", "dev", "FLIGHTWIRE_UPSTREAM=replay FLIGHTWIRE_REPLAY_FILE=/none.csv", "none.csv"},
		{"no calls at all", "dev", "CIRIUM_CALLS_PER_MINUTE=0", "CIRIUM_CALLS_PER_MINUTE: 0 is not between 1 and 100000"},
		{"calls below zero", "dev --cirium-calls-per-month=-1", "", "CIRIUM_CALLS_PER_MONTH"},
		{"too many calls", "dev", "FLIGHTWIRE_SIMULATOR_CALLS_PER_MINUTE=100001", "FLIGHTWIRE_SIMULATOR_CALLS_PER_MINUTE"},
		{"calls that are no number", "dev", "FLIGHTWIRE_REPLAY_CALLS_PER_MONTH=many", "--replay-calls-per-month"},
		{"a burst without a rate", "dev", "CIRIUM_CALLS_BURST=5", "CIRIUM_CALLS_PER_MINUTE"},
		{"a burst over the rate", "dev", "CIRIUM_CALLS_BURST=5 CIRIUM_CALLS_PER_MINUTE=4", "CIRIUM_CALLS_BURST"},
		{"poll interval in parts", "dev", "FLIGHTWIRE_POLL_EVERY=1500ms", "FLIGHTWIRE_POLL_EVERY"},
		{"poll interval too short", "dev", "FLIGHTWIRE_POLL_EVERY=0s", "FLIGHTWIRE_POLL_EVERY"},
		{"poll interval that is none", "dev", "FLIGHTWIRE_POLL_EVERY=often", "FLIGHTWIRE_POLL_EVERY"},
		{"freshness below zero", "dev", "FLIGHTWIRE_CACHE_TTL=-1s", "FLIGHTWIRE_CACHE_TTL"},
		{"retries at once", "dev", "FLIGHTWIRE_RETRY_BASE=0s", "FLIGHTWIRE_RETRY_BASE"},
		{"no time to answer", "dev", "FLIGHTWIRE_DELIVERY_TIMEOUT=0s", "FLIGHTWIRE_DELIVERY_TIMEOUT"},
		{"no events", "dev", "FLIGHTWIRE_EVENT_DAYS=0", "FLIGHTWIRE_EVENT_DAYS"},
		{"events for ever", "serve", "FLIGHTWIRE_EVENT_DAYS=3651", "FLIGHTWIRE_EVENT_DAYS"},
		{"no history", "dev", "FLIGHTWIRE_HISTORY_DAYS=0", "FLIGHTWIRE_HISTORY_DAYS"},
		{"history for ever", "serve", "FLIGHTWIRE_HISTORY_DAYS=3651", "FLIGHTWIRE_HISTORY_DAYS"},
		{"private webhooks perhaps", "dev", "FLIGHTWIRE_ALLOW_PRIVATE_WEBHOOKS=perhaps", "FLIGHTWIRE_ALLOW_PRIVATE_WEBHOOKS"},
		{"legacy prefix", "dev", "FLIGHTWIRE_LEGACY_PREFIX=a:b", "FLIGHTWIRE_LEGACY_PREFIX"},
		{"origin with a path", "dev", "FLIGHTWIRE_CORS_ORIGINS=https://a.example/", "FLIGHTWIRE_CORS_ORIGINS"},
		{"all origins and one", "dev --cors-origins *,https://a.example", "", "FLIGHTWIRE_CORS_ORIGINS"},
		{"persisted queries that are not there", "dev", "FLIGHTWIRE_PERSISTED_QUERIES=/none.json", "none.json"},
		{"persisted queries that are none", "dev", "FLIGHTWIRE_PERSISTED_QUERIES=graph/testdata/schema.golden.graphqls", "JSON object of documents"},
		{"log level", "dev --log-level loud", "", "FLIGHTWIRE_LOG_LEVEL"},
		{"short secret key", "dev", "FLIGHTWIRE_SECRET_KEY=aHVzaA==", "FLIGHTWIRE_SECRET_KEY"},
		{"second secret key", "dev", "FLIGHTWIRE_SECRET_KEY=" + secret + ",hush", "key 2"},
		{"serve without servers", "serve", "FLIGHTWIRE_SECRET_KEY=" + secret, "both DATABASE_URL and REDIS_URL"},
		{"serve without Redis", "serve", "DATABASE_URL=postgres://u:hush@h/d FLIGHTWIRE_SECRET_KEY=" + secret, "both DATABASE_URL and REDIS_URL"},
		{"serve without a secret key", "serve", "DATABASE_URL=postgres://u:hush@h/d REDIS_URL=redis://:hush@h", "FLIGHTWIRE_SECRET_KEY"},
		{"role", "serve --role boss", servers, "FLIGHTWIRE_ROLE"},
		{"migrate mode", "serve --migrate perhaps", servers, "FLIGHTWIRE_MIGRATE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clearSettings(t)
			t.Setenv("FLIGHTWIRE_DATA_DIR", t.TempDir())
			t.Setenv("FLIGHTWIRE_ADDR", "127.0.0.1:0")
			for v := range strings.FieldsSeq(c.env) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			var out, errs bytes.Buffer
			code := realMain(strings.Fields(c.args), &out, &errs, nil)
			text := errs.String()
			if code != exitUsage || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "flightwire: ") || !strings.Contains(text, c.says) {
				t.Errorf("exit %d, want 2 and one line with %q:\n%s%s", code, c.says, out.String(), text)
			}
			if strings.Contains(text, "hush") {
				t.Errorf("a secret is told: %s", text)
			}
		})
	}
}

// isSetting reports whether a variable of the environment is one of ours.
func isSetting(name string) bool {
	return name == "DATABASE_URL" || name == "REDIS_URL" || slices.ContainsFunc(
		[]string{"FLIGHTWIRE_", "CIRIUM_", "AEROAPI_", "AERODATABOX_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// clearSettings takes the settings of whoever runs the tests away.
func clearSettings(t *testing.T) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if isSetting(name) {
			t.Setenv(name, "") // which counts as not set
		}
	}
	t.Setenv("FLIGHTWIRE_LEGACY_PREFIX", "legacy")
}

// TestHelp: every command says what it does; the list of settings is whole.
func TestHelp(t *testing.T) {
	clearSettings(t)
	for _, c := range []string{"", "dev", "serve", "migrate", "migrate up", "migrate status", "keys", "keys create", "keys list", "keys rotate", "keys revoke",
		"accounts", "accounts create", "accounts list", "accounts token", "accounts plan", "accounts disable", "accounts enable",
		"usage", "audit", "secrets", "secrets reencrypt", "upstream", "upstream check", "upstream record", "version"} {
		var out, errs bytes.Buffer
		if code := realMain(append(strings.Fields(c), "--help"), &out, &errs, nil); code != 0 || !strings.Contains(out.String(), "Usage: flightwire "+c) || errs.Len() > 0 {
			t.Errorf("%q --help: exit %d\n%s%s", c, code, out.String(), errs.String())
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	realMain([]string{"serve", "--help"}, &out, &errs, nil)
	for _, name := range []string{
		"FLIGHTWIRE_ADDR", "FLIGHTWIRE_BASE_URL", "FLIGHTWIRE_DATA_DIR", "DATABASE_URL", "REDIS_URL", "FLIGHTWIRE_UPSTREAM",
		"CIRIUM_CALLS_PER_MINUTE", "CIRIUM_CALLS_BURST", "CIRIUM_CALLS_PER_MONTH", "FLIGHTWIRE_SIMULATOR_CALLS_PER_MINUTE", "FLIGHTWIRE_REPLAY_CALLS_PER_MINUTE",
		"CIRIUM_BASE_URL", "CIRIUM_APP_ID", "CIRIUM_APP_KEY", "AEROAPI_BASE_URL", "AEROAPI_KEY", "AERODATABOX_BASE_URL", "AERODATABOX_KEY",
		"AEROAPI_CALLS_PER_MINUTE", "AERODATABOX_CALLS_PER_MINUTE", "FLIGHTWIRE_POLL_EVERY", "FLIGHTWIRE_EVENT_DAYS", "FLIGHTWIRE_HISTORY_DAYS", "FLIGHTWIRE_CACHE_TTL", "FLIGHTWIRE_RETRY_BASE",
		"FLIGHTWIRE_DELIVERY_TIMEOUT", "FLIGHTWIRE_ALLOW_PRIVATE_WEBHOOKS", "FLIGHTWIRE_LEGACY_PREFIX", "FLIGHTWIRE_SECRET_KEY", "FLIGHTWIRE_MIGRATE",
		"FLIGHTWIRE_SPEED", "FLIGHTWIRE_START", "FLIGHTWIRE_REPLAY_FILE", "FLIGHTWIRE_ROLE", "FLIGHTWIRE_LOG_LEVEL", "FLIGHTWIRE_CORS_ORIGINS",
		"FLIGHTWIRE_PERSISTED_QUERIES",
	} {
		if !strings.Contains(out.String(), "$"+name) {
			t.Errorf("serve --help does not name %s", name)
		}
		if !bytes.Contains(readme, []byte("`"+name+"`")) {
			t.Errorf("the README does not name %s", name)
		}
	}
	out.Reset()
	if code := realMain([]string{"version"}, &out, &errs, nil); code != 0 || !strings.HasPrefix(out.String(), "flightwire ") {
		t.Errorf("version: %d %s", code, out.String())
	}
}

// TestRunTimeFailure: what fails while it runs is one line and exit code 1,
// without the password.
func TestRunTimeFailure(t *testing.T) {
	clearSettings(t)
	t.Setenv("FLIGHTWIRE_DATA_DIR", t.TempDir())
	for _, c := range []struct{ args, env string }{
		{"migrate up", "DATABASE_URL=postgres://u:hush@127.0.0.1:1/d?sslmode=disable"},
		{"dev --addr 127.0.0.1:0", "REDIS_URL=redis://:hush@127.0.0.1:1/0"},
		{"dev --addr 203.0.113.1:80", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			_, errs, code := runCommand(t, strings.Fields(c.args), append(os.Environ(), c.env, "FLIGHTWIRE_LOG_LEVEL=error"))
			var lines []string // go-redis logs its own
			for line := range strings.Lines(errs) {
				if strings.HasPrefix(line, "flightwire: ") {
					lines = append(lines, line)
				}
			}
			if code != exitFailed || len(lines) != 1 || strings.Contains(errs, "hush") {
				t.Errorf("exit %d, want 1:\n%s", code, errs)
			}
		})
	}
}

// TestKeys makes, lists, rotates and revokes keys beside a process that runs,
// and in the embedded mode without one too.
func TestKeys(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		if m.command == "dev" {
			t.Run("not running", func(t *testing.T) { keysRoundTrip(t, m, nil) })
		}
		p := startBinary(t, []string{m.command}, m.env)
		t.Run("running", func(t *testing.T) { keysRoundTrip(t, m, p) })
	})
}

func TestKeysThroughALongPath(t *testing.T) {
	m := embeddedMode(t)
	m.dir = filepath.Join(m.dir, strings.Repeat("long", 30))
	m.env = []string{"FLIGHTWIRE_DATA_DIR=" + m.dir}
	keysRoundTrip(t, m, startBinary(t, []string{m.command}, m.env))
}

// keysRoundTrip works on the keys of an account; p, where it runs, must agree
// at once.
func keysRoundTrip(t *testing.T, m mode, p *process) {
	type key struct{ ID, Key, Account, Plan, CreatedAt, RotatedAt, RevokedAt string }
	keys := func(out any, args ...string) {
		t.Helper()
		stdout, stderr, code := runCommand(t, append([]string{"keys"}, append(args, "--json")...), m.env)
		if code != 0 {
			t.Fatalf("keys %v: exit %d: %s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), out); err != nil {
			t.Fatalf("keys %v: %v: %s", args, err, stdout)
		}
	}
	check := func(key string, want int) {
		t.Helper()
		if p == nil {
			return
		}
		if got := (client{t, p.base, key}).do("GET", "/v1/subscriptions", nil, nil); got != want {
			t.Errorf("the key is answered with %d, want %d", got, want)
		}
	}
	account := "acme of " + t.Name()

	var made, rotated, revoked key
	keys(&made, "create", "--account", account, "--plan", "starter")
	if !strings.HasPrefix(made.Key, "fw_"+made.ID+"_") || made.Account != account || made.Plan != "starter" || made.CreatedAt == "" {
		t.Errorf("create: %+v", made)
	}
	check(made.Key, http.StatusOK)
	keys(&rotated, "rotate", made.ID)
	if rotated.ID != made.ID || rotated.Key == made.Key {
		t.Errorf("rotate: %+v", rotated)
	}
	check(made.Key, http.StatusUnauthorized)
	check(rotated.Key, http.StatusOK)
	keys(&revoked, "revoke", made.ID)
	check(rotated.Key, http.StatusUnauthorized)
	var list []key
	keys(&list, "list")
	last := list[len(list)-1]
	if last.ID != made.ID || last.RotatedAt == "" || last.RevokedAt == "" || last.Key != "" || last.Account != account {
		t.Errorf("list: %+v", last)
	}

	if out, _, code := runCommand(t, []string{"keys", "list"}, m.env); code != 0 || !strings.Contains(out, made.ID) || strings.Contains(out, rotated.Key) {
		t.Errorf("keys list: exit %d\n%s", code, out)
	}
	if out, _, code := runCommand(t, []string{"keys", "create", "--account", account}, m.env); code != 0 || !strings.Contains(out, "fw_") {
		t.Errorf("keys create for an account that is there: exit %d\n%s", code, out)
	}
	for _, args := range [][]string{{"rotate", made.ID}, {"revoke", "aaaaaaaaaaaaaaaa"}, {"create", "--account", account, "--plan", "pro"}} {
		_, errs, code := runCommand(t, append([]string{"keys"}, args...), m.env)
		if code != exitUsage || strings.Count(errs, "\n") != 1 {
			t.Errorf("keys %v: exit %d, want 2 and one line:\n%s", args, code, errs)
		}
	}
}
