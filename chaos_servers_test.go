package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// backing are the PostgreSQL and the Redis of a chaos: servers that may be
// ended, each behind a line that may be cut.
type backing struct {
	mode            // its settings lead through the lines
	direct     mode // its settings do not
	postgres   *daemon
	redisOwn   *daemon
	lines      []*line
	restarting bool // false: the servers are the tests' and are left alone
}

// newBacking starts servers of the test's own where their programs are there,
// and else takes those that the tests have. It skips the test where there are
// none.
func newBacking(t *testing.T) *backing {
	t.Helper()
	b := &backing{direct: mode{name: "servers", command: "serve"}}
	postgres, initdb := findPostgres()
	redisServer, err := exec.LookPath("redis-server")
	switch {
	case postgres != "" && err == nil:
		b.restarting = true
		b.direct.env = b.start(t, postgres, initdb, redisServer)
	case os.Getenv("TEST_DATABASE_URL") != "" && os.Getenv("TEST_REDIS_URL") != "":
		t.Log("there is no postgres or no redis-server here: nothing is restarted")
		b.direct = serversMode(t)
	default:
		t.Skip("there are no servers: install postgresql and redis-server, or run make test")
	}
	proxies := newProxies()
	b.mode = b.direct
	b.env = slices.Clone(b.direct.env)
	for i, setting := range b.env {
		name, value, _ := strings.Cut(setting, "=")
		if name == "DATABASE_URL" || name == "REDIS_URL" {
			l := proxies.line(t, name, value)
			b.lines = append(b.lines, l)
			b.env[i] = name + "=" + l.url
		}
	}
	return b
}

// findPostgres returns the newest installation that has initdb as well.
func findPostgres() (postgres, initdb string) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(dirs)
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range append(dirs, "/usr/local/pgsql/bin") {
		initdb := filepath.Join(dir, "initdb")
		if _, err := os.Stat(initdb); err == nil {
			return filepath.Join(dir, "postgres"), initdb
		}
	}
	return "", ""
}

// start starts both servers and returns the settings that name them.
func (b *backing) start(t *testing.T, postgres, initdb, redisServer string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flightwire-chaos.*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := whoServes(t, dir)
	password := strconv.FormatUint(rand.Uint64(), 36)
	pwfile, data := filepath.Join(dir, "password"), filepath.Join(dir, "pg")
	if err := errors.Join(os.WriteFile(pwfile, []byte(password), 0o600), os.Chmod(pwfile, 0o644)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	init := exec.Command(initdb, "-D", data, "-U", "flightwire", "-A", "password", "--pwfile="+pwfile, "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	pgPort, redisPort := freePort(t), freePort(t)
	// The servers' processes are killed and the machine is not, so nothing has to reach the disk. What is
	// committed must be in the log, or a restart would lose what no restart in production does.
	b.postgres = &daemon{t: t, dir: dir, as: as, path: postgres, args: []string{
		"-D", data, "-p", pgPort, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
		"-c", "timezone=UTC", "-c", "fsync=off", "-c", "full_page_writes=off",
	}}
	b.redisOwn = &daemon{t: t, dir: dir, as: as, path: redisServer, args: []string{
		"--bind", "127.0.0.1", "--port", redisPort, "--requirepass", password, "--save", "", "--appendonly", "no",
	}}
	env := []string{
		fmt.Sprintf("DATABASE_URL=postgres://flightwire:%s@127.0.0.1:%s/postgres?sslmode=disable", password, pgPort),
		fmt.Sprintf("REDIS_URL=redis://default:%s@127.0.0.1:%s/0", password, redisPort),
	}
	b.direct.env = env
	conn, client := b.direct.sql(t), b.direct.redis(t)
	b.postgres.ready = func() bool { return conn.Ping() == nil }
	b.redisOwn.ready = func() bool { return client.Ping(context.Background()).Err() == nil }
	b.postgres.start()
	b.redisOwn.start()
	return serverSettings(env)
}

// whoServes gives the folder to a user that PostgreSQL runs as: not root.
func whoServes(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Skip("there is no user that PostgreSQL could run as: neither postgres nor nobody")
	return nil
}

// freePort returns a port below those of outgoing connections, so that it is
// still free after a restart.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// daemon is a server that is started and ended again and again.
type daemon struct {
	t     *testing.T
	dir   string
	as    *syscall.Credential
	path  string
	args  []string
	ready func() bool
	out   output
	cmd   *exec.Cmd
}

// start starts it and returns when it answers.
func (s *daemon) start() {
	s.t.Helper()
	cmd := exec.Command(s.path, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &s.out, &s.out
	// The kernel ends it should the tests be killed; Ctrl-C is not for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setsid: true, Pdeathsig: syscall.SIGQUIT}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if s.cmd == nil {
		s.t.Cleanup(func() { s.stop(syscall.SIGQUIT) })
	}
	s.cmd = cmd
	for deadline := time.Now().Add(time.Minute); !s.ready(); time.Sleep(20 * time.Millisecond) { // another process
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not answer:\n%s", s.path, s.out.String())
		}
	}
}

// stop ends it by a signal and returns when it is gone.
func (s *daemon) stop(by syscall.Signal) {
	s.t.Helper()
	_ = s.cmd.Process.Signal(by)
	giveUp := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer giveUp.Stop()
	if _, ok := errors.AsType[*exec.ExitError](s.cmd.Wait()); !ok && s.cmd.ProcessState == nil {
		s.t.Errorf("%s could not be ended", s.path)
	}
}

// proxies is where lines are made.
type proxies struct{ api *toxiproxy.ApiServer }

func newProxies() proxies {
	return proxies{toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.New(io.Discard))}
}

// line is a connection that may be cut, or made bad.
type line struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
	name  string
	url   string // leads through it
}

// line makes a line to the server that a URL names.
func (p proxies) line(t *testing.T, name, to string) *line {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := toxiproxy.NewProxy(p.api, name, "127.0.0.1:0", u.Host)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	u.Host = proxy.Listen
	return &line{t, proxy, name, u.String()}
}

// cut breaks every connection, and lets none be made for a while.
func (l *line) cut(lasts time.Duration) {
	l.t.Helper()
	l.proxy.Stop()
	time.Sleep(lasts) // the outage is the point
	if err := l.proxy.Start(); err != nil {
		l.t.Fatal(err)
	}
}

// spoil has a toxic on it for a while.
func (l *line) spoil(toxic string, lasts time.Duration) {
	l.t.Helper()
	w, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	if err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(lasts) // so is this
	if err := l.proxy.Toxics.RemoveToxic(context.Background(), w.Name); err != nil {
		l.t.Error(err)
	}
}

// flush empties Redis.
func flush(t *testing.T, c *redis.Client) {
	t.Helper()
	if err := c.FlushDB(context.Background()).Err(); err != nil {
		t.Error(err)
	}
}
